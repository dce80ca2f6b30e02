"""Traces from outside that an admin forgets: which they are, marked in one step, and the record.

A mark and the fact that tells of it are of one transaction. Nobody sees a marked trace any more,
and nothing of it comes back; `outside_sweeping` takes away what it was made of. As such a
transaction has the one line of all facts, it waits for no trace that somebody has in hand.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from studio.core.rules import events as e
from studio.core.rules.errors import Gone, NotFound, StudioError
from studio.core.rules.outside.claims import is_trace_id
from studio.core.store import codec, outside, raw

BATCH = 500  # traces of one transaction, and of one fact

MARK = f"UPDATE outside_traces SET changed = {outside.FORGOTTEN} WHERE id = ?"  # noqa: S608 - our own
ONE = "SELECT sent_by, spans FROM outside_traces WHERE id = ? AND changed > 0"
OF_SENDER = (
    "SELECT changed, id FROM outside_traces WHERE sent_by = ? AND changed < ? "
    "AND (changed, id) > (?, ?) ORDER BY changed, id LIMIT ?"
)
THESE = (
    "SELECT id, spans, bytes FROM outside_traces "  # noqa: S608 - our own
    f"WHERE id IN ({', '.join('?' * BATCH)}) AND sent_by = ? AND changed > 0 AND changed < ? "
    "ORDER BY id"
)
OURS = {"sqlite": "", "postgresql": " FOR UPDATE SKIP LOCKED"}
WAIT = (
    "SELECT id FROM outside_traces "  # noqa: S608 - our own
    f"WHERE id IN ({', '.join('?' * BATCH)}) ORDER BY id FOR UPDATE"
)
IN_ALL = (
    "SELECT count(*), coalesce(sum(spans), 0), coalesce(sum(bytes), 0) FROM outside_traces "
    "WHERE sent_by = ? AND changed > 0 AND changed < ?"
)
KEPT = "SELECT bytes FROM outside_senders WHERE sent_by = ?"
LARGEST = (
    "SELECT sent_by, spans, bytes FROM outside_senders WHERE bytes > 0 "
    "ORDER BY bytes DESC, sent_by LIMIT ?"
)
FACT = (
    f"SELECT {codec.COLUMNS} FROM events "  # noqa: S608 - names of our own
    "WHERE session_id = 'outside' AND payload LIKE ? ORDER BY seq DESC LIMIT 1"
)

Place = tuple[int, str]  # `changed` and the id of a trace; the next ones come after it
BEGINNING: Place = (1, "")  # behind those that go already


class InHand(Exception):
    """Somebody keeps spans of these traces right now; see `wait`. Only on PostgreSQL."""

    def __init__(self, traces: Sequence[str]) -> None:
        super().__init__(", ".join(traces))
        self.traces = traces


@dataclass(frozen=True, kw_only=True)
class Sum:
    """So many traces, with all their spans and their bytes, whoever sent them."""

    traces: int = 0
    spans: int = 0
    bytes: int = 0

    def __add__(self, more: "Sum") -> "Sum":
        return Sum(
            traces=self.traces + more.traces, spans=self.spans + more.spans,
            bytes=self.bytes + more.bytes,
        )  # fmt: skip


def mark(conn: sa.Connection, trace: str) -> tuple[str, int] | None:
    """Mark one: its sender and how many spans it has; None when there is none. InHand."""
    row = raw.one(conn, ONE + OURS[conn.dialect.name], (trace,))
    if row is None:
        if raw.one(conn, ONE, (trace,)) is not None:
            raise InHand([trace])
        return None
    raw.put(conn, MARK, (trace,))
    return row[0], row[1]


def after(
    conn: sa.Connection, sent_by: str, before: int, place: Place, limit: int = BATCH
) -> list[Place]:  # fmt: skip
    """The next traces that a sender began and whose last span came before a time (ms), those that
    have gone longest without one first."""
    rows = raw.every(conn, OF_SENDER, (sent_by, before, *place, limit))
    return [(row[0], row[1]) for row in rows]


def mark_many(
    conn: sa.Connection, traces: Sequence[str], sent_by: str, before: int
) -> tuple[tuple[str, ...], Sum, list[str]]:
    """Mark of these traces those that are still as `after` found them; which, their sum, and those
    that somebody has in hand."""
    asked = (*_filled(traces), sent_by, before)
    rows = raw.every(conn, THESE + OURS[conn.dialect.name], asked)
    found = {row[0] for row in rows}
    raw.put_many(conn, MARK, [(trace,) for trace in sorted(found)])
    sum_of = Sum(
        traces=len(rows), spans=sum(row[1] for row in rows), bytes=sum(row[2] for row in rows)
    )
    left = [row[0] for row in raw.every(conn, THESE, asked)]
    return tuple(sorted(found)), sum_of, left


def wait(conn: sa.Connection, traces: Sequence[str]) -> None:
    """Wait until nobody has these in hand, in a transaction of its own that nobody waits for."""
    raw.every(conn, WAIT, _filled(traces))


def in_all(conn: sa.Connection, sent_by: str, before: int) -> Sum:
    """What `after` finds, summed up."""
    traces, spans, size = raw.one(conn, IN_ALL, (sent_by, before))
    return Sum(traces=traces, spans=int(spans), bytes=int(size))


def kept(conn: sa.Connection, sent_by: str) -> int | None:
    """How many bytes of a sender are here, in whoever's traces; None when it never sent any."""
    row = raw.one(conn, KEPT, (sent_by,))
    return None if row is None else int(row[0])


def largest(conn: sa.Connection, limit: int) -> list[tuple[str, int, int]]:
    """The senders of which most is kept: names, spans, bytes."""
    return [(sent_by, spans, size) for sent_by, spans, size in raw.every(conn, LARGEST, (limit,))]


def missing(conn: sa.Connection, trace: str) -> StudioError:
    """Why there is no such trace: Gone, by whom and when, where the record tells; else NotFound."""
    row = raw.one(conn, FACT, (f'%"{trace}"%',)) if is_trace_id(trace) else None
    if row is not None:
        fact = codec.fact(row)
        assert isinstance(fact.event, e.OutsideTraceForgotten | e.OutsideSenderForgotten)
        by, at = fact.event.by, datetime.fromtimestamp(fact.time // 1000, UTC)
        return Gone(
            f"This trace was forgotten by {by} at {at:%Y-%m-%d %H:%M:%S} UTC, with all its spans. "
            "What is sent of it from now on begins it anew.",
            code="outside_trace.forgotten",
            details={"by": by, "at": fact.time},
        )
    return NotFound(
        "There is no such trace from outside. Nothing of it has come, or it was swept.",
        code="outside_trace.not_found",
    )


def _filled(traces: Sequence[str]) -> list[str]:
    """As many as a statement takes, in order; one of them stands for those that are missing."""
    return sorted([*traces, *([traces[0]] * (BATCH - len(traces)))])
