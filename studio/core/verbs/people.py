"""People and programs: sign-in links, sign-ins, application keys."""

from contextlib import suppress
from typing import cast

import sqlalchemy as sa

from studio.core import keys
from studio.core.rules import access, ids
from studio.core.rules import events as e
from studio.core.rules.access import Person, Role
from studio.core.rules.errors import Denied, Invalid, NotFound, Refused, Unavailable
from studio.core.store import people
from studio.core.tokens import hashed
from studio.core.verbs.parts import Verbs

USE_MILLISECONDS = 60_000  # between two notes that a key was used

SEEN_MILLISECONDS = 600_000  # between two notes that a sign-in was used


class PeopleVerbs(Verbs):
    """What one may do with sign-ins and keys."""

    async def make_key(self, person: Person, name: str, role: Role) -> tuple[str, str]:
        """An application key: its id, and the key itself, which is shown this once."""
        access.needs(person, "admin", "make an application key")
        name = name.strip()
        if not name or len(name) > 80:
            raise Invalid("Give the key a name.", fields={"name": "1 to 80 characters."})
        if role not in access.RANK:
            raise Invalid("No such role.", fields={"role": "sender, viewer, operator or admin."})
        plain, key_id = keys.make(), self.clock.new_id("key")
        made = e.KeyMade(key_id=key_id, name=name, role=role, hash=hashed(plain), by=person.id)

        def rule(conn: sa.Connection) -> list[e.Event]:
            if any(row.name == name and not row.revoked for row in people.list_keys(conn)):
                raise Refused(
                    f"There is a key named {name} already. A key speaks under its name: revoke "
                    "that one first, or use another name.",
                    code="key.name_taken",
                )
            return [made]

        await self.journal.commit_other("people", rule, at=self.clock.now(), actor=person.actor)
        return key_id, plain

    async def revoke_key(self, person: Person, key_id: str) -> None:
        """Revoke an application key; from now on it opens nothing."""
        access.needs(person, "admin", "revoke an application key")

        def rule(conn: sa.Connection) -> list[e.Event]:
            found = [row for row in people.list_keys(conn) if row.id == key_id]
            if not found:
                raise NotFound("There is no such key.", code="key.not_found")
            return [] if found[0].revoked else [e.KeyRevoked(key_id=key_id, by=person.id)]

        await self.journal.commit_other("people", rule, at=self.clock.now(), actor=person.actor)

    async def person_of_key(self, plain: str) -> Person | None:
        """Who an application key speaks for, or None."""
        if not keys.check(plain):
            return None
        row = await self.db.read(lambda conn: people.find_key(conn, hashed(plain)))
        if row is None or row.revoked:
            return None
        now = self.clock.now()
        if row.used is None or now - row.used > USE_MILLISECONDS:
            with suppress(Unavailable):  # a full disk keeps nobody from looking
                await self.db.touch(lambda conn: people.key_used(conn, row.id, now))
        return Person(id=f"key:{row.name}", role=cast(Role, row.role), via="key")

    def link(self, person: str, role: Role) -> str:
        """A single-use sign-in token."""
        return self.tokens.link(person, role)

    async def sign_in(self, token: str) -> tuple[str, Person]:
        """Spend a sign-in link; the secret for the cookie, and who came in."""
        person, role, chance = self.tokens.read_link(token)
        secret, at = ids.core(self.clock.new_id("sin")) + keys.make(), self.clock.now()

        def rule(conn: sa.Connection) -> list[e.Event]:
            earlier = people.spend(conn, hashed(chance), "link", person, at)
            if earlier is not None:
                raise Denied(
                    "This sign-in link was used already. Run `studio login` for a new one.",
                    code="link.used",
                )
            people.open(conn, hashed(secret), person, role, at)
            return [e.SignedIn(person=person, role=role)]

        await self.journal.commit_other("people", rule, at=at, actor=f"operator:{person}")
        return secret, Person(id=person, role=role)

    async def sign_out(self, secret: str) -> None:
        """End a sign-in."""
        at = self.clock.now()
        await self.db.touch(lambda conn: people.end(conn, hashed(secret), at))

    async def person_of(self, secret: str) -> Person | None:
        """Who a cookie's secret stands for now, or None."""
        now = self.clock.now()
        row = await self.db.read(lambda conn: people.find(conn, hashed(secret), now, self.ages))
        if row is None or access.RANK.get(row.role, -1) < 0:
            return None
        if now - row.seen > SEEN_MILLISECONDS:
            with suppress(Unavailable):
                await self.db.touch(lambda conn: people.see(conn, row.id, now))
        return Person(id=row.person, role=cast(Role, row.role))
