"""Past turns that somebody asked to be exported again: one row each, moved as they go out."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.store import collector, raw
from studio.core.store.collector import Came, Ended, NotOurs, Place, Window
from studio.core.store.db import Db

MOST_TURNS = 100_000  # of one backfill
MOST_OPEN = 10
COLUMNS = (
    "id, by, session_id, since, until, asked, ended, state, turns, done, sent, refused, dropped, "
    "place, place_id, part"
)
ONE = f"SELECT {COLUMNS} FROM backfills WHERE id = ?"  # noqa: S608
OPEN = f"SELECT {COLUMNS} FROM backfills WHERE ended IS NULL ORDER BY asked, id"  # noqa: S608
NEWEST = f"SELECT {COLUMNS} FROM backfills ORDER BY id DESC LIMIT 1"  # noqa: S608
ASK = (
    "INSERT INTO backfills (id, by, session_id, since, until, asked, turns) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)"
)
# The turns of one session are found by its own index first; the order would choose the time's.
_ALL = "FROM turns WHERE ended IS NOT NULL AND ended >= ? AND ended < ?"
_OWN = "WITH own AS MATERIALIZED (SELECT id, ended FROM turns WHERE session_id = ?) "
_OWN_ONES = _ALL.replace("FROM turns", "FROM own")
_MOST = f"LIMIT {MOST_TURNS + 1}) AS found"
_BEHIND = "AND (ended > ? OR (ended = ? AND id > ?)) ORDER BY ended, id LIMIT ?"
COUNT = {
    "all": f"SELECT count(*) FROM (SELECT 1 {_ALL} {_MOST}",  # noqa: S608
    "session": f"{_OWN}SELECT count(*) FROM (SELECT 1 {_OWN_ONES} {_MOST}",  # noqa: S608
}
TURNS = {
    "all": f"SELECT id, ended {_ALL} {_BEHIND}",
    "session": f"{_OWN}SELECT id, ended {_OWN_ONES} {_BEHIND}",
}
MOVE = (
    "UPDATE backfills SET state = 'running', place = ?, place_id = ?, part = ?, done = done + ?, "
    "sent = sent + ?, refused = refused + ?, dropped = dropped + ? "
    "WHERE id = ? AND ended IS NULL AND place = ? AND place_id = ? AND part = ? RETURNING id"
)
END = "UPDATE backfills SET state = ?, ended = ? WHERE id = ? AND ended IS NULL"


@dataclass(frozen=True, kw_only=True)
class Backfill:
    """One of them. `turns` is how many there are, the other counts are of spans but for `done`."""

    id: str
    by: str
    session_id: str
    since: int
    until: int
    asked: int
    ended: int | None
    state: str
    turns: int
    done: int
    sent: int
    refused: int
    dropped: int
    place: int
    place_id: str
    part: int


def count(conn: sa.Connection, session_id: str, since: int, until: int) -> int:
    """How many turns that would be, at most one more than are allowed."""
    statement, own = _asked(COUNT, session_id)
    return int(raw.one(conn, statement, (*own, since, until))[0])


def ask(
    conn: sa.Connection, id: str, *, by: str, session_id: str, since: int, until: int, now: int,
    turns: int,
) -> None:  # fmt: skip
    """Ask for one."""
    raw.put(conn, ASK, (id, by, session_id, since, until, now, turns))


def get(conn: sa.Connection, id: str) -> Backfill | None:
    """One by its id."""
    return _backfill(raw.one(conn, ONE, (id,)))


def open_ones(conn: sa.Connection) -> list[Backfill]:
    """Those that have not ended, the oldest first."""
    return [found for row in raw.every(conn, OPEN) if (found := _backfill(row)) is not None]


def newest(conn: sa.Connection) -> Backfill | None:
    """The one that was asked for last."""
    return _backfill(raw.one(conn, NEWEST))


def turns(conn: sa.Connection, of: Backfill, after: Place, limit: int) -> Window:
    """Its turns behind a place, in the order in which they ended."""
    statement, own = _asked(TURNS, of.session_id)
    since = max(of.since, after.at)  # the index begins at the place
    values = (*own, since, of.until, after.at, after.at, after.id, limit)
    rows = raw.every(conn, statement, values)
    found = tuple(Ended(turn_id=id, time=ended, place=Place(at=ended, id=id)) for id, ended in rows)
    place = found[-1].place if found else after
    return Window(turns=found, scanned=place, more=len(found) == limit)


async def move(
    db: Db, owner: str, id: str, before: Place, after: Place, done: int, came: Came, now: int
) -> None:
    """Its turns up to `after` are done; NotOurs when another worker moved it."""

    def act(conn: sa.Connection) -> None:
        values = (
            after.at, after.id, after.part, done, came.sent, came.refused, came.dropped, id,
            before.at, before.id, before.part,
        )  # fmt: skip
        if raw.one(conn, MOVE, values) is None:
            raise NotOurs
        collector.told(conn, owner, came, now)

    await db.touch(act)


async def end(db: Db, id: str, state: str, now: int) -> None:
    """It is over: done, or given up."""
    await db.touch(lambda conn: raw.put(conn, END, (state, now, id)))


def _asked(statements: dict[str, str], session_id: str) -> tuple[str, tuple[str, ...]]:
    """The statement for one session or for all, and the values it begins with."""
    return (statements["session"], (session_id,)) if session_id else (statements["all"], ())


def _backfill(row: Any) -> Backfill | None:
    return None if row is None else Backfill(**dict(zip(COLUMNS.split(", "), row, strict=True)))
