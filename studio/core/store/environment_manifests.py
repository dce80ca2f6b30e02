"""Environment manifests by name and version; those of a name that was removed are left out."""

import json
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.store import raw

COLUMNS = "name, version, manifest, digest, by, time"
NEWEST = (
    f"SELECT {COLUMNS} FROM environment_manifests WHERE name = ? AND removed IS NULL "  # noqa: S608
    "ORDER BY version DESC LIMIT 1"
)
ONE = (
    f"SELECT {COLUMNS} FROM environment_manifests "  # noqa: S608
    "WHERE name = ? AND version = ? AND removed IS NULL"
)
WINDOW = (
    f"SELECT {COLUMNS} FROM environment_manifests "  # noqa: S608
    "WHERE name = ? AND version < ? AND removed IS NULL ORDER BY version DESC LIMIT ?"
)
NEWEST_OF_EACH = (
    f"SELECT {COLUMNS} FROM environment_manifests AS a WHERE removed IS NULL AND version = "  # noqa: S608
    "(SELECT max(version) FROM environment_manifests AS b WHERE b.name = a.name) ORDER BY name"
)
LAST = "SELECT max(version) FROM environment_manifests WHERE name = ?"


@dataclass(frozen=True, kw_only=True)
class SavedManifest:
    """One version of a manifest, its JSON as it was written. `time` is ms, UTC."""

    name: str
    version: int
    manifest: dict[str, Any]
    digest: str
    by: str
    time: int


def get(conn: sa.Connection, name: str, version: int | None = None) -> SavedManifest | None:
    """A version of a manifest, the newest when none is named."""
    if version is None:
        row = raw.one(conn, NEWEST, (name,))
    else:
        row = raw.one(conn, ONE, (name, version))
    return None if row is None else _saved(row)


def last(conn: sa.Connection, name: str) -> int:
    """The highest version that ever was under this name, 0 for none; a removed one counts on."""
    (found,) = raw.one(conn, LAST, (name,))
    return int(found or 0)


def list_all(conn: sa.Connection) -> tuple[SavedManifest, ...]:
    """The newest version of every manifest, by name."""
    return tuple(_saved(row) for row in raw.every(conn, NEWEST_OF_EACH))


def window(conn: sa.Connection, name: str, *, before: int, limit: int) -> tuple[SavedManifest, ...]:
    """The versions of one manifest below `before`, newest first."""
    return tuple(_saved(row) for row in raw.every(conn, WINDOW, (name, before, limit)))


def _saved(row: Any) -> SavedManifest:
    name, version, manifest, digest, by, time = row
    return SavedManifest(
        name=name, version=version, manifest=json.loads(manifest), digest=digest, by=by, time=time
    )
