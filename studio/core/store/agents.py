"""Agent manifests by name and version. Written as facts, by `Journal.commit_other`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.rules.events import AgentSaved, Event
from studio.core.store import raw

COLUMNS = "name, version, manifest, digest, by, time"
NEWEST = f"SELECT {COLUMNS} FROM agents WHERE name = ? ORDER BY version DESC LIMIT 1"  # noqa: S608
ONE = f"SELECT {COLUMNS} FROM agents WHERE name = ? AND version = ?"  # noqa: S608
ALL = f"SELECT {COLUMNS} FROM agents WHERE name = ? ORDER BY version DESC"  # noqa: S608
WINDOW = (
    f"SELECT {COLUMNS} FROM agents WHERE name = ? AND version < ? ORDER BY version DESC LIMIT ?"  # noqa: S608
)
NEWEST_OF_EACH = (
    f"SELECT {COLUMNS} FROM agents AS a WHERE version = "  # noqa: S608
    "(SELECT max(version) FROM agents AS b WHERE b.name = a.name) ORDER BY name"
)


@dataclass(frozen=True, kw_only=True)
class Agent:
    """One version of a manifest."""

    name: str
    version: int
    manifest: dict[str, Any]
    digest: str
    by: str
    time: int


def save(
    conn: sa.Connection, *, name: str, manifest: Mapping[str, Any], digest: str, by: str
) -> Sequence[Event]:
    """The rule for `commit_other("agents", …)`: the next version, or nothing if it is the same."""
    newest = get(conn, name)
    if newest is not None and newest.digest == digest:
        return []
    version = newest.version + 1 if newest is not None else 1
    return [AgentSaved(name=name, version=version, manifest=dict(manifest), digest=digest, by=by)]


def get(conn: sa.Connection, name: str, version: int | None = None) -> Agent | None:
    """A version of an agent, the newest when none is named."""
    if version is None:
        row = raw.one(conn, NEWEST, (name,))
    else:
        row = raw.one(conn, ONE, (name, version))
    return None if row is None else _agent(row)


def list(conn: sa.Connection) -> "tuple[Agent, ...]":
    """The newest version of every agent, by name."""
    return tuple(_agent(row) for row in raw.every(conn, NEWEST_OF_EACH))


def versions(conn: sa.Connection, name: str) -> "tuple[Agent, ...]":
    """All versions of one agent, newest first."""
    return tuple(_agent(row) for row in raw.every(conn, ALL, (name,)))


def window(conn: sa.Connection, name: str, *, before: int, limit: int) -> "tuple[Agent, ...]":
    """The versions of one agent below `before`, newest first."""
    return tuple(_agent(row) for row in raw.every(conn, WINDOW, (name, before, limit)))


def _agent(row: Any) -> Agent:
    name, version, manifest, digest, by, time = row
    return Agent(
        name=name, version=version, manifest=json.loads(manifest), digest=digest, by=by, time=time
    )
