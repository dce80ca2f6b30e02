"""Saved views of lists: saved by anybody for themselves, shared by operators, taken away."""

import sqlalchemy as sa

from studio.core.rules import events as e
from studio.core.rules import views as rule_of
from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from studio.core.store import views
from studio.core.store.views import View
from studio.core.verbs.parts import Verbs


class ViewVerbs(Verbs):
    """What one may do with saved views."""

    async def save_view(
        self, person: Person, *, list: str, name: str, query: str, shared: bool = False
    ) -> str:
        """Keep filters of a list under a name; the id of the view."""
        list, name = rule_of.checked_list(list), rule_of.checked_name(name)
        query = rule_of.checked_query(query)
        if shared:
            rule_of.may_share(person)
        saved = e.ViewSaved(
            view_id=self.clock.new_id("viw"), list=list, name=name, query=query, owner=person.id,
            shared=shared, by=person.id,
        )  # fmt: skip

        def rule(conn: sa.Connection) -> tuple[e.Event, ...]:
            rule_of.one_more([one.name for one in views.own(conn, list, person.id)], name)
            return (saved,)

        await self.journal.commit_other("views", rule, at=self.clock.now(), actor=person.actor)
        return saved.view_id

    async def change_view(
        self, person: Person, view_id: str, *, name: str | None = None, query: str | None = None,
        shared: bool | None = None,
    ) -> None:  # fmt: skip
        """Rename a view, give it other filters, share it or take it back; None leaves as it is."""
        new_name = None if name is None else rule_of.checked_name(name)
        new_query = None if query is None else rule_of.checked_query(query)

        def rule(conn: sa.Connection) -> tuple[e.Event, ...]:
            found = _changeable(conn, person, view_id)
            if shared and not found.shared:
                rule_of.may_share(person)
            if new_name is not None and new_name != found.name:
                rule_of.free(_others(conn, found), new_name)
            return (
                _saved(
                    found, person, name=new_name or found.name, query=new_query or found.query,
                    shared=found.shared if shared is None else shared,
                ),
            )  # fmt: skip

        await self.journal.commit_other("views", rule, at=self.clock.now(), actor=person.actor)

    async def remove_view(self, person: Person, view_id: str) -> None:
        """Take a view away; `restore_view` brings it back."""

        def rule(conn: sa.Connection) -> tuple[e.Event, ...]:
            found = _changeable(conn, person, view_id)
            return (e.ViewRemoved(view_id=found.id, by=person.id),)

        await self.journal.commit_other("views", rule, at=self.clock.now(), actor=person.actor)

    async def restore_view(self, person: Person, view_id: str) -> None:
        """Bring a view back that was taken away, as it was."""

        def rule(conn: sa.Connection) -> tuple[e.Event, ...]:
            found = _changeable(conn, person, view_id, removed=True)
            if found.removed is None:
                return ()
            rule_of.one_more(_others(conn, found), found.name)
            return (_saved(found, person, name=found.name, query=found.query, shared=found.shared),)

        await self.journal.commit_other("views", rule, at=self.clock.now(), actor=person.actor)


def _changeable(
    conn: sa.Connection, person: Person, view_id: str, *, removed: bool = False
) -> View:
    """The view, for who may change it. What is not shared does not exist for others."""
    found = views.get(conn, view_id)
    is_there = found is not None and (removed or found.removed is None)
    if found is None or not is_there or not (found.shared or found.owner == person.id):
        raise NotFound("There is no such view.", code="view.not_found")
    rule_of.may_change(person, owner=found.owner, shared=found.shared)
    return found


def _others(conn: sa.Connection, of: View) -> list[str]:
    """The names of the other views that its owner has of the same list."""
    return [one.name for one in views.own(conn, of.list, of.owner) if one.id != of.id]


def _saved(of: View, person: Person, *, name: str, query: str, shared: bool) -> e.ViewSaved:
    return e.ViewSaved(
        view_id=of.id, list=of.list, name=name, query=query, owner=of.owner, shared=shared,
        by=person.id,
    )  # fmt: skip
