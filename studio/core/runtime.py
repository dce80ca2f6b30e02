"""Runtime: every verb a person or program may use. Each is load, rule, append, in one transaction.

Verbs take the person first and check their rights themselves. What they refuse, they refuse with a
sentence and a stable code, and then nothing was changed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, cast

import sqlalchemy as sa

from studio.core import schemas
from studio.core.clock import Clock
from studio.core.faults import fault
from studio.core.keys import check as check_key
from studio.core.keys import make as make_key
from studio.core.rules import access, approvals, contents, digests, ids, policy, turn
from studio.core.rules import agent as agents_rule
from studio.core.rules import events as e
from studio.core.rules.access import Person, Role
from studio.core.rules.errors import Denied, Invalid, NotFound, Refused, TooLarge
from studio.core.rules.session import Session
from studio.core.store import agents, effects, people, policies
from studio.core.store.db import Db
from studio.core.store.journal import Journal, Receipt
from studio.core.tokens import DecisionToken, Tokens, hashed

MESSAGE_BYTES = 1024 * 1024
READABLE_BYTES = 10 * 1024 * 1024
TITLE_CHARACTERS = 200
REASON_CHARACTERS = 4_000


class _Missing:
    """Not given, where None is a value."""


MISSING: Final = _Missing()


@dataclass(frozen=True, kw_only=True)
class Started:
    """A new session, and its first turn when a message came with it."""

    session_id: str
    turn_id: str | None


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A message was accepted and opened this turn."""

    session_id: str
    turn_id: str


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """A turn was stopped: the calls that had already run, and those whose outcome is unknown."""

    session_id: str
    turn_id: str
    ran: tuple[str, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Decided:
    """A decision was recorded. `closed` is false while it waits for another person's approval."""

    wait_id: str
    session_id: str
    choice: str
    closed: bool
    approvals: int
    needed: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What saving an agent does, or would do. `version` is the one it makes, or keeps."""

    name: str
    version: int
    creates: bool
    changes: tuple[str, ...]
    warnings: tuple[str, ...]
    digest: str


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A policy was saved."""

    version: int
    warnings: tuple[str, ...]


class Runtime:
    """The verbs. Built once by `app.py`; shared by web and API."""

    def __init__(self, *, db: Db, journal: Journal, tokens: Tokens, clock: Clock) -> None:
        self.db, self.journal, self.tokens, self.clock = db, journal, tokens, clock

    # Sessions and messages ------------------------------------------------------------------------

    async def start_session(
        self, person: Person, *, agent: str, title: str = "", message: str | None = None,
        private: bool = False, version: int | None = None, key: str | None = None,
    ) -> Started:  # fmt: skip
        """Start a session of an agent (its newest version unless told), with a first message."""
        access.needs(person, "operator", "start a session")
        if message is not None:
            message = _message(message)
        found = await self.db.read(lambda conn: agents.get(conn, agent, version))
        if found is None:
            raise NotFound(
                f"There is no agent named {agent}" + (f" v{version}." if version else "."),
                code="agent.not_found",
            )
        session_id = self.clock.new_id("ses")
        turn_id = self.clock.new_id("trn") if message is not None else None
        manifest = agents_rule.parse(found.manifest, schema_problem=lambda _: None)
        title = _title(title, message, agent)

        def rule(session: Session) -> list[e.Event]:
            events = turn.start(
                agent=agent, agent_version=found.version, title=title, owner=person.id,
                private=private, limits=manifest.limits,
            )  # fmt: skip
            if message is not None and turn_id is not None:
                events += turn.accept(session, turn_id=turn_id, text=message, by=person.id)
            return events

        fault("message.before_commit")
        done = await self.journal.commit(
            session_id, rule, at=self.clock.now(), actor=person.actor, must_exist=False,
            wake_at=self.clock.now() if turn_id else None,
            receipt=_receipt(person, "start_session", "", key, [agent, title, message, private]),
            answer=lambda s, f: {"session_id": session_id, "turn_id": turn_id},
        )  # fmt: skip
        fault("message.after_commit")
        return Started(**done.answer)

    async def send_message(
        self, person: Person, session_id: str, text: str, *, key: str | None = None
    ) -> Sent:
        """Send a message; it opens a turn. Refused while a turn runs."""
        access.needs(person, "operator", "send a message")
        text = _message(text)
        turn_id = self.clock.new_id("trn")

        def rule(session: Session) -> list[e.Event]:
            _visible(person, session)
            return turn.accept(session, turn_id=turn_id, text=text, by=person.id)

        return Sent(**await self._message(person, session_id, rule, turn_id, "send", key, [text]))

    async def deny_and_send(
        self, person: Person, session_id: str, text: str, *, reason: str = "",
        key: str | None = None,
    ) -> Sent:  # fmt: skip
        """Deny every held call, stop the turn and send a message, all in one transaction."""
        access.needs(person, "operator", "deny and send")
        text, reason = _message(text), _reason(reason)
        turn_id = self.clock.new_id("trn")

        def rule(session: Session) -> list[e.Event]:
            _visible(person, session)
            words = reason or "A person sent a new message instead."
            return turn.deny_and_accept(
                session, turn_id=turn_id, text=text, by=person.id, reason=words
            )

        asked = [text, reason]
        return Sent(**await self._message(person, session_id, rule, turn_id, "deny", key, asked))

    async def _message(
        self, person: Person, session_id: str, rule: Any, turn_id: str, verb: str,
        key: str | None, asked: list[Any],
    ) -> dict[str, Any]:  # fmt: skip
        fault("message.before_commit")
        done = await self.journal.commit(
            session_id, rule, at=self.clock.now(), actor=person.actor, wake_at=self.clock.now(),
            receipt=_receipt(person, verb, session_id, key, asked),
            answer=lambda s, f: {"session_id": session_id, "turn_id": turn_id},
        )  # fmt: skip
        fault("message.after_commit")
        return dict(done.answer)

    async def cancel_turn(
        self, person: Person, session_id: str, *, reason: str = "", key: str | None = None
    ) -> Stopped:
        """Stop the turn in hand, at once, whether or not a worker lives."""
        access.needs(person, "operator", "stop a turn")
        reason = _reason(reason)

        def rule(session: Session) -> list[e.Event]:
            _visible(person, session)
            return turn.stop(session, by=person.id, reason=reason)

        def answer(session: Session, facts: list[e.Fact]) -> dict[str, Any]:
            end = facts[-1].event
            assert isinstance(end, e.TurnCancelled), "stopping ends with the turn's end"
            return {"turn_id": end.turn_id, "ran": list(end.ran), "unknown": list(end.unknown)}

        fault("cancel.before_commit")
        done = await self.journal.commit(
            session_id, rule, at=self.clock.now(), actor=person.actor, wake_at=self.clock.now(),
            receipt=_receipt(person, "cancel", session_id, key, [reason]), answer=answer,
        )  # fmt: skip
        fault("cancel.after_commit")
        said = done.answer
        return Stopped(
            session_id=session_id, turn_id=said["turn_id"], ran=tuple(said["ran"]),
            unknown=tuple(said["unknown"]),
        )  # fmt: skip

    # Decisions -----------------------------------------------------------------------------------

    async def decide(
        self, person: Person, wait_id: str, choice: e.Choice, *, digest: str, reason: str = "",
        arguments: Any = MISSING, answer: Any = MISSING, token: DecisionToken | None = None,
        key: str | None = None,
    ) -> Decided:  # fmt: skip
        """Answer a wait: approve (perhaps with edited arguments), deny, answer, or settle."""
        access.needs(person, "operator", "decide")
        fault("decision.before_commit")
        wait = await self._wait(person, wait_id)
        self._check_token(person, wait_id, digest, token)
        given = await self._given(person, wait, choice, digest, _reason(reason), arguments, answer)

        def rule(session: Session) -> list[e.Event]:
            _visible(person, session)
            if wait.state == "closed":
                _refuse_closed(wait)  # here, where a repeated command has had its answer
            return approvals.decide(session, wait_id, given, self.clock.now())

        def spend(conn: sa.Connection, session: Session, facts: list[e.Fact]) -> None:
            if token is not None:
                at = self.clock.now()
                _once(people.spend(conn, hashed(token.value), "decision", person.id, at))

        def said(session: Session, facts: list[e.Fact]) -> dict[str, Any]:
            return _decided(wait_id, session, facts)

        asked = [choice, digest, reason, _plain(arguments), _plain(answer)]
        done = await self.journal.commit(
            wait.session_id, rule, at=self.clock.now(), actor=person.actor,
            wake_at=self.clock.now(), also=spend, answer=said,
            receipt=_receipt(person, "decide", wait_id, key, asked),
        )  # fmt: skip
        fault("decision.after_commit")
        return Decided(**done.answer)

    async def _wait(self, person: Person, wait_id: str) -> effects.WaitRow:
        wait = await self.db.read(lambda conn: effects.wait(conn, wait_id))
        hidden = wait is not None and not access.may_see(
            person, owner=wait.owner, private=wait.private
        )
        if wait is None or hidden:
            raise NotFound("There is no such wait.", code="wait.not_found")
        return wait

    def _check_token(
        self, person: Person, wait_id: str, digest: str, token: DecisionToken | None
    ) -> None:
        """A browser's decision must come from the card's own form."""
        if person.via != "browser":
            return
        if token is None:
            token = DecisionToken(value="", secret="")
        self.tokens.check_form(token, person=person.id, wait_id=wait_id, digest=digest)

    async def _given(
        self, person: Person, wait: effects.WaitRow, choice: e.Choice, digest: str, reason: str,
        arguments: Any, answer: Any,
    ) -> approvals.Answer:  # fmt: skip
        """The person's answer with everything checked that needs more than the facts."""
        if wait.state == "closed":
            return approvals.Answer(choice=choice, by=person.id, digest=digest, reason=reason)
        if choice not in approvals.ANSWERS[wait.kind]:
            raise approvals.wrong_choice(wait.kind, choice)
        if choice == "approve" and wait.arguments.size > READABLE_BYTES:
            raise TooLarge(
                f"The arguments have {wait.arguments.size:,} bytes, more than a person can read. "
                "This call can only be denied.",
                code="decision.unreadable",
            )
        if choice == "answer":
            return approvals.Answer(
                choice=choice, by=person.id, digest=digest, reason=reason,
                answer=_answer(wait.schema, answer),
            )  # fmt: skip
        if choice == "approve" and not isinstance(arguments, _Missing):
            edited = contents.of(arguments)
            decided, ruling = await self._edited(wait, arguments, edited)
            if decided != digest:
                return approvals.Answer(
                    choice=choice, by=person.id, digest=digest, reason=reason, arguments=edited,
                    digest_decided=decided, ruling=ruling,
                )  # fmt: skip
        return approvals.Answer(choice=choice, by=person.id, digest=digest, reason=reason)

    async def _edited(
        self, wait: effects.WaitRow, value: Any, content: e.Content
    ) -> tuple[str, e.Ruling]:
        """Check edited arguments by schema and policy again; the digest of what would run."""
        found = await self.db.read(lambda conn: effects.tool_of(conn, wait.effect_id))
        wrong = schemas.errors(found.schema, value) if found.schema is not None else {}
        if wrong:
            raise Invalid(
                "The edited arguments do not fit the tool's schema. Nothing was decided.",
                code="arguments.invalid", fields=wrong,
            )  # fmt: skip
        rules = await self.db.read(policies.current)
        subject = policy.Subject(
            tool=found.tool, server=found.origin.server, plugin=found.origin.plugin,
            kind=found.origin.kind, agent=found.agent, labels=(), read_only=found.read_only,
            arguments=value,
        )  # fmt: skip
        ruling = policy.ruling(rules, subject)
        if ruling.verdict == "deny":
            words = "; ".join(rule.words for rule in ruling.rules if rule.effect == "deny")
            raise Refused(
                f"The policy denies the edited call: {words}. Nothing was decided.",
                code="arguments.denied",
            )
        digest = digests.of_call(
            effect_id=wait.effect_id, tool=found.tool, tool_hash=found.tool_hash,
            origin=found.origin, destination=found.destination, arguments=content,
            agent=found.agent, agent_version=found.agent_version,
        )  # fmt: skip
        return digest, ruling

    # Agents and policy ---------------------------------------------------------------------------

    async def save_agent(
        self, person: Person, manifest: Any, *, dry_run: bool = False, expect: int | None = None
    ) -> Plan:
        """Save a manifest as a new version, or say what saving it would do."""
        access.needs(person, "admin", "save an agent")
        parsed = agents_rule.parse(manifest, schema_problem=schemas.problem)
        plan: Plan | None = None

        def rule(conn: sa.Connection) -> list[e.Event]:
            nonlocal plan
            plan = _plan(agents.get(conn, parsed.name, None), parsed, expect)
            if dry_run or not plan.creates:
                return []
            return [
                e.AgentSaved(
                    name=parsed.name, version=plan.version, manifest=parsed.data,
                    digest=plan.digest, by=person.id,
                )
            ]  # fmt: skip

        if dry_run:
            await self.db.read(rule)
        else:
            await self.journal.commit_other("agents", rule, at=self.clock.now(), actor=person.actor)
        assert plan is not None, "the rule has run"
        return plan

    async def save_policy(
        self, person: Person, rules: Any, *, expect: int | None, note: str = ""
    ) -> Saved:
        """Save the policy as a new version. `expect` is the version the person looked at."""
        access.needs(person, "admin", "save the policy")
        parsed, warnings = policy.parse(rules)
        made = 0

        def rule(conn: sa.Connection) -> list[e.Event]:
            nonlocal made
            current = policies.current(conn).version
            if expect is not None and expect != current:
                raise Refused(
                    f"The policy is at version {current}; you looked at {expect}. Read it again.",
                    code="policy.changed", details={"version": current, "expected": expect},
                )  # fmt: skip
            made = current + 1
            dumped = policy.dump(policy.Policy(version=made, rules=parsed))
            return [e.PolicySaved(version=made, rules=dumped, by=person.id, note=_reason(note))]

        await self.journal.commit_other("policy", rule, at=self.clock.now(), actor=person.actor)
        return Saved(version=made, warnings=tuple(warnings))

    async def dry_run_policy(
        self, person: Person, rules: Any, *, limit: int = 1000
    ) -> tuple[policy.DryRun, tuple[str, ...]]:
        """Which of the last `limit` recorded calls would change their verdict under these rules."""
        parsed, warnings = policy.parse(rules)
        current = await self.db.read(policies.current)
        calls = await self.db.read(lambda conn: effects.recorded(conn, limit))
        new = policy.Policy(version=current.version + 1, rules=parsed)
        return policy.dry_run(current, new, calls), tuple(warnings)

    # People and keys -----------------------------------------------------------------------------

    async def make_key(self, person: Person, name: str, role: Role) -> tuple[str, str]:
        """An application key: its id, and the key itself, which is shown this once."""
        access.needs(person, "admin", "make an application key")
        name = name.strip()
        if not name or len(name) > 80:
            raise Invalid("Give the key a name.", fields={"name": "1 to 80 characters."})
        if role not in access.RANK:
            raise Invalid("No such role.", fields={"role": "viewer, operator or admin."})
        plain, key_id = make_key(), self.clock.new_id("key")
        made = e.KeyMade(key_id=key_id, name=name, role=role, hash=hashed(plain), by=person.id)
        await self.journal.commit_other(
            "people", lambda conn: [made], at=self.clock.now(), actor=person.actor
        )
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
        if not check_key(plain):
            return None
        row = await self.db.read(lambda conn: people.find_key(conn, hashed(plain)))
        if row is None or row.revoked:
            return None
        now = self.clock.now()
        if row.used is None or now - row.used > 60_000:
            await self.db.touch(lambda conn: people.key_used(conn, row.id, now))
        return Person(id=row.name, role=cast(Role, row.role), via="key")

    def link(self, person: str, role: Role) -> str:
        """A single-use sign-in token."""
        return self.tokens.link(person, role)

    async def sign_in(self, token: str) -> tuple[str, Person]:
        """Spend a sign-in link; the secret for the cookie, and who came in."""
        person, role = self.tokens.read_link(token)
        secret, at = ids.core(self.clock.new_id("sin")) + make_key(), self.clock.now()

        def rule(conn: sa.Connection) -> list[e.Event]:
            earlier = people.spend(conn, hashed(token), "link", person, at)
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
        row = await self.db.read(lambda conn: people.find(conn, hashed(secret)))
        if row is None or row.role not in access.RANK:
            return None
        return Person(id=row.person, role=cast(Role, row.role))

    def decision_token(self, person: Person, wait_id: str, digest: str, secret: str) -> str:
        """The token that goes into one card's own form."""
        return self.tokens.form(person=person.id, wait_id=wait_id, digest=digest, secret=secret)


# Checks and small shapes ------------------------------------------------------------------------


def _message(text: str) -> str:
    if not text.strip():
        raise Invalid(
            "The message is empty.", code="message.empty", fields={"text": "Write something."}
        )
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise Invalid(
            "The message has characters that are not valid Unicode (lone surrogates).",
            code="message.not_utf8", fields={"text": "Remove them and send again."},
        ) from error  # fmt: skip
    if size > MESSAGE_BYTES:
        raise TooLarge(
            f"The message has {size:,} bytes; {MESSAGE_BYTES:,} are allowed. Shorten it.",
            code="message.too_large", details={"size": size, "limit": MESSAGE_BYTES},
        )  # fmt: skip
    return text


def _title(title: str, message: str | None, agent: str) -> str:
    words = " ".join((title or message or f"Session with {agent}").split())
    return words if len(words) <= TITLE_CHARACTERS else words[: TITLE_CHARACTERS - 1] + "…"


def _reason(text: str) -> str:
    text = text.strip()
    if len(text) > REASON_CHARACTERS:
        raise TooLarge(
            f"The reason has {len(text):,} characters; {REASON_CHARACTERS:,} are allowed.",
            code="reason.too_large",
        )
    return text


def _visible(person: Person, session: Session) -> None:
    if not access.may_see(person, owner=session.owner, private=session.private):
        raise NotFound("There is no such session.", code="session.not_found")


def _answer(schema: Any, value: Any) -> e.Content:
    if isinstance(value, _Missing):
        raise Invalid(
            "The answer is missing.", code="answer.invalid", fields={"answer": "Give an answer."}
        )
    wrong: Mapping[str, str] = schemas.errors(schema, value) if schema is not None else {}
    if wrong:
        raise Invalid("The answer does not fit the question.", code="answer.invalid", fields=wrong)
    return contents.of(value)


def _refuse_closed(wait: effects.WaitRow) -> NoReturn:
    if wait.choice == "expired":
        raise approvals.expired(wait.closed or 0)
    raise approvals.decided_already(str(wait.choice), str(wait.closed_by), wait.closed or 0)


def _once(earlier: Any) -> None:
    if earlier is not None:
        raise Denied(
            "This form was used already. Open the card again to see what was decided.",
            code="decision.token_used",
        )


def _decided(wait_id: str, session: Session, facts: Sequence[e.Fact]) -> dict[str, Any]:
    fact = next(f.event for f in facts if isinstance(f.event, e.DecisionRecorded))
    wait = session.turn.waits.get(wait_id) if session.turn else None
    return {
        "wait_id": wait_id,
        "session_id": session.id,
        "choice": fact.choice,
        "closed": fact.closes,
        "approvals": len(wait.approved_by) if wait else 0,
        "needed": wait.approvers if wait else 1,
    }


def _plan(found: Any, parsed: agents_rule.Manifest, expect: int | None) -> Plan:
    current = found.version if found is not None else 0
    if expect is not None and expect != current:
        raise Refused(
            f"The agent {parsed.name} is at version {current}; you looked at {expect}.",
            code="agent.changed", details={"version": current, "expected": expect},
        )  # fmt: skip
    digest = ids.digest(parsed.data)
    same = found is not None and found.digest == digest
    changes = agents_rule.diff(found.manifest, parsed.data) if found is not None else ["new agent"]
    return Plan(
        name=parsed.name, version=current if same else current + 1, creates=not same,
        changes=() if same else tuple(changes), warnings=tuple(parsed.warnings), digest=digest,
    )  # fmt: skip


def _receipt(
    person: Person, verb: str, target: str, key: str | None, asked: list[Any]
) -> Receipt | None:
    if key is None:
        return None
    if not 1 <= len(key) <= 255:
        raise Invalid(
            "An idempotency key has 1 to 255 characters.", code="idempotency.key",
            fields={"Idempotency-Key": "Use 1 to 255 characters."},
        )  # fmt: skip
    text = json.dumps(asked, sort_keys=True, ensure_ascii=True)
    return Receipt(scope=f"{person.actor} {verb} {target}", key=key, request=hashed(text))


def _plain(value: Any) -> Any:
    return ["missing"] if isinstance(value, _Missing) else ["given", value]
