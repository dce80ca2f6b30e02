"""Saved views of lists: their rows, as facts make them, and what a commit asks of them."""

from dataclasses import dataclass

import sqlalchemy as sa

from studio.core.rules import events as e
from studio.core.rules.events import Fact
from studio.core.store import raw
from studio.core.store.changes import Changes, plain

SAVE = (
    "INSERT INTO views (id, list, name, query, owner, shared, by, made, time) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET name = excluded.name, "
    "query = excluded.query, shared = excluded.shared, by = excluded.by, time = excluded.time, "
    "removed = NULL, removed_by = NULL"
)
REMOVE = "UPDATE views SET removed = ?, removed_by = ? WHERE id = ?"
COLUMNS = "id, list, name, query, owner, shared, by, made, time, removed, removed_by"
ONE = f"SELECT {COLUMNS} FROM views WHERE id = ?"  # noqa: S608
OWN = f"SELECT {COLUMNS} FROM views WHERE list = ? AND owner = ? AND removed IS NULL"  # noqa: S608
MINE = (
    f"SELECT {COLUMNS} FROM views WHERE owner = ? AND removed IS NULL AND (? = '' OR list = ?) "  # noqa: S608
    "ORDER BY list, name, id LIMIT ?"
)
SHARED = (
    f"SELECT {COLUMNS} FROM views WHERE shared = 1 AND owner <> ? AND removed IS NULL "  # noqa: S608
    "AND (? = '' OR list = ?) ORDER BY list, name, id LIMIT ?"
)
ALL_SHARED = (
    "SELECT count(*) FROM views WHERE shared = 1 AND owner <> ? AND removed IS NULL "
    "AND (? = '' OR list = ?)"
)
MOVED = "SELECT coalesce(max(seq), 0) FROM events WHERE session_id = 'views'"


@dataclass(frozen=True, kw_only=True)
class View:
    """Filters of a list under a name. `by` saved it last; times are ms, UTC."""

    id: str
    list: str
    name: str
    query: str
    owner: str
    shared: bool
    by: str
    made: int
    time: int
    removed: int | None
    removed_by: str | None


def follow(changes: Changes, fact: Fact) -> None:
    """The row of a view that was saved or removed."""
    match fact.event:
        case e.ViewSaved() as f:
            row = (
                f.view_id, f.list, plain(f.name), plain(f.query), f.owner, int(f.shared), f.by,
                fact.time, fact.time,
            )  # fmt: skip
            changes.update(SAVE, row)
        case e.ViewRemoved() as f:
            changes.update(REMOVE, (fact.time, f.by, f.view_id))
        case _:
            pass


def get(conn: sa.Connection, view_id: str) -> View | None:
    """One view, also one that was removed."""
    row = raw.one(conn, ONE, (view_id,))
    return None if row is None else _view(row)


def own(conn: sa.Connection, list: str, owner: str) -> tuple[View, ...]:
    """The views of a list that somebody has."""
    return tuple(_view(row) for row in raw.every(conn, OWN, (list, owner)))


def seen(
    conn: sa.Connection, person: str, list: str, *, own: int, shared: int
) -> tuple[tuple[View, ...], tuple[View, ...]]:
    """The views that somebody has, and what others share, of a list or of all ("")."""
    mine = raw.every(conn, MINE, (person, list, list, own))
    others = raw.every(conn, SHARED, (person, list, list, shared))
    return tuple(map(_view, mine)), tuple(map(_view, others))


def shared(conn: sa.Connection, person: str, list: str) -> int:
    """How many others share."""
    (count,) = raw.one(conn, ALL_SHARED, (person, list, list))
    return int(count)


def moved(conn: sa.Connection) -> int:
    """What grows whenever a view changes."""
    (seq,) = raw.one(conn, MOVED)
    return int(seq)


def _view(row: object) -> View:
    values = dict(zip(COLUMNS.split(", "), row, strict=True))  # type: ignore[call-overload]
    return View(**{**values, "shared": bool(values["shared"])})
