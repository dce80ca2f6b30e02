"""A turn's trace as its page and its export show it: few statements, whatever its size.

What was built is kept for a while and shared by all who look: the spans of a turn are the same for
everybody who may see its session.
"""

import re
from collections import OrderedDict
from threading import Lock
from typing import Any

import sqlalchemy as sa

from studio.core.projections import sessions, surroundings
from studio.core.rules import comparing, traces
from studio.core.rules.access import Person
from studio.core.rules.comparing import Comparison
from studio.core.rules.errors import NotFound
from studio.core.rules.events import Caller, MessageAccepted
from studio.core.rules.spans import Mark, Stand, Told, Trace, Work
from studio.core.store import codec, tables

MOST_SPANS = 50_000
MOST_KEPT = 60_000  # spans of built traces that are kept; about 30 MB
FRESH_MS = 1_000  # a turn in hand is built anew after so long
TYPES = (
    "turn.started", "model.requested", "model.replied", "model.failed", "model.uncertain",
    "summary.requested", "context.compacted", "summary.failed",
    "call.started", "call.succeeded", "call.failed", "call.uncertain", "call.denied",
    "call.cancelled", "call.late",
)  # fmt: skip

s, t, e = tables.sessions.c, tables.turns.c, tables.events.c
f, w = tables.effects.c, tables.waits.c


class Built:
    """Traces that were built, by what they were built from; the one used longest ago goes first."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most, self._lock = most, Lock()
        self._kept: OrderedDict[str, tuple[tuple[Any, ...], Trace]] = OrderedDict()

    def get(self, turn: Told, made_of: tuple[Any, ...], now: int) -> Trace | None:
        """The trace of a turn, if nothing about it has changed since."""
        with self._lock:
            found = self._kept.get(turn.id)
            if found is None or found[0] != made_of:
                return None
            if turn.ended is None and not 0 <= now - found[1].now < FRESH_MS:
                return None
            self._kept.move_to_end(turn.id)
            return found[1]

    def put(self, made_of: tuple[Any, ...], trace: Trace) -> None:
        """Keep one, and let others go for it."""
        with self._lock:
            self._kept[trace.turn.id] = (made_of, trace)
            self._kept.move_to_end(trace.turn.id)
            held = sum(len(one.spans) for _, one in self._kept.values())
            while held > self._most and self._kept:
                _, (_, gone) = self._kept.popitem(last=False)
                held -= len(gone.spans)


def of_turn(
    conn: sa.Connection, person: Person, session_id: str, turn: str, *, key: bytes, now: int,
    built: Built | None = None,
) -> Trace:  # fmt: skip
    """The trace of a turn, named by its number in the session or by its id."""
    told = _told(conn, person, session_id, turn)
    made_of = (
        told, key, newest(conn, session_id, told.id), surroundings.newest(conn, told, now)
    )  # fmt: skip
    found = built.get(told, made_of, now) if built is not None else None
    if found is not None:
        return found
    made = _trace(conn, told, key=key, now=now)
    if built is not None:
        built.put(made_of, made)
    return made


def of_any(conn: sa.Connection, turn_id: str, *, key: bytes, now: int) -> Trace | None:
    """The same by the turn's id, whoever may see it: for the export alone. None without one."""
    of_session = (t.session_id, s.agent, s.agent_version, s.environment_id)
    query = sa.select(*_TOLD, *of_session).join(tables.sessions, s.id == t.session_id)
    row = conn.execute(query.where(t.id == turn_id)).mappings().one_or_none()
    if row is None:
        return None
    return _trace(conn, Told(caller=_caller(conn, turn_id), **row), key=key, now=now)


def _trace(conn: sa.Connection, told: Told, *, key: bytes, now: int) -> Trace:
    return traces.trace(
        told, _marks(conn, told.id), _works(conn, told.id), _stands(conn, told.id), key=key,
        now=now, around=surroundings.of(conn, told, now),
    )  # fmt: skip


def compared(
    conn: sa.Connection, person: Person, left: tuple[str, str], right: tuple[str, str], *,
    key: bytes, now: int, built: Built | None = None,
) -> Comparison:  # fmt: skip
    """Two turns, each named by its session and its number or id, side by side."""
    one = of_turn(conn, person, *left, key=key, now=now, built=built)
    two = of_turn(conn, person, *right, key=key, now=now, built=built)
    # the hash stands first in the JSON of a Content
    hashes = sa.select(f.id, sa.func.substr(f.arguments, len('{"hash":"') + 1, 64)).where(
        f.turn_id.in_((one.turn.id, two.turn.id)), f.kind != "model"
    )
    found = {effect: value for effect, value in conn.execute(hashes.limit(2 * MOST_SPANS))}
    return comparing.compare(one, two, found)


_TOLD = (t.id, t.number, t.status, t.opened, t.ended, t.code, t.message, t.calls)


def _told(conn: sa.Connection, person: Person, session_id: str, turn: str) -> Told:
    head = sessions.head(conn, person, session_id, s.agent, s.agent_version, s.environment_id)
    is_number = turn.isascii() and turn.isdigit() and len(turn) < 10
    named = t.number == int(turn) if is_number else t.id == turn
    row = conn.execute(
        sa.select(*_TOLD).where(t.session_id == session_id, named)
    ).mappings().one_or_none()  # fmt: skip
    if row is None:
        raise NotFound("This session has no such turn.", code="turn.not_found")
    return Told(
        session_id=session_id, agent=head["agent"], agent_version=head["agent_version"],
        environment_id=head["environment_id"], caller=_caller(conn, row["id"]), **row,
    )  # fmt: skip


def _caller(conn: sa.Connection, turn_id: str) -> Caller | None:
    query = sa.select(e.payload).where(e.turn_id == turn_id, e.type == MessageAccepted.TYPE)
    made = conn.execute(query.limit(1)).scalar()
    event = codec.event(MessageAccepted.TYPE, made) if made is not None else None
    return event.caller if isinstance(event, MessageAccepted) else None


def newest(conn: sa.Connection, session_id: str, turn_id: str) -> int:
    """The seq of the newest fact of the turn: what was built from it holds until another comes."""
    here = sa.func.coalesce(e.session_id, "") == session_id  # found by the turns' own index
    query = sa.select(e.seq).where(e.turn_id == turn_id, here)
    return int(conn.execute(query.order_by(e.seq.desc()).limit(1)).scalar() or 0)


_FIRST_TOKEN = re.compile(r'"first_token":(\d+)}$')
_SAYS = ("model.replied", "model.failed", "context.compacted", "summary.failed")


def _marks(conn: sa.Connection, turn_id: str) -> list[Mark]:
    # when the first token came stands last in the JSON of those facts that say so
    end = sa.func.substr(e.payload, sa.func.length(e.payload) - 40)
    says = sa.case((e.type.in_(_SAYS), end), else_="")
    query = sa.select(e.seq, e.type, e.time, e.effect_id, says).where(
        e.turn_id == turn_id, e.type.in_(TYPES)
    )
    rows = conn.execute(query.order_by(e.seq).limit(4 * MOST_SPANS)).all()
    return [Mark(*row[:4], _first(row[4]) if row[4] else None) for row in rows]


def _first(said: str) -> int | None:
    found = _FIRST_TOKEN.search(said)
    return int(found[1]) if found is not None else None


SKILLED = ("load_skill", "read_skill_resource")
_NAMED = re.compile(r'"(?:name|skill)":\s*"([^"\\]{1,100})"')
_WORK = tuple(name for name in Work._fields if name not in ("message", "skill"))


def _works(conn: sa.Connection, turn_id: str) -> list[Work]:
    words = sa.func.substr(f.message, 1, 300).label("message")
    peek = sa.case((f.tool.in_(SKILLED), f.peek), else_="")
    query = sa.select(*(f[name] for name in _WORK), words, peek).where(f.turn_id == turn_id)
    return [
        Work._make((*row[:-1], _skill(row[-1]) if row[-1] else None))
        for row in conn.execute(query.limit(MOST_SPANS)).all()
    ]


def _skill(peek: str) -> str | None:
    """The skill that a call's arguments name."""
    found = _NAMED.search(peek)
    return found[1] if found is not None else None


def _stands(conn: sa.Connection, turn_id: str) -> list[Stand]:
    names = (
        "id", "effect_id", "kind", "tool", "opened", "closed", "choice", "closed_by", "reason",
        "plugin",
    )  # fmt: skip
    # by the effects' own index: waits have none of turns
    mine = sa.select(f.id).where(f.turn_id == turn_id)
    query = sa.select(*(w[name] for name in names)).where(w.effect_id.in_(mine))
    return [Stand(**row) for row in conn.execute(query.limit(MOST_SPANS)).mappings()]
