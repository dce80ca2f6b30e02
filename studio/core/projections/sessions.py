"""Sessions: their rows, the list, and who may see one.

The list goes by the position of each session's first fact, newest first. That is the order of
starting, it never changes, and no session can appear behind a cursor.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import sqlalchemy as sa

from studio.core.projections import pages
from studio.core.projections.pages import Looked, Page, Patience
from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from studio.core.store import tables

STATUSES = (
    "idle", "queued", "running", "held", "waiting", "completed", "failed", "cancelled",
)  # fmt: skip
IN_HAND = ("queued", "running", "held", "waiting")
NEEDS = ("held", "questions", "uncertain", "any")
STEP = 1_000_000  # positions a search looks through between two looks at the clock
ID = re.compile(r"(ses|trn|eff|wai)_[0-9a-z]+")
ID_LENGTH = 26

s = tables.sessions.c
t = tables.turns.c
needs_a_person = sa.text("held + questions + uncertain > 0")  # as in the index, to the letter


@dataclass(frozen=True, kw_only=True)
class SessionRow:
    """A session in a list. Times are ms UTC; `active` is ms; `cost` is US dollars.

    `status` is idle, queued, running, held, waiting, completed, failed or cancelled. `held`,
    `questions` and `uncertain` count what waits for a person. With `cost_known` false the cost is a
    lower bound; `maybe_billed` model attempts ended without word of what they cost. `number` is its
    place in the order of starting; `seq` that of its newest fact; `model` is provider/name when its
    agent names another.
    """

    id: str
    number: int
    agent: str
    agent_version: int
    title: str
    owner: str
    private: bool
    status: str
    turn_id: str | None
    turns: int
    held: int
    questions: int
    uncertain: int
    started: int
    last: int
    ended: int | None
    input_tokens: int
    output_tokens: int
    cost: float
    cost_known: bool
    maybe_billed: int
    active: int
    model: str
    environment_id: str | None
    seq: int


@dataclass(frozen=True, kw_only=True)
class TurnRow:
    """A turn. `excerpt` is the beginning of its message, `by` the person who sent it."""

    id: str
    session_id: str
    number: int
    status: str
    excerpt: str
    by: str
    opened: int
    started: int | None
    ended: int | None
    active: int
    steps: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float
    cost_known: bool
    code: str
    message: str


_NAMES = [field.name for field in fields(SessionRow)]
COLUMNS = [
    (s.first_position if name == "number" else s[name]).label(f"s_{name}") for name in _NAMES
]


def visible(
    person: Person,
    private: sa.ColumnElement[int] = s.private,
    owner: sa.ColumnElement[str] = s.owner,
) -> list[sa.ColumnElement[bool]]:
    """Conditions that leave out what the person may not see (`rules.access.may_see` in SQL)."""
    if person.role == "admin":
        return []
    return [sa.or_(private == 0, owner == person.id)]


# The list -----------------------------------------------------------------------------------------


def page(
    conn: sa.Connection, person: Person, *, q: str, agent: str, status: str, needs: str, limit: int,
    cursor: str | None, patience: Patience, plugin: str = "", environment: str = "",
) -> Page[SessionRow]:  # fmt: skip
    """One page of the list: one statement, or one for each window a search looks through."""
    pages.one_of("status", status, STATUSES)
    pages.one_of("needs", needs, NEEDS)
    bound = pages.filter_digest(
        list="sessions", q=q, agent=agent, status=status, needs=needs, plugin=plugin,
        environment=environment,
    )  # fmt: skip
    place = pages.place(cursor, bound, int)
    count = pages.size(limit) + 1
    ids, words = _parted(pages.words(q))
    windows = bool(words) and not ids and conn.dialect.name == "sqlite"
    chosen = _chosen(agent, status, needs, steer=windows or bool(needs))
    query = sa.select(*COLUMNS).where(
        *visible(person), *chosen, *_found(ids, words), *_called(plugin)
    )
    if environment:
        query = query.where(s.environment_id == environment)
    if windows:
        looked = _search(conn, query.order_by(s.first_position.desc()), count, place, patience)
    else:
        if place is not None:
            query = query.where(s.first_position < place[0])
        order = s.first_position + 0 if ids else s.first_position  # + 0: go by the ids, then sort
        looked = Looked(found=rows(conn, query.order_by(order.desc()).limit(count)))
    items = tuple(of(row) for row in looked.found[:limit])
    if looked.stopped is not None:
        return Page(items=items, next=pages.cursor(bound, (looked.stopped,)), complete=False)
    more = len(looked.found) > limit
    return Page(items=items, next=pages.cursor(bound, (items[-1].number,)) if more else None)


def _search(
    conn: sa.Connection, query: sa.Select[Any], count: int, place: pages.Place | None,
    patience: Patience,
) -> Looked[sa.RowMapping]:  # fmt: skip
    """Look through the newest sessions first, as far as patience goes.

    SQLite has no index of words here: it would cost each new session a millisecond of the only
    writer. It reads the words of a million sessions in a quarter of a second instead.
    """
    if place is None:
        newest = conn.execute(sa.select(sa.func.max(s.first_position))).scalar()
        start = (newest or 0) + 1
    else:
        start = place[0]

    def fetch(below: int, least: int, limit: int) -> list[sa.RowMapping]:
        window = (s.first_position < below, s.first_position >= least)
        return rows(conn, query.where(*window).limit(limit))

    return pages.look(fetch, start=start, end=1, step=STEP, enough=count, patience=patience)


def _parted(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Ids, and words that are not."""
    ids = [word for word in words if ID.fullmatch(word)]
    return ids, [word for word in words if word not in ids]


def _chosen(
    agent: str, status: str, needs: str, *, steer: bool
) -> list[sa.ColumnElement[bool] | sa.TextClause]:
    """The filter. `steer` keeps SQLite, which has no statistics, off these columns' indexes."""
    conditions: list[sa.ColumnElement[bool] | sa.TextClause] = []
    for column, value in ((s.agent, agent), (s.status, status)):
        if value:
            conditions.append((column.concat("") if steer else column) == value)
    if needs:
        conditions.append(needs_a_person)
    if needs and needs != "any":
        conditions.append(s[needs] > 0)
    return conditions


def _called(plugin: str) -> list[sa.ColumnElement[bool]]:
    """It called something of this plugin."""
    if not plugin:
        return []
    p = tables.session_plugins.c
    return [sa.exists(sa.select(1).where(p.plugin == plugin, p.first_position == s.first_position))]


def _found(ids: Sequence[str], words: Sequence[str]) -> list[sa.ColumnElement[bool]]:
    like = [s.search.like(pages.like(word), escape=pages.BACKSLASH) for word in words]
    return [_of_id(word) for word in ids] + like


def _of_id(word: str) -> sa.ColumnElement[bool]:
    """The session with this id, or beginning of one, or of the turn, effect or wait named so."""
    kind, _, core = word.partition("_")
    if kind == "ses":
        return s.id.between(word, word.ljust(len("ses_") + ID_LENGTH, "z"))
    return s.id.in_(sa.select(t.session_id).where(t.id == f"trn_{core[:ID_LENGTH]}"))


def rows(conn: sa.Connection, query: sa.Select[Any]) -> list[sa.RowMapping]:
    """All rows, by the names of their columns."""
    return list(conn.execute(query).mappings())


def of(found: sa.RowMapping) -> SessionRow:
    """The session from a row with `COLUMNS`."""
    values = {name: found[f"s_{name}"] for name in _NAMES}
    values["private"], values["cost_known"] = bool(values["private"]), bool(values["cost_known"])
    return SessionRow(**values)


# Access to one ------------------------------------------------------------------------------------


def not_found() -> NotFound:
    """The same words whether it does not exist or is not for this person."""
    return NotFound("There is no such session.", code="session.not_found")


def head(
    conn: sa.Connection, person: Person, session_id: str, *more: sa.ColumnElement[Any]
) -> sa.RowMapping:
    """{seq, position, …} of a session this person may see, or NotFound."""
    query = sa.select(s.seq, s.position, *more).where(s.id == session_id, *visible(person))
    row = conn.execute(query).mappings().one_or_none()
    if row is None:
        raise not_found()
    return row
