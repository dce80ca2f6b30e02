"""A person answers a wait: an approval, a question, or an uncertain call. One answer wins."""

from dataclasses import dataclass

from studio.core.rules import events as e
from studio.core.rules.errors import Denied, Gone, Invalid, NotFound, Refused
from studio.core.rules.session import Call, Session, Turn, Unsettled, Wait

ANSWERS: dict[str, frozenset[str]] = {
    "approval": frozenset({"approve", "deny"}),
    "question": frozenset({"answer", "deny"}),
    "uncertain": frozenset({"ran", "did_not_run", "send_again"}),
    "timer": frozenset(),
}
PAST = {
    "approve": "approved", "deny": "denied", "answer": "answered", "ran": "settled as ran",
    "did_not_run": "settled as not run", "send_again": "sent again", "expired": "expired",
    "stopped": "stopped", "due": "due", "late": "closed by its late outcome",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a person says. `digest` is the one on the card they saw.

    `arguments` (with `digest_decided` over them) are edited ones, and `ruling` is what the policy
    says of them; `answer` is that of a question.
    """

    choice: e.Choice
    by: str
    digest: str
    reason: str = ""
    arguments: e.Content | None = None
    digest_decided: str = ""
    ruling: e.Ruling | None = None
    answer: e.Content | None = None
    by_key: bool = False


def decide(session: Session, wait_id: str, given: Answer, now: int) -> list[e.Event]:
    """The facts of a decision, or the reason why it is refused."""
    turn = session.turn
    wait = turn.waits.get(wait_id) if turn else None
    if turn is None or wait is None or turn.is_over:
        return _settle_past(session, wait_id, given, now)
    _must_be_open(wait, now)
    if given.choice not in ANSWERS[wait.kind]:
        raise wrong_choice(wait.kind, given.choice)
    call = turn.calls[wait.effect_id]
    _must_be_same(given.digest, call.decided)
    match wait.kind:
        case "approval":
            return _approval(session, turn, wait, call, given)
        case "question":
            return _question(turn, wait, call, given)
        case _:
            if given.choice == "send_again" and call.on_uncertain == "tell":
                raise Refused(
                    "The agent was told that the outcome is unknown and went on, so the call "
                    "cannot be sent again. Say whether it ran.",
                    code="decision.told",
                )
            return _settle(turn.id, call.effect_id, wait.id, given)


def decided_already(choice: str, by: str, at: int) -> Refused:
    """The refusal a second person gets: who was first, with what, and when."""
    return Refused(
        f"Already {PAST.get(choice, choice)} by {by}. Nothing was changed.",
        code="decision.decided",
        details={"choice": choice, "by": by, "at": at},
    )


def expired(at: int) -> Gone:
    """The refusal after the deadline."""
    return Gone(
        "This call expired before your answer came. It was denied and did not run.",
        code="decision.expired",
        details={"at": at},
    )


def wrong_choice(kind: str, choice: str) -> Invalid:
    """The refusal of an answer that does not fit the question."""
    fits = ", ".join(sorted(ANSWERS[kind])) or "nothing: it waits for a time"
    return Invalid(
        f"`{choice}` does not answer a wait of kind {kind}; it takes {fits}.",
        code="decision.choice",
        fields={"choice": f"Use one of: {fits}."},
    )


def _must_be_open(wait: Wait, now: int) -> None:
    if not wait.is_open:
        if wait.choice == "expired":
            raise expired(wait.closed or now)
        raise decided_already(str(wait.choice), str(wait.closed_by), wait.closed or now)
    if wait.deadline is not None and wait.deadline <= now:
        raise expired(wait.deadline)


def _must_be_same(shown: str, current: str) -> None:
    if shown != current:
        raise Refused(
            "This call changed since you looked. Nothing was decided; read it again.",
            code="decision.changed",
            details={"shown": shown, "current": current},
        )


def _approval(session: Session, turn: Turn, wait: Wait, call: Call, given: Answer) -> list[e.Event]:
    if given.choice == "deny":
        reason = given.reason or "A person denied it and gave no reason."
        return [
            _decision(turn.id, call.effect_id, wait.id, given, closes=True, decided=call.decided),
            e.CallDenied(turn_id=turn.id, effect_id=call.effect_id, by=given.by, reason=reason),
        ]
    if given.by_key and (wait.not_own or wait.approvers > 1):
        raise Denied(
            "The policy wants people to approve this, and an application key is nobody in "
            "particular. Sign in and approve it in the studio.",
            code="decision.key",
        )
    if wait.not_own and given.by in (session.owner, turn.by):
        raise Denied(
            "The policy does not let you decide calls of your own session. Ask somebody else.",
            code="decision.own",
        )
    _must_not_be_stricter(wait, given.ruling)
    earlier = () if given.arguments is not None else wait.approved_by
    if given.by in earlier:
        raise Denied(
            f"You approved this already. It waits for {wait.approvers - len(earlier)} more of "
            "other people.",
            code="decision.twice",
        )
    closes = len(earlier) + 1 >= wait.approvers
    decided = given.digest_decided if given.arguments is not None else call.decided
    return [_decision(turn.id, call.effect_id, wait.id, given, closes=closes, decided=decided)]


def _must_not_be_stricter(wait: Wait, edited: e.Ruling | None) -> None:
    """An edit cannot take a call past a rule that asks more than this card does."""
    if edited is None:
        return
    if edited.approvers > wait.approvers or (edited.not_own and not wait.not_own):
        raise Refused(
            "The policy is stricter with the edited call than this card is: it wants "
            f"{edited.approvers} approval{'s' if edited.approvers != 1 else ''}"
            + (", none by whose session it is" if edited.not_own else "")
            + ". Nothing was decided. Deny it and say in the reason what to propose instead.",
            code="arguments.stricter",
            details={"approvers": edited.approvers, "not_own": edited.not_own},
        )


def _question(turn: Turn, wait: Wait, call: Call, given: Answer) -> list[e.Event]:
    decision = _decision(turn.id, call.effect_id, wait.id, given, closes=True, decided="")
    if given.choice == "deny":
        reason = given.reason or "The person did not want to answer."
        return [
            decision,
            e.CallDenied(turn_id=turn.id, effect_id=call.effect_id, by=given.by, reason=reason),
        ]
    if given.answer is None:
        raise Invalid("The answer is missing.", fields={"answer": "Give an answer."})
    return [
        decision,
        e.CallSucceeded(turn_id=turn.id, effect_id=call.effect_id, result=given.answer),
    ]


def _settle_past(session: Session, wait_id: str, given: Answer, now: int) -> list[e.Event]:
    """Settle an uncertain call whose turn is over: it can no longer be sent."""
    item: Unsettled | None = session.unsettled.get(wait_id)
    if item is None:
        turns = [*session.past, *([session.turn] if session.turn else [])]
        for wait in [turn.waits[wait_id] for turn in turns if wait_id in turn.waits]:
            _must_be_open(wait, now)
        raise NotFound("This call is no longer waiting: its turn is over.", code="wait.not_found")
    if given.choice not in ("ran", "did_not_run"):
        raise Refused(
            "The turn of this call is over, so it cannot be sent again. Say whether it ran.",
            code="decision.turn_over",
        )
    _must_be_same(given.digest, item.digest)
    return _settle(item.turn_id, item.effect_id, wait_id, given)


def _settle(turn_id: str, effect_id: str, wait_id: str, given: Answer) -> list[e.Event]:
    assert given.choice in ("ran", "did_not_run", "send_again"), "checked by the caller"
    return [
        _decision(turn_id, effect_id, wait_id, given, closes=True, decided=given.digest),
        e.CallSettled(
            turn_id=turn_id, effect_id=effect_id, choice=given.choice, by=given.by,
            reason=given.reason,
        ),
    ]  # fmt: skip


def _decision(
    turn_id: str, effect_id: str, wait_id: str, given: Answer, *, closes: bool, decided: str
) -> e.DecisionRecorded:
    return e.DecisionRecorded(
        turn_id=turn_id, effect_id=effect_id, wait_id=wait_id, choice=given.choice, by=given.by,
        reason=given.reason, digest_shown=given.digest, digest_decided=decided,
        arguments=given.arguments, answer=given.answer, closes=closes,
    )  # fmt: skip
