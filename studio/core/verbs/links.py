"""Links to artifacts: one version for whoever has the link, for minutes, until somebody revokes it.

The link is an id and a seal over all that it stands for, made with the studio's key. It is given
out once and recorded nowhere; facts and rows know the id, which opens nothing.
"""

import hmac
from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sa

from studio.core.rules import access
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.errors import Gone, Invalid, NotFound, Refused
from studio.core.rules.session import Session
from studio.core.store import artifacts, links
from studio.core.store.links import Link, Linked
from studio.core.verbs.parts import Verbs

Rule = Callable[[Session], list[e.Event]]
Look = Callable[[sa.Connection, Session], None]
LONGEST_MINUTES = 15
MOST_OPEN = 20  # of one artifact
LONGEST_TOKEN = 200
MINUTE = 60_000


@dataclass(frozen=True, kw_only=True)
class MadeLink:
    """A link with its token, which is given this once. `expires` is in ms."""

    id: str
    token: str
    artifact_id: str
    version: int
    expires: int


class LinkVerbs(Verbs):
    """What one may do with links."""

    async def make_link(
        self, person: Person, artifact_id: str, *, version: int | None = None,
        minutes: int = LONGEST_MINUTES,
    ) -> MadeLink:  # fmt: skip
        """Make a link to a version (without one: the newest) that works for 1 to 15 minutes."""
        access.needs(person, "operator", "make a link to an artifact")
        if not 1 <= minutes <= LONGEST_MINUTES:
            words = f"A link works for 1 to {LONGEST_MINUTES} minutes."
            raise Invalid(words, code="link.minutes", fields={"minutes": words})
        session_id = await self._session_of(artifact_id)
        now = self.clock.now()
        link_id, expires, number = self.clock.new_id("lnk"), now + minutes * MINUTE, 0

        def look(conn: sa.Connection, session: Session) -> None:
            nonlocal number
            _see(person, session)
            found = artifacts.find(conn, session.id, artifact_id, version)
            if found is None:
                raise _no_artifact()
            number = found.ref.version
            if links.open_ones(conn, artifact_id, now) >= MOST_OPEN:
                raise Refused(
                    f"{MOST_OPEN} links to this artifact work now, the most there may be. Revoke "
                    "one, or wait until one is over.",
                    code="link.many",
                )

        def rule(session: Session) -> list[e.Event]:
            return [
                e.ArtifactLinkMade(
                    link_id=link_id, artifact_id=artifact_id, version=number, expires=expires,
                    by=person.id,
                )
            ]  # fmt: skip

        await self._record_link(person, session_id, rule, look)
        token = self.tokens.artifact_link(link_id, artifact_id, number, expires)
        return MadeLink(
            id=link_id, token=token, artifact_id=artifact_id, version=number, expires=expires
        )

    async def revoke_link(self, person: Person, artifact_id: str, link_id: str) -> None:
        """Let a link work no more, from now on. Again, or when it is over, is well too."""
        access.needs(person, "operator", "revoke a link to an artifact")
        session_id = await self._session_of(artifact_id)
        is_open = True

        def look(conn: sa.Connection, session: Session) -> None:
            nonlocal is_open
            _see(person, session)
            found = links.get(conn, link_id)
            if found is None or found.artifact_id != artifact_id:
                raise NotFound("There is no such link.", code="link.not_found")
            is_open = found.revoked is None and found.expires > self.clock.now()

        def rule(session: Session) -> list[e.Event]:
            if not is_open:
                return []
            return [e.ArtifactLinkRevoked(link_id=link_id, artifact_id=artifact_id, by=person.id)]

        await self._record_link(person, session_id, rule, look)

    async def follow_link(self, token: str, *, is_used: bool = True) -> Linked:
        """What a link leads to, for whoever has it; noted as used, unless it is only looked at.

        NotFound when it is none of ours, Gone when it was revoked or its time is over.
        """
        found = await self.db.read(lambda conn: _linked(conn, token))
        link, linked = found if found is not None else (NOBODY, None)
        right = self.tokens.artifact_link(link.id, link.artifact_id, link.version, link.expires)
        is_right = hmac.compare_digest(right.encode(), token.encode("utf-8", "replace"))
        if not is_right or linked is None:
            raise NotFound("This link leads nowhere: it is not one of ours, or not all of it.",
                           code="link.not_found")  # fmt: skip
        if link.revoked is not None:
            raise Gone("This link was revoked. Ask for another.", code="link.revoked")
        now = self.clock.now()
        if link.expires <= now:
            raise Gone("The time of this link is over. Ask for another.", code="link.expired")
        if is_used:
            await self.db.touch(lambda conn: links.used(conn, link.id, now))
        return linked

    async def _session_of(self, artifact_id: str) -> str:
        found = await self.db.read(lambda conn: artifacts.owner(conn, artifact_id))
        if found is None:
            raise _no_artifact()
        return found[0]

    async def _record_link(self, person: Person, session_id: str, rule: Rule, look: Look) -> None:
        await self.journal.commit(
            session_id, rule, at=self.clock.now(), actor=person.actor, before=look
        )


# What an unknown link is held against, so that it takes as long as any other.
NOBODY = Link(
    id="lnk_", artifact_id="", version=0, session_id="", made=0, by="", expires=0, revoked=None,
    revoked_by=None, uses=0, last=None,
)  # fmt: skip


def _linked(conn: sa.Connection, token: str) -> tuple[Link, Linked | None] | None:
    link_id = token.partition(".")[0]
    if len(token) > LONGEST_TOKEN or not link_id.isascii() or not link_id.isprintable():
        return None
    link = links.get(conn, link_id)
    return None if link is None else (link, links.content(conn, link))


def _see(person: Person, session: Session) -> None:
    """Whose session is private has artifacts that are not there for others."""
    if not access.may_see(person, owner=session.owner, private=session.private):
        raise _no_artifact()


def _no_artifact() -> NotFound:
    return NotFound("There is no such artifact.", code="artifact.not_found")
