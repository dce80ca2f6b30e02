"""Traces from outside that are too old, too many or forgotten go, a piece at a time.

A trace that goes is marked first, so that nobody sees a part of it. A span that comes before one
that is too old is gone makes it a trace again, of what is left of it; what was forgotten is gone
before anything is kept anew. What is counted is always what is here. Traces that somebody else has
in hand are left for the next time.
"""

from collections.abc import Mapping

import sqlalchemy as sa

from studio.core.rules.outside.claims import Limits
from studio.core.store import outside, raw

DAY = 86_400_000
SWEPT = 2_000  # spans, or traces, that one sweep takes away
TRACES = 50  # that one sweep looks at
PIECE = 500  # spans, or about as many traces, that one look at what is marked takes away
REFUSALS_KEPT = 30 * DAY

FREE = {"sqlite": "", "postgresql": " FOR UPDATE SKIP LOCKED"}
TOO_MANY = (
    "SELECT id, changed, sent_by FROM outside_traces WHERE changed > 0 ORDER BY changed, id LIMIT ?"
)
OLD = (
    "SELECT id, changed, sent_by FROM outside_traces WHERE changed < ? ORDER BY changed, id LIMIT ?"
)
MARKED = "SELECT id FROM outside_traces WHERE id = ? AND changed <= 0"
ALL_MARKED = "SELECT id FROM outside_traces WHERE changed <= 0 ORDER BY changed, id LIMIT ?"
MARK = "UPDATE outside_traces SET changed = 0 WHERE id = ?"
SOME = "(SELECT span_id FROM outside_spans WHERE trace_id = ? ORDER BY span_id LIMIT ?)"
OF_SENDERS = (
    "SELECT sent_by, count(*), sum(bytes) FROM outside_spans "  # noqa: S608
    f"WHERE trace_id = ? AND span_id IN {SOME} GROUP BY sent_by"
)
LET_PAYLOADS = f"DELETE FROM outside_payloads WHERE trace_id = ? AND span_id IN {SOME}"  # noqa: S608
LET_SPANS = f"DELETE FROM outside_spans WHERE trace_id = ? AND span_id IN {SOME}"  # noqa: S608
LET_TRACE = (
    "DELETE FROM outside_traces WHERE id = ? AND NOT EXISTS "
    "(SELECT 1 FROM outside_spans WHERE trace_id = outside_traces.id)"
)
COUNT_AGAIN = (
    "UPDATE outside_traces SET (spans, bytes, models, tools, errors, input_tokens, output_tokens, "
    "cost, unpriced, began, ended) = (SELECT count(*), sum(bytes), "
    "sum(CASE WHEN kind = 'model' THEN 1 ELSE 0 END), "
    "sum(CASE WHEN kind = 'tool' THEN 1 ELSE 0 END), "
    "sum(CASE WHEN state = 'failed' THEN 1 ELSE 0 END), "
    "coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), coalesce(sum(cost), 0), "
    "sum(CASE WHEN kind = 'model' AND cost IS NULL THEN 1 ELSE 0 END), "
    "min(began), max(coalesce(ended, began)) FROM outside_spans WHERE trace_id = outside_traces.id)"
    " WHERE id = ?"
)
NO_ROOT = (
    "UPDATE outside_traces SET rooted = 0, state = 'incomplete' WHERE id = ? AND NOT EXISTS "
    "(SELECT 1 FROM outside_spans WHERE trace_id = outside_traces.id AND parent_id = '')"
)
OLD_REFUSALS = "SELECT DISTINCT sent_by FROM outside_refusals WHERE time < ?"
LET_REFUSALS = "DELETE FROM outside_refusals WHERE time < ?"


def sweep(conn: sa.Connection, now: int, limits: Limits) -> int:
    """Take away some of what is too old or too much; how many rows went or were marked. `now` is
    ms. Rows are locked in the order that `outside` says."""
    senders, gone = dict[str, tuple[int, int]](), _mark_too_many(conn, limits)
    old = (now - limits.days * DAY, TRACES)
    left = SWEPT
    for trace, changed, sent_by in raw.every(conn, OLD + FREE[conn.dialect.name], old):
        if changed > 0:
            gone += raw.put(conn, MARK, (trace,))
            _add(senders, {sent_by: (0, 0)})
            continue
        went, of = _let_some(conn, trace, left)
        _add(senders, of)
        gone, left = gone + went, left - went
        if left <= 0:
            break
    refusals = now - REFUSALS_KEPT
    for (sent_by,) in raw.every(conn, OLD_REFUSALS, (refusals,)):
        _add(senders, {sent_by: (0, 0)})
    outside.moved(conn, senders)
    return gone + raw.put(conn, LET_REFUSALS, (refusals,))


def take_away(conn: sa.Connection, trace: str) -> int:
    """Take away some of a trace that is marked; how many rows went, 0 when nothing is left."""
    if raw.one(conn, MARKED + FREE[conn.dialect.name], (trace,)) is None:
        return 0
    went, of = _let_some(conn, trace, SWEPT)
    outside.moved(conn, of)
    return went


def take_away_marked(conn: sa.Connection) -> int:
    """Take away some of whatever is marked; how many rows went, 0 when nothing is left."""
    senders, gone = dict[str, tuple[int, int]](), 0
    for (trace,) in raw.every(conn, ALL_MARKED + FREE[conn.dialect.name], (TRACES,)):
        went, of = _let_some(conn, trace, PIECE - gone)
        _add(senders, of)
        gone += went
        if gone >= PIECE:
            break
    outside.moved(conn, senders)
    return gone


def _mark_too_many(conn: sa.Connection, limits: Limits) -> int:
    (count,) = raw.one(conn, "SELECT count(*) FROM outside_traces WHERE changed > 0")
    if count <= limits.traces:
        return 0
    some = (min(count - limits.traces, SWEPT),)
    found = raw.every(conn, TOO_MANY + FREE[conn.dialect.name], some)
    raw.put_many(conn, MARK, [(row[0],) for row in found])
    return len(found)


def _let_some(
    conn: sa.Connection, trace: str, most: int
) -> tuple[int, dict[str, tuple[int, int]]]:  # fmt: skip
    """Take away some spans of a trace, and it with the last of them; rows, and what of whom."""
    some = (trace, trace, most)
    of = {row[0]: (-row[1], -int(row[2])) for row in raw.every(conn, OF_SENDERS, some)}
    raw.put(conn, LET_PAYLOADS, some)
    went = raw.put(conn, LET_SPANS, some)
    if raw.put(conn, LET_TRACE, (trace,)):
        return went + 1, of
    raw.put(conn, COUNT_AGAIN, (trace,))
    raw.put(conn, NO_ROOT, (trace,))
    return went, of


def _add(sums: dict[str, tuple[int, int]], more: Mapping[str, tuple[int, int]]) -> None:
    for name, (spans, size) in more.items():
        before = sums.get(name, (0, 0))
        sums[name] = (before[0] + spans, before[1] + size)
