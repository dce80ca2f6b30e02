"""Waits: what stands on a person (approvals, questions, uncertain calls) or on time.

Open ones go by when they opened, the oldest first; closed ones by when they closed, the newest
first. Neither time changes once it is there.
"""

import json
from dataclasses import dataclass, fields
from typing import Any

import sqlalchemy as sa

from studio.core.projections import calls, health, pages, sessions
from studio.core.projections.calls import CallRow
from studio.core.projections.pages import Looked, Page, Patience, Place
from studio.core.rules.access import Person
from studio.core.store import tables

KINDS = ("approval", "question", "uncertain", "timer")
FOR_PEOPLE = ("approval", "question", "uncertain")
STATES = ("open", "closed")
CHANGES = ("wait.opened", "decision.recorded", "agent.saved")  # and what comes of its call
GAP = 5_000  # positions; behind a larger gap there will be some change
WORDS = 500  # characters of a prompt or reason in a list
STEP = 7 * 86_400_000  # ms of closed waits a search looks through between two looks at the clock

w = tables.waits.c
is_open = sa.text("waits.state = 'open'")  # as in the index, to the letter


@dataclass(frozen=True, kw_only=True)
class WaitRow:
    """A wait with its call. `kind`: approval, question, timer, uncertain; `state`: open, closed.

    `digest` is the one on its card. `approved_by` holds those of `approvers` who said yes so far.
    `owner`, `agent` and `title` are the session's. In lists `prompt` and `reason` are cut.
    """

    id: str
    session_id: str
    turn_id: str
    effect_id: str
    kind: str
    state: str
    opened: int
    deadline: int | None
    approvers: int
    not_own: bool
    approved_by: tuple[str, ...]
    prompt: str
    digest: str
    choice: str | None
    closed_by: str | None
    closed: int | None
    reason: str
    agent: str
    tool: str
    server: str | None
    plugin: str | None
    owner: str
    title: str
    call: CallRow


@dataclass(frozen=True, kw_only=True)
class Pending:
    """How much waits for people, for the frame of every page."""

    held: int
    questions: int
    uncertain: int
    total: int


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The filter of a list of waits. `older_than_ms` is their least age; "" filters nothing."""

    state: str = "open"
    kind: str = ""
    agent: str = ""
    tool: str = ""
    plugin: str = ""
    older_than_ms: int | None = None
    q: str = ""
    session_id: str | None = None


_NAMES = [field.name for field in fields(WaitRow) if field.name != "call"]
_CUT = ("prompt", "reason")
FULL = [w[name].label(f"w_{name}") for name in _NAMES]
LIGHT = [
    (sa.func.substr(w[name], 1, WORDS) if name in _CUT else w[name]).label(f"w_{name}")
    for name in _NAMES
]


def visible(person: Person) -> list[sa.ColumnElement[bool]]:
    """Conditions that leave out the waits of sessions this person may not see."""
    return sessions.visible(person, w.private, w.owner)


def of(found: sa.RowMapping, call: CallRow) -> WaitRow:
    """The wait from a row with `LIGHT` or `FULL` columns."""
    values = {name: found[f"w_{name}"] for name in _NAMES}
    values["not_own"] = bool(values["not_own"])
    values["approved_by"] = tuple(json.loads(values["approved_by"]))
    return WaitRow(**values, call=call)


# Counting -----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Counted:
    """How many of each kind are open, and when the oldest opened (ms)."""

    pending: Pending
    oldest: int | None


def count(conn: sa.Connection, person: Person) -> Counted:
    """Count what stands on people: one statement over the index of open waits."""
    query = (
        sa.select(w.kind, sa.func.count(), sa.func.min(w.opened))
        .where(is_open, w.kind != "timer", *visible(person))
        .group_by(w.kind)
    )
    found = {kind: (number, opened) for kind, number, opened in conn.execute(query)}
    held, questions, uncertain = (found.get(kind, (0, None))[0] for kind in FOR_PEOPLE)
    return Counted(
        pending=Pending(
            held=held, questions=questions, uncertain=uncertain,
            total=held + questions + uncertain,
        ),
        oldest=min((opened for _, opened in found.values()), default=None),
    )  # fmt: skip


def changed(conn: sa.Connection, after: int) -> tuple[int, bool]:
    """The newest position, and whether a fact behind `after` may have changed a card, however far
    down its list.

    It looks at each new fact once, so it costs what is new and not what waits.
    """
    newest = health.position(conn)
    if not 0 < newest - after <= GAP:
        return newest, newest > after
    c = tables.events.c
    has_card = sa.select(1).where(w.effect_id == c.effect_id).exists()
    shows = sa.or_(c.type.in_(CHANGES), sa.and_(c.type.like("call.%"), has_card))
    behind = sa.select(1).where(c.position > after, shows).limit(1)
    return newest, conn.execute(behind).first() is not None


# The list -----------------------------------------------------------------------------------------


def page(
    conn: sa.Connection, person: Person, asked: Asked, *, now: int, limit: int,
    cursor: str | None, patience: Patience,
) -> Page[WaitRow]:  # fmt: skip
    """One page with light calls: one statement, or one for each window a search looks through."""
    pages.one_of("state", asked.state, STATES)
    pages.one_of("kind", asked.kind, KINDS)
    bound = pages.filter_digest(list="waits", **asked.__dict__)
    place = pages.place(cursor, bound, int, str)
    query = _joined().where(*visible(person), *_chosen(asked, now))
    count = pages.size(limit) + 1
    if asked.state == "closed":
        looked = _closed(conn, query, count, place, patience if asked.q else None)
        order = w.closed.name
    else:
        looked = Looked(found=_open(conn, query, count, place))
        order = w.opened.name
    items = tuple(of(row, calls.of(row)) for row in looked.found[:limit])
    if looked.stopped is not None:
        return Page(items=items, next=pages.cursor(bound, (looked.stopped, "")), complete=False)
    if len(looked.found) <= limit:
        return Page(items=items)
    return Page(items=items, next=pages.cursor(bound, (getattr(items[-1], order), items[-1].id)))


def oldest(conn: sa.Connection, person: Person, limit: int) -> tuple[WaitRow, ...]:
    """The open waits that stand on people longest, light: one statement."""
    query = _joined().where(*visible(person), *_chosen(Asked(), 0))
    return tuple(of(row, calls.of(row)) for row in _open(conn, query, limit, None))


def newest_of(conn: sa.Connection, found: dict[str, CallRow]) -> dict[str, WaitRow]:
    """The newest wait of each of these calls, by effect id: one statement."""
    if not found:
        return {}
    query = sa.select(*FULL).where(w.effect_id.in_(list(found))).order_by(w.seq)
    rows = sessions.rows(conn, query)
    return {row["w_effect_id"]: of(row, found[row["w_effect_id"]]) for row in rows}


def _joined() -> sa.Select[Any]:
    effects = tables.effects
    return sa.select(*LIGHT, *calls.LIGHT).join_from(
        tables.waits, effects, effects.c.id == w.effect_id
    )


def _chosen(asked: Asked, now: int) -> list[sa.ColumnElement[bool] | sa.TextClause]:
    conditions: list[sa.ColumnElement[bool] | sa.TextClause] = []
    if asked.state == "closed":
        conditions.append(w.closed.is_not(None))
    else:
        conditions.append(is_open)
    if asked.kind:
        conditions.append(w.kind == asked.kind)
    else:
        conditions.append(w.kind != "timer")
    for column, value in ((w.agent, asked.agent), (w.tool, asked.tool), (w.plugin, asked.plugin)):
        if value:
            conditions.append(column == value)
    if asked.session_id:
        conditions.append(w.session_id == asked.session_id)
    if asked.older_than_ms is not None:
        conditions.append(w.opened <= now - asked.older_than_ms)
    for word in pages.words(asked.q):
        conditions.append(_holds(word))
    return conditions


def _holds(word: str) -> sa.ColumnElement[bool]:
    if sessions.ID.fullmatch(word):
        ids = (w.id, w.session_id, w.turn_id, w.effect_id)
        return sa.or_(*(column.like(f"{word.replace('_', '!_')}%", escape="!") for column in ids))
    return w.search.like(pages.like(word), escape=pages.BACKSLASH)


def _open(
    conn: sa.Connection, query: sa.Select[Any], count: int, place: Place | None
) -> list[sa.RowMapping]:
    if place is not None:
        opened, wait_id = place
        query = query.where(w.opened >= opened, sa.or_(w.opened > opened, w.id > wait_id))
    return sessions.rows(conn, query.order_by(w.opened, w.id).limit(count))


def _closed(
    conn: sa.Connection, query: sa.Select[Any], count: int, place: Place | None,
    patience: Patience | None,
) -> Looked[sa.RowMapping]:  # fmt: skip
    """Without patience in one go: there is no word to look for."""
    if place is not None:
        closed, wait_id = place
        query = query.where(w.closed <= closed, sa.or_(w.closed < closed, w.id < wait_id))
    query = query.order_by(w.closed.desc(), w.id.desc())
    if patience is None:
        return Looked(found=sessions.rows(conn, query.limit(count)))
    ends = sa.select(sa.func.max(w.closed), sa.func.min(w.closed))
    newest, first = conn.execute(ends).one()
    if newest is None:
        return Looked(found=[])

    def fetch(below: int, least: int, limit: int) -> list[sa.RowMapping]:
        window = (w.closed < below, w.closed >= least)
        return sessions.rows(conn, query.where(*window).limit(limit))

    start = min(newest, place[0]) + 1 if place is not None else newest + 1
    return pages.look(fetch, start=start, end=first, step=STEP, enough=count, patience=patience)
