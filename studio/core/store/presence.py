"""That a worker lives, for the others to see. Only on PostgreSQL; alone on SQLite, nobody asks.

Two signs, and both are needed: an advisory lock on a connection of its own, which the server frees
the moment the process dies, and a time that the heartbeat moves on, which tells of one that is
frozen or cut off. The lease's fence guards against a worker that was given up and comes back.
"""

import asyncio
import secrets
from typing import Any

import sqlalchemy as sa

from studio.core.store import raw
from studio.core.store.db import Db
from studio.core.store.writer import close

LOCKS = 7001  # the class of our advisory locks
NOW = "(extract(epoch from clock_timestamp()) * 1000)::bigint"

TRY_LOCK = "SELECT pg_try_advisory_lock(?, ?)"
UNLOCK = "SELECT pg_advisory_unlock(?, ?)"
JOIN = (
    f"INSERT INTO workers (id, lock_key, alive_until) VALUES (?, ?, {NOW} + ?) "  # noqa: S608
    "ON CONFLICT (id) DO UPDATE SET lock_key = excluded.lock_key, "
    "alive_until = excluded.alive_until"
)
ALL = f"SELECT id, lock_key, alive_until < {NOW} FROM workers"  # noqa: S608
FREE = (
    "WITH held AS MATERIALIZED (SELECT session_id FROM wakes WHERE owner = ? "
    "FOR UPDATE SKIP LOCKED) UPDATE wakes SET owner = NULL, expires = NULL "
    "WHERE session_id IN (SELECT session_id FROM held) RETURNING session_id"
)
LEAVE = (
    "DELETE FROM workers WHERE id = ? "
    "AND NOT EXISTS (SELECT 1 FROM wakes WHERE wakes.owner = workers.id)"
)


class Presence:
    """One worker's signs of life, and its look at the others'. `ttl` is milliseconds."""

    def __init__(self, db: Db, owner: str, ttl: int) -> None:
        self._db, self._owner, self._ttl = db, owner, ttl
        self._conn: sa.Connection | None = None
        self._key = 0

    async def start(self) -> None:
        """Show that this worker is here. Do this before the first claim."""
        if self._db.kind == "postgresql":
            await asyncio.to_thread(self._locked)

    async def free_dead(self) -> list[str]:
        """Free the leases of workers that are gone; the sessions that may move again.

        Costs a statement or two while all live, so it can be asked several times a second.
        """
        if self._db.kind == "sqlite":
            return []
        freed: list[str] = []
        for owner in await asyncio.to_thread(self._dead):
            freed += await self._db.touch(lambda conn, owner=owner: _free(conn, owner))  # type: ignore[misc]
        return freed

    async def close(self) -> None:
        """Leave: free what this worker still holds and let the lock go."""
        if self._db.kind == "sqlite":
            return
        try:
            await self._db.touch(lambda conn: _free(conn, self._owner))
        finally:
            await asyncio.to_thread(self._drop)

    def _locked(self) -> sa.Connection:
        """The connection that holds our lock; a new one when the old one broke."""
        if self._conn is not None:
            try:
                raw.one(self._conn, "SELECT 1")
                return self._conn
            except Exception:  # noqa: BLE001 - it has gone, and our lock with it
                self._drop()
        conn = self._db.own_connection()
        key = secrets.randbelow(2**31)
        while not raw.one(conn, TRY_LOCK, (LOCKS, key))[0]:
            key = secrets.randbelow(2**31)
        raw.put(conn, JOIN, (self._owner, key, self._ttl))
        self._conn, self._key = conn, key
        return conn

    def _dead(self) -> list[str]:
        conn = self._locked()
        workers = {row[0]: row for row in raw.every(conn, ALL)}
        if workers.pop(self._owner, None) is None:  # somebody took us for dead
            raw.put(conn, JOIN, (self._owner, self._key, self._ttl))
        return [owner for owner, row in workers.items() if _is_dead(conn, row)]

    def _drop(self) -> None:
        conn, self._conn = self._conn, None
        if conn is not None:
            close(conn)


def _is_dead(conn: sa.Connection, row: Any) -> bool:
    """Late with its heartbeat, or its lock can be had, so its connection is gone."""
    _, key, late = row
    if late:
        return True
    if not raw.one(conn, TRY_LOCK, (LOCKS, key))[0]:
        return False
    raw.put(conn, UNLOCK, (LOCKS, key))
    return True


def _free(conn: sa.Connection, owner: str) -> list[str]:
    freed = [row[0] for row in raw.every(conn, FREE, (owner,))]
    raw.put(conn, LEAVE, (owner,))
    return freed
