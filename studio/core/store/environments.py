"""Environments as they stand, and what of them is asked inside a commit.

Written as facts, each environment in a journal of its own: `Journal.commit_environment`.
"""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from studio.core.rules import access
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.environments import records, slots
from studio.core.rules.environments.environment import Environment
from studio.core.rules.environments.records import Busy
from studio.core.rules.environments.slots import Coverage
from studio.core.store import codec, raw, secrets

FOLDED = "SELECT folded FROM environments WHERE id = ?"
ONE = "SELECT folded, definition FROM environments WHERE id = ?"
NAMED = (
    "SELECT folded, definition FROM environments WHERE name = ? AND deleted IS NULL "
    "ORDER BY first_position DESC LIMIT 1"
)
OF_MANIFEST = (
    "SELECT name, manifest_version FROM environments "
    "WHERE manifest = ? AND deleted IS NULL ORDER BY name"
)
BUSY = (
    "SELECT s.id, s.title, s.owner, s.private, t.id, t.number, t.status FROM sessions AS s "
    "JOIN turns AS t ON t.id = s.turn_id WHERE s.environment_id = ? "
    "AND s.status IN ('queued', 'running', 'held', 'waiting') ORDER BY t.opened LIMIT 1"
)
BASES = (
    "SELECT DISTINCT (SELECT max(v.version) FROM disk_versions AS v "
    "WHERE v.environment_id = s.environment_id AND v.time <= t.opened) FROM sessions AS s "
    "JOIN turns AS t ON t.id = s.turn_id WHERE s.environment_id = ? "
    "AND s.status IN ('queued', 'running', 'held', 'waiting')"
)
VERSION = (
    "SELECT version, digest, files, folders, bytes FROM disk_versions "
    "WHERE environment_id = ? AND version = ? AND removed IS NULL"
)
VERSIONS = "SELECT version FROM disk_versions WHERE environment_id = ? AND removed IS NULL"
DIGESTS = (
    "SELECT DISTINCT v.digest FROM disk_versions AS v JOIN environments AS e "
    "ON e.id = v.environment_id WHERE v.removed IS NULL AND e.deleted IS NULL"
)
UNUSED = (
    "SELECT id FROM environments AS e WHERE delete_after IS NOT NULL AND deleted IS NULL "
    "AND used < ? - delete_after AND NOT EXISTS (SELECT 1 FROM sessions AS s "
    "WHERE s.environment_id = e.id AND (s.last >= ? - e.delete_after "
    "OR s.status IN ('queued', 'running', 'held', 'waiting'))) ORDER BY used LIMIT ?"
)
LABELS = "SELECT key, value FROM environment_labels WHERE environment_id = ? ORDER BY key"
WITH_SECRETS = (
    "SELECT folded FROM environments WHERE id IN (SELECT DISTINCT owner FROM sealed) ORDER BY id"
)
ARTIFACT = (
    "SELECT s.owner, s.private FROM artifact_versions AS v JOIN sessions AS s "
    "ON s.id = v.session_id WHERE v.artifact_id = ? AND v.version = ?"
)


@dataclass(frozen=True, kw_only=True)
class DiskVersion:
    """A kept version of a disk. `bytes` is all its files together."""

    version: int
    digest: str
    files: int
    folders: int
    bytes: int


def get(conn: sa.Connection, id: str) -> Environment | None:
    """The environment with this id, deleted or not."""
    row = raw.one(conn, ONE, (id,))
    return None if row is None else _environment(row)


def folded(conn: sa.Connection, id: str) -> Environment | None:
    """The same, but of its definition, which may be long, the slots alone."""
    row = raw.one(conn, FOLDED, (id,))
    return None if row is None else codec.back(Environment, row[0])


def find(conn: sa.Connection, word: str) -> Environment | None:
    """The environment with this id, or the one that bears this name now."""
    if word.startswith("env_"):
        return get(conn, word)
    row = raw.one(conn, NAMED, (word,))
    return None if row is None else _environment(row)


def of_manifest(conn: sa.Connection, name: str) -> tuple[tuple[str, int], ...]:
    """(name, manifest version) of the environments that are made from a manifest."""
    return tuple((row[0], int(row[1])) for row in raw.every(conn, OF_MANIFEST, (name,)))


def busy(conn: sa.Connection, id: str, person: Person | None = None) -> Busy | None:
    """The oldest turn in hand of a session on this environment; private ones without their ids."""
    row = raw.one(conn, BUSY, (id,))
    if row is None:
        return None
    session_id, title, owner, private, turn_id, number, status = row
    if person is not None and not access.may_see(person, owner=owner, private=bool(private)):
        session_id = title = turn_id = ""
    return Busy(session_id=session_id, title=title, turn_id=turn_id, number=number, status=status)


def coverage(conn: sa.Connection, environment: Environment) -> Coverage:
    """Which of its secret slots have a value."""
    declared = environment.slots
    if not declared:
        return slots.coverage((), ())
    filled = {row.name for row in secrets.list_of(conn, environment.id)}
    return slots.coverage(declared, filled)


def with_secrets(conn: sa.Connection) -> tuple[Environment, ...]:
    """The environments that have secrets; of their definitions the slots alone."""
    rows = raw.every(conn, WITH_SECRETS)
    return tuple(codec.back(Environment, row[0]) for row in rows)


def version(conn: sa.Connection, id: str, number: int) -> DiskVersion | None:
    """A version of the disk that is there."""
    row = raw.one(conn, VERSION, (id, number))
    if row is None:
        return None
    found, digest, files, folders, size = row
    return DiskVersion(version=found, digest=digest, files=files, folders=folders, bytes=size)


def versions(conn: sa.Connection, id: str) -> frozenset[int]:
    """The numbers of the versions that are there."""
    return frozenset(int(row[0]) for row in raw.every(conn, VERSIONS, (id,)))


def bases(conn: sa.Connection, id: str) -> frozenset[int]:
    """The versions that turns in hand began on."""
    return frozenset(int(row[0]) for row in raw.every(conn, BASES, (id,)) if row[0] is not None)


def digests(conn: sa.Connection) -> frozenset[str]:
    """The digests of every version that is there of any environment: what the disk store keeps."""
    return frozenset(str(row[0]) for row in raw.every(conn, DIGESTS))


def unused(conn: sa.Connection, now: int, *, limit: int = 100) -> tuple[str, ...]:
    """The ids of environments that were unused for as long as their manifest allows."""
    return tuple(str(row[0]) for row in raw.every(conn, UNUSED, (now, now, limit)))


def labels(conn: sa.Connection, ids: Collection[str | None]) -> dict[str, tuple[str, ...]]:
    """The labels of these environments by id, as k=v."""
    found: dict[str, list[str]] = {}
    for id in (id for id in ids if id is not None):
        for row in raw.every(conn, LABELS, (id,)):
            found.setdefault(id, []).append(f"{row[0]}={row[1]}")
    return {id: tuple(labels) for id, labels in found.items()}


def ended(conn: sa.Connection, environment: Environment, by: Person | None) -> list[e.Event]:
    """The end of an environment, with its secrets dropped; the rule may refuse it.

    `by` is None when it was unused for as long as its manifest allows.
    """
    events = records.delete(environment, busy(conn, environment.id, by), by)
    gone: list[e.Event] = []
    for secret in secrets.list_of(conn, environment.id):
        secrets.drop(conn, environment.id, secret.name)
        gone.append(
            e.SecretRemoved(
                owner=environment.id, name=secret.name, version=secret.version,
                by=by.id if by is not None else "",
            )
        )  # fmt: skip
    return [*gone, *events]


def missing_files(conn: sa.Connection, hashes: Iterable[str]) -> tuple[str, ...]:
    """Those of these hashes (hex) whose bytes are not in the store."""
    return tuple(
        hash
        for hash in dict.fromkeys(hashes)
        if raw.one(conn, "SELECT 1 FROM blobs WHERE hash = ?", (hash,)) is None
    )


def may_take(conn: sa.Connection, person: Person, artifact_id: str, version: int) -> bool:
    """There is such a version of an artifact, and this person may see it."""
    row = raw.one(conn, ARTIFACT, (artifact_id, version))
    return row is not None and access.may_see(person, owner=row[0], private=bool(row[1]))


def _environment(row: Any) -> Environment:
    folded, definition = row
    return replace(codec.back(Environment, folded), definition=json.loads(definition))
