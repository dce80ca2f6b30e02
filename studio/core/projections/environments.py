"""Environments: their list, and the page of one. Everybody may see them; private sessions stay so.

The list goes by the position of each environment's first fact, newest first.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.projections import pages, sessions
from studio.core.projections.pages import Page
from studio.core.projections.sessions import IN_HAND, SessionRow
from studio.core.rules import events as e
from studio.core.rules.access import Person, may_see
from studio.core.rules.environments import guards, slots
from studio.core.rules.environments.environment import STATES, Environment
from studio.core.rules.environments.manifest import KINDS
from studio.core.rules.environments.slots import Coverage
from studio.core.rules.errors import NotFound
from studio.core.store import codec, environments, policies, tables

SESSIONS_SHOWN = 20

n, s, t = tables.environments.c, tables.sessions.c, tables.turns.c
lab, sec, man = tables.environment_labels.c, tables.secrets.c, tables.environment_manifests.c


@dataclass(frozen=True, kw_only=True)
class TurnInHand:
    """A turn that works in an environment. Ids are "" when its session is private to another."""

    session_id: str
    title: str
    turn_id: str
    number: int
    status: str


@dataclass(frozen=True, kw_only=True)
class EnvironmentRow:
    """An environment in a list. Times are ms UTC, `bytes` those of its newest disk version.

    `state` is made, running, stopped, lost or deleted. `latest_manifest` is the newest version of
    its manifest, None when it was written inline. `sessions` counts those this person may see;
    `last_used` is when it was last worked in, or a session on it last moved.
    """

    id: str
    number: int
    seq: int
    name: str
    kind: str
    state: str
    manifest: str | None
    manifest_version: int | None
    latest_manifest: int | None
    labels: Mapping[str, str]
    owner: str
    by: str
    made: int
    last_used: int
    deleted: int | None
    sessions: int
    turn: TurnInHand | None
    version: int
    bytes: int
    setup: str
    coverage: Coverage


@dataclass(frozen=True, kw_only=True)
class SetupView:
    """How the setup went on the present disk. `state` is "", started, ok or failed."""

    state: str
    time: int | None
    runs: tuple[e.SetupRun, ...] = ()
    failed: int | None = None
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class EnvironmentView:
    """An environment's page: its row, definition, setup, newest sessions; the rest comes apart.

    `isolation` is what it was last given, `gaps` what that does not enforce, `lost` why its disk is
    gone. `guarded` are those of its labels (key=value) that a rule of the policy asks about, with
    the rule. `position` is the store's newest at this very read.
    """

    row: EnvironmentRow
    definition: Mapping[str, Any]
    digest: str
    isolation: str
    gaps: tuple[str, ...]
    lost: str
    delete_after: int | None
    forked_from: e.ForkedFrom | None
    files: int
    folders: int
    versions: int
    setup: SetupView
    sessions: tuple[SessionRow, ...]
    guarded: Mapping[str, int]
    position: int


# The list -----------------------------------------------------------------------------------------


def page(
    conn: sa.Connection, person: Person, *, labels: Sequence[tuple[str, str]] = (),
    state: str = "", kind: str = "", name: str = "", manifest: str = "", limit: int,
    cursor: str | None,
) -> Page[EnvironmentRow]:  # fmt: skip
    """One page of the list: three statements. Without `state` those that are not deleted.

    `labels` must all be there; `name` is the beginning of one.
    """
    pages.one_of("state", state, STATES)
    pages.one_of("kind", kind, KINDS)
    bound = pages.filter_digest(
        list="environments", labels=sorted(labels), state=state, kind=kind, name=name,
        manifest=manifest,
    )  # fmt: skip
    place = pages.place(cursor, bound, int)
    count = pages.size(limit) + 1
    query = _query(person).where(n.state == state if state else n.deleted.is_(None))
    for key, value in labels:
        of = sa.select(lab.environment_id).where(lab.key == key, lab.value == value)
        query = query.where(n.id.in_(of))
    for column, word in ((n.kind, kind), (n.manifest, manifest)):
        if word:
            query = query.where(column == word)
    if name:
        beginning = pages.like(name).removeprefix("%")
        query = query.where(n.name.like(beginning, escape=pages.BACKSLASH))
    if place is not None:
        query = query.where(n.first_position < place[0])
    found = sessions.rows(conn, query.order_by(n.first_position.desc()).limit(count))
    items = _rows(conn, person, found[:limit])
    more = len(found) > limit
    return Page(items=items, next=pages.cursor(bound, (items[-1].number,)) if more else None)


def view(conn: sa.Connection, person: Person, word: str) -> EnvironmentView:
    """The page of the environment with this id or name: six statements."""
    newest = sa.select(tables.positions.c.last).scalar_subquery().label("newest")
    query = _query(person).add_columns(n.definition, newest).where(_is(word))
    found = sessions.rows(conn, query.order_by(n.first_position.desc()).limit(1))
    if not found:
        raise not_found()
    it, (row,) = _folded(found[0]), _rows(conn, person, found)
    return EnvironmentView(
        row=row, definition=json.loads(found[0]["definition"]), digest=it.digest,
        isolation=it.isolation, gaps=it.gaps, lost=it.lost, delete_after=found[0]["delete_after"],
        forked_from=it.forked_from, files=it.disk.files if it.disk else 0,
        folders=it.disk.folders if it.disk else 0, versions=it.versions,
        setup=_setup(conn, it), sessions=_sessions(conn, person, it.id),
        guarded=guards.asked_about(policies.current(conn), it.labels),
        position=found[0]["newest"],
    )  # fmt: skip


def one(conn: sa.Connection, word: str) -> Environment:
    """The environment with this id or name as it stands, deleted ones included; NotFound."""
    found = environments.find(conn, word)
    if found is None:
        raise not_found()
    return found


def not_found() -> NotFound:
    """There is none."""
    return NotFound("There is no such environment.", code="environment.not_found")


def _is(word: str) -> sa.ColumnElement[bool]:
    if word.startswith("env_"):
        return n.id == word
    return sa.and_(n.name == word, n.deleted.is_(None))


def _query(person: Person) -> sa.Select[Any]:
    mine = sa.select(sa.func.count()).where(
        s.environment_id == n.id, *sessions.visible(person)
    )  # fmt: skip
    last = sa.select(sa.func.max(s.last)).where(s.environment_id == n.id)
    newest = sa.select(sa.func.max(man.version)).where(
        man.name == n.manifest, man.removed.is_(None)
    )
    return sa.select(
        n.id, n.seq, n.first_position, n.name, n.kind, n.state, n.manifest, n.manifest_version,
        n.owner, n.by, n.made, n.used, n.deleted, n.delete_after, n.version, n.bytes, n.folded,
        mine.scalar_subquery().label("sessions"),
        last.scalar_subquery().label("moved"), newest.scalar_subquery().label("newest_manifest"),
    )  # fmt: skip


def _rows(
    conn: sa.Connection, person: Person, found: Sequence[sa.RowMapping]
) -> tuple[EnvironmentRow, ...]:
    ids = [row["id"] for row in found]
    turns, filled = _turns(conn, person, ids), _filled(conn, ids)
    return tuple(_row(row, turns.get(row["id"]), filled.get(row["id"], ())) for row in found)


def _row(row: sa.RowMapping, turn: TurnInHand | None, filled: Sequence[str]) -> EnvironmentRow:
    it = _folded(row)
    return EnvironmentRow(
        id=row["id"], number=row["first_position"], seq=row["seq"], name=row["name"],
        kind=row["kind"], state=row["state"], manifest=row["manifest"],
        manifest_version=row["manifest_version"], latest_manifest=row["newest_manifest"],
        labels=it.labels, owner=it.owner, by=row["by"], made=row["made"],
        last_used=max(row["used"], row["moved"] or 0), deleted=row["deleted"],
        sessions=row["sessions"], turn=turn, version=row["version"], bytes=row["bytes"],
        setup=it.setup, coverage=slots.coverage(it.slots, filled),
    )  # fmt: skip


def _folded(row: sa.RowMapping) -> Environment:
    return codec.back(Environment, row["folded"])


def _turns(conn: sa.Connection, person: Person, ids: Sequence[str]) -> dict[str, TurnInHand]:
    """A turn in hand of each of these environments, the oldest."""
    query = (
        sa.select(s.environment_id, s.id, s.title, s.owner, s.private, t.id, t.number, t.status)
        .join_from(tables.sessions, tables.turns, t.id == s.turn_id)
        .where(s.environment_id.in_(ids), s.status.in_(IN_HAND))
        .order_by(t.opened.desc())
    )
    found = {}
    for of, id, title, owner, private, turn_id, number, status in conn.execute(query):
        if not may_see(person, owner=owner, private=bool(private)):
            id = title = turn_id = ""
        found[of] = TurnInHand(
            session_id=id, title=title, turn_id=turn_id, number=number, status=status
        )
    return found


def _filled(conn: sa.Connection, ids: Sequence[str]) -> dict[str, list[str]]:
    """The names of the secrets that are set, by environment."""
    query = sa.select(sec.owner, sec.name).where(sec.owner.in_(ids), sec.removed.is_(None))
    found: dict[str, list[str]] = {}
    for owner, name in conn.execute(query):
        found.setdefault(owner, []).append(name)
    return found


def _setup(conn: sa.Connection, it: Environment) -> SetupView:
    if not it.setup_seq:
        return SetupView(state=it.setup, time=None)
    c = tables.events.c
    query = sa.select(c.type, c.time, c.payload)
    row = conn.execute(query.where(c.session_id == it.id, c.seq == it.setup_seq)).one()
    event = codec.event(row.type, row.payload)
    if not isinstance(event, e.SetupFinished):
        return SetupView(state=it.setup, time=row.time)
    return SetupView(
        state=it.setup, time=row.time, runs=event.runs, failed=event.failed, problem=event.problem
    )


def _sessions(conn: sa.Connection, person: Person, id: str) -> tuple[SessionRow, ...]:
    query = sa.select(*sessions.COLUMNS).where(s.environment_id == id, *sessions.visible(person))
    found = sessions.rows(conn, query.order_by(s.first_position.desc()).limit(SESSIONS_SHOWN))
    return tuple(sessions.of(row) for row in found)
