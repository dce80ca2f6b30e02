"""A turn's trace as its page and its export show it: six statements, whatever its size."""

from typing import Any

import sqlalchemy as sa

from studio.core.projections import sessions
from studio.core.rules import comparing, traces
from studio.core.rules.access import Person
from studio.core.rules.comparing import Comparison
from studio.core.rules.errors import NotFound
from studio.core.rules.events import Caller, MessageAccepted
from studio.core.rules.spans import Mark, Stand, Told, Trace, Work
from studio.core.store import codec, tables

MOST_SPANS = 50_000
TYPES = (
    "turn.started", "model.requested", "model.replied", "model.failed", "model.uncertain",
    "summary.requested", "context.compacted", "summary.failed",
    "call.started", "call.succeeded", "call.failed", "call.uncertain", "call.denied",
    "call.cancelled",
)  # fmt: skip

s, t, e = tables.sessions.c, tables.turns.c, tables.events.c
f, w = tables.effects.c, tables.waits.c


def of_turn(
    conn: sa.Connection, person: Person, session_id: str, turn: str, *, key: bytes, now: int
) -> Trace:
    """The trace of a turn, named by its number in the session or by its id."""
    return _trace(conn, _told(conn, person, session_id, turn), key=key, now=now)


def of_any(conn: sa.Connection, turn_id: str, *, key: bytes, now: int) -> Trace | None:
    """The same by the turn's id, whoever may see it: for the export alone. None without one."""
    query = sa.select(*_TOLD, t.session_id, s.agent, s.agent_version).join(
        tables.sessions, s.id == t.session_id
    )
    row = conn.execute(query.where(t.id == turn_id)).mappings().one_or_none()
    if row is None:
        return None
    return _trace(conn, Told(caller=_caller(conn, turn_id), **row), key=key, now=now)


def _trace(conn: sa.Connection, told: Told, *, key: bytes, now: int) -> Trace:
    return traces.trace(
        told, _marks(conn, told.id), _works(conn, told.id), _stands(conn, told.id), key=key, now=now
    )


def compared(
    conn: sa.Connection, person: Person, left: tuple[str, str], right: tuple[str, str], *,
    key: bytes, now: int,
) -> Comparison:  # fmt: skip
    """Two turns, each named by its session and its number or id, side by side."""
    one = of_turn(conn, person, *left, key=key, now=now)
    two = of_turn(conn, person, *right, key=key, now=now)
    # the hash stands first in the JSON of a Content
    hashes = sa.select(f.id, sa.func.substr(f.arguments, len('{"hash":"') + 1, 64)).where(
        f.turn_id.in_((one.turn.id, two.turn.id)), f.kind != "model"
    )
    found = {effect: value for effect, value in conn.execute(hashes.limit(2 * MOST_SPANS))}
    return comparing.compare(one, two, found)


_TOLD = (t.id, t.number, t.status, t.opened, t.ended, t.code, t.message)


def _told(conn: sa.Connection, person: Person, session_id: str, turn: str) -> Told:
    head = sessions.head(conn, person, session_id, s.agent, s.agent_version)
    is_number = turn.isascii() and turn.isdigit() and len(turn) < 10
    named = t.number == int(turn) if is_number else t.id == turn
    row = conn.execute(
        sa.select(*_TOLD).where(t.session_id == session_id, named)
    ).mappings().one_or_none()  # fmt: skip
    if row is None:
        raise NotFound("This session has no such turn.", code="turn.not_found")
    return Told(
        session_id=session_id, agent=head["agent"], agent_version=head["agent_version"],
        caller=_caller(conn, row["id"]), **row,
    )  # fmt: skip


def _caller(conn: sa.Connection, turn_id: str) -> Caller | None:
    query = sa.select(e.payload).where(e.turn_id == turn_id, e.type == MessageAccepted.TYPE)
    made = conn.execute(query.limit(1)).scalar()
    event = codec.event(MessageAccepted.TYPE, made) if made is not None else None
    return event.caller if isinstance(event, MessageAccepted) else None


def _marks(conn: sa.Connection, turn_id: str) -> list[Mark]:
    query = sa.select(e.seq, e.type, e.time, e.effect_id).where(
        e.turn_id == turn_id, e.type.in_(TYPES)
    )
    rows = conn.execute(query.order_by(e.seq).limit(4 * MOST_SPANS))
    return [Mark(seq=seq, type=kind, time=at, effect_id=effect) for seq, kind, at, effect in rows]


_WORK = (
    "id", "kind", "tool", "step", "state", "server", "plugin", "plugin_version", "code",
    "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cost",
)  # fmt: skip


def _works(conn: sa.Connection, turn_id: str) -> list[Work]:
    words = sa.func.substr(f.message, 1, 300).label("message")
    query = sa.select(*(f[name] for name in _WORK), words).where(f.turn_id == turn_id)
    return [Work(**row) for row in _rows(conn, query.limit(MOST_SPANS))]


def _stands(conn: sa.Connection, turn_id: str) -> list[Stand]:
    names = (
        "id", "effect_id", "kind", "tool", "opened", "closed", "choice", "closed_by", "reason",
        "plugin",
    )  # fmt: skip
    # by the effects' own index: waits have none of turns
    mine = sa.select(f.id).where(f.turn_id == turn_id)
    query = sa.select(*(w[name] for name in names)).where(w.effect_id.in_(mine))
    return [Stand(**row) for row in _rows(conn, query.limit(MOST_SPANS))]


def _rows(conn: sa.Connection, query: sa.Select[Any]) -> list[dict[str, Any]]:
    return [dict(row) for row in conn.execute(query).mappings()]
