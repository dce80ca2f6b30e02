"""The tabs of an environment's page, each with what it alone asks the reader for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request

from studio.core.projections.disk_versions import OUTCOMES, EgressRow, SlotRow
from studio.core.projections.environments import EnvironmentView
from studio.core.projections.facts import EventRow
from studio.core.projections.pages import Page
from studio.core.rules.environments import network
from studio.core.rules.errors import NotFound
from studio.web.pages.environments import timeline
from studio.web.pages.environments.timeline import Timeline
from studio.web.visit import asked, may, person, reader

TABS = ("overview", "timeline", "secrets", "network", "setup", "sessions", "events")
EVENTS = 60


@dataclass(frozen=True, kw_only=True)
class Tab:
    """One side of an environment; what the others show is empty.

    `query` is how this very tab is asked for. `proposable` are (host, port) that were refused and
    that the newest version of the manifest does not name.
    """

    name: str
    query: str
    slots: tuple[SlotRow, ...] = ()
    tried: Page[EgressRow] | None = None
    outcome: str = ""
    cursor: str = ""
    proposable: frozenset[tuple[str, int]] = frozenset()
    events: tuple[EventRow, ...] = ()
    events_before: int | None = None
    outcomes: tuple[str, ...] = OUTCOMES
    timeline: Timeline | None = None


async def read(request: Request, it: EnvironmentView, name: str = "") -> Tab:
    """The tab that is asked for, or the one of this name."""
    name = name or asked(request, "tab")
    if name == "secrets":
        slots = await reader(request).environment_secrets(person(request), it.row.id)
        return Tab(name=name, query=f"tab={name}", slots=tuple(slots))
    if name == "timeline":
        told = await timeline.read(request, it)
        return Tab(name=name, query=told.query, timeline=told)
    if name == "network":
        return await _network(request, it)
    if name == "events":
        return await _events(request, it)
    found = name if name in TABS else TABS[0]
    return Tab(name=found, query=f"tab={found}")


async def _network(request: Request, it: EnvironmentView) -> Tab:
    outcome, cursor = asked(request, "outcome"), asked(request, "cursor")
    outcome = outcome if outcome in OUTCOMES else ""
    tried = await reader(request).egress(
        person(request), it.row.id, outcome=outcome, cursor=cursor or None
    )
    kept = {"tab": "network", "outcome": outcome, "cursor": cursor}
    return Tab(
        name="network", query=urlencode({key: word for key, word in kept.items() if word}),
        tried=tried, outcome=outcome, cursor=cursor,
        proposable=await _proposable(request, it, tried.items),
    )  # fmt: skip


async def _proposable(
    request: Request, it: EnvironmentView, tried: Sequence[EgressRow]
) -> frozenset[tuple[str, int]]:
    """What an admin may put on the allow-list of the manifest with one press."""
    refused = {(one.host, one.port) for one in tried if one.outcome == "refused"}
    if not refused or it.row.manifest is None or not may(request, "admin"):
        return frozenset()
    try:
        newest = await reader(request).environment_manifest(person(request), it.row.manifest)
    except NotFound:  # removed since
        return frozenset()
    return frozenset(
        (host, port)
        for host, port in refused
        if network.host_fault(host) is None and not is_allowed(newest.definition, host, port)
    )


def is_allowed(definition: Mapping[str, Any], host: str, port: int) -> bool:
    """Whether the allow-list of a definition names this very place, or a suffix of it."""
    for entry in definition.get("network", {}).get("allow", ()):
        named = entry["host"]
        is_host = host.endswith(named[1:]) if named.startswith("*.") else host == named
        if is_host and port in entry["ports"]:
            return True
    return False


async def _events(request: Request, it: EnvironmentView) -> Tab:
    word = asked(request, "before")
    before = int(word) if word.isascii() and word.isdigit() and len(word) < 16 else None
    found = await reader(request).environment_events_before(
        person(request), it.row.id, before=before, limit=EVENTS
    )
    earlier = found[0].seq if found and found[0].seq > 1 else None
    query = "tab=events" + (f"&before={before}" if before is not None else "")
    return Tab(
        name="events", query=query, events=tuple(reversed(found)), events_before=earlier
    )  # fmt: skip
