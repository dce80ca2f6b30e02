"""Traces: turns over all sessions, and what their agents and tools usually take."""

from dataclasses import dataclass, fields
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from studio.core.projections import turn_list
from studio.core.projections.turn_list import day
from studio.core.reader import AskedTurns, CollectorState, Page, TurnLine, Usual
from studio.web import filtering, views
from studio.web.filtering import Fault, Wrong
from studio.web.render import Frame, block, frame, page
from studio.web.views import BarPart, ViewsBar
from studio.web.visit import asked, person, reader

SHOW = "traces/index.html"
STATUSES = turn_list.STATUSES
DAYS = ("1", "7", "30")
CHECKS: dict[str, filtering.Read] = {
    "agent": filtering.plain, "status": filtering.one_of("state", STATUSES),
    "tool": filtering.plain, "plugin": filtering.plain, "error": filtering.plain,
    "seconds": filtering.amount("seconds"), "under": filtering.amount("seconds"),
    "cost": filtering.amount("dollars"), "days": filtering.amount("days"),
    "since": filtering.date, "until": filtering.date,
}  # fmt: skip
WIDE = 100  # of the little bars of percentiles


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What the list is narrowed to, as it stands in the URL.

    `seconds` and `cost` are the least, `under` the most seconds; `since` and `until` are days (UTC,
    such as 2026-11-30), both counted in.
    """

    agent: str = ""
    status: str = ""
    tool: str = ""
    plugin: str = ""
    error: str = ""
    seconds: str = ""
    under: str = ""
    cost: str = ""
    days: str = ""
    since: str = ""
    until: str = ""

    @property
    def any(self) -> bool:
        """Something is asked for."""
        return any(getattr(self, one.name) for one in fields(self))

    @property
    def more(self) -> bool:
        """Something is asked for that stands among the further filters."""
        return any((self.error, self.seconds, self.under, self.cost, self.since, self.until))

    @property
    def query(self) -> str:
        """The same as it stands in the URL; empty ones are left out."""
        return self.url().partition("?")[2]

    def url(self, **changes: str) -> str:
        """The list's URL with some filters changed; empty ones are left out."""
        now = {one.name: getattr(self, one.name) for one in fields(self)} | changes
        kept = {name: value for name, value in now.items() if value}
        return "/traces" + (f"?{urlencode(kept)}" if kept else "")

    def asked(self, now: int) -> AskedTurns:
        """The same as the reader takes it; what is no number filters nothing."""
        return turn_list.of_texts(vars(self), now)


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
    saved: ViewsBar
    wrong: Wrong
    statuses: tuple[str, ...] = STATUSES
    days: tuple[str, ...] = DAYS


async def index(request: Request) -> Response:
    """GET /traces."""
    asking, (filters, wrong) = person(request), filters_of(request)
    saved = await views.bar(request, "traces", filters.query)
    if asked(request, "region") == "views":
        return block(request, SHOW, "views", BarPart(saved=saved))
    position = await reader(request).position()
    chosen = filters.asked(reader(request).now())
    found, cursor, off = await filtering.listed(
        lambda cursor: reader(request).turns(asking, chosen, cursor=cursor),
        asked(request, "cursor"),
    )
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
        saved=saved,
        wrong=wrong | off,
    )
    if asked(request, "region") == "list":
        return block(request, SHOW, "list", view)
    return page(request, SHOW, view, status=422 if off else 200)


def _bars(found: list[Usual]) -> tuple[UsualBar, ...]:
    longest = max((one.p95 for one in found), default=0) or 1
    return tuple(
        UsualBar(
            usual=one, half=round(WIDE * one.p50 / longest, 1),
            most=max(round(WIDE * one.p95 / longest, 1), 1.0),
        )
        for one in found
    )  # fmt: skip


def filters_of(request: Request) -> tuple[Filters, dict[str, Fault]]:
    """What the URL narrows the list to, and what of it is not understood."""
    kept, wrong = filtering.read(request, CHECKS)
    first, last = day(kept["since"]), day(kept["until"])
    if first is not None and last is not None and last < first:
        words = f"“{kept['until']}” is before “{kept['since']}”. {filtering.WITHOUT}"
        wrong["until"] = Fault(typed=kept["until"], message=words)
        kept["until"] = ""
    return Filters(**kept), wrong
