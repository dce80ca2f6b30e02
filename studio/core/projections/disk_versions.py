"""Kept versions of an environment's disk, what it tried to reach, its secrets and its facts."""

import json
from dataclasses import dataclass, replace

import sqlalchemy as sa

from studio.core.projections import environments, facts, pages, sessions
from studio.core.projections.facts import EventRow
from studio.core.projections.pages import Page
from studio.core.projections.secrets import problem_of
from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from studio.core.store import blobs, secrets, tables

OUTCOMES = ("allowed", "refused", "failed")

v, x = tables.disk_versions.c, tables.egress.c
s, t = tables.sessions.c, tables.turns.c


@dataclass(frozen=True, kw_only=True)
class DiskVersionRow:
    """A kept version. `bytes` is all files together, `added` what was new to the disk store.

    `session_id`, `turn_id` and `turn` (its number) name what made it, and are None for a private
    session of another person. `skipped` and `moving` count files, see `events.DiskKept`; `seq` is
    the fact with their names. `removed` (ms) is when it was taken away.
    """

    version: int
    digest: str
    files: int
    folders: int
    bytes: int
    added: int
    reason: str
    session_id: str | None
    turn_id: str | None
    turn: int | None
    note: str
    by: str
    skipped: int
    moving: int
    time: int
    removed: int | None
    is_latest: bool
    seq: int


@dataclass(frozen=True, kw_only=True)
class EgressRow:
    """A connection that was tried. `up` and `down` are bytes; `turns` ran then, as far as seen."""

    seq: int
    time: int
    host: str
    port: int
    outcome: str
    reason: str
    up: int
    down: int
    milliseconds: int
    turns: tuple[dict[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class SlotRow:
    """A secret slot of an environment, with who filled it when; never the value. Times are ms.

    `version` is 0 while it has no value; `problem` says why a value cannot be opened.
    """

    name: str
    type: str
    binding: str
    required: bool
    description: str
    version: int = 0
    by: str = ""
    time: int | None = None
    used: int | None = None
    used_by: str = ""
    effect_id: str | None = None
    problem: str = ""


def page(
    conn: sa.Connection, person: Person, word: str, *, limit: int, cursor: str | None,
    removed: bool = False,
) -> Page[DiskVersionRow]:  # fmt: skip
    """Versions, the newest first; those that were removed only when asked for: two statements."""
    it = environments.one(conn, word)
    bound = pages.filter_digest(list="disk_versions", of=it.id, removed=removed)
    place = pages.place(cursor, bound, int)
    seen = sa.and_(s.id == v.session_id, *sessions.visible(person))
    query = (
        sa.select(*tables.disk_versions.c, s.id.label("seen"), t.number.label("turn"))
        .select_from(tables.disk_versions)
        .outerjoin(tables.sessions, seen)
        .outerjoin(tables.turns, t.id == v.turn_id)
        .where(v.environment_id == it.id)
    )
    if not removed:
        query = query.where(v.removed.is_(None))
    if place is not None:
        query = query.where(v.version < place[0])
    found = sessions.rows(conn, query.order_by(v.version.desc()).limit(pages.size(limit) + 1))
    items = tuple(_version(row, it.version) for row in found[:limit])
    more = len(found) > limit
    return Page(items=items, next=pages.cursor(bound, (items[-1].version,)) if more else None)


def egress(
    conn: sa.Connection, person: Person, word: str, *, outcome: str, limit: int, cursor: str | None
) -> Page[EgressRow]:
    """Connections that were tried, the newest first: three statements."""
    pages.one_of("outcome", outcome, OUTCOMES)
    it = environments.one(conn, word)
    bound = pages.filter_digest(list="egress", of=it.id, outcome=outcome)
    place = pages.place(cursor, bound, int)
    query = sa.select(*(x[name] for name in EgressRow.__dataclass_fields__))
    query = query.where(x.environment_id == it.id)
    if outcome:
        query = query.where(x.outcome == outcome)
    if place is not None:
        query = query.where(x.seq < place[0])
    found = sessions.rows(conn, query.order_by(x.seq.desc()).limit(pages.size(limit) + 1))
    items = _tried(conn, person, found[:limit])
    more = len(found) > limit
    return Page(items=items, next=pages.cursor(bound, (items[-1].seq,)) if more else None)


def slots(
    conn: sa.Connection, person: Person, word: str, keys: frozenset[str] | None, path: str
) -> list[SlotRow]:
    """The secret slots of an environment in the order of its manifest: three statements.

    `keys` and `path` are as in `projections.secrets`.
    """
    it = environments.one(conn, word)
    filled = {row.name: row for row in secrets.list_of(conn, it.id)}
    calls = _seen_calls(conn, person, [row.effect_id for row in filled.values()])
    found = []
    for slot in it.slots:
        about = {
            "name": slot.name, "type": slot.type, "binding": slot.binding,
            "required": slot.required, "description": slot.description,
        }  # fmt: skip
        row = filled.get(slot.name)
        if row is not None:
            about |= {
                "version": row.version, "by": row.by, "time": row.time, "used": row.used,
                "used_by": row.used_by,
                "effect_id": row.effect_id if row.effect_id in calls else None,
                "problem": problem_of(row.key, keys, path),
            }  # fmt: skip
        found.append(SlotRow(**about))  # type: ignore[arg-type]
    return found


def events(conn: sa.Connection, person: Person, word: str, seq: int, limit: int) -> list[EventRow]:
    """Facts of an environment behind a seq, oldest first: three statements."""
    id = environments.one(conn, word).id
    return _without_private(conn, person, facts.of_journal(conn, id, after=seq, limit=limit))


def events_before(
    conn: sa.Connection, person: Person, word: str, seq: int | None, limit: int
) -> list[EventRow]:
    """Its newest facts, or those before a seq; oldest first: three statements."""
    id = environments.one(conn, word).id
    return _without_private(conn, person, facts.end_of_journal(conn, id, before=seq, limit=limit))


def blob(conn: sa.Connection, word: str, hash: str) -> bytes:
    """The bytes of a large output that a fact of this environment refers to."""
    it = environments.one(conn, word)
    data = blobs.read(conn, hash) if facts.refers(conn, it.id, hash) else None
    if data is None:
        raise NotFound("This environment has no such content.", code="content.not_found")
    return data


def _version(row: sa.RowMapping, latest: int) -> DiskVersionRow:
    names = [name for name in DiskVersionRow.__dataclass_fields__ if name in row]
    found = {name: row[name] for name in names}
    if row["seen"] is None:
        found |= {"session_id": None, "turn_id": None, "turn": None}
    return DiskVersionRow(**found, is_latest=row["version"] == latest)


def _seen_calls(conn: sa.Connection, person: Person, ids: list[str | None]) -> set[str]:
    """Those of these calls that are of sessions which the person may see."""
    query = (
        sa.select(tables.effects.c.id)
        .join(tables.sessions, s.id == tables.effects.c.session_id)
        .where(tables.effects.c.id.in_(ids), *sessions.visible(person))
    )
    return {str(row[0]) for row in conn.execute(query)} if any(ids) else set()


def _without_private(conn: sa.Connection, person: Person, rows: list[EventRow]) -> list[EventRow]:
    """The facts; turns of sessions that the person may not see are left out of them."""
    named = [
        *(row.payload.get("turn") for row in rows),
        *(one for row in rows for one in row.payload.get("turns") or ()),
    ]
    asked = {one["session_id"] for one in named if one}
    query = sa.select(s.id).where(s.id.in_(asked), *sessions.visible(person))
    seen = {row[0] for row in conn.execute(query)} if asked else set()
    return [_told_to(row, seen) for row in rows]


def _told_to(row: EventRow, seen: set[str]) -> EventRow:
    payload = dict(row.payload)
    if (turn := payload.get("turn")) and turn["session_id"] not in seen:
        payload["turn"] = None
    if "turns" in payload:
        payload["turns"] = [one for one in payload["turns"] if one["session_id"] in seen]
    return replace(row, payload=payload) if payload != row.payload else row


def _tried(
    conn: sa.Connection, person: Person, found: list[sa.RowMapping]
) -> tuple[EgressRow, ...]:
    """The rows; turns of sessions that the person may not see are left out."""
    turns = [json.loads(row["turns"]) for row in found]
    named = {one["session_id"] for some in turns for one in some}
    query = sa.select(s.id).where(s.id.in_(named), *sessions.visible(person))
    seen = {row[0] for row in conn.execute(query)} if named else set()
    return tuple(
        EgressRow(**{**row, "turns": tuple(one for one in some if one["session_id"] in seen)})
        for row, some in zip(found, turns, strict=True)
    )
