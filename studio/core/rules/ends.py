"""How things end that nobody answered: waits past their deadline, and turns with what is open.

Whatever is open when a turn ends gets its one result first.
"""

from studio.core.rules import contents, effects
from studio.core.rules import events as e
from studio.core.rules.session import Call, Session, Turn, Wait

LOST = "summary.lost"
SUMMARY_ATTEMPTS = 2  # at the same summary, when a worker died over it


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


def reach(turn: Turn, name: str, limit: e.Limit) -> list[e.Event]:
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
    ended = e.TurnFailed(
        turn_id=turn.id, code=f"limit.{name}",
        message=f"{words} Send a message to go on, or raise limits.{name} of the agent.",
    )  # fmt: skip
    return [told, *close(turn, by="runtime", words=words), ended]


def fail(turn: Turn, code: str, message: str) -> list[e.Event]:
    """End the turn without an answer; whatever is open is closed first."""
    closing = close(turn, by="runtime", words=message)
    return [*closing, e.TurnFailed(turn_id=turn.id, code=code, message=message)]


def fault(session: Session, fault: str, *, tries: int, most: int, wait: int) -> list[e.Event]:
    """Say of the turn in hand, if there is one, that the studio itself failed and tries again."""
    turn = session.turn
    if turn is None or turn.is_over:
        return []
    return [e.TurnFaulted(turn_id=turn.id, fault=fault, tries=tries, most=most, wait=wait)]


def give_up(session: Session, tries: int, fault: str) -> list[e.Event]:
    """End the turn in hand, if there is one, over which the studio itself failed so often."""
    turn = session.turn
    if turn is None or turn.is_over:
        return []
    words = "The studio itself failed, so the turn was ended."
    message = (
        f"The studio itself failed over this turn {tries} times in a row, so the turn was ended "
        f"and nothing more is sent for it. The studio's log says what happened, at {fault}. Send a "
        "message to try again; if it fails again, report it with those lines of the log."
    )
    ended = e.TurnFailed(turn_id=turn.id, code="studio.fault", message=message)
    return [*close(turn, by="runtime", words=words), ended]


def cancelled(turn: Turn, by: str, reason: str) -> e.TurnCancelled:
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


def fail_summary(
    turn: Turn, code: str, message: str, usage: e.Usage | None = None, *, maybe_billed: bool = True,
    tokens: int = 0, first_token: int | None = None,
) -> e.SummaryFailed:  # fmt: skip
    """There is no summary: the turn goes on without, or asks once more when a worker died."""
    assert turn.summary is not None, "what fails was asked for"
    is_free = turn.summary.provider == "scripted"
    return e.SummaryFailed(
        turn_id=turn.id, effect_id=turn.summary.effect_id, code=code, message=message,
        again=code == LOST and turn.summary.attempt < SUMMARY_ATTEMPTS,
        usage=e.Usage(cost=0.0) if is_free else usage or e.Usage(),
        maybe_billed=maybe_billed and not is_free, tokens=tokens, first_token=first_token,
    )  # fmt: skip


def close(
    turn: Turn, *, by: str, words: str, leave: set[str] | frozenset[str] = frozenset()
) -> list[e.Event]:
    """Give everything that is still open its one result; an uncertain call keeps its wait."""
    events: list[e.Event] = []
    if turn.model is not None and turn.model.state == "started":
        is_free = turn.model.provider == "scripted"
        usage = e.Usage(cost=0.0) if is_free else e.Usage()
        events.append(
            e.ModelFailed(
                turn_id=turn.id, effect_id=turn.model.effect_id, code="model.stopped",
                message=words, permanent=True, usage=usage, maybe_billed=not is_free,
            )
        )  # fmt: skip
    if turn.summary is not None and turn.summary.state == "started":
        events.append(fail_summary(turn, "model.stopped", words))
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
