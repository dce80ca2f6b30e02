"""Traces from outside: keep their spans, count them, and let go of what is old.

A span that is here already is not kept twice; the first that came stands. Counts of a trace are
of the spans that are here. On PostgreSQL the rows of the traces are locked in order, so that two
senders of one trace wait for each other and nobody else does.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection as Connection

from studio.core.rules.outside.claims import Limits, Refusal, named
from studio.core.rules.outside.recognising import Known
from studio.core.store import raw

DAY = 86_400_000
MANY = 50  # values of one statement, so that there is one text of it
SWEPT = 2_000  # spans, or traces, that one sweep takes away
LONG = 1_024  # bytes from which a payload is compressed
ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)
ZSTD = b"\x28\xb5\x2f\xfd"
REFUSALS_KEPT = 30 * DAY

NEW_TRACE = (
    "INSERT INTO outside_traces (id, name, agent, service, talk, sent_by, state, began, ended, "
    "taken, changed) VALUES (?, ?, '', ?, '', ?, 'incomplete', ?, ?, ?, ?) "
    "ON CONFLICT (id) DO NOTHING"
)
COUNTED = f"SELECT id, spans FROM outside_traces WHERE id IN ({', '.join('?' * MANY)})"  # noqa: S608
HERE = (
    "SELECT trace_id, span_id FROM outside_spans WHERE (trace_id, span_id) IN "  # noqa: S608
    f"(VALUES {', '.join(['(?, ?)'] * MANY)})"
)
SPAN = (
    "trace_id", "span_id", "parent_id", "name", "kind", "what", "convention", "state", "began",
    "ended", "server", "agent", "service", "scope", "code", "words", "input_tokens",
    "output_tokens", "cached_tokens", "reasoning_tokens", "cost", "sent_by",
)  # fmt: skip
NEW_SPAN = (
    f"INSERT INTO outside_spans ({', '.join(SPAN)}) VALUES ({', '.join('?' * len(SPAN))}) "  # noqa: S608
    "ON CONFLICT (trace_id, span_id) DO NOTHING"
)
NEW_PAYLOAD = (
    "INSERT INTO outside_payloads (trace_id, span_id, data) VALUES (?, ?, ?) "
    "ON CONFLICT (trace_id, span_id) DO NOTHING"
)
GROW = (
    "UPDATE outside_traces SET changed = ?, spans = spans + ?, models = models + ?, "
    "tools = tools + ?, errors = errors + ?, input_tokens = input_tokens + ?, "
    "output_tokens = output_tokens + ?, cost = cost + ?, unpriced = unpriced + ?, "
    "began = CASE WHEN began < ? THEN began ELSE ? END, "
    "ended = CASE WHEN ended > ? THEN ended ELSE ? END, "
    "agent = CASE WHEN agent = '' THEN ? ELSE agent END, "
    "talk = CASE WHEN talk = '' THEN ? ELSE talk END WHERE id = ?"
)
ROOT = (
    "UPDATE outside_traces SET rooted = 1, name = ?, service = ?, state = ?, "
    "agent = CASE WHEN ? = '' THEN agent ELSE ? END WHERE id = ? AND rooted = 0"
)
REFUSED = (
    "INSERT INTO outside_refusals (sent_by, code, count, example, time) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (sent_by, code) DO UPDATE SET count = outside_refusals.count + excluded.count, "
    "example = excluded.example, time = excluded.time"
)

OLD_REFUSALS = "DELETE FROM outside_refusals WHERE time < ?"
TOO_MANY = (
    "UPDATE outside_traces SET changed = 0 WHERE id IN (SELECT id FROM outside_traces "
    "WHERE changed > 0 ORDER BY changed, id LIMIT ?)"
)
OLD = "SELECT id, changed FROM outside_traces WHERE changed < ? ORDER BY changed, id LIMIT ?"
MARK = "UPDATE outside_traces SET changed = 0 WHERE id = ? AND changed = ?"
SOME = "(SELECT span_id FROM outside_spans WHERE trace_id = ? ORDER BY span_id LIMIT ?)"
LET_PAYLOADS = f"DELETE FROM outside_payloads WHERE trace_id = ? AND span_id IN {SOME}"  # noqa: S608
LET_SPANS = f"DELETE FROM outside_spans WHERE trace_id = ? AND span_id IN {SOME}"  # noqa: S608
LET_TRACE = (
    "DELETE FROM outside_traces WHERE id = ? AND changed = 0 AND NOT EXISTS "
    "(SELECT 1 FROM outside_spans WHERE trace_id = outside_traces.id)"
)


@dataclass(slots=True)
class Ready:
    """A span ready to be kept, with its payload packed."""

    known: Known
    payload: bytes


@dataclass(slots=True)
class Kept:
    """What came of some spans: how many are new, how many were here, which were refused."""

    new: int = 0
    here: int = 0
    refused: list[Refusal] = field(default_factory=list)


def pack(known: Known) -> bytes:
    """What one span says in full, as it is kept."""
    claim = known.claim
    value = {
        "attributes": claim.attributes, "resource": claim.resource, "events": claim.events,
        "links": claim.links, "cut": claim.cut, "dropped": claim.dropped,
    }  # fmt: skip
    text = ENCODER.encode({name: one for name, one in value.items() if one})
    data = text.encode("utf-8", "replace")
    if len(data) < LONG:
        return data
    import zstandard

    return zstandard.ZstdCompressor(level=1).compress(data)


def unpack(data: bytes) -> dict[str, Any]:
    """What `pack` was given, by name; what was empty is not there."""
    if data[:4] == ZSTD:
        import zstandard

        data = zstandard.ZstdDecompressor().decompress(data)
    found: dict[str, Any] = json.loads(data)
    return found


def size(data: bytes) -> int:
    """The bytes that `unpack` makes a text of."""
    if data[:4] != ZSTD:
        return len(data)
    import zstandard

    return zstandard.frame_content_size(data)


def keep(
    conn: sa.Connection, spans: Sequence[Ready], *, at: int, sent_by: str, limits: Limits
) -> Kept:
    """Keep spans that are not here yet. `at` is ms."""
    kept = Kept()
    by_trace: dict[str, dict[str, Ready]] = {}
    for one in spans:
        by_trace.setdefault(one.known.claim.trace_id, {}).setdefault(one.known.claim.span_id, one)
    traces = sorted(by_trace)
    raw.put_many(conn, NEW_TRACE, [_trace(trace, by_trace[trace], at, sent_by) for trace in traces])
    counted = _counted(conn, traces)
    here = _here(
        conn, [(trace, span) for trace in traces if counted[trace] for span in by_trace[trace]]
    )
    fresh: dict[str, list[Ready]] = {}
    for trace in traces:
        found = [one for span, one in by_trace[trace].items() if (trace, span) not in here]
        room = max(limits.trace_spans - counted[trace], 0)
        kept.refused += [Refusal("trace_full", named(one.known.claim)) for one in found[room:]]
        if found[:room]:
            fresh[trace] = found[:room]
    new = [one for found in fresh.values() for one in found]
    raw.put_many(conn, NEW_SPAN, [_span(one.known, sent_by) for one in new])
    raw.put_many(
        conn, NEW_PAYLOAD,
        [(one.known.claim.trace_id, one.known.claim.span_id, one.payload) for one in new],
    )  # fmt: skip
    _grow(conn, fresh, at)
    kept.new = len(new)
    kept.here = len(spans) - kept.new - len(kept.refused)
    return kept


def refuse(conn: sa.Connection, refused: Iterable[Refusal], *, at: int, sent_by: str) -> None:
    """Count what was refused, so that people see it too."""
    sums: dict[str, tuple[int, str]] = {}
    for one in refused:
        count, example = sums.get(one.code, (0, ""))
        sums[one.code] = (count + one.count, example or one.span)
    rows = [(sent_by, code, *sums[code], at) for code in sorted(sums)]
    raw.put_many(conn, REFUSED, rows)


def payload(conn: sa.Connection, trace_id: str, span_id: str) -> dict[str, Any]:
    """What one span says in full; empty when it is not here."""
    statement = "SELECT data FROM outside_payloads WHERE trace_id = ? AND span_id = ?"
    row = raw.one(conn, statement, (trace_id, span_id))
    return {} if row is None else unpack(bytes(row[0]))


def sweep(conn: sa.Connection, now: int, limits: Limits) -> int:
    """Take away some of what is too old or too much; how many rows went or were marked.

    A trace that goes is marked first, so that nobody sees a part of it. `now` is ms.
    """
    gone = raw.put(conn, OLD_REFUSALS, (now - REFUSALS_KEPT,))
    (count,) = raw.one(conn, "SELECT count(*) FROM outside_traces WHERE changed > 0")
    if count > limits.traces:
        gone += raw.put(conn, TOO_MANY, (min(count - limits.traces, SWEPT),))
    left = SWEPT
    for trace, changed in raw.every(conn, OLD, (now - limits.days * DAY, MANY)):
        if changed:
            gone += raw.put(conn, MARK, (trace, changed))
            continue
        some = (trace, trace, left)
        raw.put(conn, LET_PAYLOADS, some)
        went = raw.put(conn, LET_SPANS, some)
        gone, left = gone + went + raw.put(conn, LET_TRACE, (trace,)), left - went
        if left <= 0:
            break
    return gone


# Rows ---------------------------------------------------------------------------------------------


def _trace(trace: str, spans: dict[str, Ready], at: int, sent_by: str) -> tuple[Any, ...]:
    first = next(iter(spans.values())).known
    claim = first.claim
    return (
        trace, claim.name, claim.service, sent_by, claim.start, first.end or claim.start, at, at,
    )  # fmt: skip


def _span(known: Known, sent_by: str) -> tuple[Any, ...]:
    claim = known.claim
    return (
        claim.trace_id, claim.span_id, claim.parent_id, claim.name, known.kind, known.what,
        known.convention, known.state, claim.start, known.end, known.server, known.agent,
        claim.service, claim.scope, known.code, known.words, known.input_tokens,
        known.output_tokens, known.cached_tokens, known.reasoning_tokens, known.cost, sent_by,
    )  # fmt: skip


def _grow(conn: sa.Connection, fresh: dict[str, list[Ready]], at: int) -> None:
    grown, roots = [], []
    for trace, found in fresh.items():
        spans = [one.known for one in found]
        models = [one for one in spans if one.kind == "model"]
        began = min(one.claim.start for one in spans)
        ended = max(one.end or one.claim.start for one in spans)
        root = next((one for one in spans if not one.claim.parent_id), None)
        agents = [one for one in spans if one.kind == "agent" and one.agent]
        agent = min(agents, key=lambda one: one.claim.start).agent if agents else ""
        if root is not None and root.kind == "agent":
            agent = agent or root.what
        grown.append((
            at, len(spans), len(models), sum(one.kind == "tool" for one in spans),
            sum(one.claim.is_error for one in spans),
            sum(one.input_tokens or 0 for one in models),
            sum(one.output_tokens or 0 for one in models),
            sum(one.cost or 0.0 for one in models), sum(one.cost is None for one in models),
            began, began, ended, ended, agent, next((one.talk for one in spans if one.talk), ""),
            trace,
        ))  # fmt: skip
        if root is not None:
            state = {"failed": "failed", "running": "incomplete"}.get(root.state, "completed")
            own = root.agent if root.kind == "agent" else ""
            roots.append((root.claim.name, root.claim.service, state, own, own, trace))
    raw.put_many(conn, GROW, grown)
    raw.put_many(conn, ROOT, roots)


def _counted(conn: sa.Connection, traces: Sequence[str]) -> dict[str, int]:
    """How many spans each trace has; on PostgreSQL it is ours until the commit."""
    own = "" if conn.dialect.name == "sqlite" else " ORDER BY id FOR UPDATE"
    found: dict[str, int] = {}
    for start in range(0, len(traces), MANY):
        some = _filled(traces[start : start + MANY])
        found.update((row[0], row[1]) for row in raw.every(conn, COUNTED + own, some))
    return found


def _here(conn: sa.Connection, asked: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    found = set[tuple[str, str]]()
    for start in range(0, len(asked), MANY):
        some = _filled(asked[start : start + MANY])
        values = [part for pair in some for part in pair]
        found.update((row[0], row[1]) for row in raw.every(conn, HERE, values))
    return found


def _filled(some: Sequence[Any]) -> list[Any]:
    """As many as a statement takes; the last stands for those that are missing."""
    return [*some, *([some[-1]] * (MANY - len(some)))]
