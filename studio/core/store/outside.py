"""Traces from outside: keep their spans, and count them.

A span that is here already is not kept twice; the first that came stands. Counts of a trace and of
a sender are of the spans that are here. On PostgreSQL rows are locked in one order, by whoever
keeps and by whoever sweeps: traces by id, senders by name, refusals. So nobody waits in a ring, and
two senders of different traces do not wait for each other before they commit.

`changed` of a trace says when its last span came; nobody sees one that has none of these times: 0
is of one that is swept, FORGOTTEN of one that somebody forgot, of which nothing may come back.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection as Connection

from studio.core.rules.outside import cutting
from studio.core.rules.outside.claims import Crowd, Limits, Refusal, named
from studio.core.rules.outside.recognising import Known
from studio.core.store import raw

MANY = 50  # values of one statement, so that there is one text of it
LONG = 1_024  # bytes from which a payload is compressed
ZSTD = b"\x28\xb5\x2f\xfd"
FORGOTTEN = -1
NUMBERS = 100  # bytes that ids, times and numbers of one span may take

NEW_TRACE = (
    "INSERT INTO outside_traces (id, name, agent, service, talk, sent_by, state, began, ended, "
    "taken, changed) VALUES (?, ?, '', ?, '', ?, 'incomplete', ?, ?, ?, ?) "
    "ON CONFLICT (id) DO "
)
OURS = {  # on PostgreSQL a row that is here is ours from then on, and no sweep takes it away
    "sqlite": "NOTHING",
    "postgresql": "UPDATE SET taken = outside_traces.taken",
}
COUNTED = (
    "SELECT id, spans, bytes, changed FROM outside_traces "  # noqa: S608
    f"WHERE id IN ({', '.join('?' * MANY)})"
)
NONE_KEPT = "DELETE FROM outside_traces WHERE id = ? AND spans = 0"
HERE = (
    "SELECT trace_id, span_id FROM outside_spans WHERE (trace_id, span_id) IN "  # noqa: S608
    f"(VALUES {', '.join(['(?, ?)'] * MANY)})"
)
SPAN = (
    "trace_id", "span_id", "parent_id", "name", "kind", "what", "convention", "state", "began",
    "ended", "server", "agent", "service", "scope", "code", "words", "input_tokens",
    "output_tokens", "cached_tokens", "reasoning_tokens", "cost", "sent_by", "bytes",
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
    "UPDATE outside_traces SET changed = ?, spans = spans + ?, bytes = bytes + ?, "
    "models = models + ?, tools = tools + ?, errors = errors + ?, input_tokens = input_tokens + ?, "
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
OF_SENDER = "SELECT bytes FROM outside_senders WHERE sent_by = ?"
OLDEST = (
    "SELECT id, changed FROM outside_traces WHERE sent_by = ? AND changed > 0 "
    "ORDER BY changed, id LIMIT 1"
)
SENDER = (
    "INSERT INTO outside_senders (sent_by, spans, bytes, moves) VALUES (?, ?, ?, 1) "
    "ON CONFLICT (sent_by) DO UPDATE SET spans = outside_senders.spans + excluded.spans, "
    "bytes = outside_senders.bytes + excluded.bytes, moves = outside_senders.moves + 1"
)


@dataclass(slots=True)
class Ready:
    """A span ready to be kept, with its payload packed."""

    known: Known
    payload: bytes

    @property
    def weight(self) -> int:
        """Bytes that it takes: the texts of its row, and what it says in full, unpacked."""
        known, claim = self.known, self.known.claim
        texts = "".join((
            claim.name, known.what, known.server or "", known.agent, claim.service, claim.scope,
            known.code, known.words,
        ))  # fmt: skip
        length = len(texts) if texts.isascii() else len(texts.encode("utf-8", "replace"))
        return NUMBERS + length + size(self.payload)


_Sized = tuple[Ready, int]  # a span with its bytes


_Counted = tuple[int, int, int]  # spans and bytes of a trace, and when its last span came


class StillGoing(Exception):
    """Traces that were forgotten are not gone yet: what is left of them goes before anything is
    kept of them anew."""

    def __init__(self, traces: Sequence[str]) -> None:
        super().__init__(", ".join(traces))
        self.traces = traces


@dataclass(slots=True)
class Kept:
    """What came of some spans: how many are new, how many were here, which were refused."""

    new: int = 0
    here: int = 0
    refused: list[Refusal] = field(default_factory=list)


def pack(known: Known) -> bytes:
    """What one span says in full, as it is kept: no more than a bound of bytes, all counted."""
    claim = known.claim
    said = {
        "attributes": claim.attributes, "resource": claim.resource, "events": claim.events,
        "links": claim.links, "cut": claim.cut, "dropped": claim.dropped,
    }  # fmt: skip
    data = cutting.written({name: one for name, one in said.items() if one})
    if len(data) > cutting.SPAN_BYTES:
        data = cutting.written(cutting.fitting(said))
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
    """Keep spans that are not here yet; StillGoing when none can be kept yet. `at` is ms."""
    by_trace: dict[str, dict[str, Ready]] = {}
    for one in spans:
        by_trace.setdefault(one.known.claim.trace_id, {}).setdefault(one.known.claim.span_id, one)
    traces = sorted(by_trace)
    raw.put_many(
        conn, NEW_TRACE + OURS[conn.dialect.name],
        [_trace(trace, by_trace[trace], at, sent_by) for trace in traces],
    )  # fmt: skip
    counted = _counted(conn, traces)
    if going := [trace for trace in traces if counted[trace][2] == FORGOTTEN]:
        raise StillGoing(going)
    here = _here(
        conn, [(trace, span) for trace in traces if counted[trace][0] for span in by_trace[trace]]
    )
    room, refused = _Room(conn, sent_by, limits), list[Refusal]()
    fresh: dict[str, list[_Sized]] = {}
    for trace in traces:
        found = [one for span, one in by_trace[trace].items() if (trace, span) not in here]
        if fits := room.fitting(found, counted[trace], refused):
            fresh[trace] = fits
    without = [(trace,) for trace in traces if not counted[trace][0] and trace not in fresh]
    raw.put_many(conn, NONE_KEPT, without)  # a trace of none would make others go as too many
    new = [one for found in fresh.values() for one in found]
    raw.put_many(conn, NEW_SPAN, [_span(one.known, sent_by, weight) for one, weight in new])
    raw.put_many(
        conn, NEW_PAYLOAD,
        [(one.known.claim.trace_id, one.known.claim.span_id, one.payload) for one, _ in new],
    )  # fmt: skip
    _grow(conn, fresh, at)
    if new:
        moved(conn, {sent_by: (len(new), sum(weight for _, weight in new))})
    return Kept(new=len(new), here=len(spans) - len(new) - len(refused), refused=refused)


class _Room:
    """How much more is kept of a trace and of a sender. Several requests of one sender that are in
    hand at once may pass its bound by what each of them brings."""

    def __init__(self, conn: sa.Connection, sent_by: str, limits: Limits) -> None:
        row = raw.one(conn, OF_SENDER, (sent_by,))
        self._limits, self._left = limits, limits.sender_bytes - (row[0] if row else 0)

    def fitting(
        self, found: Sequence[Ready], counted: _Counted, refused: list[Refusal]
    ) -> "list[_Sized]":
        """Of new spans of a trace those that fit, each with its bytes; the others are refused."""
        spans, left = self._limits.trace_spans - counted[0], self._limits.trace_bytes - counted[1]
        fits = list[_Sized]()
        for one in found:
            weight = one.weight
            if len(fits) >= spans:
                refused.append(Refusal("trace_full", named(one.known.claim)))
            elif weight > left:
                refused.append(Refusal("trace_large", named(one.known.claim)))
            elif weight > self._left:
                refused.append(Refusal("sender_full", named(one.known.claim)))
            else:
                left, self._left = left - weight, self._left - weight
                fits.append((one, weight))
        return fits


def moved(conn: sa.Connection, senders: Mapping[str, tuple[int, int]]) -> None:
    """So many spans and bytes of these senders came (or, below zero, went). Locks them in order."""
    raw.put_many(conn, SENDER, [(name, *senders[name]) for name in sorted(senders)])


def moves(conn: sa.Connection) -> int:
    """A number that grows whenever spans came, were refused or went."""
    (found,) = raw.one(conn, "SELECT coalesce(sum(moves), 0) FROM outside_senders")
    return int(found)


def room(conn: sa.Connection, sent_by: str) -> Crowd:
    """How much of a sender is here, and which of its traces has gone longest without a span."""
    row, oldest = raw.one(conn, OF_SENDER, (sent_by,)), raw.one(conn, OLDEST, (sent_by,))
    trace, changed = (oldest[0], oldest[1]) if oldest else ("", None)
    return Crowd(kept=row[0] if row else 0, oldest=trace, changed=changed)


def refuse(conn: sa.Connection, refused: Iterable[Refusal], *, at: int, sent_by: str) -> None:
    """Count what was refused, so that people see it too."""
    sums: dict[str, tuple[int, str]] = {}
    for one in refused:
        count, example = sums.get(one.code, (0, ""))
        sums[one.code] = (count + one.count, example or one.span)
    if sums:
        moved(conn, {sent_by: (0, 0)})
    rows = [(sent_by, code, *sums[code], at) for code in sorted(sums)]
    raw.put_many(conn, REFUSED, rows)


def payload(conn: sa.Connection, trace_id: str, span_id: str) -> dict[str, Any]:
    """What one span says in full; empty when it is not here."""
    statement = "SELECT data FROM outside_payloads WHERE trace_id = ? AND span_id = ?"
    row = raw.one(conn, statement, (trace_id, span_id))
    return {} if row is None else unpack(bytes(row[0]))


# Rows ---------------------------------------------------------------------------------------------


def _trace(trace: str, spans: dict[str, Ready], at: int, sent_by: str) -> tuple[Any, ...]:
    first = next(iter(spans.values())).known
    claim = first.claim
    return (
        trace, claim.name, claim.service, sent_by, claim.start, first.end or claim.start, at, at,
    )  # fmt: skip


def _span(known: Known, sent_by: str, weight: int) -> tuple[Any, ...]:
    claim = known.claim
    return (
        claim.trace_id, claim.span_id, claim.parent_id, claim.name, known.kind, known.what,
        known.convention, known.state, claim.start, known.end, known.server, known.agent,
        claim.service, claim.scope, known.code, known.words, known.input_tokens,
        known.output_tokens, known.cached_tokens, known.reasoning_tokens, known.cost, sent_by,
        weight,
    )  # fmt: skip


def _grow(conn: sa.Connection, fresh: dict[str, list[_Sized]], at: int) -> None:
    grown, roots = [], []
    for trace, found in fresh.items():
        spans = [one.known for one, _ in found]
        models = [one for one in spans if one.kind == "model"]
        began = min(one.claim.start for one in spans)
        ended = max(one.end or one.claim.start for one in spans)
        root = next((one for one in spans if not one.claim.parent_id), None)
        agents = [one for one in spans if one.kind == "agent" and one.agent]
        agent = min(agents, key=lambda one: one.claim.start).agent if agents else ""
        if root is not None and root.kind == "agent":
            agent = agent or root.what
        grown.append((
            at, len(spans), sum(weight for _, weight in found), len(models),
            sum(one.kind == "tool" for one in spans),
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


def _counted(conn: sa.Connection, traces: Sequence[str]) -> dict[str, _Counted]:
    """How many spans and bytes each trace has, and whether it goes."""
    found: dict[str, _Counted] = {}
    for start in range(0, len(traces), MANY):
        some = _filled(traces[start : start + MANY])
        found.update((row[0], (row[1], row[2], row[3])) for row in raw.every(conn, COUNTED, some))
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
