"""The journal: appends facts with everything that follows from them, in one transaction.

A caller hands in a rule, which is asked of the session as it stands inside the transaction. So
nobody ever decides on old news, and there is no conflict to try again after.
"""

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import sqlalchemy as sa

from studio.core import faults
from studio.core.rules import contents, ids
from studio.core.rules.environments.environment import Environment
from studio.core.rules.errors import NotFound, Refused
from studio.core.rules.events import Event, Fact
from studio.core.rules.session import Session, apply
from studio.core.store import blobs, codec, environment_rows, environments, files, raw, rows, wakes
from studio.core.store import facts as reading
from studio.core.store.changes import find_call, plain
from studio.core.store.db import Db
from studio.core.store.feed import Feed
from studio.core.store.folded import Folded, catch_up

CHECKPOINT = 512  # facts from one checkpoint to the next

INSERT_FACT = (
    "INSERT INTO events (position, session_id, seq, id, type, time, turn_id, effect_id, actor, "
    "evidence, line, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
HEAD = "SELECT max(seq) FROM events WHERE session_id = ?"
HEAD_AND_FENCE = (
    "SELECT (SELECT max(seq) FROM events WHERE session_id = ?), "
    "(SELECT fence FROM wakes WHERE session_id = ? AND owner = ?)"
)
LAST_OTHER = "SELECT seq, time FROM events WHERE session_id = ? ORDER BY seq DESC LIMIT 1"
RECEIPT = "SELECT request, answer FROM receipts WHERE scope = ? AND key = ?"
KEEP_RECEIPT = "INSERT INTO receipts (scope, key, request, answer, time) VALUES (?, ?, ?, ?, ?)"
KEEP_CHECKPOINT = (
    "INSERT INTO checkpoints (session_id, seq, fold, state) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (session_id) DO UPDATE SET seq = excluded.seq, fold = excluded.fold, "
    "state = excluded.state"
)

Rule = Callable[[Session], Sequence[Event]]
OtherJournal = Literal[
    "agents", "plugins", "policy", "people", "secrets", "models", "probes", "environments", "views",
    "outside",
]  # fmt: skip
Others = Sequence[tuple[str, Sequence[Event]]]  # events by the journal they go to


class LeaseLost(Exception):
    """Somebody else has this session now; whoever held it before may record nothing."""


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What makes a command safe to repeat: whose key, the key, and SHA-256 of what is asked."""

    scope: str
    key: str
    request: str


@dataclass(frozen=True, kw_only=True)
class Committed:
    """What a commit led to. `replayed` says that the same command had been carried out before."""

    session: Session
    facts: list[Fact]
    answer: Any = None
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Commit:
    """What is asked of one commit; see `Journal.commit`."""

    session_id: str
    rule: Rule
    at: int
    actor: str | None
    fence: wakes.Lease | None
    wake_at: int | None
    receipt: Receipt | None
    answer: Callable[[Session, list[Fact]], Any] | None
    also: Callable[[sa.Connection, Session, list[Fact]], object] | None
    must_exist: bool
    before: Callable[[sa.Connection, Session], object] | None


def new_id(prefix: str) -> str:
    """A fresh sortable id."""
    return ids.make(prefix, time.time_ns() // 1_000_000, os.urandom(10))


class Journal:
    """The only writer of `events`, and of everything that is derived from them. One for each Db."""

    facts = staticmethod(reading.facts)
    before = staticmethod(reading.before)
    after_position = staticmethod(reading.after_position)

    def __init__(self, db: Db, feed: Feed, *, new_id: Callable[[str], str] = new_id) -> None:
        self._db, self._feed, self._new_id = db, feed, new_id
        self._folded = Folded()
        self._pending: dict[str, Session] = {}  # of the transaction in hand, not durable yet
        self._pending_batch = 0

    async def commit(
        self, session_id: str, rule: Rule, *, at: int, actor: str | None = None,
        fence: wakes.Lease | None = None, wake_at: int | None = None,
        receipt: Receipt | None = None,
        answer: Callable[[Session, list[Fact]], Any] | None = None,
        also: Callable[[sa.Connection, Session, list[Fact]], object] | None = None,
        must_exist: bool = True,
        before: Callable[[sa.Connection, Session], object] | None = None,
    ) -> Committed:  # fmt: skip
        """Ask the rule and record what it says; all of it or nothing.

        `fence`: refuse with LeaseLost unless this lease still holds. `wake_at`: wake the session
        then. `receipt`: a repeated command answers as the first did and does nothing. `before`: a
        look at the store for what the rule needs to know. `also`: more to do in the same
        transaction. What any of them raises undoes everything and is raised.
        """
        asked = Commit(
            session_id, rule, at, actor, fence, wake_at, receipt, answer, also, must_exist, before
        )
        return await self._db.record(
            lambda conn: self._commit(conn, asked),
            durable=self._keep,
            told=lambda done: self._tell(asked, done),
        )

    async def commit_other(
        self, journal_id: OtherJournal, rule: Callable[[sa.Connection], Sequence[Event]], *,
        at: int, actor: str | None,
    ) -> list[Fact]:  # fmt: skip
        """Record facts about agents, the policy, people and the like."""
        return await self.commit_others(lambda conn: [(journal_id, rule(conn))], at=at, actor=actor)

    async def commit_environment(
        self, environment_id: str, rule: Callable[[sa.Connection, Environment], Sequence[Event]],
        *, at: int, actor: str | None,
    ) -> list[Fact]:  # fmt: skip
        """Ask the rule of an environment as it stands, and record what it says in its journal.

        NotFound when there is none; one that was deleted is for the rule to refuse.
        """

        def others(conn: sa.Connection) -> Others:
            found = environments.get(conn, environment_id)
            if found is None:
                raise NotFound("There is no such environment.", code="environment.not_found")
            return [(environment_id, rule(conn, found))]

        return await self.commit_others(others, at=at, actor=actor)

    async def commit_others(
        self, rule: Callable[[sa.Connection], Others], *, at: int, actor: str | None
    ) -> list[Fact]:
        """Record facts in several journals that are no sessions', all of them or none."""

        def act(conn: sa.Connection) -> list[Fact]:
            faults.fault("journal.before_append")
            made = [
                fact
                for journal_id, events in rule(conn)
                for fact in self._append_other(conn, journal_id, events, at, actor)
            ]
            changed = environment_rows.secrets_changed(made)
            made += self._append_other(conn, "secrets", changed, at, actor)
            faults.fault("journal.after_append")
            return made

        def told(made: list[Fact]) -> None:
            faults.fault("journal.before_publish")
            for journal_id, position in {fact.session_id: fact.position for fact in made}.items():
                self._feed.publish(journal_id, position)

        return await self._db.record(act, durable=_after_commit, told=told)

    async def session(self, session_id: str) -> Session | None:
        """The session as it stands, folded; None when nothing was ever recorded of it."""
        known = self._folded.get(session_id) if self._db.kind == "sqlite" else None
        if known is not None:  # nobody else writes this file, so what is kept is the head
            return known
        return await self._db.read(lambda conn: self._current(conn, session_id))

    async def part(self, hash: str, offset: int, length: int) -> bytes | None:
        """Some of the bytes of a file or of a large content."""
        return await self._db.read(lambda conn: files.part(conn, hash, offset, length))

    async def blob(self, hash: str) -> bytes | None:
        """The bytes of a content that was too large to stand in a fact."""
        return await self._db.read(lambda conn: blobs.read(conn, hash))

    # The transaction ------------------------------------------------------------------------------

    def _commit(self, conn: sa.Connection, asked: Commit) -> Committed:
        receipt = asked.receipt
        if receipt is not None:
            seen = raw.one(conn, RECEIPT, (receipt.scope, receipt.key))
            if seen is not None:
                return self._replay(conn, asked.session_id, receipt, *seen)
        session = self._load(conn, asked)
        if asked.before is not None:
            asked.before(conn, session)
        events = asked.rule(session)
        made, after = self._append(conn, session, events, asked) if events else ([], session)
        answer = asked.answer(after, made) if asked.answer is not None else None
        if asked.wake_at is not None:
            raw.put(conn, wakes.SET, (asked.session_id, asked.wake_at))
        if receipt is not None:
            row = (receipt.scope, receipt.key, receipt.request, codec.text(answer), asked.at)
            raw.put(conn, KEEP_RECEIPT, row)
        if asked.also is not None:
            asked.also(conn, after, made)
        faults.fault("journal.before_commit")
        if made:
            self._in_hand()[asked.session_id] = after
        return Committed(session=after, facts=made, answer=answer)

    def _replay(
        self, conn: sa.Connection, session_id: str, receipt: Receipt, request: str, answer: str
    ) -> Committed:
        if request != receipt.request:
            raise Refused(
                "This idempotency key was used before for something else. Use a new key for a "
                "new command.",
                code="idempotency.mismatch",
            )
        session = self._current(conn, session_id) or Session(id=session_id)
        return Committed(session=session, facts=[], answer=json.loads(answer), replayed=True)

    def _load(self, conn: sa.Connection, asked: Commit) -> Session:
        """The session at its head, seen by whoever still holds it."""
        session_id, fence = asked.session_id, asked.fence
        if fence is not None:
            head, number = raw.one(conn, HEAD_AND_FENCE, (session_id, session_id, fence.owner))
            if number != fence.fence:
                raise LeaseLost(session_id)
        else:
            (head,) = raw.one(conn, HEAD, (session_id,))
        if head is None:
            if asked.must_exist:
                raise NotFound("There is no such session.", code="session.not_found")
            return Session(id=session_id)
        known = self._in_hand().get(session_id) or self._folded.get(session_id)
        if known is not None and known.seq == head:
            return known
        return catch_up(conn, session_id, head, known)[0]

    def _append(
        self, conn: sa.Connection, session: Session, events: Sequence[Event], asked: Commit
    ) -> tuple[list[Fact], Session]:
        faults.fault("journal.before_append")
        at = max(asked.at, session.time)
        events = [_spilled(conn, event, at) for event in events]
        made, after = self._place(session, events, at, asked.actor)
        raw.put_many(conn, INSERT_FACT, [_row(fact) for fact in made])
        rows.derive(conn, session, after, made)
        if after.seq // CHECKPOINT > session.seq // CHECKPOINT:
            state = codec.checkpoint(after)
            raw.put(conn, KEEP_CHECKPOINT, (after.id, after.seq, codec.FOLD, state))
        faults.fault("journal.after_append")
        return made, after

    def _append_other(
        self, conn: sa.Connection, journal_id: str, events: Sequence[Event], at: int,
        actor: str | None,
    ) -> list[Fact]:  # fmt: skip
        if not events:
            return []
        head, last = raw.one(conn, LAST_OTHER, (journal_id,)) or (0, 0)
        begun, at = Session(id=journal_id, seq=head, time=last), max(at, last)
        kept = [environment_rows.spilled(conn, event, at) for event in events]
        made, _ = self._place(begun, kept, at, actor)
        raw.put_many(conn, INSERT_FACT, [_row(fact) for fact in made])
        rows.derive_other(conn, made)
        return made

    def _place(
        self, session: Session, events: Sequence[Event], at: int, actor: str | None
    ) -> tuple[list[Fact], Session]:
        """Give events their places in the journal, and fold them."""
        position = self._db.take(len(events))
        made: list[Fact] = []
        for number, event in enumerate(events):
            fact = Fact(
                session_id=session.id, seq=session.seq + 1, position=position + number,
                id=self._new_id("fct"), time=at, actor=_actor(session, event, actor),
                evidence=event.EVIDENCE, event=event,
            )  # fmt: skip
            session = apply(session, fact)
            made.append(fact)
        return made, session

    def _in_hand(self) -> dict[str, Session]:
        """Sessions as earlier items of the same transaction left them."""
        if self._pending_batch != self._db.batch_number:
            self._pending = {}
            self._pending_batch = self._db.batch_number
        return self._pending

    def _current(self, conn: sa.Connection, session_id: str) -> Session | None:
        (head,) = raw.one(conn, HEAD, (session_id,))
        if head is None:
            return None
        known = self._folded.get(session_id)
        if known is not None and known.seq >= head:
            return known
        session, grown = catch_up(conn, session_id, head, known)
        self._folded.put(session, grown)
        return session

    # After the commit -----------------------------------------------------------------------------

    def _keep(self, done: Committed) -> None:
        """It is durable: remember the session. On the writer's thread."""
        if done.facts:
            self._folded.put(done.session, sum(map(_weight, done.facts)))
        _after_commit(done)

    def _tell(self, asked: Commit, done: Committed) -> None:
        """Before the caller hears, and also when he has gone away. On the event loop."""
        faults.fault("journal.before_publish")
        if done.facts or asked.wake_at is not None:
            position = done.facts[-1].position if done.facts else 0
            self._feed.publish(asked.session_id, position)


def _after_commit(done: object) -> None:
    faults.fault("journal.after_commit")


def _spilled(conn: sa.Connection, event: Event, at: int) -> Event:
    """The event, with its large contents moved to the blobs."""
    for name in codec.contents_of(type(event)):
        content = getattr(event, name)
        if content is not None and not content.stored and not contents.fits(content):
            event = replace(event, **{name: blobs.keep(conn, content, at)})  # type: ignore[type-var]
    return event


def _row(fact: Fact) -> tuple[Any, ...]:
    event = fact.event
    return (
        fact.position, fact.session_id, fact.seq, fact.id, event.TYPE, fact.time, fact.turn_id,
        getattr(event, "effect_id", None), fact.actor, fact.evidence, int(event.LINE),
        codec.payload(event),
    )  # fmt: skip


def _actor(session: Session, event: Event, actor: str | None) -> str:
    match event.ACTOR:
        case "person":
            return actor or "runtime"
        case "agent":
            return f"agent:{session.agent}"
        case "maker":
            return actor or ("runtime" if event.source == "result" else f"agent:{session.agent}")  # type: ignore[attr-defined]
        case "tool":
            return f"tool:{_tool(session, event)}"
        case _:
            return "runtime"


def _tool(session: Session, event: Any) -> str:
    """The server that brought the tool, or the tool's name."""
    call = find_call(session, event.turn_id, event.effect_id)
    return "unknown" if call is None else plain(call.origin.server or call.tool)


def _weight(fact: Fact) -> int:
    """About how many bytes a fact takes in memory."""
    weight = 512
    for name in codec.contents_of(type(fact.event)):
        content = getattr(fact.event, name)
        if content is not None:
            weight += min(content.size, contents.INLINE_BYTES)
    return weight
