"""Decisions: a person or program answers a wait. One answer wins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import sqlalchemy as sa

from studio.core import schemas
from studio.core.faults import fault
from studio.core.rules import access, approvals, contents, digests, policy
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.errors import Denied, Invalid, NotFound, Refused, TooLarge
from studio.core.rules.session import Session
from studio.core.store import effects, people, policies
from studio.core.tokens import DecisionToken, hashed
from studio.core.verbs import parts
from studio.core.verbs.parts import Verbs

READABLE_BYTES = 10 * 1024 * 1024


class _Missing:
    """Not given, where None is a value."""


MISSING: Final = _Missing()


@dataclass(frozen=True, kw_only=True)
class Decided:
    """A decision was recorded. `closed` is false while it waits for another person's approval."""

    wait_id: str
    session_id: str
    choice: str
    closed: bool
    approvals: int
    needed: int


class DecisionVerbs(Verbs):
    """What one may do with waits."""

    async def decide(
        self, person: Person, wait_id: str, choice: e.Choice, *, digest: str, reason: str = "",
        arguments: Any = MISSING, answer: Any = MISSING, token: DecisionToken | None = None,
        key: str | None = None,
    ) -> Decided:  # fmt: skip
        """Answer a wait: approve (perhaps with edited arguments), deny, answer, or settle."""
        access.needs(person, "operator", "decide")
        fault("decision.before_commit")
        wait = await self._wait(person, wait_id)
        chance = self._check_token(person, wait_id, digest, token)
        given = await self._given(
            person, wait, choice, digest, parts.reason(reason), arguments, answer
        )

        def rule(session: Session) -> list[e.Event]:
            parts.visible(person, session)
            if wait.state == "closed":
                _refuse_closed(wait)  # here, where a repeated command has had its answer
            return approvals.decide(session, wait_id, given, self.clock.now())

        def spend(conn: sa.Connection, session: Session, facts: list[e.Fact]) -> None:
            if chance is not None:
                at = self.clock.now()
                _once(people.spend(conn, hashed(chance), "decision", person.id, at))

        def said(session: Session, facts: list[e.Fact]) -> dict[str, Any]:
            return _decided(wait_id, session, facts)

        asked = [choice, digest, reason, _plain(arguments), _plain(answer)]
        done = await self.journal.commit(
            wait.session_id, rule, at=self.clock.now(), actor=person.actor,
            wake_at=self.clock.now(), also=spend, answer=said,
            receipt=parts.receipt(person, "decide", wait_id, key, asked),
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
    ) -> str | None:
        """A browser's decision must come from the card's own form; the chance in its token."""
        if person.via != "browser":
            return None
        if token is None:
            token = DecisionToken(value="", secret="")
        return self.tokens.check_form(token, person=person.id, wait_id=wait_id, digest=digest)

    async def _given(
        self, person: Person, wait: effects.WaitRow, choice: e.Choice, digest: str, reason: str,
        arguments: Any, answer: Any,
    ) -> approvals.Answer:  # fmt: skip
        """The person's answer with everything checked that needs more than the facts."""
        by_key = person.via == "key"
        if wait.state == "closed":
            return approvals.Answer(
                choice=choice, by=person.id, digest=digest, reason=reason, by_key=by_key
            )
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
                choice=choice, by=person.id, digest=digest, reason=reason, by_key=by_key,
                answer=_answer(wait.schema, answer),
            )  # fmt: skip
        if choice == "approve" and not isinstance(arguments, _Missing):
            edited = contents.of(arguments)
            decided, ruling = await self._edited(wait, arguments, edited)
            if decided != digest:
                return approvals.Answer(
                    choice=choice, by=person.id, digest=digest, reason=reason, by_key=by_key,
                    arguments=edited, digest_decided=decided, ruling=ruling,
                )  # fmt: skip
        if choice == "approve":
            await self._allowed(wait, await self._value(wait.arguments), "this call now")
        return approvals.Answer(
            choice=choice, by=person.id, digest=digest, reason=reason, by_key=by_key
        )

    async def _value(self, content: e.Content) -> Any:
        raw = await self.journal.blob(content.hash) if content.stored else None
        return contents.parse(raw, content) if raw is not None else content.value

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
        ruling = await self._allowed(wait, value, "the edited call")
        digest = digests.of_call(
            effect_id=wait.effect_id, tool=found.tool, tool_hash=found.tool_hash,
            origin=found.origin, destination=found.destination, arguments=content,
            agent=found.agent, agent_version=found.agent_version,
        )  # fmt: skip
        return digest, ruling

    async def _allowed(self, wait: effects.WaitRow, value: Any, what: str) -> e.Ruling:
        """What the policy of now says of these arguments; a denial refuses the approval."""
        found = await self.db.read(lambda conn: effects.tool_of(conn, wait.effect_id))
        rules = await self.db.read(policies.current)
        subject = policy.Subject(
            tool=found.tool, server=found.origin.server, plugin=found.origin.plugin,
            kind=found.origin.kind, agent=found.agent, labels=found.labels,
            read_only=found.read_only, arguments=value,
        )  # fmt: skip
        ruling = policy.ruling(rules, subject)
        if ruling.verdict == "deny":
            words = "; ".join(rule.words for rule in ruling.rules if rule.effect == "deny")
            raise Refused(
                f"The policy denies {what}: {words}. Nothing was decided.",
                code="arguments.denied",
            )
        return ruling

    def decision_token(self, person: Person, wait_id: str, digest: str, secret: str) -> str:
        """The token that goes into one card's own form."""
        return self.tokens.form(person=person.id, wait_id=wait_id, digest=digest, secret=secret)


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


def _plain(value: Any) -> Any:
    return ["missing"] if isinstance(value, _Missing) else ["given", value]
