"""Traces from outside: a list of them, and one as a read-only turn."""

import json
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import (
    AskedOutside,
    OutsideRow,
    OutsideSpan,
    OutsideTrace,
    Page,
    RefusalRow,
)
from studio.core.rules.spans import Span
from studio.web import waterfall
from studio.web.format import plain
from studio.web.render import Frame, block, frame, page
from studio.web.visit import asked, person, reader
from studio.web.waterfall import Bar, Part, Stretch

INDEX, SHOW = "outside/index.html", "outside/show.html"
ROWS = 200  # bars that are drawn at once
STATES = ("completed", "failed", "incomplete")
KINDS = ("agent", "model", "tool", "other")
DAY = 86_400_000
DAYS = ("1", "7", "30")
SHOWN = 50_000  # characters of one value on the page
GIVEN = (
    "gen_ai.tool.call.arguments", "input.value", "gen_ai.input.messages", "gen_ai.prompt",
)  # fmt: skip
CAME = (
    "gen_ai.tool.call.result", "output.value", "gen_ai.output.messages", "gen_ai.completion",
    "final_result",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What the list is narrowed to, as it stands in the URL."""

    service: str = ""
    agent: str = ""
    state: str = ""
    days: str = ""

    @property
    def any(self) -> bool:
        """Something is asked for."""
        return any(getattr(self, one.name) for one in fields(self))

    def url(self, **changes: str) -> str:
        """The list's URL with some filters changed; empty ones are left out."""
        now = {one.name: getattr(self, one.name) for one in fields(self)} | changes
        kept = {name: value for name, value in now.items() if value}
        return "/traces/outside" + (f"?{urlencode(kept)}" if kept else "")


@dataclass(frozen=True, kw_only=True)
class ListView:
    """The page of the list."""

    frame: Frame
    page: Page[OutsideRow]
    filters: Filters
    cursor: str
    services: tuple[str, ...]
    agents: tuple[str, ...]
    refusals: list[RefusalRow]
    states: tuple[str, ...] = STATES
    days: tuple[str, ...] = DAYS


@dataclass(frozen=True, kw_only=True)
class Narrowed:
    """Which spans are shown, and which is looked at; all of it is in the URL."""

    kind: str = ""
    q: str = ""
    wrong: bool = False
    span: str = ""
    start: int = 0

    @property
    def any(self) -> bool:
        """Something is left out."""
        return bool(self.kind or self.q or self.wrong)

    def shows(self, span: Span) -> bool:
        """Whether a span is among them."""
        words = f"{span.name} {span.what} {span.server or ''} {span.words}".lower()
        return (
            (not self.kind or span.kind == self.kind)
            and (not self.wrong or span.state == "failed")
            and all(word in words for word in self.q.lower().split())
        )

    def url(self, **changes: str | int) -> str:
        """The query with some of it changed; what is empty is left out."""
        kept = {
            "kind": self.kind, "q": self.q, "wrong": self.wrong and "1", "span": self.span,
            "from": self.start or "",
        }  # fmt: skip
        query = {name: value for name, value in {**kept, **changes}.items() if value}
        return f"?{urlencode(query)}"


@dataclass(frozen=True, kw_only=True)
class Looked:
    """One span looked at; `full` is None for a root that was made here. `given` and `came` are
    (attribute, text) of what went in and what came out."""

    span: Span
    lasted: int
    offset: int
    full: OutsideSpan | None = None
    given: tuple[str, str] | None = None
    came: tuple[str, str] | None = None
    attributes: tuple[tuple[str, str], ...] = ()
    resource: tuple[tuple[str, str], ...] = ()
    events: tuple[tuple[str, int, tuple[tuple[str, str], ...]], ...] = ()


@dataclass(frozen=True, kw_only=True)
class TraceView:
    """The page of one trace from outside."""

    frame: Frame
    it: OutsideTrace
    narrowed: Narrowed
    parts: tuple[Part, ...]
    axis: tuple[Stretch, ...]
    bars: tuple[Bar, ...]
    found: int
    looked: Looked | None = None
    kinds: tuple[str, ...] = KINDS

    @property
    def next(self) -> int | None:
        """Where the next window of rows begins."""
        behind = self.narrowed.start + len(self.bars)
        return behind if behind < self.found else None


async def index(request: Request) -> Response:
    """GET /traces/outside."""
    asking, filters, cursor = person(request), _filters(request), asked(request, "cursor")
    since = reader(request).now() - int(filters.days) * DAY if filters.days else None
    wanted = AskedOutside(
        service=filters.service, agent=filters.agent, state=filters.state, since=since
    )
    found = await reader(request).outside_traces(asking, wanted, cursor=cursor or None)
    services, agents = await reader(request).outside_names(asking)
    view = ListView(
        frame=await frame(request, "Traces from outside", nav="traces"), page=found,
        filters=filters, cursor=cursor, services=services, agents=agents,
        refusals=await reader(request).outside_refusals(asking),
    )  # fmt: skip
    return page(request, INDEX, view)


async def show(request: Request) -> Response:
    """GET /traces/{trace_id}."""
    it = await reader(request).outside_trace(person(request), request.path_params["trace_id"])
    narrowed = _narrowed(request)
    spans = [span for span in it.trace.spans if narrowed.shows(span)]
    window = spans[narrowed.start : narrowed.start + ROWS]
    view = TraceView(
        frame=await frame(request, plain(it.row.agent or it.row.name), nav="traces"), it=it,
        narrowed=narrowed, parts=waterfall.parts(it.trace), axis=waterfall.axis(it.trace),
        bars=waterfall.bars(it.trace, window), found=len(spans),
        looked=await _looked(request, it, narrowed.span),
    )  # fmt: skip
    region = asked(request, "region")
    if region in ("trace", "rows"):
        return block(request, SHOW, region, view)
    return page(request, SHOW, view)


async def _looked(request: Request, it: OutsideTrace, span_id: str) -> Looked | None:
    span = next((one for one in it.trace.spans if one.id == span_id), None)
    if span is None:
        return None
    lasted, offset = span.lasted(it.trace.now), span.start - it.trace.turn.opened
    if span.id == it.trace.root.id and span.what == "root":
        return Looked(span=span, lasted=lasted, offset=offset)
    full = await reader(request).outside_span(person(request), it.row.id, span.id)
    said = full.attributes
    return Looked(
        span=span, lasted=lasted, offset=offset, full=full, given=_first(said, GIVEN),
        came=_first(said, CAME),
        attributes=_texts(said), resource=_texts(full.resource),
        events=tuple(
            (event["name"], int(event["time"]) // 1_000_000, _texts(event["attributes"]))
            for event in full.events
        ),
    )  # fmt: skip


def _first(said: dict[str, Any], names: tuple[str, ...]) -> tuple[str, str] | None:
    name = next((name for name in names if name in said), None)
    return None if name is None else (name, _text(said[name]))


def _texts(values: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((name, _text(value)) for name, value in values.items())


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text[:SHOWN]


def _filters(request: Request) -> Filters:
    given = {one.name: asked(request, one.name)[:200] for one in fields(Filters)}
    given["state"] = given["state"] if given["state"] in STATES else ""
    given["days"] = given["days"] if given["days"] in DAYS else ""
    return Filters(**given)


def _narrowed(request: Request) -> Narrowed:
    kind, start = asked(request, "kind"), asked(request, "from")
    return Narrowed(
        kind=kind if kind in KINDS else "",
        q=asked(request, "q")[:200],
        wrong=asked(request, "wrong") == "1",
        span=asked(request, "span"),
        start=int(start) if start.isascii() and start.isdigit() and len(start) < 7 else 0,
    )
