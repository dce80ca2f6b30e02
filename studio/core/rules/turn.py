"""What happens next in a turn: the crux of the runtime, and pure.

`advance` looks at a session and says what to record, what to send and until when to rest. The
other functions turn what came back from outside into facts. Nothing here knows a clock: `now` is
milliseconds, UTC, and `running` names the effects whose answer this very worker is waiting for.
A started effect that is not running was left behind by a worker that died: see `effects.recover`.
"""

from dataclasses import dataclass, field

from studio.core.rules import contents, digests, effects, ids
from studio.core.rules import events as e
from studio.core.rules.errors import Refused
from studio.core.rules.session import Call, Session, Turn, Wait

SIDE_BY_SIDE = 8
MODEL_ATTEMPTS = 5


@dataclass(frozen=True, kw_only=True)
class AskModel:
    """Ask the model: the n-th attempt at this step."""

    effect_id: str
    step: int
    attempt: int


@dataclass(frozen=True, kw_only=True)
class SendCall:
    """Send this call, for the `send`-th time."""

    effect_id: str
    send: int


@dataclass(frozen=True, kw_only=True)
class Next:
    """What follows: facts to record first, else things to do, else rest until `until` (ms)."""

    events: tuple[e.Event, ...] = ()
    ask: AskModel | None = None
    sends: tuple[SendCall, ...] = ()
    until: int | None = None


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
class Outcome:
    """What came of a send. `unknown` says that it was sent and nobody knows whether it ran."""

    result: e.Content | None = None
    code: str = ""
    message: str = ""
    failed: bool = False
    unknown: bool = False
    settled: bool = False


@dataclass(frozen=True, kw_only=True)
class ModelAnswer:
    """A whole reply of the model, judged and ready to be recorded.

    `output` is set when the agent has an output schema and the text satisfies it; `bad_output`
    says in words why it does not.
    """

    text: e.Content
    usage: e.Usage = field(default_factory=e.Usage)
    stop: str = "end"
    calls: tuple[Judged, ...] = ()
    output: e.Content | None = None
    bad_output: str = ""


# From people -------------------------------------------------------------------------------------


def start(*, agent: str, agent_version: int, title: str, owner: str, private: bool,
          limits: e.Limits) -> list[e.Event]:  # fmt: skip
    """A new session."""
    return [
        e.SessionStarted(
            agent=agent, agent_version=agent_version, title=title, owner=owner, private=private,
            limits=limits,
        )
    ]  # fmt: skip


def accept(session: Session, *, turn_id: str, text: str, by: str) -> list[e.Event]:
    """A message opens a turn, unless one is in hand."""
    if session.busy:
        raise _busy(session)
    return [
        e.MessageAccepted(
            turn_id=turn_id, number=session.turns + 1, text=contents.of_text(text), by=by
        )
    ]


def stop(session: Session, *, by: str, reason: str) -> list[e.Event]:
    """Stop the turn in hand now: nothing more is sent, and what had already run is named."""
    turn = session.turn
    if turn is None or turn.is_over:
        raise Refused(
            "No turn is running in this session, so there is nothing to stop.",
            code="turn.not_running",
        )
    words = f"Stopped by {by}" + (f": {reason}" if reason else ".")
    return [*_close(turn, by=by, words=words), _cancelled(turn, by, reason)]


def deny_and_accept(
    session: Session, *, turn_id: str, text: str, by: str, reason: str
) -> list[e.Event]:
    """Deny every held call, stop the turn and open a new one, all at once."""
    turn = session.turn
    if turn is None or turn.is_over:
        return accept(session, turn_id=turn_id, text=text, by=by)
    denied: list[e.Event] = []
    for wait in turn.open_waits():
        if wait.kind == "approval":
            call = turn.calls[wait.effect_id]
            denied += [
                e.DecisionRecorded(
                    turn_id=turn.id, effect_id=call.effect_id, wait_id=wait.id, choice="deny",
                    by=by, reason=reason, digest_shown=call.decided, digest_decided=call.decided,
                ),
                e.CallDenied(turn_id=turn.id, effect_id=call.effect_id, by=by, reason=reason),
            ]  # fmt: skip
    gone = {event.effect_id for event in denied if isinstance(event, e.CallDenied)}
    closing = _close(turn, by=by, words="A new message took its place.", leave=gone)
    opened = e.MessageAccepted(
        turn_id=turn_id, number=session.turns + 1, text=contents.of_text(text), by=by
    )
    return [*denied, *closing, _cancelled(turn, by, reason), opened]


def _cancelled(turn: Turn, by: str, reason: str) -> e.TurnCancelled:
    """The end of a stopped turn, naming what had run and what may have run."""
    calls = turn.calls.values()
    ran = tuple(call.effect_id for call in calls if call.state == "succeeded" or call.said_to_run)
    unknown = tuple(
        call.effect_id
        for call in calls
        if call.was_sent
        or (call.state == "uncertain" and not call.said_to_run)
        or call.code == effects.INTERRUPTED
    )
    return e.TurnCancelled(turn_id=turn.id, by=by, reason=reason, ran=ran, unknown=unknown)


def _busy(session: Session) -> Refused:
    assert session.turn is not None, "a busy session has a turn"
    held = sum(wait.kind == "approval" for wait in session.turn.open_waits())
    what = f"{held} held call{'s' if held != 1 else ''}" if held else "its work"
    return Refused(
        f"A turn is {session.turn.status} in this session. Wait for {what}, stop the turn, or "
        + ("deny and send." if held else "send your message afterwards."),
        code="turn.running",
        details={
            "turn_id": session.turn.id,
            "status": session.turn.status,
            "held": held,
            "offers": ["stop", "deny_and_send"] if held else ["stop"],
        },
    )


# Onwards -----------------------------------------------------------------------------------------


def advance(session: Session, now: int, running: frozenset[str] = frozenset()) -> Next:
    """What happens next, or how long to rest."""
    turn = session.turn
    if turn is None or turn.is_over:
        return Next()
    if closing := _closing(session, turn, now, running):
        return Next(events=tuple(closing))
    if left := _left_behind(turn, running):
        return Next(events=tuple(left))
    sends = _sends(turn, running)
    if sends:
        return Next(sends=sends, until=_until(session, turn, now, running))
    return _step(session, turn, now, running)


def _closing(session: Session, turn: Turn, now: int, running: frozenset[str]) -> list[e.Event]:
    """Deadlines that have passed: of waits, and of the turn itself."""
    events: list[e.Event] = []
    for wait in turn.waits.values():
        if wait.is_open and wait.deadline is not None and wait.deadline <= now:
            events += expire(turn, wait)
    if events:
        return events
    limits = session.limits
    if now - turn.opened >= limits.total_seconds.value * 1000:
        events = _limit(turn, "total_seconds", limits.total_seconds)
    since = _active_since(turn, running)
    active = turn.active + (now - since if since is not None else 0)
    if not events and active >= limits.active_seconds.value * 1000:
        events = _limit(turn, "active_seconds", limits.active_seconds)
    return events


def _active_since(turn: Turn, running: frozenset[str]) -> int | None:
    """Since when the turn works, unless a worker died meanwhile: then nobody knows how long."""
    return None if turn.out() - running else turn.active_since


def expire(turn: Turn, wait: Wait) -> list[e.Event]:
    """The facts of a deadline that passed: an approval is denied, a timer is due."""
    call = turn.calls[wait.effect_id]
    decision = e.DecisionRecorded(
        turn_id=turn.id, effect_id=call.effect_id, wait_id=wait.id, by="deadline",
        choice="due" if wait.kind == "timer" else "expired",
    )  # fmt: skip
    match wait.kind:
        case "timer":
            return [
                decision,
                e.CallSucceeded(
                    turn_id=turn.id, effect_id=call.effect_id, result=contents.of({"waited": True})
                ),
            ]
        case "question":
            return [
                decision,
                e.CallFailed(
                    turn_id=turn.id, effect_id=call.effect_id, code="question.expired",
                    message="Nobody answered in time.", settled=True,
                ),
            ]  # fmt: skip
        case _:
            return [
                decision,
                e.CallDenied(
                    turn_id=turn.id, effect_id=call.effect_id, by="deadline",
                    reason="Nobody decided in time, so the call was denied. It did not run.",
                ),
            ]  # fmt: skip


def _limit(turn: Turn, name: str, limit: e.Limit) -> list[e.Event]:
    """The limit is reached: told once; a hard one ends the turn."""
    if name in turn.told:
        return []
    told = e.LimitReached(turn_id=turn.id, limit=name, value=limit.value, hard=limit.hard)
    if not limit.hard:
        return [told]
    words = {
        "steps": f"The turn used its {limit.value} steps.",
        "calls": f"The turn used its {limit.value} calls.",
        "active_seconds": f"The turn worked for {limit.value} s, its limit of active time.",
        "total_seconds": f"The turn was open for {limit.value} s, its limit of total time.",
    }[name]
    return [told, *fail(turn, f"limit.{name}", words)]


def fail(turn: Turn, code: str, message: str) -> list[e.Event]:
    """End the turn without an answer; whatever is open is closed first."""
    closing = _close(turn, by="runtime", words=message)
    return [*closing, e.TurnFailed(turn_id=turn.id, code=code, message=message)]


def _left_behind(turn: Turn, running: frozenset[str]) -> list[e.Event]:
    """Facts about effects whose worker died with the answer."""
    events: list[e.Event] = []
    model = turn.model
    if model is not None and model.state == "started" and model.effect_id not in running:
        events.append(e.ModelUncertain(turn_id=turn.id, effect_id=model.effect_id))
    for call in turn.calls.values():
        if call.state == "started" and call.effect_id not in running:
            events += effects.recover(turn, call)
    return events


def _sends(turn: Turn, running: frozenset[str]) -> tuple[SendCall, ...]:
    """The calls that may go out now, in call order: side by side, or alone if the tool asks."""
    out = [call for call in turn.calls.values() if call.effect_id in running]
    going: list[Call] = []
    for call in turn.calls.values():
        left_behind = call.state == "started" and call.effect_id not in running
        if call.state != "ready" and not left_behind:
            continue
        together = out + going
        if len(together) >= SIDE_BY_SIDE or (together and (call.alone or together[-1].alone)):
            break
        going.append(call)
    return tuple(SendCall(effect_id=call.effect_id, send=call.sends + 1) for call in going)


def _step(session: Session, turn: Turn, now: int, running: frozenset[str]) -> Next:
    """Ask the model for the next step, or again, when nothing else is open."""
    model = turn.model
    until = _until(session, turn, now, running)
    if model is not None:
        if model.state == "started":
            return Next(until=until)
        if model.state == "failed" and model.retry_at is not None and model.retry_at > now:
            return Next(until=min(model.retry_at, until))
        if model.attempt >= MODEL_ATTEMPTS:
            words = f"The model did not answer in {model.attempt} attempts."
            return Next(events=tuple(fail(turn, "model.unreachable", words)))
        return Next(ask=_ask(turn, model.step, model.attempt + 1), until=until)
    if not all(call.is_final for call in turn.calls.values()):
        return Next(until=until)
    if any(call.terminal and call.state == "succeeded" for call in turn.calls.values()):
        return Next(events=(e.TurnCompleted(turn_id=turn.id),))
    if turn.step >= session.limits.steps.value:
        told = _limit(turn, "steps", session.limits.steps)
        if told:
            return Next(events=tuple(told))
    return Next(ask=_ask(turn, turn.step + 1, 1), until=until)


def _ask(turn: Turn, step: int, attempt: int) -> AskModel:
    return AskModel(effect_id=ids.model_effect(turn.id, step, attempt), step=step, attempt=attempt)


def _until(session: Session, turn: Turn, now: int, running: frozenset[str]) -> int:
    """When to look again at the latest: the nearest deadline of a wait or of the turn."""
    limits = session.limits
    times = [wait.deadline for wait in turn.waits.values() if wait.is_open and wait.deadline]
    if "total_seconds" not in turn.told:
        times.append(turn.opened + limits.total_seconds.value * 1000)
    since = _active_since(turn, running)
    if since is not None and "active_seconds" not in turn.told:
        times.append(since + limits.active_seconds.value * 1000 - turn.active)
    return min(times, default=now + 86_400_000)


def _close(
    turn: Turn, *, by: str, words: str, leave: set[str] | frozenset[str] = frozenset()
) -> list[e.Event]:
    """Give everything that is still open its one result; an uncertain call keeps its wait."""
    events: list[e.Event] = []
    if turn.model is not None and turn.model.state == "started":
        usage = e.Usage(cost=0.0) if turn.model.provider == "scripted" else e.Usage()
        events.append(
            e.ModelFailed(
                turn_id=turn.id, effect_id=turn.model.effect_id, code="model.stopped",
                message=words, permanent=True, usage=usage,
            )
        )  # fmt: skip
    for wait in turn.open_waits():
        if wait.effect_id not in leave and wait.kind != "uncertain":
            events.append(
                e.DecisionRecorded(
                    turn_id=turn.id, effect_id=wait.effect_id, wait_id=wait.id, by=by,
                    choice="stopped",
                )
            )  # fmt: skip
    for call in turn.calls.values():
        if call.effect_id not in leave:
            events += _close_call(turn, call, words)
    return events


def _close_call(turn: Turn, call: Call, words: str) -> list[e.Event]:
    if call.is_final or call.state == "uncertain":
        return []
    if call.was_sent:
        return effects.abandon(turn, call, words)
    return [e.CallCancelled(turn_id=turn.id, effect_id=call.effect_id, reason=words)]


# From outside ------------------------------------------------------------------------------------


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
            provider=provider, model=model, request_hash=request_hash,
        ),
    ]  # fmt: skip


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
        usage=answer.usage, stop=answer.stop,
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
    session: Session, effect_id: str, *, code: str, message: str, permanent: bool,
    retry_at: int | None,
) -> list[e.Event]:  # fmt: skip
    """Record a failed attempt; a permanent failure, or one too many, ends the turn."""
    turn = session.turn
    if turn is None or not _asked(turn, effect_id) or turn.model is None:
        return []
    last = turn.model.attempt >= MODEL_ATTEMPTS
    failed = e.ModelFailed(
        turn_id=turn.id, effect_id=effect_id, code=code, message=message,
        permanent=permanent or last, retry_at=None if permanent or last else retry_at,
    )  # fmt: skip
    if permanent or last:
        return [failed, e.TurnFailed(turn_id=turn.id, code=code, message=message)]
    return [failed]


def intend_call(session: Session, send: SendCall, *, digest_sent: str) -> list[e.Event]:
    """Record that a call is about to be sent. A digest that is not the decided one is refused."""
    call = current_call(session, send.effect_id)
    turn = session.turn
    if turn is None or call is None or call.state not in ("ready", "started"):
        return []
    if call.sends + 1 != send.send or (call.state == "started" and not call.repeatable):
        return []
    if digest_sent != call.decided:
        words = "Not sent: the tool or its arguments are no longer what was decided on."
        if call.was_sent:
            return effects.abandon(turn, call, words)
        return [
            e.CallFailed(
                turn_id=turn.id, effect_id=call.effect_id, code="tool.changed", message=words,
                settled=True,
            )
        ]  # fmt: skip
    key = ids.effect_key(turn.id, call.effect_id, call.tool, 0)
    return [
        e.CallStarted(
            turn_id=turn.id, effect_id=call.effect_id, key=key, send=send.send,
            digest_sent=digest_sent,
        )
    ]  # fmt: skip


def refuse_call(session: Session, effect_id: str, *, code: str, message: str) -> list[e.Event]:
    """Record that a call could not be sent at all: nothing happened outside."""
    call = current_call(session, effect_id)
    if call is None or call.state not in ("ready", "started") or session.turn is None:
        return []
    if call.was_sent:  # nobody knows what came of that
        return effects.abandon(session.turn, call, message)
    return [
        e.CallFailed(
            turn_id=session.turn.id, effect_id=effect_id, code=code, message=message, settled=True
        )
    ]


def stand(
    session: Session, effect_id: str, *, kind: e.WaitKind, deadline: int | None, prompt: str = "",
    schema: object = None,
) -> list[e.Event]:  # fmt: skip
    """A platform call opens the wait it stands on: a question, or a timer."""
    call = current_call(session, effect_id)
    if call is None or call.state != "ready" or session.turn is None:
        return []
    return [
        e.WaitOpened(
            turn_id=session.turn.id, effect_id=effect_id,
            wait_id=ids.wait(effect_id, call.waits + 1), kind=kind, deadline=deadline,
            prompt=prompt, schema=schema,
        )
    ]  # fmt: skip


def outcome(session: Session, turn_id: str, effect_id: str, came: Outcome) -> list[e.Event]:
    """Record what came of a send; one that comes after the call was closed is kept as late."""
    call = current_call(session, effect_id)
    turn = session.turn
    if turn is None or call is None:
        return _late(session, turn_id, effect_id, came)
    if call.state == "started":
        if came.unknown:
            return effects.unheard(turn, call, came.message)
        return [_result(turn_id, effect_id, came)]
    if call.state == "uncertain" and not call.is_final and not came.unknown:
        # nobody has settled it yet, and now it is known: the turn need not wait for a person
        return [*_close_unsettled(session, turn_id, effect_id), _result(turn_id, effect_id, came)]
    return _late(session, turn_id, effect_id, came)


def _result(turn_id: str, effect_id: str, came: Outcome) -> e.CallFailed | e.CallSucceeded:
    if came.failed:
        return e.CallFailed(
            turn_id=turn_id, effect_id=effect_id, code=came.code, message=came.message,
            settled=came.settled, result=came.result,
        )  # fmt: skip
    assert came.result is not None, "a call that succeeded has a result"
    return e.CallSucceeded(turn_id=turn_id, effect_id=effect_id, result=came.result)


def _late(session: Session, turn_id: str, effect_id: str, came: Outcome) -> list[e.Event]:
    if came.unknown:
        return []
    late = e.CallLate(
        turn_id=turn_id, effect_id=effect_id, outcome="failed" if came.failed else "succeeded",
        message=came.message, result=came.result,
    )  # fmt: skip
    return [late, *_close_unsettled(session, turn_id, effect_id)]


def _close_unsettled(session: Session, turn_id: str, effect_id: str) -> list[e.Event]:
    """Nobody need settle this call any more: its outcome is known."""
    return [
        e.DecisionRecorded(
            turn_id=turn_id, effect_id=effect_id, wait_id=item.wait_id, choice="late",
            by="runtime", reason="Its outcome came after all.",
        )
        for item in session.unsettled.values()
        if item.effect_id == effect_id
    ]  # fmt: skip


def current_call(session: Session, effect_id: str) -> Call | None:
    """The call of the turn in hand, or None when it belongs to another or that turn is over."""
    if session.turn is None or session.turn.is_over:
        return None
    return session.turn.calls.get(effect_id)
