"""A batch: the spans of turns that ended, as many as one request carries, and the place behind.

A turn with more spans than fit is parted; what was read of it is kept until its last span is out.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from studio.core.projections import collector
from studio.core.rules import conventions
from studio.core.rules import spans as shapes
from studio.core.store import collector as rows
from studio.core.store.collector import Ended, Place
from studio.core.store.db import Db
from studio.core.telemetry import messages
from studio.core.telemetry.sources import Source

log = logging.getLogger("studio.export")

MOST_SPANS = 512
MOST_BYTES = 4 * 1024 * 1024  # about, with content
WITH_CONTENT = 64  # spans whose content is read in one go
MOST_LATE = 2_000
MOST_TOLD = 10_000  # turns of which is known up to where they were told
BROKEN = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)


@dataclass
class Batch:
    """What goes out next: `spans`, or a count of `late` ones that are given up unsent.

    `oldest` (ms) ended first; `lost` turns could not be told as spans.
    """

    place: Place
    spans: list[Span] = field(default_factory=list)
    size: int = 0
    turns: int = 0
    late: int = 0
    lost: int = 0
    oldest: int | None = None
    since: float | None = None  # monotonic, when its first span came in
    closed: bool = False

    @property
    def full(self) -> bool:
        """It goes out without waiting for more."""
        return (
            self.closed or len(self.spans) >= MOST_SPANS or self.size >= MOST_BYTES
            or self.late >= MOST_LATE
        )  # fmt: skip

    def leave_out(self, ids: set[bytes]) -> None:
        """Spans that go in a newer shape."""
        gone = [span for span in self.spans if span.span_id in ids]
        if gone:
            self.spans = [span for span in self.spans if span.span_id not in ids]
            self.size -= sum(span.ByteSize() for span in gone)

    @property
    def empty(self) -> bool:
        """There is nothing to tell of."""
        return not (self.spans or self.late or self.lost)


class Filler:
    """Fills batches. `kinds` of content are opted in; `hide` takes secrets out of a text."""

    def __init__(
        self, db: Db, *, key: bytes, kinds: frozenset[str], hide: Callable[[str], str],
        now: Callable[[], int], monotonic: Callable[[], float],
    ) -> None:  # fmt: skip
        self._db, self._key, self._kinds, self._hide = db, key, kinds, hide
        self._now, self._monotonic = now, monotonic
        self._parted: shapes.Trace | None = None
        self._told: OrderedDict[str, int] = OrderedDict()

    def forget(self) -> None:
        """Another worker may have exported since: what was told here says nothing any more."""
        self._parted = None
        self._told.clear()

    async def fill(self, source: Source, batch: Batch) -> bool:
        """Add what there is until the batch is full; whether there may be more."""
        while not batch.full:
            place = batch.place
            window = await self._db.read(lambda conn, place=place: source.look(conn, place))  # type: ignore[misc]
            for turn in window.turns:
                await self._add(source, turn, batch)
                if batch.full:
                    return True
            if not window.more:
                if window.scanned.at > batch.place.at:
                    batch.place = window.scanned
                return False
            if batch.place.part == 0:
                batch.place = window.scanned
        return True

    async def _add(self, source: Source, turn: Ended, batch: Batch) -> None:
        """As much of a turn as fits."""
        is_late = source.is_late(turn.time, self._now())
        if batch.spans if is_late else batch.late:
            batch.closed = True  # what is given up is told apart, at once
            return
        if turn.of and self._knows(turn):
            _over(batch, turn)
            return
        trace = await self._trace(turn, batch.place.part)
        if trace is None:
            batch.lost += 1
            _over(batch, turn)
            return
        spans = self._spans(trace, turn)
        if is_late:
            batch.late += max(len(spans) - batch.place.part, 0)
            _over(batch, turn)
            return
        while batch.place.part < len(spans):
            begun = batch.place.part
            room = min(MOST_SPANS - len(batch.spans), WITH_CONTENT if self._kinds else MOST_SPANS)
            made = await self._made(trace, spans[begun : begun + room])
            if turn.of:  # what has not gone yet goes once, as it is now
                batch.leave_out({span.span_id for span in made})
            batch.spans += made
            batch.size += sum(span.ByteSize() for span in made)
            batch.oldest = turn.time if batch.oldest is None else min(batch.oldest, turn.time)
            batch.since = self._monotonic() if batch.since is None else batch.since
            batch.place = replace(batch.place, part=begun + len(made))
            if batch.full and batch.place.part < len(spans):
                self._parted = trace
                return
        self._parted = None
        _over(batch, turn)

    def _knows(self, turn: Ended) -> bool:
        """What came was told already, as it was there when the turn's spans were made."""
        names = (turn.turn_id, f"{turn.turn_id} {turn.of}")
        return any(self._told.get(name, 0) >= turn.came for name in names)

    def _spans(self, trace: shapes.Trace, turn: Ended) -> tuple[shapes.Span, ...]:
        """The spans that are to go: all, or those that something changed which came later."""
        if not turn.of:
            return trace.spans
        what, _, which = turn.of.partition(" ")
        if what == "effect":
            return tuple(span for span in trace.spans if span.effect_id == which)
        id = shapes.Names(self._key, turn.turn_id).span(turn.of)
        ids = {id, trace.root.id} if what == "keep" else {id}  # the turn lasts until it is kept
        return tuple(span for span in trace.spans if span.id in ids)

    async def _trace(self, turn: Ended, part: int) -> shapes.Trace | None:
        """The turn as its page shows it; None when it cannot be told."""
        if not turn.of and self._parted is not None and self._parted.turn.id == turn.turn_id:
            return self._parted
        try:
            trace, last = await self._db.read(
                lambda conn: (collector.trace(conn, turn.turn_id, key=self._key), rows.last(conn))
            )
        except BROKEN:
            log.exception("Turn %s cannot be told as spans; it is not exported.", turn.turn_id)
            return None
        if not part:  # else a part of it went as it was before
            name = f"{turn.turn_id} {turn.of}".strip()
            self._told[name] = last
            self._told.move_to_end(name)
            while len(self._told) > MOST_TOLD:
                self._told.popitem(last=False)
        return trace

    async def _made(self, trace: shapes.Trace, spans: tuple[shapes.Span, ...]) -> list[Span]:
        content: dict[str, dict[str, str]] = {}
        if self._kinds:
            content = await self._db.read(
                lambda conn: collector.content(conn, trace, spans, self._kinds, hide=self._hide)
            )

        def build() -> list[Span]:
            return [
                messages.span(conventions.told(span, trace, content.get(span.id, {})))
                for span in spans
            ]

        return await asyncio.to_thread(build)


def _over(batch: Batch, turn: Ended) -> None:
    batch.place, batch.turns = turn.place, batch.turns + 1
