"""Whose the time of a turn was, what it could not have ended without, and its slowest call."""

from collections.abc import Iterable, Sequence

from studio.core.rules.spans import Shares, Span, Told

PEOPLE = frozenset({"approval", "question", "uncertain"})
REST = 5  # the place of our own overhead among the shares


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
    spent, open_, last = [0] * 6, [0] * 5, turn.opened
    for moment, step, rank in edges:
        top = next((at for at, count in enumerate(open_) if count), REST)
        spent[top] += moment - last
        open_[rank] += step
        last = moment
    spent[REST] += max(end - last, 0)
    model, tool, environment, person, timer, overhead = spent
    return Shares(
        total=max(end - turn.opened, 0), model=model, tool=tool, environment=environment,
        person=person, timer=timer, overhead=overhead,
    )  # fmt: skip


def _rank(span: Span) -> int | None:
    """Whose a moment is when several could claim it: the lower rank."""
    if span.kind == "model":
        return 0
    elif span.kind == "tool":
        return 1
    elif span.kind == "environment":
        return 2
    elif span.what in PEOPLE:
        return 3
    return None if span.what == "queue" else 4


def _end(span: Span, now: int) -> int:
    return now if span.end is None else span.end


def mark(turn: Told, spans: Sequence[Span], now: int) -> None:
    """Mark the critical path and the slowest call."""
    critical = _critical(turn, spans, now)
    sends = [span for span in spans if span.kind == "tool" and span.lasted(now) > 0]
    slowest = max(sends, key=lambda span: span.lasted(now)).id if len(sends) > 1 else ""
    for span in spans:
        span.is_critical, span.is_slowest = span.id in critical, span.id == slowest


def _critical(turn: Told, spans: Sequence[Span], now: int) -> set[str]:
    """Walk back from the end: what ended last before a moment is what that moment waited for.

    Only what hangs on the turn itself: what lies within a span is part of it.
    """
    found = set[str]()
    moment = now if turn.ended is None else turn.ended
    top = [span for span in spans if span.depth == 1]
    for span in sorted(top, key=lambda one: (_end(one, now), one.start), reverse=True):
        if _end(span, now) <= moment and span.lasted(now) > 0:
            found.add(span.id)
            moment = span.start
    return found
