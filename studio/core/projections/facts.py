"""Facts of one session as they were recorded, for the record page and for programs."""

import json
import re
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.projections import pages, sessions
from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from studio.core.store import blobs, tables

LIMIT_MOST = 1000
HASH = re.compile(r"[0-9a-f]{64}")
_NAMES = (
    "seq", "position", "id", "time", "type", "actor", "evidence", "turn_id", "effect_id", "payload",
)  # fmt: skip

_ORIGIN = ("kind", "server", "plugin", "plugin_version")

c, f = tables.events.c, tables.effects.c


@dataclass(frozen=True, kw_only=True)
class EventRow:
    """One fact. `payload` is the event's fields as JSON; large values are head, tail and hash.

    `kind`, `server`, `plugin` and `plugin_version` are of the call that it is about, else None.
    """

    seq: int
    position: int
    id: str
    time: int
    type: str
    actor: str
    evidence: str
    turn_id: str | None
    effect_id: str | None
    payload: dict[str, Any]
    kind: str | None = None
    server: str | None = None
    plugin: str | None = None
    plugin_version: str | None = None


def after(
    conn: sa.Connection, person: Person, session_id: str, seq: int, limit: int
) -> list[EventRow]:
    """Facts behind a seq, oldest first: two statements."""
    sessions.head(conn, person, session_id)
    return of_journal(conn, session_id, after=seq, limit=limit)


def between(
    conn: sa.Connection, person: Person, session_id: str, *, after: int, until: int, limit: int,
    turn_id: str | None = None,
) -> list[EventRow]:  # fmt: skip
    """Facts behind a seq up to another, of one turn or of all, oldest first: two statements."""
    sessions.head(conn, person, session_id)
    query = _of(session_id).where(c.seq > after, c.seq <= until).order_by(c.seq)
    if turn_id is not None:
        query = query.where(c.turn_id == turn_id)
    return [_row(row) for row in sessions.rows(conn, query.limit(_size(limit)))]


def before(
    conn: sa.Connection, person: Person, session_id: str, seq: int | None, limit: int
) -> list[EventRow]:
    """The newest facts, or those before a seq; oldest first: two statements."""
    sessions.head(conn, person, session_id)
    return end_of_journal(conn, session_id, before=seq, limit=limit)


def of_effect(
    conn: sa.Connection, person: Person, session_id: str, effect_id: str, limit: int
) -> list[EventRow]:
    """The facts of one effect of a session, oldest first: two statements."""
    sessions.head(conn, person, session_id)
    here = sa.func.coalesce(c.session_id, "") == session_id  # found by the effects' own index
    query = _select().where(c.effect_id == effect_id, here).order_by(c.seq)
    return [_row(row) for row in sessions.rows(conn, query.limit(_size(limit)))]


def of_turn(
    conn: sa.Connection, person: Person, session_id: str, turn_id: str, limit: int
) -> list[EventRow]:
    """The facts of a turn that are of none of its effects, oldest first: two statements."""
    sessions.head(conn, person, session_id)
    here = sa.func.coalesce(c.session_id, "") == session_id  # found by the turns' own index
    query = _select().where(c.turn_id == turn_id, here, c.effect_id.is_(None)).order_by(c.seq)
    return [_row(row) for row in sessions.rows(conn, query.limit(_size(limit)))]


def of_journal(conn: sa.Connection, journal_id: str, *, after: int, limit: int) -> list[EventRow]:
    """Facts of a journal behind a seq, for whoever may see it."""
    query = _of(journal_id).where(c.seq > after).order_by(c.seq)
    return [_row(row) for row in sessions.rows(conn, query.limit(_size(limit)))]


def end_of_journal(
    conn: sa.Connection, journal_id: str, *, before: int | None, limit: int
) -> list[EventRow]:
    """The newest facts of a journal, or those before a seq; oldest first."""
    query = _of(journal_id).order_by(c.seq.desc())
    if before is not None:
        query = query.where(c.seq < before)
    rows = sessions.rows(conn, query.limit(_size(limit)))
    return [_row(row) for row in reversed(rows)]


def refers(conn: sa.Connection, journal_id: str, hash: str) -> bool:
    """A fact of this journal names this hash."""
    query = sa.select(1).where(c.session_id == journal_id, c.payload.contains(f'"{hash}"'))
    return bool(HASH.fullmatch(hash)) and conn.execute(query.limit(1)).first() is not None


def blob(conn: sa.Connection, person: Person, session_id: str, hash: str) -> bytes:
    """The bytes of a large value, if a fact of this session refers to it: four statements.

    What a provider wants back unchanged is no content for people or programs.
    """
    sessions.head(conn, person, session_id)
    known = refers(conn, session_id, hash)
    data = blobs.read(conn, hash) if known and not blobs.is_opaque(conn, hash) else None
    if data is None:
        raise NotFound("This session has no such content.", code="content.not_found")
    return data


def _of(session_id: str) -> sa.Select[Any]:
    return _select().where(c.session_id == session_id)


def _select() -> sa.Select[Any]:
    is_call = sa.and_(f.id == c.effect_id, f.kind != "model")
    return sa.select(*(c[name] for name in _NAMES), *(f[name] for name in _ORIGIN)).join_from(
        tables.events, tables.effects, is_call, isouter=True
    )


def _size(limit: int) -> int:
    return pages.size(limit, most=LIMIT_MOST)


def _row(row: sa.RowMapping) -> EventRow:
    return EventRow(**{**row, "payload": json.loads(row["payload"])})
