"""A turn's trace: where its time, money and waiting went."""

from dataclasses import dataclass, replace
from typing import TypedDict

from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import CallRow, EventRow, SessionView, TraceWords, TurnDisk
from studio.core.rules import conventions
from studio.core.rules.spans import Span, Told, Trace
from studio.web import format as formats
from studio.web import minimap, payloads, rows, waterfall
from studio.web.narrowed import Narrowed, narrowed
from studio.web.render import Frame, block, frame, page
from studio.web.span_views import Link, Looked, Moment, SpanView, TraceView
from studio.web.visit import asked, person, reader

SHOW, SPANS = "turns/show.html", "turns/_spans.html"


@dataclass(frozen=True, kw_only=True)
class TurnView(TraceView):
    """The page of one turn of a session."""

    frame: Frame
    session: SessionView
    disk: TurnDisk | None = None


async def show(request: Request) -> Response:
    """GET /sessions/{session_id}/turns/{turn}."""
    asking, session_id = person(request), request.path_params["session_id"]
    position = await reader(request).position()
    trace = await reader(request).trace(asking, session_id, request.path_params["turn"])
    disk = await reader(request).turn_disk(asking, session_id, trace.turn.id)
    chosen, region = (
        _chosen(trace, narrowed(request), asked(request, "of")),
        asked(request, "region"),
    )
    looked = await _looked(request, trace, chosen, disk)
    if region == "span":
        here = f"/sessions/{session_id}/turns/{trace.turn.number}"
        view = SpanView(trace=trace, here=here, narrowed=chosen, looked=looked)
        return block(request, SPANS, "span", view)
    whole = await _view(request, trace, chosen, looked, disk, position=position)
    if region == "rows":
        return block(request, SPANS, "rows", whole)
    return block(request, SHOW, "trace", whole) if region == "trace" else page(request, SHOW, whole)


async def _view(
    request: Request, trace: Trace, chosen: Narrowed, looked: Looked | None,
    disk: TurnDisk | None, *, position: int,
) -> TurnView:  # fmt: skip
    asking, session_id = person(request), trace.turn.session_id
    session = await reader(request).session(asking, session_id)
    found = await _found(request, trace, chosen)
    shown = rows.shown(trace, chosen, found.effects)
    return TurnView(
        frame=await frame(
            request, f"Turn {trace.turn.number} of {session.row.title}", nav="sessions",
            live=f"/live/trace/{session_id}?after={position}",
        ),
        session=session, trace=trace, here=f"/sessions/{session_id}/turns/{trace.turn.number}",
        narrowed=chosen, shown=shown, map=minimap.drawn(trace, shown), disk=disk, looked=looked,
        parts=waterfall.parts(trace), unlooked=_unlooked(found),
    )  # fmt: skip


def _chosen(trace: Trace, asked_for: Narrowed, of: str) -> Narrowed:
    """What the URL says; `of` names the span looked at by its call or its wait."""
    if not of:
        return asked_for
    found = [span.id for span in trace.spans if of in (span.effect_id, span.wait_id)]
    return replace(asked_for, span=found[-1]) if found else asked_for


async def _found(request: Request, trace: Trace, chosen: Narrowed) -> TraceWords:
    """For each word of the search, the effects that have it in a payload."""
    looked = rows.words(chosen.q)
    if not looked:
        return TraceWords()
    return await reader(request).trace_words(
        person(request), trace.turn.session_id, trace.turn.id, looked
    )


def _unlooked(found: TraceWords) -> str:
    """What the search did not look through, and what to do about it."""
    if not found.left:
        return ""
    how_many = formats.count(
        found.left, "large argument or result was", "large arguments and results were"
    )
    return (
        f"{how_many} looked at only at the beginning and end ({formats.size(found.left_bytes)} in "
        f"all): a search looks through {formats.size(found.most)} of a turn's large ones, the "
        "newest first. Open a span to search in it."
    )


# One span --------------------------------------------------------------------------------------


async def _looked(
    request: Request, trace: Trace, chosen: Narrowed, disk: TurnDisk | None
) -> Looked | None:
    span = next((one for one in trace.spans if one.id == chosen.span), None)
    if span is None:
        return None
    found = Looked(
        span=span, attributes=conventions.attributes(span, trace), lasted=span.lasted(trace.now),
        offset=span.start - trace.turn.opened, moments=_moments(span, ()),
        links=_links(span, None, disk),
    )  # fmt: skip
    found = replace(found, **await _behind(request, span, trace.turn))
    if span.effect_id is None:
        return found
    call = await reader(request).call(person(request), span.effect_id)
    is_own = span.kind in ("model", "tool")
    return replace(
        found, call=call, links=_links(span, call, disk), moments=_moments(span, found.facts),
        payloads=await payloads.of_call(request, call, chosen.find) if is_own else (),
    )  # fmt: skip


class Behind(TypedDict):
    """The facts behind a span, and the address that leads to one of them."""

    facts: tuple[EventRow, ...]
    events_url: str


async def _behind(request: Request, span: Span, turn: Told) -> Behind:
    """Those of its call, those that its environment recorded of it, or the turn's own."""
    asking, reads = person(request), reader(request)
    if span.kind == "environment":
        place = str(span.environment_id)
        some = [
            await reads.environment_events_before(asking, place, before=seq + 1, limit=1)
            for seq in span.facts
        ]
        found = tuple(fact for one in some for fact in one)
        return Behind(facts=found, events_url=f"/environments/{place}?tab=events&before=")
    elif span.effect_id is not None:
        of = await reads.call_facts(asking, turn.session_id, span.effect_id)
    else:
        of = await reads.turn_facts(asking, turn.session_id, turn.id)
    url = f"/sessions/{turn.session_id}?panel=events&events_before="
    return Behind(facts=tuple(of), events_url=url)


def _links(span: Span, call: CallRow | None, disk: TurnDisk | None) -> tuple[Link, ...]:
    """Where the span leads to, besides its artifacts."""
    found = list[Link]()
    if call is not None and call.kind != "model":
        found.append(Link(words="Open the call", url=f"/calls/{call.id}"))
    if span.wait_id:
        found.append(Link(words="Open the card", url=f"/approvals/{span.wait_id}"))
    if span.environment_id is not None:
        url = f"/environments/{span.environment_id}"
        tab = {"connect": "?tab=network", "setup": "?tab=setup", "command": "?tab=setup"}
        found.append(Link(words="Open the environment", url=url + tab.get(span.what, "")))
        if span.what == "keep" and span.disk_version is not None:
            found.append(Link(words="The version", url=f"{url}/disk/{span.disk_version}"))
        if disk is not None and disk.before and (span.what == "keep" or span.kind == "agent"):
            ends = f"before={disk.before}&after={disk.version}"
            found.append(Link(words="What changed on the disk", url=f"{url}/disk/diff?{ends}"))
    return tuple(found)


_TOLD = {
    "decision.recorded": "decided", "call.started": "sent", "wait.opened": "wait opened",
    "model.requested": "asked", "model.failed": "failed", "call.settled": "settled",
    "call.late": "an outcome came late",
}  # fmt: skip


def _moments(span: Span, facts: "tuple[EventRow, ...] | list[EventRow]") -> tuple[Moment, ...]:
    """What happened in the span: its first token, sends, retries and decisions."""
    found = list[Moment]()
    if span.first_token is not None:
        found.append(Moment(words="first token", offset=span.first_token))
    for fact in facts:
        offset = fact.time - span.start
        is_within = offset >= 0 and (span.end is None or fact.time <= span.end)
        words = _TOLD.get(fact.type)
        if words is None or not is_within:
            continue
        if span.wait_id is not None and fact.payload.get("wait_id") not in (None, span.wait_id):
            continue
        who = ""
        if fact.type in ("decision.recorded", "call.settled"):
            words, who = str(fact.payload.get("choice", words)), str(fact.payload.get("by", ""))
        elif fact.type == "call.started":
            words = f"send {fact.payload.get('send', 1)}, under the same key"
            if fact.payload.get("send", 1) == 1:
                continue
        found.append(Moment(words=words, offset=offset, who=who))
    return tuple(sorted(found, key=lambda one: one.offset))
