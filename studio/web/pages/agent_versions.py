"""The versions of an agent: what each changed, and any two side by side."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import AgentDiff, VersionPage
from studio.web.render import Frame, frame, page
from studio.web.visit import asked, may, person, reader


@dataclass(frozen=True, kw_only=True)
class VersionsView:
    """Versions, the newest first."""

    frame: Frame
    page: VersionPage
    may_edit: bool


@dataclass(frozen=True, kw_only=True)
class DiffView:
    """Two versions. `session` is the one whose page led here, "" when none did."""

    frame: Frame
    diff: AgentDiff
    session: str
    may_act: bool


async def index(request: Request) -> Response:
    """GET /agents/{name}/versions."""
    name = request.path_params["name"]
    found = await reader(request).agent_versions(
        person(request), name, before=_version(request, "before")
    )
    view = VersionsView(
        frame=await frame(request, f"Versions of {name}", nav="agents"), page=found,
        may_edit=may(request, "admin"),
    )  # fmt: skip
    return page(request, "agents/versions.html", view)


async def diff(request: Request) -> Response:
    """GET /agents/{name}/diff: any two versions; without them the newest and the one before."""
    name, who = request.path_params["name"], person(request)
    new = _version(request, "new") or (await reader(request).agent(who, name)).latest
    old = _version(request, "old") or max(1, new - 1)
    view = DiffView(
        frame=await frame(request, f"{name}: v{old} and v{new}", nav="agents"),
        diff=await reader(request).agent_diff(who, name, old, new),
        session=asked(request, "session"), may_act=may(request, "operator"),
    )  # fmt: skip
    return page(request, "agents/diff.html", view)


def _version(request: Request, name: str) -> int | None:
    value = asked(request, name)
    is_number = value.isascii() and value.isdigit() and len(value) < 10 and int(value) > 0
    return int(value) if is_number else None
