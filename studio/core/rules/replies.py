"""What comes of asking the model: its intent, its reply with the calls it proposes, its failure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from studio.core.rules import digests, ends, ids, models
from studio.core.rules import events as e
from studio.core.rules.session import Session, Turn
from studio.core.rules.turn import MODEL_ATTEMPTS, AskModel

RETRY_SECONDS = (1.0, 2.0, 5.0, 15.0)
LONGEST_PAUSE = 3600.0
# With another model to ask, one more try is enough, and a long wait is too long.
TRIES_BEFORE_NEXT = 2
PATIENCE_SECONDS = 10.0
# The request had gone out and no answer said that it was refused, so the model may have worked.
SENT = frozenset({
    "model.timeout", "model.slow", "model.cut_off", "model.interrupted", "model.garbage",
    "model.broken", "model.too_large",
})  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A call the model proposed, with all that was found out about it before it is recorded.

    `problem` is (code, sentence) when it cannot run as proposed: an unknown tool, bad arguments.
    """

    provider_call_id: str
    tool: str
    origin: e.Origin
    arguments: e.Content
    tool_hash: str
    destination: str
    ruling: e.Ruling
    repeatable: bool = False
    on_uncertain: str = "ask"
    terminal: bool = False
    alone: bool = False
    problem: tuple[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A model call that failed. `retry_after` is seconds.

    `begun` says that the model may have begun to work; `usage` is what it told of that.
    """

    code: str
    message: str
    permanent: bool
    retry_after: float | None = None
    usage: e.Usage = field(default_factory=e.Usage)
    begun: bool = False
    shrinks: bool = False  # the talk was too long, and some of it can be summarised
    first_token: int | None = None


@dataclass(frozen=True, kw_only=True)
class ModelAnswer:
    """A whole reply of the model, judged and ready to be recorded.

    `output` is set when the agent has an output schema and the text satisfies it; `bad_output`
    says in words why it does not. `provider` and `model` are who answered; `first_token` is ms from
    the request.
    """

    text: e.Content
    usage: e.Usage = field(default_factory=e.Usage)
    stop: str = "end"
    calls: tuple[Judged, ...] = ()
    output: e.Content | None = None
    bad_output: str = ""
    provider: str = ""
    model: str = ""
    summary: e.Content | None = None
    state: e.Content | None = None
    masked: int = 0
    first_token: int | None = None


def intend_model(
    session: Session, ask: AskModel, *, provider: str, model: str, request_hash: str
) -> list[e.Event]:
    """Record that the model is about to be asked, if that is still what follows."""
    turn = session.turn
    if turn is None or turn.is_over or _moved_on(turn, ask):
        return []
    first = [e.TurnStarted(turn_id=turn.id)] if turn.started is None else []
    return [
        *first,
        e.ModelRequested(
            turn_id=turn.id, effect_id=ask.effect_id, step=ask.step, attempt=ask.attempt,
            provider=provider, model=model, request_hash=request_hash, candidate=ask.candidate,
        ),
    ]  # fmt: skip


def cannot_ask(session: Session, ask: AskModel, *, code: str, message: str) -> list[e.Event]:
    """End the turn before its first model call: something it stands on is missing."""
    turn = session.turn
    if turn is None or turn.is_over or _moved_on(turn, ask):
        return []
    first = [e.TurnStarted(turn_id=turn.id)] if turn.started is None else []
    return [*first, *ends.fail(turn, code, message)]


def _moved_on(turn: Turn, ask: AskModel) -> bool:
    if turn.model is None:
        return ask.step != turn.step + 1 or ask.attempt != 1
    return turn.model.step != ask.step or turn.model.attempt + 1 != ask.attempt


def reply(session: Session, effect_id: str, answer: ModelAnswer, now: int) -> list[e.Event]:
    """Record a reply and the calls it proposes; one that nobody waits for changes nothing."""
    turn = session.turn
    if turn is None or not _asked(turn, effect_id) or turn.model is None:
        return []
    replied = e.ModelReplied(
        turn_id=turn.id, effect_id=effect_id, text=answer.text, calls=len(answer.calls),
        usage=answer.usage, stop=answer.stop, provider=answer.provider, model=answer.model,
        candidate=turn.model.candidate, summary=answer.summary, state=answer.state,
        masked=answer.masked, first_token=answer.first_token,
    )  # fmt: skip
    if not answer.calls:
        return [replied, *_ending(turn, answer)]
    limit = session.limits.calls
    wanted = sum(_may_run(judged) for judged in answer.calls)
    over = bool(wanted) and _reserved(turn) + wanted > limit.value
    events: list[e.Event] = [replied]
    if over and "calls" not in turn.told:
        events.append(
            e.LimitReached(turn_id=turn.id, limit="calls", value=limit.value, hard=limit.hard)
        )
    refused = over and limit.hard
    ended = False
    for index, judged in enumerate(answer.calls, 1):
        call_id = ids.call_effect(turn.id, turn.model.step, index)
        events.append(_propose(session, turn, call_id, index, judged))
        if ended:
            why = "An earlier call of this step ends the turn."
            events.append(e.CallCancelled(turn_id=turn.id, effect_id=call_id, reason=why))
        elif refused and _may_run(judged):
            events.append(_refuse(turn, call_id, limit))
        else:
            events += _open(turn, call_id, judged, now)
            ended = judged.terminal and _may_run(judged)
    return events


def _asked(turn: Turn, effect_id: str) -> bool:
    """The turn waits for the answer of exactly this attempt."""
    model = turn.model
    return model is not None and model.effect_id == effect_id and model.state == "started"


def _may_run(judged: Judged) -> bool:
    return judged.problem is None and judged.ruling.verdict != "deny"


def _reserved(turn: Turn) -> int:
    """The calls that count: those that ran or may still. One that was never sent gives way."""
    return sum(
        call.sends > 0 or call.state not in ("failed", "denied", "cancelled")
        for call in turn.calls.values()
    )


def _ending(turn: Turn, answer: ModelAnswer) -> list[e.Event]:
    if answer.bad_output:
        return [e.TurnFailed(turn_id=turn.id, code="output.invalid", message=answer.bad_output)]
    if answer.text.size == 0:
        words = "The model answered nothing: no text and no call. Send the message again."
        return [e.TurnFailed(turn_id=turn.id, code="model.empty", message=words)]
    return [e.TurnCompleted(turn_id=turn.id, output=answer.output)]


def _propose(
    session: Session, turn: Turn, call_id: str, index: int, judged: Judged
) -> e.CallProposed:
    assert turn.model is not None, "calls are proposed by a reply"
    digest = digests.of_call(
        effect_id=call_id, tool=judged.tool, tool_hash=judged.tool_hash, origin=judged.origin,
        destination=judged.destination, arguments=judged.arguments, agent=session.agent,
        agent_version=session.agent_version,
    )  # fmt: skip
    return e.CallProposed(
        turn_id=turn.id, effect_id=call_id, step=turn.model.step, index=index,
        provider_call_id=judged.provider_call_id, tool=judged.tool, origin=judged.origin,
        arguments=judged.arguments, tool_hash=judged.tool_hash, digest=digest,
        destination=judged.destination, repeatable=judged.repeatable,
        on_uncertain="tell" if judged.on_uncertain == "tell" else "ask",
        terminal=judged.terminal, alone=judged.alone, ruling=judged.ruling,
    )  # fmt: skip


def _refuse(turn: Turn, call_id: str, limit: e.Limit) -> e.CallFailed:
    words = f"Not run: this step would pass the turn's limit of {limit.value} calls."
    return e.CallFailed(
        turn_id=turn.id, effect_id=call_id, code="limit.calls", message=words, settled=True
    )


def _open(turn: Turn, call_id: str, judged: Judged, now: int) -> list[e.Event]:
    """What a proposed call begins with: a failure, a denial, a hold, or nothing when it may run."""
    if judged.problem is not None:
        code, words = judged.problem
        return [
            e.CallFailed(turn_id=turn.id, effect_id=call_id, code=code, message=words, settled=True)
        ]
    ruling = judged.ruling
    if ruling.verdict == "deny":
        words = next((rule.reason or rule.words for rule in ruling.rules if rule.effect == "deny"),
                     "The policy denies it.")  # fmt: skip
        return [e.CallDenied(turn_id=turn.id, effect_id=call_id, by="policy", reason=words)]
    if ruling.verdict == "ask":
        expires = ruling.expires_seconds
        return [
            e.WaitOpened(
                turn_id=turn.id, effect_id=call_id, wait_id=ids.wait(call_id, 1), kind="approval",
                deadline=now + expires * 1000 if expires else None, approvers=ruling.approvers,
                not_own=ruling.not_own,
            )
        ]  # fmt: skip
    return []


def model_failed(
    session: Session, effect_id: str, failure: Failure, *, now: int,
    candidates: Sequence[Mapping[str, Any]] = (),
) -> list[e.Event]:  # fmt: skip
    """Record a failed attempt: it is tried again, or a successor of the chain is asked, or the
    turn ends.
    """
    turn = session.turn
    if turn is None or not _asked(turn, effect_id) or turn.model is None:
        return []
    model, is_account = turn.model, models.is_of_account(failure.code)
    closed = (*turn.closed, model.candidate) if is_account else turn.closed
    successor = models.successor(candidates, model.candidate, failure.code, closed)
    pause = failure.retry_after
    if pause is None:
        pause = RETRY_SECONDS[min(model.tries, len(RETRY_SECONDS)) - 1]
    shrinks = failure.shrinks and not turn.overflowed and model.tries < MODEL_ATTEMPTS
    if shrinks:
        successor, pause = None, 0.0
    is_over = (failure.permanent and not shrinks) or model.tries >= MODEL_ATTEMPTS
    if successor is not None and not is_over:
        is_over = model.tries >= TRIES_BEFORE_NEXT or pause > PATIENCE_SECONDS
    ends = is_over and successor is None
    usage = e.Usage(cost=0.0) if model.provider == "scripted" else failure.usage
    failed = e.ModelFailed(
        turn_id=turn.id, effect_id=effect_id, code=failure.code, message=failure.message,
        permanent=ends, usage=usage,
        maybe_billed=(failure.begun or failure.code in SENT) and usage.cost is None,
        retry_at=None if is_over else now + int(min(pause, LONGEST_PAUSE) * 1000),
        successor=successor if is_over else None, account=is_over and is_account,
        first_token=failure.first_token,
    )  # fmt: skip
    if ends:
        end = e.TurnFailed(turn_id=turn.id, code=failure.code, message=failure.message)
        return [failed, end]
    return [failed]
