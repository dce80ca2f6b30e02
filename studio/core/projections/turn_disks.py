"""What turns kept of their environment's disk: the version before, and the one that they made."""

from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa

from studio.core.projections import sessions
from studio.core.rules.access import Person
from studio.core.store import tables

NEWEST = 50  # turns of a session whose versions an open page follows
MOST = 1_000  # versions that are looked at together

v, w = tables.disk_versions.c, tables.disk_versions.alias("w").c


@dataclass(frozen=True, kw_only=True)
class TurnDisk:
    """The version that a turn made, with its files; `added` bytes were new to the disk store.

    `before` is the newest earlier version that is still there, None when there is none.
    """

    environment_id: str
    before: int | None
    version: int
    files: int
    added: int


def of_turns(conn: sa.Connection, turn_ids: Collection[str]) -> dict[str, TurnDisk]:
    """By turn, those of these turns that kept a version which is there: one statement, or none."""
    if not turn_ids:
        return {}
    found = conn.execute(
        _query().where(v.turn_id.in_(list(turn_ids))).order_by(v.version).limit(MOST)
    )
    return {row.turn_id: _disk(row) for row in found}


def of_turn(conn: sa.Connection, person: Person, session_id: str, turn_id: str) -> TurnDisk | None:
    """What one turn of a session kept: two statements."""
    sessions.head(conn, person, session_id)
    found = conn.execute(_query().where(v.turn_id == turn_id, v.session_id == session_id)).first()
    return _disk(found) if found is not None else None


def of_session(conn: sa.Connection, person: Person, session_id: str) -> dict[str, TurnDisk]:
    """By turn, what the newest turns of a session kept, as far as it is there: two statements."""
    sessions.head(conn, person, session_id)
    newest = sa.select(tables.turns.c.id).where(tables.turns.c.session_id == session_id)
    turns = newest.order_by(tables.turns.c.number.desc()).limit(NEWEST)
    found = conn.execute(_query().where(v.turn_id.in_(turns)).order_by(v.version).limit(MOST))
    return {row.turn_id: _disk(row) for row in found}


def _query() -> sa.Select[tuple[str, str, int, int, int, int]]:
    before = sa.select(sa.func.max(w.version)).where(
        w.environment_id == v.environment_id, w.version < v.version, w.removed.is_(None)
    )
    return sa.select(
        v.turn_id, v.environment_id, v.version, v.files, v.added,
        before.scalar_subquery().label("before"),
    ).where(v.removed.is_(None))  # fmt: skip


def _disk(row: sa.Row[tuple[str, str, int, int, int, int]]) -> TurnDisk:
    return TurnDisk(
        environment_id=row.environment_id, before=row.before, version=row.version,
        files=row.files, added=row.added,
    )  # fmt: skip
