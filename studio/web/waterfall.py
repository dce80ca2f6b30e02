"""A trace as rows of bars on one axis, on which long empty stretches are folded.

Positions are thousandths of the axis: an SVG attribute each, as the page's CSP allows no styles.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from studio.core.rules.shares import PEOPLE
from studio.core.rules.spans import Span, Trace

WIDE = 1000.0
THIN = 2.0  # the least a bar is drawn
FOLD_MS = 20_000  # what is shorter is never folded
FOLD_SHARE = 0.3  # of what is not idle
FOLDED = 70.0  # how wide a folded stretch is drawn
MOST_FOLDED = 8


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """A part of the axis: from `start` to `end` (ms), drawn from `x`, `w` wide."""

    start: int
    end: int
    x: float
    w: float
    is_folded: bool


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One span with its bar; `look` is how it is drawn: model, tool, person, timer, or agent."""

    span: Span
    look: str
    x: float
    w: float
    lasted: int


@dataclass(frozen=True, kw_only=True)
class Part:
    """One piece of the stacked bar above: `look`, its words, ms, and where it is drawn."""

    look: str
    words: str
    lasted: int
    x: float
    w: float


def axis(trace: Trace) -> tuple[Stretch, ...]:
    """The stretches of the axis. Where only people and timers were awaited for long, it folds."""
    start = trace.turn.opened
    end = max(trace.now if trace.turn.ended is None else trace.turn.ended, start + 1)
    idle = _idle(trace, start, end)
    busy = (end - start) - sum(b - a for a, b in idle)
    return fold(start, end, idle, least=max(FOLD_MS, FOLD_SHARE * max(busy, 1)))


def fold(
    start: int, end: int, idle: Iterable[tuple[int, int]], *, least: float,
    most: int = MOST_FOLDED, wide: float = FOLDED,
) -> tuple[Stretch, ...]:  # fmt: skip
    """The stretches from `start` to `end` (ms). Idle ones of `least` ms fold, the longest `most`.

    `idle` are in order and do not overlap; each that folds is drawn `wide`.
    """
    folds = [(a, b) for a, b in idle if b - a >= least]
    folds = sorted(sorted(folds, key=lambda one: one[0] - one[1])[:most])
    left = (end - start) - sum(b - a for a, b in folds)
    scale = (WIDE - wide * len(folds)) / max(left, 1)
    found, at, x = list[Stretch](), start, 0.0
    for a, b in [*folds, (end, end)]:
        if a > at:
            w = (a - at) * scale
            found.append(Stretch(start=at, end=a, x=x, w=w, is_folded=False))
            x += w
        if b > a:
            found.append(Stretch(start=a, end=b, x=x, w=wide, is_folded=True))
            x, at = x + wide, b
    return tuple(found)


def gaps(start: int, end: int, busy: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """What lies between these stretches, which may overlap."""
    found, at = list[tuple[int, int]](), start
    for a, b in sorted(busy):
        if a > at:
            found.append((at, min(a, end)))
        at = max(at, b)
        if at >= end:
            break
    return [*found, (at, end)] if at < end else found


def bars(trace: Trace, spans: Iterable[Span]) -> tuple[Bar, ...]:
    """These spans on the trace's axis."""
    stretches = axis(trace)
    found = []
    for span in spans:
        x = place(stretches, span.start)
        w = max(place(stretches, trace.now if span.end is None else span.end) - x, THIN)
        found.append(
            Bar(span=span, look=look(span), x=min(x, WIDE - w), w=w, lasted=span.lasted(trace.now))
        )
    return tuple(found)


def place(stretches: Sequence[Stretch], moment: int) -> float:
    """Where a moment is on the axis."""
    for one in stretches:
        if moment <= one.end:
            share = (moment - one.start) / max(one.end - one.start, 1)
            return round(one.x + one.w * min(max(share, 0.0), 1.0), 1)
    return WIDE


def parts(trace: Trace) -> tuple[Part, ...]:
    """Where the time went, as one stacked bar."""
    shares, x, found = trace.shares, 0.0, []
    for name, words, lasted in (
        ("model", "model", shares.model),
        ("tool", "tools", shares.tool),
        ("person", "people", shares.person),
        ("timer", "timers and retries", shares.timer),
        ("rest", "overhead", shares.overhead),
    ):
        if lasted:
            w = round(WIDE * lasted / max(shares.total, 1), 1)
            found.append(Part(look=name, words=words, lasted=lasted, x=round(x, 1), w=w))
            x += w
    return tuple(found)


def look(span: Span) -> str:
    """How a span is drawn."""
    if span.kind != "wait":
        return span.kind
    elif span.what == "queue":
        return "rest"
    return "person" if span.what in PEOPLE else "timer"


def _idle(trace: Trace, start: int, end: int) -> list[tuple[int, int]]:
    """The stretches in which no model wrote and no tool was out."""
    work = (
        (span.start, trace.now if span.end is None else span.end)
        for span in trace.spans
        if span.kind in ("model", "tool")
    )
    return gaps(start, end, work)
