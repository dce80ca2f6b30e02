"""The environments that a new session may be started on."""

from starlette.requests import Request

from studio.core.projections.environments import EnvironmentRow
from studio.core.rules.errors import NotFound
from studio.web.visit import may, person, reader

MOST = 200


async def choices(request: Request, chosen: str) -> tuple[EnvironmentRow, ...]:
    """Those that are not another's alone, the newest first; `chosen` (a name or an id) is there."""
    who = person(request)
    found = await reader(request).environments(who, limit=MOST)
    rows = [row for row in found.items if row.owner in ("", who.id) or may(request, "admin")]
    if chosen and chosen not in {word for row in rows for word in (row.id, row.name)}:
        try:
            rows.append((await reader(request).environment(who, chosen)).row)
        except NotFound:
            return tuple(rows)  # the verb says so, when it is asked for
    return tuple(rows)
