"""The rows of a trace: what filters, folds and a zoom leave, the window of them, and the hits.

A step is folded at its first row, a subtree at its top. Nothing here asks anybody.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from studio.core.rules import trees
from studio.core.rules.outside import arranging
from studio.core.rules.spans import Span, Trace
from studio.web import waterfall
from studio.web.narrowed import ROWS, Narrowed
from studio.web.waterfall import Bar, Stretch, Tick

WORDS = 4  # of a search that are looked for


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row: its bar, and how it folds.

    `fold` is the key that folds it, "" where there is nothing below; `hidden` counts what is
    folded; `is_inner` says that it is behind the first row of its step; `reach` is how wide
    a folded step is; `hit` is its number among
    the hits, 0 for none.
    """

    bar: Bar
    fold: str = ""
    is_folded: bool = False
    hidden: int = 0
    is_step: bool = False
    is_inner: bool = False
    reach: float = 0.0
    hit: int = 0


@dataclass(frozen=True, kw_only=True)
class Hits:
    """What a search found: how many rows, the place of the one looked at (from 1), its neighbours.

    `previous` and `next` are ids of spans.
    """

    count: int
    place: int
    previous: str
    next: str


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A window of rows on an axis. `found` counts all rows there are, `total` all spans.

    `made` is 1 where a row is of a root that nobody sent, and so is no span.
    """

    rows: tuple[Row, ...]
    axis: tuple[Stretch, ...]
    ticks: tuple[Tick, ...]
    start: int
    found: int
    total: int
    made: int = 0
    zoom: Span | None = None
    hits: Hits | None = None
    starts: tuple[int, ...] = ()  # of every row, in ms: for the map
    time: tuple[int, int] = (0, 0)  # of the window's rows, in ms

    @property
    def next(self) -> int | None:
        """Where the next window begins."""
        behind = self.start + len(self.rows)
        return behind if behind < self.found else None

    @property
    def earlier(self) -> int | None:
        """Where the window before begins."""
        return max(self.start - ROWS, 0) if self.start else None


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What of a trace's tree never changes: where each subtree ends, and the rows of each step."""

    ends: Sequence[int]
    steps: Sequence[int]  # of each row, 0 for none; what lies below a row is of its step
    heads: Mapping[int, int]  # the first row of each step that has more
    sizes: Mapping[int, int]
    last: Mapping[int, int | None]  # when each step ended, None while it is open
    plugins: tuple[str, ...]
    tokens: tuple[int, int]  # in and out, of all attempts that said
    cost: tuple[float, bool]  # US dollars, and whether every attempt said what it cost


_shapes: "WeakKeyDictionary[Trace, Shape]" = WeakKeyDictionary()


def shape(trace: Trace) -> Shape:
    """The shape of a trace, found once."""
    found = _shapes.get(trace)
    if found is None:
        found = _shapes[trace] = _shape(trace)
    return found


def _shape(trace: Trace) -> Shape:
    steps, sizes, firsts, step = list[int](), dict[int, int](), dict[int, int](), 0
    last: dict[int, int | None] = {}
    for at, span in enumerate(trace.spans):
        if span.depth <= 1:
            step = span.step or 0
        steps.append(step)
        if step:
            firsts.setdefault(step, at)
            sizes[step] = sizes.get(step, 0) + 1
            before = last.get(step, 0)
            last[step] = None if before is None or span.end is None else max(before, span.end)
    heads = {step: at for step, at in firsts.items() if sizes[step] > 1}
    plugins = tuple(sorted({span.plugin for span in trace.spans if span.plugin}))
    return Shape(
        ends=trees.ends(trace.spans),
        steps=steps,
        heads=heads,
        sizes=sizes,
        last=last,
        plugins=plugins,
        tokens=_tokens(trace),
        cost=_cost(trace),
    )


def _tokens(trace: Trace) -> tuple[int, int]:
    models = [span for span in trace.spans if span.kind == "model"]
    return sum(s.input_tokens or 0 for s in models), sum(s.output_tokens or 0 for s in models)


def _cost(trace: Trace) -> tuple[float, bool]:
    costs = [span.cost for span in trace.spans if span.kind == "model"]
    return sum(cost or 0.0 for cost in costs), None not in costs


def shown(
    trace: Trace, narrowed: Narrowed, payloads: Sequence[Collection[str]] = ()
) -> Shown:  # fmt: skip
    """The window of rows that the URL asks for.

    `payloads` are, for each word of the search, the effects or the spans whose payload has it.
    """
    zoom = next((one for one in trace.spans if one.id == narrowed.zoom), None)
    places = _places(trace, narrowed, zoom)
    hits = _hits(trace, places, narrowed, payloads) if narrowed.q else []
    if narrowed.only and narrowed.q:
        places = hits
    start = _start(trace, places, narrowed)
    window = places[start : start + narrowed.rows]
    time = _time(trace, window)
    axis = waterfall.axis(trace, _interval(trace, time, zoom, is_whole=len(window) == len(places)))
    numbers = {at: number for number, at in enumerate(hits, 1)}
    is_made = trace.root.id == arranging.MADE
    return Shown(
        rows=tuple(_row(trace, at, narrowed, axis, numbers) for at in window), axis=axis,
        ticks=waterfall.ticks(axis, zoom.start if zoom else trace.turn.opened), start=start,
        found=len(places), total=len(trace.spans) - is_made, zoom=zoom,
        made=int(is_made and 0 in places),
        hits=_around(trace, hits, narrowed, window) if narrowed.q else None,
        starts=tuple(trace.spans[at].start for at in places), time=time,
    )  # fmt: skip


def _places(trace: Trace, narrowed: Narrowed, zoom: Span | None) -> Sequence[int]:
    """The places of the spans that are shown."""
    folds = bool(narrowed.folds) or narrowed.steps
    if not folds and zoom is None and not (narrowed.kind or narrowed.plugin or narrowed.wrong):
        return range(len(trace.spans))
    of, found, until = shape(trace), list[int](), 0
    begin, end = (zoom.start, zoom.end or trace.now) if zoom else (0, 0)
    for at, span in enumerate(trace.spans):
        if at < until:
            continue
        step = of.steps[at]
        head = of.heads.get(step)
        is_behind = head is not None and at != head and folds and narrowed.is_folded(f"s{step}")
        if is_behind or (folds and span.depth and narrowed.is_folded(span.id)):
            until = of.ends[at] if span.depth else 0
        if folds and at == head and narrowed.is_folded(f"s{step}"):
            until = max(until, of.ends[at])
        is_off = zoom and (span.start > end or (span.end or trace.now) < begin)
        if not is_behind and not is_off and narrowed.shows(span):
            found.append(at)
    return found


def _start(trace: Trace, places: Sequence[int], narrowed: Narrowed) -> int:
    """The first row: the one asked for, or of the window that holds the span looked at."""
    if narrowed.start is not None:
        return min(narrowed.start, max(len(places) - 1, 0))
    if narrowed.span:
        for number, at in enumerate(places):
            if trace.spans[at].id == narrowed.span:
                return number - number % ROWS
    return 0


def _time(trace: Trace, window: Sequence[int]) -> tuple[int, int]:
    """The time that a window's rows take, but those whose subtree goes on behind the window."""
    ends, last = shape(trace).ends, window[-1] + 1 if window else 0
    within = [at for at in window if trace.spans[at].depth and ends[at] <= last]
    spans = [trace.spans[at] for at in within or window or [0]]
    end = max(trace.now if span.end is None else span.end for span in spans)
    return min(span.start for span in spans), end


def _interval(
    trace: Trace, time: tuple[int, int], zoom: Span | None, *, is_whole: bool
) -> tuple[int, int] | None:
    """The time that the axis shows: of the span zoomed to, of a window's rows, or all of it."""
    if zoom is not None:
        return zoom.start, trace.now if zoom.end is None else zoom.end
    return None if is_whole else time


def _row(
    trace: Trace, at: int, narrowed: Narrowed, axis: Sequence[Stretch], numbers: Mapping[int, int]
) -> Row:
    span, of = trace.spans[at], shape(trace)
    fold, hidden, step = "", 0, of.steps[at]
    is_step = of.heads.get(step) == at
    if is_step:
        fold, hidden = f"s{step}", of.sizes[step] - 1
    elif span.depth and of.ends[at] - at > 1:
        fold, hidden = span.id, of.ends[at] - at - 1
    is_folded, bar, reach = (
        bool(fold) and narrowed.is_folded(fold),
        waterfall.bar(trace, span, axis),
        0.0,
    )
    if is_folded and is_step:
        end = of.last[step]
        reach = waterfall.place(axis, trace.now if end is None else end) - bar.x
    return Row(
        bar=bar, fold=fold, hidden=hidden, is_step=is_step, is_folded=is_folded,
        hit=numbers.get(at, 0), is_inner=step in of.heads and not is_step, reach=round(reach, 1),
    )  # fmt: skip


# The search ------------------------------------------------------------------------------------


def words(q: str) -> list[str]:
    """The words of a search, in small letters."""
    return list(dict.fromkeys(q.lower().split()))[:WORDS]


def _hits(
    trace: Trace, places: Sequence[int], narrowed: Narrowed, payloads: Sequence[Collection[str]]
) -> list[int]:
    """The places of the spans that have every word, in what a row says or in a payload."""
    looked, said = words(narrowed.q), _said(trace)
    sets = [*payloads, *([frozenset[str]()] * (len(looked) - len(payloads)))]
    for word, of in zip(looked, sets, strict=True):
        places = [at for at in places if word in said[at] or _carries(trace.spans[at], of)]
    return list(places)


_says: "WeakKeyDictionary[Trace, Sequence[str]]" = WeakKeyDictionary()


def _said(trace: Trace) -> Sequence[str]:
    """What the row of each span says, in small letters; put together once."""
    found = _says.get(trace)
    if found is None:
        found = _says[trace] = [
            " ".join(
                (one.name, one.plugin or "", one.server or "", one.skill or "", one.words, one.code)
            ).lower()
            for one in trace.spans
        ]
    return found


def _carries(span: Span, of: Collection[str]) -> bool:
    return span.id in of or (span.kind in ("tool", "model") and span.effect_id in of)


def _around(
    trace: Trace, hits: Sequence[int], narrowed: Narrowed, window: Sequence[int]
) -> Hits:  # fmt: skip
    """The hits beside the span looked at; without one, beside the first row of the window."""
    if not hits:
        return Hits(count=0, place=0, previous="", next="")
    here = next((at for at in hits if trace.spans[at].id == narrowed.span), None)
    at = here if here is not None else (window[0] if window else 0) - 1
    behind = next((one for one in hits if one > at), hits[0])
    before = next((one for one in reversed(hits) if one < at), hits[-1])
    return Hits(
        count=len(hits), place=hits.index(here) + 1 if here is not None else 0,
        previous=trace.spans[before].id, next=trace.spans[behind].id,
    )  # fmt: skip
