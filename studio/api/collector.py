"""The collector: how the export of spans stands, and past turns sent once more."""

from typing import Any

from studio.api import answers as a
from studio.api import bodies as b
from studio.api.endpoint import Ask, Endpoint, Link
from studio.api.moments import moment
from studio.core.rules.errors import Invalid


async def show(ask: Ask[b.NoQuery, b.NoBody]) -> a.CollectorState:
    """How it stands."""
    found = await ask.reader.collector(ask.person)
    last = found.backfill
    return a.take(a.CollectorState, found, backfill=a.take(a.Backfill, last) if last else None)


async def backfill(ask: Ask[b.NoQuery, b.NewBackfill]) -> a.BackfillAsked:
    """Ask for one."""
    body, faults = ask.body, dict[str, str]()
    since, until = moment(body.since, "since", faults), moment(body.until, "until", faults)
    if faults:
        raise Invalid("A time cannot be read.", code="backfill.time", fields=faults)
    id = await ask.runtime.ask_backfill(
        ask.person, since=since or 0, until=until, session_id=body.session
    )
    return a.BackfillAsked(id=id)


async def show_backfill(ask: Ask[b.NoQuery, b.NoBody]) -> a.Backfill:
    """How far one is."""
    return a.take(a.Backfill, await ask.reader.backfill(ask.person, ask.part("id")))


ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    Endpoint(
        name="show_collector", method="GET", path="/collector", call=show, gives=a.CollectorState,
        says="Read how the export of spans to the collector stands.",
    ),
    Endpoint(
        name="ask_backfill", method="POST", path="/collector/backfills", call=backfill,
        gives=a.BackfillAsked, body=b.NewBackfill, body_required=False, status=202,
        errors=(404, 409),
        says="Have turns that ended before now sent to the collector once more.",
        links=(Link(to="show_backfill", part="id", value="$response.body#/id"),),
    ),
    Endpoint(
        name="show_backfill", method="GET", path="/collector/backfills/{id}", call=show_backfill,
        gives=a.Backfill, says="Read how far a backfill is.",
    ),
)  # fmt: skip
