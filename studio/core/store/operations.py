"""What people asked to be done to the disks of environments, and how it stands."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.store import raw

COLUMNS = (
    "id, environment_id, act, source, archive, archive_name, note, by, state, worker, asked, "
    "started, ended, version, code, message"
)
ONE = f"SELECT {COLUMNS} FROM operations WHERE id = ?"  # noqa: S608
OPEN = f"SELECT {COLUMNS} FROM operations WHERE ended IS NULL ORDER BY asked, id"  # noqa: S608
OPEN_OF = (
    f"SELECT {COLUMNS} FROM operations WHERE environment_id = ? AND ended IS NULL "  # noqa: S608
    "ORDER BY id LIMIT 1"
)
NEWEST = f"SELECT {COLUMNS} FROM operations WHERE environment_id = ? ORDER BY id DESC LIMIT ?"  # noqa: S608


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One of them. `state` is asked, started, done or failed; times are ms.

    `source` is the version to restore, `archive` the hash of bytes to import, `version` what was
    made.
    """

    id: str
    environment_id: str
    act: str
    source: int | None
    archive: str
    archive_name: str
    note: str
    by: str
    state: str
    worker: str | None
    asked: int
    started: int | None
    ended: int | None
    version: int | None
    code: str
    message: str


def get(conn: sa.Connection, operation_id: str) -> Operation | None:
    """One operation."""
    row = raw.one(conn, ONE, (operation_id,))
    return None if row is None else _operation(row)


def open_ones(conn: sa.Connection) -> tuple[Operation, ...]:
    """Those that nobody has ended, the oldest first."""
    return tuple(_operation(row) for row in raw.every(conn, OPEN))


def open_of(conn: sa.Connection, environment_id: str) -> Operation | None:
    """The one that is open for an environment; there is one at most."""
    row = raw.one(conn, OPEN_OF, (environment_id,))
    return None if row is None else _operation(row)


def newest(conn: sa.Connection, environment_id: str, limit: int = 20) -> tuple[Operation, ...]:
    """The newest of an environment, the last one first."""
    return tuple(_operation(row) for row in raw.every(conn, NEWEST, (environment_id, limit)))


def _operation(row: Any) -> Operation:
    return Operation(**dict(zip(COLUMNS.split(", "), row, strict=True)))
