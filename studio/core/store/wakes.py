"""Wakes and leases: which session may move, when, and who holds it. One row a session.

A wake is written with the fact that causes it and is never lost: a session woken while somebody
holds it is kept by its holder for another round. A lease is fenced: its number grows with every
claim, and whoever has an older one can record nothing. Times are milliseconds. What is due goes by
the caller's clock; on PostgreSQL leases go by the server's. Statements that lock several rows
skip the locked ones, so nothing here can lock up with commits.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from studio.core.store import raw
from studio.core.store.db import Db

SOON = 1_000

# The {parts} that differ between the stores are filled in below; every value goes as a parameter.

SET = (
    "INSERT INTO wakes (session_id, due, generation) VALUES (?, ?, 1) "
    "ON CONFLICT (session_id) DO UPDATE SET generation = wakes.generation + 1, "
    "due = CASE WHEN wakes.due < excluded.due THEN wakes.due ELSE excluded.due END"
)
# MATERIALIZED: else PostgreSQL may look for free rows again and again, and claim too many
TAKE = (
    "UPDATE wakes SET owner = ?, fence = fence + 1, expires = {clock}? "
    "WHERE session_id IN (SELECT session_id FROM these) RETURNING session_id, fence, generation"
)
CLAIM = (
    "WITH these AS MATERIALIZED (SELECT session_id FROM wakes WHERE owner IS NULL "
    "AND due IS NOT NULL AND due <= ? ORDER BY due LIMIT ? {skip}) {take}"
)
CLAIM_ONLY = (
    "WITH these AS MATERIALIZED (SELECT session_id FROM wakes WHERE owner IS NULL "
    "AND due IS NOT NULL AND due <= ? AND {among} ORDER BY due LIMIT ? {skip}) {take}"
)
CLAIM_EXPIRED = (
    "WITH these AS MATERIALIZED (SELECT session_id FROM wakes WHERE owner IS NOT NULL "
    "AND owner <> ? AND expires < {clock}? ORDER BY expires LIMIT ? {skip}) {take}"
)
RENEW = (
    "WITH mine AS MATERIALIZED (SELECT session_id FROM wakes WHERE owner = ? {skip}) "
    "UPDATE wakes SET expires = {clock}? WHERE session_id IN (SELECT session_id FROM mine) "
    "RETURNING session_id"
)
ALIVE = "UPDATE workers SET alive_until = {clock}? WHERE id = ?"
MINE = "SELECT session_id FROM wakes WHERE owner = ?"
RELEASE = (
    "UPDATE wakes SET due = CASE WHEN generation = ? THEN ? ELSE due END, "
    "owner = CASE WHEN generation = ? THEN NULL ELSE owner END, "
    "expires = CASE WHEN generation = ? THEN NULL ELSE expires END "
    "WHERE session_id = ? AND owner = ? AND fence = ? RETURNING generation, owner"
)
NEAR = (
    "SELECT session_id, due FROM wakes WHERE owner IS NULL AND due IS NOT NULL "
    "AND due > ? AND due <= ? ORDER BY due LIMIT ?"
)


@dataclass(frozen=True, kw_only=True)
class Lease:
    """The right to move a session. `generation` counts its wakes, up to the claim."""

    session_id: str
    owner: str
    fence: int
    generation: int


def set(conn: sa.Connection, session_id: str, due: int) -> None:
    """Wake a session at a time, or earlier when it would wake earlier anyway."""
    raw.put(conn, SET, (session_id, due))


async def claim(
    db: Db, owner: str, limit: int, now: int, ttl: int, only: Collection[str] | None = None
) -> list[Lease]:
    """Take up to `limit` sessions that are due; also those whose holder let its lease lapse.

    With `only`, of these sessions alone, and none from another holder.
    """

    def act(conn: sa.Connection) -> list[Lease]:
        if only is not None:
            among = json.dumps(list(only)) if db.kind == "sqlite" else list(only)
            values: tuple[Any, ...] = (now, among, limit, owner, _moment(db, now) + ttl)
            return _leases(owner, raw.every(conn, _text(CLAIM_ONLY, db), values))
        values = (now, limit, owner, _moment(db, now) + ttl)
        taken = _leases(owner, raw.every(conn, _text(CLAIM, db), values))
        left = limit - len(taken)
        if left > 0:
            values = (owner, _moment(db, now), left, owner, _moment(db, now) + ttl)
            taken += _leases(owner, raw.every(conn, _text(CLAIM_EXPIRED, db), values))
        return taken

    return await db.touch(act)


@dataclass(frozen=True, kw_only=True)
class Renewed:
    """What an owner still has: `ours`, of which the leases of `extended` run from now again.

    A row that a commit holds at this moment is not waited for; its lease is extended next time.
    """

    ours: frozenset[str]
    extended: frozenset[str]


async def renew(db: Db, owner: str, now: int, ttl: int) -> Renewed:
    """Say that this owner lives."""

    def act(conn: sa.Connection) -> Renewed:
        until = _moment(db, now) + ttl
        extended = frozenset(row[0] for row in raw.every(conn, _text(RENEW, db), (owner, until)))
        raw.put(conn, _text(ALIVE, db), (until, owner))
        ours = frozenset(row[0] for row in raw.every(conn, MINE, (owner,)))
        return Renewed(ours=ours, extended=extended)

    return await db.touch(act)


async def release(db: Db, lease: Lease, next_due: int | None) -> Lease | None:
    """Let a session go until `next_due`, or until somebody wakes it (None).

    A session that was woken since the claim is kept: the lease that comes back is for another
    round. None also when the lease was lost before.
    """
    row = await db.touch(lambda conn: _release(conn, lease, next_due))
    return None if row is None or row[1] is None else replace(lease, generation=row[0])


def release_in(conn: sa.Connection, lease: Lease, next_due: int | None) -> bool:
    """The same inside a commit. False: woken meanwhile and kept; `release` then tells the rest."""
    row = _release(conn, lease, next_due)
    return row is None or row[1] is None


async def soon(db: Db, now: int, horizon: int) -> list[tuple[str, int]]:
    """Sessions that nobody holds and that wake within `horizon` from now, with their times."""
    values = (now, now + horizon, SOON)
    found = await db.read(lambda conn: raw.every(conn, NEAR, values))
    return [(session_id, due) for session_id, due in found]


def _release(conn: sa.Connection, lease: Lease, next_due: int | None) -> Any:
    seen = lease.generation
    values = (seen, next_due, seen, seen, lease.session_id, lease.owner, lease.fence)
    return raw.one(conn, RELEASE, values)


def _leases(owner: str, rows: list[Any]) -> list[Lease]:
    return [
        Lease(session_id=session_id, owner=owner, fence=fence, generation=generation)
        for session_id, fence, generation in rows
    ]


def _moment(db: Db, now: int) -> int:
    """SQLite goes by the caller's clock; PostgreSQL adds its own where the text says {clock}."""
    return now if db.kind == "sqlite" else 0


def _text(statement: str, db: Db) -> str:
    return _TEXTS[db.kind][statement]


_PARTS = {
    "sqlite": {
        "clock": "",
        "skip": "",
        "among": "session_id IN (SELECT value FROM json_each(?))",
    },
    "postgresql": {
        "clock": "(extract(epoch from clock_timestamp()) * 1000)::bigint + ",
        "skip": "FOR UPDATE SKIP LOCKED",
        "among": "session_id = ANY(?::text[])",
    },
}
_TEXTS = {
    kind: {
        statement: statement.format(take=TAKE.format(**parts), **parts)
        for statement in (CLAIM, CLAIM_ONLY, CLAIM_EXPIRED, RENEW, ALIVE)
    }
    for kind, parts in _PARTS.items()
}
