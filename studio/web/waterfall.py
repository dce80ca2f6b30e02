"""A trace as rows of bars on one axis, on which long empty stretches are folded.

Positions are thousandths of the axis: an SVG attribute each, as the page's CSP allows no styles.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from studio.core.rules import trees
from studio.core.rules.shares import PEOPLE
from studio.core.rules.spans import Span, Trace

WIDE = 1000.0
THIN = 2.0  # the least a bar is drawn
FOLD_MS = 20_000  # what is shorter is never folded
FOLD_SHARE = 0.3  # of what is not idle
FOLDED = 70.0  # how wide a folded stretch is drawn
MOST_FOLDED = 8
WORD = 14.0  # per cent of the axis that a word may take


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
    """One span with its bar; `look` is how it is drawn: model, tool, person, timer, environment…

    `written` is where the first token came, None where nobody said.
    """

    span: Span
    look: str
    x: float
    w: float
    lasted: int
    written: float | None = None


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A word on the axis at a percentage of it: how far into the turn, or what is folded there."""

    at: float
    lasted: int
    is_folded: bool = False
    anchor: str = "middle"


@dataclass(frozen=True, kw_only=True)
class Part:
    """One piece of the stacked bar above: `look`, its words, ms, and where it is drawn."""

    look: str
    words: str
    lasted: int
    x: float
    w: float


_axes: "WeakKeyDictionary[Trace, tuple[Stretch, ...]]" = WeakKeyDictionary()
_idles: "WeakKeyDictionary[Trace, list[tuple[int, int]]]" = WeakKeyDictionary()


def axis(trace: Trace, of: tuple[int, int] | None = None) -> tuple[Stretch, ...]:
    """The stretches of the axis: of the whole turn, or of the time between two moments (ms).

    Where only people and timers were awaited for long, it folds.
    """
    if of is not None:
        return _axis(trace, *of)
    found = _axes.get(trace)
    if found is None:
        found = _axes[trace] = _axis(trace, *whole(trace))
    return found


def whole(trace: Trace) -> tuple[int, int]:
    """From when to when a trace lasted (ms): what others sent need not lie within its root."""
    root, turn = trace.root, trace.turn
    end = trace.now if root.end is None else max(root.end, turn.ended or root.end)
    return min(root.start, turn.opened), end


def _axis(trace: Trace, start: int, end: int) -> tuple[Stretch, ...]:
    end = max(end, start + 1)
    idle = [(max(a, start), min(b, end)) for a, b in _idle(trace) if min(b, end) > max(a, start)]
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


def bar(trace: Trace, span: Span, stretches: Sequence[Stretch]) -> Bar:
    """This span on an axis; what lies beyond its ends is cut."""
    x = place(stretches, span.start)
    w = max(place(stretches, trace.now if span.end is None else span.end) - x, THIN)
    written = None
    if span.first_token is not None:
        written = min(place(stretches, span.start + span.first_token), x + w)
    return Bar(
        span=span, look=look(span), x=min(x, WIDE - w), w=w, lasted=span.lasted(trace.now),
        written=written,
    )  # fmt: skip


def place(stretches: Sequence[Stretch], moment: int) -> float:
    """Where a moment is on the axis."""
    for one in stretches:
        if moment <= one.end:
            share = (moment - one.start) / max(one.end - one.start, 1)
            return round(one.x + one.w * min(max(share, 0.0), 1.0), 1)
    return WIDE


def moment(stretches: Sequence[Stretch], x: float) -> int:
    """Which moment is at a place of the axis, in ms: `place` the other way round."""
    for one in stretches:
        if x <= one.x + one.w:
            share = (x - one.x) / max(one.w, 0.001)
            return one.start + round((one.end - one.start) * min(max(share, 0.0), 1.0))
    return stretches[-1].end


def ticks(stretches: Sequence[Stretch], opened: int) -> tuple[Tick, ...]:
    """What is written along the axis: what is folded, its ends, its middle, where there is room.

    Times are counted from `opened` (ms, UTC), or from the axis' own beginning where that is before
    it. Of two folded stretches whose words would touch, the longer one has its word.
    """
    opened = min(opened, stretches[0].start)
    gaps = [_gap(one) for one in stretches if one.is_folded]
    middle = moment(stretches, WIDE / 2)
    found = list[Tick]()
    for one in (
        *sorted(gaps, key=lambda gap: -gap.lasted),
        Tick(at=0.0, lasted=stretches[0].start - opened, anchor="start"),
        Tick(at=100.0, lasted=stretches[-1].end - opened, anchor="end"),
        Tick(at=50.0, lasted=middle - opened),
    ):
        if all(abs(_centre(one) - _centre(other)) >= WORD for other in found):
            found.append(one)
    return tuple(sorted(found, key=lambda one: one.at))


def _gap(of: Stretch) -> Tick:
    """The word of what is folded: below its middle, or at the end of the axis where it lies."""
    at = round((of.x + of.w / 2) / 10, 1)
    anchor, at = ("start", 0.0) if at < WORD / 2 else ("middle", at)
    if at > 100 - WORD / 2:
        anchor, at = "end", 100.0
    return Tick(at=at, lasted=of.end - of.start, is_folded=True, anchor=anchor)


def _centre(word: Tick) -> float:
    return word.at + {"start": WORD / 2, "middle": 0.0, "end": -WORD / 2}[word.anchor]


def parts(trace: Trace, rest: str = "overhead") -> tuple[Part, ...]:
    """Where the time went, as one stacked bar; `rest` names what is nobody's."""
    shares, x, found = trace.shares, 0.0, []
    for name, words, lasted in (
        ("model", "model", shares.model),
        ("tool", "tools", shares.tool),
        ("environment", "environment", shares.environment),
        ("person", "people", shares.person),
        ("timer", "timers and retries", shares.timer),
        ("rest", rest, shares.overhead),
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


def _idle(trace: Trace) -> list[tuple[int, int]]:
    """The stretches in which no model wrote, no tool was out and no environment was at work.

    A span of another kind works where nothing lies below it; else it only holds what does.
    """
    kept = _idles.get(trace)
    if kept is not None:
        return kept
    start, end = whole(trace)
    work = (
        (span.start, trace.now if span.end is None else span.end)
        for at, (span, last) in enumerate(zip(trace.spans, trees.ends(trace.spans), strict=True))
        if span.kind in ("model", "tool", "environment")
        or (span.kind == "other" and last == at + 1)
    )
    found = _idles[trace] = gaps(start, end, work)
    return found
