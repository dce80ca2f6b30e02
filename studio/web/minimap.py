"""The map of a trace: the whole turn, small, with links to the rows of each part of its time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from weakref import WeakKeyDictionary

from studio.core.rules.spans import Trace
from studio.web import rows, waterfall
from studio.web.narrowed import ROWS
from studio.web.rows import Shown
from studio.web.waterfall import Stretch

BUCKETS = 160
LEADS = 16  # links that the map is cut into


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """A part of the turn's time on the map: shares of its height by look, the wrong one on top."""

    x: float
    w: float
    parts: tuple[tuple[str, float, float], ...]  # look, y, height
    is_wrong: bool = False


@dataclass(frozen=True, kw_only=True)
class Lead:
    """A link of the map: the window of rows that begins at that time, `offset` ms into the turn."""

    x: float
    w: float
    start: int
    offset: int


@dataclass(frozen=True, kw_only=True)
class Map:
    """The whole turn, small. `begin` and `width` are where the window's rows lie on it."""

    buckets: tuple[Bucket, ...]
    shapes: tuple[tuple[str, str], ...]  # look, the path of all parts that have it
    leads: tuple[Lead, ...]
    begin: float
    width: float


_maps: "WeakKeyDictionary[Trace, tuple[tuple[Bucket, ...], tuple[tuple[str, str], ...]]]"
_maps = WeakKeyDictionary()


def drawn(trace: Trace, shown: Shown) -> Map | None:
    """The map, where there are more rows than one window has."""
    if shown.total <= ROWS:
        return None
    axis = waterfall.axis(trace)
    known = _maps.get(trace)
    if known is None:
        made = _buckets(trace, axis)
        known = _maps[trace] = (made, _shapes(made))
    buckets, shapes = known
    begin, last = (waterfall.place(axis, moment) for moment in shown.time)
    return Map(
        buckets=buckets, shapes=shapes, leads=_leads(axis, shown, trace.turn.opened), begin=begin,
        width=round(max(last - begin, 4.0), 1),
    )  # fmt: skip


def _buckets(trace: Trace, axis: Sequence[Stretch]) -> tuple[Bucket, ...]:
    """What ran in each part of the axis, as shares of the busiest.

    A span that only holds others stands for none; of one that is work, what lies below is part.
    """
    wide = waterfall.WIDE / BUCKETS
    counts: list[dict[str, int]] = [{} for _ in range(BUCKETS)]
    wrong = set[int]()
    until, ends = 1, rows.shape(trace).ends
    for at, span in enumerate(trace.spans):
        is_frame = span.kind in ("agent", "other") and ends[at] > at + 1
        if at < until or is_frame:
            continue
        until = ends[at]
        first = int(waterfall.place(axis, span.start) / wide)
        last = int(waterfall.place(axis, trace.now if span.end is None else span.end) / wide)
        look = waterfall.look(span)
        for bucket in counts[min(first, BUCKETS - 1) : min(last, BUCKETS - 1) + 1]:
            bucket[look] = bucket.get(look, 0) + 1
        if span.state in ("failed", "uncertain"):
            wrong.add(min(first, BUCKETS - 1))
    most = max((sum(one.values()) for one in counts), default=1) or 1
    return tuple(
        Bucket(x=round(at * wide, 1), w=round(wide, 1), parts=_parts(one, most),
               is_wrong=at in wrong)
        for at, one in enumerate(counts)
    )  # fmt: skip


def _parts(counts: Mapping[str, int], most: int) -> tuple[tuple[str, float, float], ...]:
    y, found = 40.0, list[tuple[str, float, float]]()
    for look in ("model", "tool", "environment", "person", "timer", "agent", "other", "rest"):
        if counts.get(look):
            height = max(36.0 * counts[look] / most, 1.5)
            y -= height
            found.append((look, round(max(y, 0.0), 1), round(height, 1)))
    return tuple(found)


def _shapes(buckets: Sequence[Bucket]) -> tuple[tuple[str, str], ...]:
    """One path a look in place of hundreds of rectangles, which a browser lays out one by one."""
    found: dict[str, list[str]] = {}
    for one in buckets:
        for look, y, height in one.parts:
            found.setdefault(look, []).append(f"M{one.x:g} {y:g}h{one.w:g}v{height:g}h-{one.w:g}z")
    return tuple((look, "".join(parts)) for look, parts in found.items())


def _leads(axis: Sequence[Stretch], shown: Shown, opened: int) -> tuple[Lead, ...]:
    """Links to windows: each to the first row that begins in its part of the time."""
    wide, found, at = waterfall.WIDE / LEADS, list[Lead](), 0
    moments = [waterfall.moment(axis, wide * number) for number in range(LEADS + 1)]
    for number, (begin, _end) in enumerate(pairwise(moments)):
        while at < len(shown.starts) - 1 and shown.starts[at] < begin:
            at += 1
        found.append(
            Lead(x=round(wide * number, 1), w=wide, start=at if number else 0,
                 offset=begin - opened)
        )  # fmt: skip
    return tuple(found)
