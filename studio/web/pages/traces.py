"""Traces: turns over all sessions, and what their agents and tools usually take."""

from dataclasses import dataclass, fields
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import AskedTurns, CollectorState, Page, TurnLine, Usual
from studio.web.render import Frame, block, frame, page
from studio.web.visit import asked, person, reader

SHOW = "traces/index.html"
STATUSES = ("running", "held", "waiting", "completed", "failed", "cancelled")
DAY = 86_400_000
DAYS = ("1", "7", "30")
WIDE = 100  # of the little bars of percentiles


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What the list is narrowed to, as it stands in the URL; `seconds` and `cost` are the least."""

    agent: str = ""
    status: str = ""
    tool: str = ""
    plugin: str = ""
    seconds: str = ""
    cost: str = ""
    days: str = ""

    @property
    def any(self) -> bool:
        """Something is asked for."""
        return any(getattr(self, one.name) for one in fields(self))

    def url(self, **changes: str) -> str:
        """The list's URL with some filters changed; empty ones are left out."""
        now = {one.name: getattr(self, one.name) for one in fields(self)} | changes
        kept = {name: value for name, value in now.items() if value}
        return "/traces" + (f"?{urlencode(kept)}" if kept else "")

    def asked(self, now: int) -> AskedTurns:
        """The same as the reader takes it; what is no number filters nothing."""
        seconds, cost = _number(self.seconds), _number(self.cost)
        return AskedTurns(
            agent=self.agent, status=self.status, tool=self.tool, plugin=self.plugin,
            least_ms=None if seconds is None else int(seconds * 1000), least_cost=cost,
            since=now - int(self.days) * DAY if self.days else None,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class UsualBar:
    """A name with its percentiles, and how wide they are drawn beside the longest (0 to 100)."""

    usual: Usual
    half: float
    most: float


@dataclass(frozen=True, kw_only=True)
class ListView:
    """The page of the list."""

    frame: Frame
    page: Page[TurnLine]
    filters: Filters
    cursor: str
    agents: tuple[str, ...]
    usual_agents: tuple[UsualBar, ...]
    usual_tools: tuple[UsualBar, ...]
    collector: CollectorState
    statuses: tuple[str, ...] = STATUSES
    days: tuple[str, ...] = DAYS


async def index(request: Request) -> Response:
    """GET /traces."""
    asking, filters, cursor = person(request), _filters(request), asked(request, "cursor")
    position = await reader(request).position()
    chosen = filters.asked(reader(request).now())
    found = await reader(request).turns(asking, chosen, cursor=cursor or None)
    agents, tools = await reader(request).usual(asking, chosen)
    view = ListView(
        frame=await frame(request, "Traces", nav="traces", live=f"/live/traces?after={position}"),
        page=found,
        filters=filters,
        cursor=cursor,
        agents=tuple(row.name for row in await reader(request).agents(asking)),
        usual_agents=_bars(agents),
        usual_tools=_bars(tools),
        collector=await reader(request).collector(asking),
    )
    if asked(request, "region") == "list":
        return block(request, SHOW, "list", view)
    return page(request, SHOW, view)


def _bars(found: list[Usual]) -> tuple[UsualBar, ...]:
    longest = max((one.p95 for one in found), default=0) or 1
    return tuple(
        UsualBar(
            usual=one, half=round(WIDE * one.p50 / longest, 1),
            most=max(round(WIDE * one.p95 / longest, 1), 1.0),
        )
        for one in found
    )  # fmt: skip


def _filters(request: Request) -> Filters:
    given = {one.name: asked(request, one.name)[:100] for one in fields(Filters)}
    given["status"] = given["status"] if given["status"] in STATUSES else ""
    given["days"] = given["days"] if given["days"] in DAYS else ""
    for name in ("seconds", "cost"):
        given[name] = given[name] if _number(given[name]) is not None else ""
    return Filters(**given)


def _number(text: str) -> float | None:
    """A number that is not negative and not absurd; None when it is no such thing."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < 1e9 else None
