"""A session's turns as bars on one axis: what they waited for inside, what lies between folded."""

from collections.abc import Sequence
from dataclasses import dataclass

from studio.core.projections.overviews import Overview, OverviewTurn, Waited
from studio.core.reader import TurnRow
from studio.core.rules.shares import PEOPLE
from studio.web import waterfall
from studio.web.waterfall import FOLD_MS, FOLD_SHARE, THIN, WIDE, Part, Stretch

FOLDS = 0.4  # of the axis: what folded stretches may take together
WIDEST = 60.0


@dataclass(frozen=True, kw_only=True)
class Bit:
    """A piece of a bar: `look` is that of work (tool), of people (person) or of timers (timer)."""

    look: str
    x: float
    w: float


@dataclass(frozen=True, kw_only=True)
class Row:
    """A turn's bar in its pieces. Times are ms: how long it took, waited for people, for timers.

    `gap` is how long nothing had been in hand before it, 0 where that is not worth a word.
    """

    turn: TurnRow
    bits: tuple[Bit, ...]
    lasted: int
    people: int
    timers: int
    gap: int


def axis(of: Overview) -> tuple[Stretch, ...]:
    """The axis of these turns. Where nothing was in hand for long, or only awaited, it folds."""
    if not of.turns:
        return ()
    start = of.turns[0].turn.opened
    end = max(start + 1, *(_end(one, of.now) for one in of.turns))
    busy = [stretch for one in of.turns for stretch in _working(one, of.now)]
    idle = waterfall.gaps(start, end, busy)
    worked = (end - start) - sum(b - a for a, b in idle)
    least = max(FOLD_MS, FOLD_SHARE * worked / len(of.turns))
    count = sum(b - a >= least for a, b in idle)
    wide = min(WIDEST, FOLDS * WIDE / max(count, 1))
    return waterfall.fold(start, end, idle, least=least, most=count, wide=wide)


def rows(of: Overview, stretches: Sequence[Stretch]) -> tuple[Row, ...]:
    """These turns on that axis, the oldest first."""
    found, before = list[Row](), None
    for one in of.turns:
        end = _end(one, of.now)
        gap = one.turn.opened - before if before is not None else 0
        people, timers = _waited(one, of.now)
        found.append(
            Row(
                turn=one.turn, bits=_bits(one, of.now, stretches), lasted=end - one.turn.opened,
                people=people, timers=timers, gap=gap if gap >= FOLD_MS else 0,
            )
        )  # fmt: skip
        before = end if before is None else max(before, end)
    return tuple(found)


def parts(of: Sequence[Row]) -> tuple[Part, ...]:
    """Where the time of these turns went, with what lay between them, as one stacked bar."""
    people, timers = sum(row.people for row in of), sum(row.timers for row in of)
    work = sum(row.lasted for row in of) - people - timers
    told = (
        ("tool", "at work", work), ("person", "waiting for people", people),
        ("timer", "timers and retries", timers),
        ("rest", "between turns", sum(row.gap for row in of)),
    )  # fmt: skip
    total, x, found = sum(lasted for _, _, lasted in told), 0.0, []
    for look, words, lasted in told:
        if lasted > 0:
            w = round(WIDE * lasted / max(total, 1), 1)
            found.append(Part(look=look, words=words, lasted=lasted, x=round(x, 1), w=w))
            x += w
    return tuple(found)


def _bits(one: OverviewTurn, now: int, stretches: Sequence[Stretch]) -> tuple[Bit, ...]:
    pieces = [("tool", one.turn.opened, _end(one, now))]
    pieces += [(_look(wait), *_within(wait, one, now)) for wait in one.waits]
    found = []
    for look, a, b in pieces:
        x = waterfall.place(stretches, a)
        w = max(waterfall.place(stretches, b) - x, THIN)
        found.append(Bit(look=look, x=round(min(x, WIDE - w), 1), w=round(w, 1)))
    return tuple(found)


def _working(one: OverviewTurn, now: int) -> list[tuple[int, int]]:
    """Where it was in hand and nobody was awaited; its two ends are never idle."""
    end = _end(one, now)
    waited = [_within(wait, one, now) for wait in one.waits]
    found = waterfall.gaps(one.turn.opened, end, waited)
    return [*found, *_called(one, now), (one.turn.opened, one.turn.opened), (end, end)]


def _called(one: OverviewTurn, now: int) -> list[tuple[int, int]]:
    """Where a call was out beside a wait."""
    start, end = one.turn.opened, _end(one, now)
    return [(max(a, start), min(end if b is None else b, end)) for a, b in one.calls]


def _waited(one: OverviewTurn, now: int) -> tuple[int, int]:
    """How long people were awaited, and how long timers alone, while no call was out."""
    people = [_within(wait, one, now) for wait in one.waits if wait.kind in PEOPLE]
    every = [_within(wait, one, now) for wait in one.waits]
    start, end, out = one.turn.opened, _end(one, now), _called(one, now)
    worked = _covered(start, end, out)
    with_people = _covered(start, end, [*out, *people])
    return with_people - worked, _covered(start, end, [*out, *every]) - with_people


def _covered(start: int, end: int, stretches: Sequence[tuple[int, int]]) -> int:
    left = sum(b - a for a, b in waterfall.gaps(start, end, stretches))
    return (end - start) - left


def _within(wait: Waited, one: OverviewTurn, now: int) -> tuple[int, int]:
    """The wait as far as it lies in its turn: what is uncertain can be settled later."""
    start, end = one.turn.opened, _end(one, now)
    closed = end if wait.closed is None else wait.closed
    a = min(max(wait.opened, start), end)
    return a, min(max(closed, a), end)


def _look(wait: Waited) -> str:
    return "person" if wait.kind in PEOPLE else "timer"


def _end(one: OverviewTurn, now: int) -> int:
    return max(now if one.turn.ended is None else one.turn.ended, one.turn.opened)
