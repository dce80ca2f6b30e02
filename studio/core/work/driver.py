"""Driver: moves one session for as long as something follows, then lets it rest.

It decides nothing: `rules.turn.advance` says what follows. Every write checks the lease's fence;
nothing is sent through the gate under a lease that may have run out.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any, TypeVar

from studio.core.clock import Clock
from studio.core.faults import fault
from studio.core.masking import Mask
from studio.core.providers.shelf import Shelf
from studio.core.rules import agent as agents_rule
from studio.core.rules import contents, turn
from studio.core.rules import events as e
from studio.core.rules.errors import Unavailable
from studio.core.rules.files import FileLimits
from studio.core.rules.servers import unsaid
from studio.core.rules.session import Session
from studio.core.store import agents, listings, wakes
from studio.core.store.db import Db
from studio.core.store.feed import Feed
from studio.core.store.journal import Committed, Journal, LeaseLost
from studio.core.tools.tool import Catalog, Offered, Tool
from studio.core.work.asking import Asking
from studio.core.work.environments.turns import Turns
from studio.core.work.health import Health
from studio.core.work.hold import Hold
from studio.core.work.opening import Opening
from studio.core.work.outage import Outage
from studio.core.work.sending import Sending

Rule = Callable[[Session], Sequence[e.Event]]
Look = Callable[[Any, Session], object]
Also = Callable[[Any, Session, list[e.Fact]], object]
T = TypeVar("T")
OWN = ("started", "succeeded", "failed", "uncertain")  # who records an outcome ends by himself


class Driver:
    """Moves sessions, one call of `move` each; shared by all sessions of a worker."""

    def __init__(
        self, *, db: Db, journal: Journal, feed: Feed, shelf: Shelf, catalog: Catalog,
        clock: Clock, opening: Opening, trace_key: bytes = b"", limits: FileLimits | None = None,
        environments: Turns | None = None,
    ) -> None:  # fmt: skip
        self.db, self.journal, self.feed = db, journal, feed
        self.shelf, self.catalog, self.clock = shelf, catalog, clock
        self.opening, self.outage, self.trace_key = opening, Outage(), trace_key
        self.environments = environments
        self.limits = limits or FileLimits()
        self._asking, self._sending = Asking(self), Sending(self)
        self._health = Health(db, clock)
        self._manifests: dict[tuple[str, int], agents_rule.Manifest] = {}
        self._listed: dict[tuple[str, int], object] = {}

    @property
    def mask(self) -> Mask:
        """Takes every secret out of what comes from outside."""
        return self.opening.values.mask

    async def move(self, hold: Hold) -> None:
        """Go round until nothing follows, and let go of the session."""
        session_id = hold.lease.session_id
        session = await self.session(session_id)
        while session is not None:
            hold.grew.clear()
            self._drop_stopped(hold, session)
            now = self.clock.now()
            following = turn.advance(session, now, frozenset(hold.running))
            if following.events:
                fault("expiry.before_commit")
                session = (await self.commit(hold, self.following(hold))).session
            elif following.ask is not None:
                session = await self._asking.ask(hold, session, following.ask)
            elif following.sends:
                session = await self._sending.send(hold, session, following.sends)
            elif hold.running:
                await self._await_any(hold, following.until)
                session = await self.session(session_id)
            else:
                if self.environments is not None:
                    await self.environments.ended(session)
                fault("turn.before_release")
                if not await self._release(hold, following.until):
                    session = await self.session(session_id)
                else:
                    return

    def following(self, hold: Hold) -> Rule:
        """The rule that says what is to be recorded now."""
        running = frozenset(hold.running)
        return lambda session: turn.advance(session, self.clock.now(), running).events

    async def commit(
        self, hold: Hold, rule: Rule, before: Look | None = None, also: Also | None = None
    ) -> Committed:
        """Record what a rule says, if the session is still ours; outlasts a store that is away."""
        return await self.outage.outlast(
            lambda: self.journal.commit(
                hold.lease.session_id,
                rule,
                at=self.clock.now(),
                fence=hold.lease,
                before=before,
                also=also,
            ),
            ready=lambda: self.clock.monotonic() < hold.good_until,  # the heartbeat came through
        )

    async def session(self, session_id: str) -> Session | None:
        """The session as it stands; outlasts a store that is away."""
        return await self.outage.outlast(lambda: self.journal.session(session_id))

    async def read(self, act: Callable[[Any], T]) -> T:
        """Read from the store; outlasts one that is away."""
        return await self.outage.outlast(lambda: self.db.read(act))

    async def _release(self, hold: Hold, until: int | None) -> bool:
        """Let go of the session; false when it was woken meanwhile and there is another round."""
        again = await self.outage.outlast(lambda: wakes.release(self.db, hold.lease, until))
        if again is not None:
            hold.lease = again
        return again is None

    async def _await_any(self, hold: Hold, until: int | None) -> None:
        """Wait for an answer, for news in the journal, or for a deadline."""
        timeout = None if until is None else max(0.0, (until - self.clock.now()) / 1000)
        grew = hold.out.create_task(_nothing(hold.grew))
        try:
            await asyncio.wait(
                [grew, *hold.running.values()], timeout=timeout,
                return_when=asyncio.FIRST_COMPLETED,
            )  # fmt: skip
        finally:
            grew.cancel()
        for effect_id, task in list(hold.running.items()):
            if task.done():
                del hold.running[effect_id]

    def _drop_stopped(self, hold: Hold, session: Session) -> None:
        """Cancel what is out for a turn that is over."""
        for effect_id, task in list(hold.running.items()):
            if not _still_wanted(session, effect_id):
                task.cancel()

    def gate(self, hold: Hold) -> None:
        """Nothing is sent under a lease that may have run out."""
        if self.clock.monotonic() >= hold.good_until:
            raise LeaseLost(hold.lease.session_id)

    async def value(self, content: e.Content) -> Any:
        """The whole value of a content."""
        if not content.stored:
            return content.value
        raw = await self.outage.outlast(lambda: self.journal.blob(content.hash))
        assert raw is not None, "a stored content has its blob from the same transaction"
        return contents.parse(raw, content)

    async def manifest(self, session: Session) -> agents_rule.Manifest:
        """The manifest of the version that the session is pinned to, with the session's model."""
        key = (session.agent, session.agent_version)
        if key not in self._manifests:
            data = await self.read(lambda conn: agents.get(conn, *key))
            assert data is not None, "a session is pinned to a version that exists"
            self._manifests[key] = agents_rule.parse(
                data.manifest, schema_problem=lambda _: None, is_kept=True
            )
        found = self._manifests[key]
        return found if session.model is None else replace(found, model=session.model)

    async def offered(self, session: Session, manifest: agents_rule.Manifest) -> Offered:
        """The tools the agent is offered now; word of them is left for the pages."""
        await self.opening.fresh()
        lends = None if self.environments is None else await self.environments.lends(session)
        offered = await self.catalog.offered(manifest.data, lends)
        await self._list(session, offered)
        await self._health.note(offered.servers, self.mask)
        if self.environments is None:
            return offered
        return await self.environments.joined(session, offered)

    async def _list(self, session: Session, offered: Offered) -> None:
        """Leave word of what the agent is offered now, for the pages that show its tools."""
        key = (session.agent, session.agent_version)
        gaps = [
            {
                "source": gap.source,
                "message": self.mask.text(unsaid(gap.message)),
                "kind": gap.kind,
            }
            for gap in offered.gaps
        ]
        skills = [asdict(brief) for brief in offered.skills]
        known = ([tool.spec.hash for tool in offered.tools.values()], gaps, skills)
        if self._listed.get(key) != known:
            tools = self.mask.value([_listed(tool) for tool in offered.tools.values()])
            now = self.clock.now()
            with suppress(Unavailable):  # it is left the next time
                await self.db.touch(
                    lambda conn: listings.save(conn, *key, tools, gaps, now, skills)
                )
                self._listed[key] = known


def _still_wanted(session: Session, effect_id: str) -> bool:
    current = session.turn
    if current is None or current.is_over:
        return False
    if current.model is not None and current.model.effect_id == effect_id:
        return True
    if current.summary is not None and current.summary.effect_id == effect_id:
        return True
    call = current.calls.get(effect_id)
    return call is not None and call.state in OWN


def _listed(tool: Tool) -> dict[str, Any]:
    spec = tool.spec
    return {
        "name": spec.name,
        "description": spec.description,
        "schema": spec.schema,
        "kind": spec.origin.kind,
        "server": spec.origin.server,
        "plugin": spec.origin.plugin,
        "plugin_version": spec.origin.plugin_version,
        "read_only": spec.read_only,
        "repeatable": spec.repeatable,
        "destination": spec.destination,
        "secrets": list(spec.secrets),
        "hash": spec.hash,
    }


async def _nothing(event: asyncio.Event) -> None:
    await event.wait()
