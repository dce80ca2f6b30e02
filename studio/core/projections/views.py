"""Saved views as a person sees them: their own, and those that are shared."""

from dataclasses import dataclass
from urllib.parse import parse_qsl

import sqlalchemy as sa

from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from studio.core.store import views
from studio.core.store.views import View

OWN_MOST = 1_000  # more than anybody may have
SHARED_MOST = 200  # of other people, by list and name


@dataclass(frozen=True, kw_only=True)
class ViewRow:
    """Filters of a list (`query`, of its URL) under a name. Times are ms, UTC.

    `may_change` says whether this person may; `removed` is None while it is there.
    """

    id: str
    list: str
    name: str
    query: str
    owner: str
    shared: bool
    by: str
    made: int
    time: int
    removed: int | None
    may_change: bool

    @property
    def url(self) -> str:
        """The list with these filters."""
        return f"/{self.list}?{self.query}"

    @property
    def filters(self) -> tuple[tuple[str, str], ...]:
        """(name, value) of each filter."""
        return tuple(parse_qsl(self.query))


@dataclass(frozen=True, kw_only=True)
class SeenViews:
    """Views by list and name: one's own first, then those that others share.

    `left_out` is how many more of those there are.
    """

    items: tuple[ViewRow, ...]
    left_out: int


moved = views.moved


def rows(conn: sa.Connection, person: Person, list: str = "", most: int = SHARED_MOST) -> SeenViews:
    """All of one's own of a list, or of all lists, and `most` of those that others share."""
    own, shared = views.seen(conn, person.id, list, own=OWN_MOST, shared=most)
    count = len(shared) if len(shared) < most else views.shared(conn, person.id, list)
    return SeenViews(
        items=tuple(_row(one, person) for one in (*own, *shared)), left_out=count - len(shared)
    )


def one(conn: sa.Connection, person: Person, view_id: str) -> ViewRow:
    """One view, removed or not: one statement."""
    found = views.get(conn, view_id)
    if found is None or not (found.shared or found.owner == person.id):
        raise NotFound("There is no such view.", code="view.not_found")
    return _row(found, person)


def _row(of: View, person: Person) -> ViewRow:
    mine = of.owner == person.id or (of.shared and person.role == "admin")
    return ViewRow(
        id=of.id, list=of.list, name=of.name, query=of.query, owner=of.owner, shared=of.shared,
        by=of.by, made=of.made, time=of.time, removed=of.removed, may_change=mine,
    )  # fmt: skip
