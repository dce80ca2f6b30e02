"""Secrets: who set which when, their sealed values, and what used them last.

Rows of `secrets` follow facts; the sealed value lies beside them in `sealed` and is written in the
transaction of the fact, never into a journal.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.store import raw

NEXT = "SELECT version FROM secrets WHERE owner = ? AND name = ?"
PUT = (
    "INSERT INTO sealed (owner, name, version, key, wrapped, value) VALUES (?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (owner, name) DO UPDATE SET version = excluded.version, key = excluded.key, "
    "wrapped = excluded.wrapped, value = excluded.value"
)
WRAP = "UPDATE sealed SET key = ?, wrapped = ? WHERE owner = ? AND name = ? AND version = ?"
DROP = "DELETE FROM sealed WHERE owner = ? AND name = ?"
ALL_SEALED = "SELECT owner, name, version, key, wrapped, value FROM sealed ORDER BY owner, name"
ONE_SEALED = (
    "SELECT owner, name, version, key, wrapped, value FROM sealed WHERE owner = ? AND name = ?"
)
LIST = (
    "SELECT s.owner, s.name, s.version, s.by, s.time, x.key, u.used, u.by, u.effect_id "
    "FROM secrets AS s LEFT JOIN sealed AS x ON x.owner = s.owner AND x.name = s.name "
    "LEFT JOIN secret_uses AS u ON u.owner = s.owner AND u.name = s.name "
    "WHERE s.removed IS NULL AND s.owner = ? ORDER BY s.name"
)
KEYS = "SELECT DISTINCT key FROM sealed"
USE = (
    "INSERT INTO secret_uses (owner, name, used, by, effect_id) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (owner, name) DO UPDATE SET used = excluded.used, by = excluded.by, "
    "effect_id = excluded.effect_id"
)


@dataclass(frozen=True, kw_only=True)
class Secret:
    """A secret without its value. `key` is the id of the key that seals it; times are ms."""

    owner: str
    name: str
    version: int
    by: str
    time: int
    key: str
    used: int | None
    used_by: str
    effect_id: str | None


@dataclass(frozen=True, kw_only=True)
class SealedRow:
    """A sealed value as it lies in the store."""

    owner: str
    name: str
    version: int
    key: str
    wrapped: bytes
    value: bytes


def next_version(conn: sa.Connection, owner: str, name: str) -> int:
    """The version that the next value of this secret has; a removed one is counted on."""
    row = raw.one(conn, NEXT, (owner, name))
    return 1 if row is None else int(row[0]) + 1


def put(conn: sa.Connection, row: SealedRow) -> None:
    """Keep a sealed value in place of the earlier one."""
    raw.put(conn, PUT, (row.owner, row.name, row.version, row.key, row.wrapped, row.value))


def wrap(conn: sa.Connection, rows: Iterable[SealedRow]) -> None:
    """Keep these under another key."""
    values = [(row.key, row.wrapped, row.owner, row.name, row.version) for row in rows]
    raw.put_many(conn, WRAP, values)


def drop(conn: sa.Connection, owner: str, name: str) -> None:
    """Throw a sealed value away."""
    raw.put(conn, DROP, (owner, name))


def list_of(conn: sa.Connection, owner: str) -> tuple[Secret, ...]:
    """The secrets of one owner, by name."""
    return tuple(_secret(row) for row in raw.every(conn, LIST, (owner,)))


def all_sealed(conn: sa.Connection) -> tuple[SealedRow, ...]:
    """Every sealed value."""
    return tuple(_sealed(row) for row in raw.every(conn, ALL_SEALED))


def sealed(conn: sa.Connection, owner: str, name: str) -> SealedRow | None:
    """One sealed value."""
    row = raw.one(conn, ONE_SEALED, (owner, name))
    return None if row is None else _sealed(row)


def keys(conn: sa.Connection) -> frozenset[str]:
    """The ids of the keys that something is sealed under."""
    return frozenset(row[0] for row in raw.every(conn, KEYS))


def used(
    conn: sa.Connection, owner: str, names: Iterable[str], at: int, by: str, effect_id: str | None
) -> None:
    """Secrets went out with this."""
    raw.put_many(conn, USE, [(owner, name, at, by, effect_id) for name in names])


def _secret(row: Any) -> Secret:
    owner, name, version, by, time, key, used_at, used_by, effect_id = row
    return Secret(
        owner=owner, name=name, version=version, by=by, time=time, key=key or "", used=used_at,
        used_by=used_by or "", effect_id=effect_id,
    )  # fmt: skip


def _sealed(row: Any) -> SealedRow:
    owner, name, version, key, wrapped, value = row
    return SealedRow(
        owner=owner, name=name, version=version, key=key, wrapped=bytes(wrapped),
        value=bytes(value),
    )  # fmt: skip
