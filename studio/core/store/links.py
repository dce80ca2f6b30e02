"""Links to artifacts: rows as facts made them, and when each was used.

A link is signed with the studio's key and is nowhere in the store: its id is no way in.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.rules import events as e
from studio.core.rules.events import Fact
from studio.core.store import raw
from studio.core.store.changes import Changes, plain

INSERT = (
    "INSERT INTO artifact_links (id, artifact_id, version, session_id, made, by, expires, revoked, "
    "revoked_by) VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL)"
)
REVOKE = "UPDATE artifact_links SET revoked = ?, revoked_by = ? WHERE id = ?"
COLUMNS = (
    "SELECT k.id, k.artifact_id, k.version, k.session_id, k.made, k.by, k.expires, k.revoked, "
    "k.revoked_by, coalesce(u.uses, 0), u.last FROM artifact_links AS k "
    "LEFT JOIN artifact_link_uses AS u ON u.link_id = k.id "
)
ONE = COLUMNS + "WHERE k.id = ?"
OF_ARTIFACT = COLUMNS + "WHERE k.artifact_id = ? ORDER BY k.made DESC, k.id DESC LIMIT ?"
OPEN = (
    "SELECT count(*) FROM artifact_links WHERE artifact_id = ? AND expires > ? AND revoked IS NULL"
)
USE = (
    "INSERT INTO artifact_link_uses (link_id, uses, last) VALUES (?, 1, ?) ON CONFLICT (link_id) "
    "DO UPDATE SET uses = artifact_link_uses.uses + 1, last = excluded.last"
)
CONTENT = (
    "SELECT a.name, v.media, v.size, v.hash FROM artifact_versions AS v "
    "JOIN artifacts AS a ON a.id = v.artifact_id WHERE v.artifact_id = ? AND v.version = ?"
)


@dataclass(frozen=True, kw_only=True)
class Link:
    """A link as it stands; times are ms. `last` is when it was last used, None when never."""

    id: str
    artifact_id: str
    version: int
    session_id: str
    made: int
    by: str
    expires: int
    revoked: int | None
    revoked_by: str | None
    uses: int
    last: int | None


@dataclass(frozen=True, kw_only=True)
class Linked:
    """What a link leads to: a file's bytes by `hash`, or a folder's tree by it."""

    name: str
    version: int
    media: str
    size: int
    hash: str


def follow(changes: Changes, session_id: str, facts: Sequence[Fact]) -> None:
    """The rows of the links that these facts tell of."""
    for fact in facts:
        match fact.event:
            case e.ArtifactLinkMade() as f:
                changes.insert(
                    INSERT,
                    (f.link_id, f.artifact_id, f.version, session_id, fact.time, plain(f.by),
                     f.expires),
                )  # fmt: skip
            case e.ArtifactLinkRevoked() as f:
                changes.update(REVOKE, (fact.time, plain(f.by), f.link_id))


def get(conn: sa.Connection, link_id: str) -> Link | None:
    """A link by its id."""
    row = raw.one(conn, ONE, (link_id,))
    return None if row is None else _link(row)


def of_artifact(conn: sa.Connection, artifact_id: str, most: int) -> tuple[Link, ...]:
    """The links to an artifact that were made last, the newest first."""
    return tuple(_link(row) for row in raw.every(conn, OF_ARTIFACT, (artifact_id, most)))


def open_ones(conn: sa.Connection, artifact_id: str, now: int) -> int:
    """How many links to an artifact work."""
    return int(raw.one(conn, OPEN, (artifact_id, now))[0])


def used(conn: sa.Connection, link_id: str, at: int) -> None:
    """Somebody followed it."""
    raw.put(conn, USE, (link_id, at))


def content(conn: sa.Connection, link: Link) -> Linked | None:
    """What a link leads to, whoever asks."""
    row = raw.one(conn, CONTENT, (link.artifact_id, link.version))
    if row is None:
        return None
    return Linked(name=row[0], version=link.version, media=row[1], size=row[2], hash=row[3])


def _link(row: Any) -> Link:
    id, artifact_id, version, session_id, made, by, expires, revoked, revoked_by, uses, last = row
    return Link(
        id=id, artifact_id=artifact_id, version=version, session_id=session_id,
        made=made, by=by, expires=expires, revoked=revoked, revoked_by=revoked_by, uses=uses,
        last=last,
    )  # fmt: skip
