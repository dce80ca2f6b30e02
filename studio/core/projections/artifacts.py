"""Artifacts of a session: what came with messages, what agents kept, what calls left."""

from dataclasses import dataclass, fields
from typing import Any

import sqlalchemy as sa

from studio.core.projections import pages, sessions
from studio.core.projections.pages import Page
from studio.core.rules import media
from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from studio.core.store import tables

a, v, t, f = (
    tables.artifacts.c, tables.artifact_versions.c, tables.turns.c, tables.effects.c,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ArtifactRow:
    """An artifact as its newest version is. `source` is upload, agent or result.

    `turn_number` and `tool` say which turn and which call made that version, if any did. Of a
    folder `size` is that of all its `files` together, and `hash` the digest of its tree.
    """

    id: str
    session_id: str
    name: str
    source: str
    media: str
    size: int
    hash: str
    latest: int
    by: str
    turn_id: str | None
    turn_number: int | None
    effect_id: str | None
    tool: str | None
    made: int
    saved: int
    seq: int
    files: int

    @property
    def kind(self) -> str:
        """`file` or `folder`, for good."""
        return _kind(self.media)


@dataclass(frozen=True, kw_only=True)
class VersionView:
    """One version. `width` and `height` (pixels) and `pages` are 0 when unknown.

    `skipped` and `moving` count what could not be kept of a folder, and what changed meanwhile.
    """

    version: int
    media: str
    size: int
    hash: str
    source: str
    by: str
    turn_id: str | None
    turn_number: int | None
    effect_id: str | None
    tool: str | None
    width: int
    height: int
    pages: int
    time: int
    files: int
    skipped: int
    moving: int

    @property
    def kind(self) -> str:
        """`file` or `folder`."""
        return _kind(self.media)


@dataclass(frozen=True, kw_only=True)
class ArtifactView:
    """An artifact with the version that is looked at, and a page of its versions, newest first."""

    row: ArtifactRow
    version: VersionView
    versions: tuple[VersionView, ...]
    next: str | None


_OWN = {"turn_number", "tool"}
_ROW = [a[item.name] for item in fields(ArtifactRow) if item.name not in _OWN]
_VERSION = [v[item.name] for item in fields(VersionView) if item.name not in _OWN]
_MADE_BY: list[sa.ColumnElement[Any]] = [t.number.label("turn_number"), f.tool.label("tool")]


def page(
    conn: sa.Connection, person: Person, session_id: str, *, limit: int, cursor: str | None
) -> Page[ArtifactRow]:
    """The artifacts of a session, the one made last first: two statements."""
    count = pages.size(limit)
    bound = pages.filter_digest(list="artifacts", session=session_id)
    place = pages.place(cursor, bound, int)
    sessions.head(conn, person, session_id)
    query = _rows().where(a.session_id == session_id)
    if place is not None:
        query = query.where(a.seq < place[0])
    found = sessions.rows(conn, query.order_by(a.seq.desc()).limit(count + 1))
    items = tuple(ArtifactRow(**row) for row in found[:count])
    more = len(found) > count
    return Page(items=items, next=pages.cursor(bound, (items[-1].seq,)) if more else None)


def view(
    conn: sa.Connection, person: Person, artifact_id: str, version: int | None, *,
    limit: int = pages.LIMIT, cursor: str | None = None,
) -> ArtifactView:  # fmt: skip
    """One artifact; NotFound also when its session is not for this person: three statements."""
    count = pages.size(limit)
    bound = pages.filter_digest(list="versions", artifact=artifact_id)
    place = pages.place(cursor, bound, int)
    joined = tables.sessions.c.id == a.session_id
    query = _rows().join(tables.sessions, joined).where(a.id == artifact_id)
    found = sessions.rows(conn, query.where(*sessions.visible(person)))
    if not found:
        raise not_found()
    all_of_it = _versions(artifact_id)
    shown = sessions.rows(conn, all_of_it.where(v.version == (version or found[0]["latest"])))
    if not shown:
        raise not_found()
    listed = all_of_it if place is None else all_of_it.where(v.version < place[0])
    rows = sessions.rows(conn, listed.order_by(v.version.desc()).limit(count + 1))
    versions = tuple(VersionView(**row) for row in rows[:count])
    more = len(rows) > count
    return ArtifactView(
        row=ArtifactRow(**found[0]), version=VersionView(**shown[0]), versions=versions,
        next=pages.cursor(bound, (versions[-1].version,)) if more else None,
    )  # fmt: skip


def _kind(of_media: str) -> str:
    return "folder" if of_media == media.FOLDER else "file"


def not_found() -> NotFound:
    """The same words whether it does not exist or is not for this person."""
    return NotFound("There is no such artifact.", code="artifact.not_found")


def _rows() -> sa.Select[Any]:
    return (
        sa.select(*_ROW, *_MADE_BY)
        .select_from(tables.artifacts)
        .outerjoin(tables.turns, t.id == a.turn_id)
        .outerjoin(tables.effects, f.id == a.effect_id)
    )


def _versions(artifact_id: str) -> sa.Select[Any]:
    return (
        sa.select(*_VERSION, *_MADE_BY)
        .select_from(tables.artifact_versions)
        .outerjoin(tables.turns, t.id == v.turn_id)
        .outerjoin(tables.effects, f.id == v.effect_id)
        .where(v.artifact_id == artifact_id)
    )
