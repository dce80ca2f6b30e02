"""Whose the time of a turn was, what it could not have ended without, and its slowest call."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from studio.core.rules.spans import Shares, Span, Told

PEOPLE = frozenset({"approval", "question", "uncertain"})


def of(turn: Told, spans: Iterable[Span], now: int) -> Shares:
    """Where the time went; every moment is counted once."""
    end = now if turn.ended is None else turn.ended
    edges = list[tuple[int, int, int]]()
    for span in spans:
        rank = _rank(span)
        start, stop = max(span.start, turn.opened), min(_end(span, now), end)
        if rank is not None and stop > start:
            edges += [(start, 1, rank), (stop, -1, rank)]
    edges.sort()
    spent, open_, last = [0, 0, 0, 0, 0], [0, 0, 0, 0], turn.opened
    for moment, step, rank in edges:
        top = next((at for at, count in enumerate(open_) if count), 4)
        spent[top] += moment - last
        open_[rank] += step
        last = moment
    spent[4] += max(end - last, 0)
    model, tool, person, timer, overhead = spent
    total = max(end - turn.opened, 0)
    return Shares(
        total=total, model=model, tool=tool, person=person, timer=timer, overhead=overhead
    )


def _rank(span: Span) -> int | None:
    """Whose a moment is when several could claim it: the lower rank."""
    if span.kind == "model":
        return 0
    elif span.kind == "tool":
        return 1
    elif span.what in PEOPLE:
        return 2
    return None if span.what == "queue" else 3


def _end(span: Span, now: int) -> int:
    return now if span.end is None else span.end


def marked(turn: Told, spans: list[Span], now: int) -> list[Span]:
    """The same spans with the critical path and the slowest call marked."""
    critical = _critical(turn, spans, now)
    sends = [span for span in spans if span.kind == "tool" and span.lasted(now) > 0]
    slowest = max(sends, key=lambda span: span.lasted(now)).id if len(sends) > 1 else ""
    return [
        replace(span, is_critical=span.id in critical, is_slowest=span.id == slowest)
        if span.id in critical or span.id == slowest
        else span
        for span in spans
    ]


def _critical(turn: Told, spans: Sequence[Span], now: int) -> set[str]:
    """Walk back from the end: what ended last before a moment is what that moment waited for."""
    found = set[str]()
    moment = now if turn.ended is None else turn.ended
    for span in sorted(spans, key=lambda one: (_end(one, now), one.start), reverse=True):
        if _end(span, now) <= moment and span.lasted(now) > 0:
            found.add(span.id)
            moment = span.start
    return found
