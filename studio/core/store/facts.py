"""Reading the journal: windows of facts, oldest first."""

import sqlalchemy as sa

from studio.core.rules.events import Fact
from studio.core.store import codec, raw

OF_SESSION = (
    f"SELECT {codec.COLUMNS} FROM events "  # noqa: S608 - names of our own, here and below
    "WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?"
)
BEFORE = (
    f"SELECT {codec.COLUMNS} FROM events "  # noqa: S608
    "WHERE session_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?"
)
OF_ALL = (
    f"SELECT {codec.COLUMNS} FROM events "  # noqa: S608
    "WHERE position > ? ORDER BY position LIMIT ?"
)


def facts(conn: sa.Connection, session_id: str, *, after: int = 0, limit: int = 200) -> list[Fact]:
    """The facts of a session that follow `after`."""
    return [codec.fact(row) for row in raw.every(conn, OF_SESSION, (session_id, after, limit))]


def before(conn: sa.Connection, session_id: str, seq: int, limit: int) -> list[Fact]:
    """The last facts of a session before `seq`, oldest of them first."""
    rows = raw.every(conn, BEFORE, (session_id, seq, limit))
    return [codec.fact(row) for row in reversed(rows)]


def after_position(conn: sa.Connection, position: int, *, limit: int = 500) -> list[Fact]:
    """The facts of the whole store that follow a position. Whoever goes on from the last one
    he got misses none: positions become visible in their order.
    """
    return [codec.fact(row) for row in raw.every(conn, OF_ALL, (position, limit))]
