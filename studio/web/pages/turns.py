"""A turn's trace: where its time, money and waiting went."""

from dataclasses import dataclass, field
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import CallRow, EventRow, SessionView, TurnDisk
from studio.core.rules import conventions
from studio.core.rules.spans import Span, Trace
from studio.web import waterfall
from studio.web.render import Frame, block, frame, page
from studio.web.visit import asked, person, reader
from studio.web.waterfall import Bar, Part, Stretch

SHOW = "turns/show.html"
ROWS = 200  # bars that are drawn at once
FACTS = 400  # behind a span's first one that are looked through for its own
KINDS = ("model", "tool", "wait")


@dataclass(frozen=True, kw_only=True)
class Narrowed:
    """Which spans are shown, and which is looked at; all of it is in the URL."""

    kind: str = ""
    plugin: str = ""
    q: str = ""
    wrong: bool = False
    span: str = ""
    start: int = 0

    @property
    def any(self) -> bool:
        """Something is left out."""
        return bool(self.kind or self.plugin or self.q or self.wrong)

    def shows(self, span: Span) -> bool:
        """Whether a span is among them."""
        words = f"{span.name} {span.plugin or ''} {span.server or ''} {span.words}".lower()
        return (
            (not self.kind or span.kind == self.kind)
            and (not self.plugin or span.plugin == self.plugin)
            and (not self.wrong or span.state in ("failed", "uncertain", "denied", "expired"))
            and all(word in words for word in self.q.lower().split())
        )

    def url(self, **changes: str | int) -> str:
        """The query with some of it changed; what is empty is left out."""
        kept = {
            "kind": self.kind, "plugin": self.plugin, "q": self.q, "wrong": self.wrong and "1",
            "span": self.span, "from": self.start or "",
        }  # fmt: skip
        query = {name: value for name, value in {**kept, **changes}.items() if value}
        return f"?{urlencode(query)}"


@dataclass(frozen=True, kw_only=True)
class Looked:
    """One span looked at: its attributes, its call when it has one, the facts behind it."""

    span: Span
    attributes: dict[str, object]
    lasted: int
    offset: int
    call: CallRow | None = None
    facts: tuple[EventRow, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TurnView:
    """The page of one turn."""

    frame: Frame
    session: SessionView
    trace: Trace
    narrowed: Narrowed
    parts: tuple[Part, ...]
    axis: tuple[Stretch, ...]
    bars: tuple[Bar, ...]
    found: int
    plugins: tuple[str, ...]
    looked: Looked | None = None
    disk: TurnDisk | None = None
    kinds: tuple[str, ...] = field(default=KINDS)

    @property
    def next(self) -> int | None:
        """Where the next window of rows begins."""
        behind = self.narrowed.start + len(self.bars)
        return behind if behind < self.found else None

    @property
    def tokens(self) -> tuple[int, int]:
        """Tokens in and out of all attempts that said."""
        spans = self.trace.spans
        read, written = (s.input_tokens or 0 for s in spans), (s.output_tokens or 0 for s in spans)
        return sum(read), sum(written)

    @property
    def cost(self) -> tuple[float, bool]:
        """US dollars, and whether every attempt said what it cost."""
        models = [span for span in self.trace.spans if span.kind == "model"]
        return sum(span.cost or 0.0 for span in models), all(s.cost is not None for s in models)


async def show(request: Request) -> Response:
    """GET /sessions/{session_id}/turns/{turn}."""
    view = await _view(request)
    region = asked(request, "region")
    if region in ("trace", "rows", "span"):
        return block(request, SHOW, region, view)
    return page(request, SHOW, view)


async def _view(request: Request) -> TurnView:
    session_id, asking = request.path_params["session_id"], person(request)
    trace = await reader(request).trace(asking, session_id, request.path_params["turn"])
    session = await reader(request).session(asking, session_id)
    narrowed = _narrowed(request)
    spans = [span for span in trace.spans if narrowed.shows(span)]
    window = spans[narrowed.start : narrowed.start + ROWS]
    return TurnView(
        frame=await frame(
            request, f"Turn {trace.turn.number} of {session.row.title}", nav="sessions",
            live=f"/live/trace/{session_id}",
        ),
        session=session,
        trace=trace,
        narrowed=narrowed,
        parts=waterfall.parts(trace),
        axis=waterfall.axis(trace),
        bars=waterfall.bars(trace, window),
        found=len(spans),
        plugins=tuple(sorted({span.plugin for span in trace.spans if span.plugin})),
        looked=await _looked(request, trace, narrowed.span),
        disk=await reader(request).turn_disk(asking, session_id, trace.turn.id),
    )  # fmt: skip


async def _looked(request: Request, trace: Trace, span_id: str) -> Looked | None:
    span = next((one for one in trace.spans if one.id == span_id), None)
    if span is None:
        return None
    call, facts = None, tuple[EventRow, ...]()
    if span.effect_id is not None:
        call = await reader(request).call(person(request), span.effect_id)
        behind = await reader(request).events(
            person(request), call.session_id, after=call.seq - 1, limit=FACTS
        )
        facts = tuple(one for one in behind if one.effect_id == span.effect_id)
    return Looked(
        span=span, attributes=conventions.attributes(span, trace), lasted=span.lasted(trace.now),
        offset=span.start - trace.turn.opened, call=call, facts=facts,
    )  # fmt: skip


def _narrowed(request: Request) -> Narrowed:
    kind, start = asked(request, "kind"), asked(request, "from")
    return Narrowed(
        kind=kind if kind in KINDS else "",
        plugin=asked(request, "plugin"),
        q=asked(request, "q")[:200],
        wrong=asked(request, "wrong") == "1",
        span=asked(request, "span"),
        start=int(start) if start.isascii() and start.isdigit() and len(start) < 7 else 0,
    )
