"""Traces from outside: a list of them, and one as a read-only turn."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from studio.core.projections.outside import LOOKED
from studio.core.reader import (
    AskedOutside,
    OutsideRow,
    OutsideSpan,
    OutsideTrace,
    Page,
    RefusalRow,
)
from studio.core.rules.errors import Gone, NotFound
from studio.core.rules.outside.arranging import MADE
from studio.core.rules.outside.claims import Limits, is_trace_id
from studio.core.rules.spans import Span
from studio.web import errors, filtering, minimap, payloads, rows, waterfall
from studio.web.filtering import Fault, Wrong
from studio.web.format import count, excerpt, plain, size
from studio.web.narrowed import Narrowed, narrowed
from studio.web.payloads import Payload
from studio.web.render import Frame, block, frame, page
from studio.web.span_views import Link, Looked, Moment, SpanView, TraceView
from studio.web.visit import asked, onward, person, reader, runtime

INDEX, SHOW, SPANS = "outside/index.html", "outside/show.html", "turns/_spans.html"
STATES = ("completed", "failed", "incomplete")
KINDS = ("agent", "model", "tool", "other")
DAY = 86_400_000
DAYS = ("1", "7", "30")
CHECKS: dict[str, filtering.Read] = {
    "service": filtering.plain, "agent": filtering.plain,
    "state": filtering.one_of("state", STATES), "days": filtering.one_of("number of days", DAYS),
}  # fmt: skip
SHOWN = 2_000  # characters of one attribute on the page
SCOPES = 5  # that are named above
BOUND = "Attributes and events are looked through too, up to 64 MB of them."
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
    wrong: Wrong
    limits: Limits
    looked: int = LOOKED
    states: tuple[str, ...] = STATES
    days: tuple[str, ...] = DAYS


@dataclass(frozen=True, kw_only=True)
class OutsideView(TraceView):
    """The page of one trace from outside."""

    frame: Frame
    it: OutsideTrace
    is_here: bool = True
    is_part: bool = False  # of a page that is open: what stands around it is told as well

    @property
    def scopes(self) -> list[tuple[str, int]]:
        """Those that made most of its spans."""
        return Counter(self.it.scopes).most_common(SCOPES)


@dataclass(frozen=True, kw_only=True)
class MissingView:
    """The page of a trace that is not here: `by` whom and when (ms) it was forgotten, if it was."""

    frame: Frame
    here: str
    narrowed: Narrowed
    by: str
    at: int | None
    is_here: bool = False
    is_part: bool = False


async def index(request: Request) -> Response:
    """GET /traces/outside."""
    asking, (filters, wrong) = person(request), _filters(request)
    moves = await reader(request).outside_moves()
    days = int(filters.days) if filters.days else None
    wanted = AskedOutside(
        service=filters.service, agent=filters.agent, state=filters.state, days=days,
        since=reader(request).now() - days * DAY if days else None,
    )  # fmt: skip
    found, cursor, off = await filtering.listed(
        lambda cursor: reader(request).outside_traces(asking, wanted, cursor=cursor),
        asked(request, "cursor"),
    )
    services, agents = await reader(request).outside_names(asking)
    live = f"/live/outside?after={moves}"
    view = ListView(
        frame=await frame(request, "Traces from outside", nav="traces", live=live), page=found,
        filters=filters, cursor=cursor, services=services, agents=agents,
        refusals=await reader(request).outside_refusals(asking), wrong=wrong | off,
        limits=runtime(request).outside,
    )  # fmt: skip
    if asked(request, "region") == "list":
        return block(request, INDEX, "list", view)
    return page(request, INDEX, view, status=422 if off else 200)


async def show(request: Request) -> Response:
    """GET /traces/{trace_id}."""
    trace_id, chosen = request.path_params["trace_id"], narrowed(request)
    moves, region = await reader(request).outside_moves(), asked(request, "region")
    live = f"/live/outside/{trace_id}?after={moves}"
    try:
        it = await reader(request).outside_trace(person(request), trace_id)
    except (Gone, NotFound) as error:
        if region in ("span", "rows") or not is_trace_id(trace_id):
            raise
        return await _nothing(request, error, chosen, live)
    looked = await _looked(request, it, chosen)
    if region == "span":
        view = SpanView(trace=it.trace, here=_here(it), narrowed=chosen, looked=looked,
                        noun="trace", says_kinds=True)  # fmt: skip
        return block(request, SPANS, "span", view)
    whole = await _view(request, it, chosen, looked, live)
    if region == "rows":
        return block(request, SPANS, "rows", whole)
    return block(request, SHOW, "trace", whole) if region == "trace" else page(request, SHOW, whole)


async def forget(request: Request) -> Response:
    """POST /traces/{trace_id}/removal."""
    await runtime(request).forget_outside_trace(
        person(request), request.path_params["trace_id"]
    )  # fmt: skip
    return onward(request, "/traces/outside")


async def _nothing(
    request: Request, error: Gone | NotFound, chosen: Narrowed, live: str
) -> Response:
    """The page stays open and true: it says what became of the trace, and shows what may come."""
    is_gone, is_part = isinstance(error, Gone), asked(request, "region") == "trace"
    title = "Forgotten trace" if is_gone else "No such trace"
    view = MissingView(
        frame=await frame(request, title, nav="traces", live=live),
        here=f"/traces/{request.path_params['trace_id']}", narrowed=chosen,
        by=error.details.get("by", ""), at=error.details.get("at"), is_part=is_part,
    )  # fmt: skip
    if is_part:  # a look of an open page, which is answered like any other
        return block(request, SHOW, "trace", view)
    return page(request, SHOW, view, status=errors.status(error))


async def _view(
    request: Request, it: OutsideTrace, chosen: Narrowed, looked: Looked | None, live: str
) -> OutsideView:
    words = rows.words(chosen.q)
    asking, found = person(request), list[frozenset[str]]()
    if words:
        found = await reader(request).outside_words(asking, it.row.id, words)
    shown = rows.shown(it.trace, chosen, found)
    return OutsideView(
        frame=await frame(
            request, plain(it.row.agent or it.row.name), nav="traces", live=live
        ), it=it, is_part=asked(request, "region") == "trace",
        trace=it.trace, here=_here(it), narrowed=chosen, looked=looked, shown=shown,
        parts=waterfall.parts(it.trace, "everything else"), map=minimap.drawn(it.trace, shown),
        noun="trace", says_kinds=True, kinds=KINDS, looks=KINDS, bound=BOUND,
    )  # fmt: skip


def _here(it: OutsideTrace) -> str:
    return f"/traces/{it.row.id}"


# One span --------------------------------------------------------------------------------------


async def _looked(request: Request, it: OutsideTrace, chosen: Narrowed) -> Looked | None:
    span = next((one for one in it.trace.spans if one.id == chosen.span), None)
    if span is None:
        return None
    found = Looked(
        span=span, attributes={}, lasted=span.lasted(it.trace.now),
        offset=span.start - it.trace.turn.opened,
    )  # fmt: skip
    if span.id == MADE:
        return found
    full = await reader(request).outside_span(person(request), it.row.id, span.id)
    return replace(
        found, attributes=_texts(full.attributes), resource=_texts(full.resource),
        told=_told(span, full), missing=_missing(full), links=_links(full),
        moments=_moments(full),
        payloads=tuple(_payloads(full, chosen.find)),
    )  # fmt: skip


def _told(span: Span, full: OutsideSpan) -> tuple[tuple[str, str], ...]:
    by = f"by {full.convention}" if full.convention else "no known convention names it"
    found = [("Kind", f"{span.kind}, {by}")]
    if span.kind in ("model", "tool") and span.what != span.name:
        found.append((span.kind.capitalize(), plain(span.what)))
    if span.server:
        found.append(("Provider", plain(span.server)))
    return (
        *found,
        ("Service", plain(full.service) or "unnamed"),
        ("Scope", plain(full.scope) or "unnamed"),
        ("Sent by", f"{full.sent_by}, claimed"),
    )


def _payloads(full: OutsideSpan, find: str) -> Iterator[Payload]:
    """What went in and what came out, as far as it was kept."""
    for title, names in (("What went in", GIVEN), ("What came out", CAME)):
        name = next((name for name in names if name in full.attributes), None)
        if name is not None:
            text, cut = _text(full.attributes[name]), full.cut.get(name)
            size = len(text.encode("utf-8", "surrogatepass"))
            yield Payload(
                title=title, media=name, size=int(cut["size"]) if cut else size,
                hash=str(cut["sha256"]) if cut else "", text=text, is_cut=bool(cut), url="",
                search=payloads.search(text, find) if find else None,
            )  # fmt: skip


def _missing(full: OutsideSpan) -> tuple[str, ...]:
    """What of the span is not here, in sentences."""
    found = [
        f"{plain(name)} had {size(int(one['size']))} and was cut; SHA-256 {one['sha256']}."
        for name, one in full.cut.items()
    ]
    if full.dropped:
        found.append(f"{count(full.dropped, 'value')} more were left out, here or by the sender.")
    return tuple(found)


def _links(full: OutsideSpan) -> tuple[Link, ...]:
    """The spans that this one names beside its parent; they may not have come."""
    return tuple(
        Link(
            words=f"Linked span {one['span_id']}",
            url=f"/traces/{one['trace_id']}?span={one['span_id']}",
        )
        for one in full.links
    )


def _moments(full: OutsideSpan) -> tuple[Moment, ...]:
    return tuple(
        Moment(
            words=plain(one["name"]), offset=max((int(one["time"]) - full.began) // 1_000_000, 0),
            attributes=_texts(one["attributes"]),
        )
        for one in full.events
    )  # fmt: skip


def _texts(values: Mapping[str, Any]) -> Mapping[str, str]:
    return {plain(name): excerpt(_text(value), SHOWN) for name, value in values.items()}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _filters(request: Request) -> tuple[Filters, dict[str, Fault]]:
    kept, wrong = filtering.read(request, CHECKS)
    return Filters(**kept), wrong
