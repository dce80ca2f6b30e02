"""Artifacts: rows of files and folders that were kept, in versions, as facts made them."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from studio.core.rules import events as e
from studio.core.rules.events import Fact, FileRef
from studio.core.rules.files import Found, Given
from studio.core.store import links, raw
from studio.core.store.changes import Changes, plain

INSERT = (
    "INSERT INTO artifacts (id, session_id, name, source, made, latest, media, size, hash, by, "
    "turn_id, effect_id, saved, seq, files) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
UPDATE = (
    "UPDATE artifacts SET latest = ?, media = ?, size = ?, hash = ?, by = ?, turn_id = ?, "
    "effect_id = ?, saved = ?, files = ? WHERE id = ?"
)
INSERT_VERSION = (
    "INSERT INTO artifact_versions (artifact_id, version, session_id, media, size, hash, source, "
    "by, turn_id, effect_id, width, height, pages, time, seq, files, skipped, moving) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
ONE = (
    "SELECT a.name, v.version, v.media, v.size, v.hash, v.width, v.height, v.pages, v.files "
    "FROM artifacts a JOIN artifact_versions v ON v.artifact_id = a.id "
    "WHERE a.id = ? AND a.session_id = ? AND v.version = coalesce(?, a.latest)"
)
BY_NAME = (
    "SELECT id, latest, hash FROM artifacts WHERE session_id = ? AND name = ? "
    "AND source = 'agent' AND (media = 'inode/directory') = ? ORDER BY seq LIMIT 1"
)
FOLDER_BY_NAME = (
    "SELECT id, latest, hash FROM artifacts WHERE session_id = ? AND name = ? "
    "AND source <> 'result' AND media = 'inode/directory' ORDER BY seq LIMIT 1"
)
OWNER = "SELECT session_id, latest FROM artifacts WHERE id = ?"
DIGESTS = "SELECT DISTINCT hash FROM artifact_versions WHERE media = 'inode/directory'"
BYTES = "SELECT hash, size, media FROM artifact_versions WHERE artifact_id = ? AND version = ?"
LATEST = "SELECT latest FROM artifacts WHERE id = ? AND session_id = ?"


def follow(changes: Changes, session_id: str, facts: Sequence[Fact]) -> None:
    """The rows of the artifacts that these facts tell of."""
    links.follow(changes, session_id, facts)
    for fact in facts:
        f = fact.event
        if not isinstance(f, e.ArtifactSaved):
            continue
        if f.version == 1:
            changes.insert(
                INSERT,
                (f.artifact_id, session_id, plain(f.name), f.source, fact.time, 1, f.media, f.size,
                 f.hash, plain(f.by), f.turn_id, f.effect_id, fact.time, fact.seq, f.files),
            )  # fmt: skip
        else:
            changes.update(
                UPDATE,
                (f.version, f.media, f.size, f.hash, plain(f.by), f.turn_id, f.effect_id,
                 fact.time, f.files, f.artifact_id),
            )  # fmt: skip
        changes.insert(
            INSERT_VERSION,
            (f.artifact_id, f.version, session_id, f.media, f.size, f.hash, f.source,
             plain(f.by), f.turn_id, f.effect_id, f.width, f.height, f.pages, fact.time, fact.seq,
             f.files, len(f.skipped), len(f.moving)),
        )  # fmt: skip


def find(
    conn: sa.Connection, session_id: str, artifact_id: str, version: int | None
) -> Given | None:
    """A version (without one the newest) of an artifact of this very session."""
    row = raw.one(conn, ONE, (artifact_id, session_id, version))
    if row is None:
        return None
    name, number, media, size, hash, width, height, pages, count = row
    ref = FileRef(
        artifact_id=artifact_id, version=number, name=name, media=media, size=size, hash=hash
    )
    found = Found(
        media=media, size=size, hash=hash, width=width, height=height, pages=pages, files=count
    )
    return Given(ref=ref, found=found)


@dataclass(frozen=True, kw_only=True)
class Named:
    """An artifact that was looked for: its newest version, the hash of that, and its name."""

    id: str
    latest: int
    hash: str
    name: str


def named(conn: sa.Connection, session_id: str, name: str, *, folder: bool = False) -> Named | None:
    """The file, or the folder, that the agent saved under this name."""
    row = raw.one(conn, BY_NAME, (session_id, plain(name), folder))
    return None if row is None else Named(id=row[0], latest=row[1], hash=row[2], name=name)


def folder_named(conn: sa.Connection, session_id: str, name: str) -> Named | None:
    """The folder of this name that the agent or a person saved, whoever was first."""
    row = raw.one(conn, FOLDER_BY_NAME, (session_id, plain(name)))
    return None if row is None else Named(id=row[0], latest=row[1], hash=row[2], name=name)


def owner(conn: sa.Connection, artifact_id: str) -> tuple[str, int] | None:
    """The session of an artifact, and its newest version."""
    row = raw.one(conn, OWNER, (artifact_id,))
    return None if row is None else (str(row[0]), int(row[1]))


def digests(conn: sa.Connection) -> tuple[str, ...]:
    """The trees of all folders that were kept, in the store of disk versions."""
    return tuple(row[0] for row in raw.every(conn, DIGESTS))


def latest(conn: sa.Connection, session_id: str, artifact_id: str) -> int | None:
    """The newest version of an artifact of this very session."""
    row = raw.one(conn, LATEST, (artifact_id, session_id))
    return None if row is None else int(row[0])


def bytes_of(conn: sa.Connection, artifact_id: str, version: int) -> tuple[str, int, str] | None:
    """(hash, size, media type) of a version of an artifact, of whatever session."""
    row = raw.one(conn, BYTES, (artifact_id, version))
    return None if row is None else (str(row[0]), int(row[1]), str(row[2]))
