"""What to do with an effect that was sent and whose outcome nobody recorded."""

from studio.core.rules import events as e
from studio.core.rules import ids
from studio.core.rules.session import Call, Turn

SENDS = 3
INTERRUPTED = "tool.interrupted"


def recover(turn: Turn, call: Call) -> list[e.Event]:
    """Facts about a call whose worker died. None for a repeatable one that may be sent again."""
    if call.repeatable:
        return [] if call.sends < SENDS else [_interrupted(turn, call)]
    return uncertain(turn, call, "The worker stopped while this call was out.")


def unheard(turn: Turn, call: Call, message: str) -> list[e.Event]:
    """Facts about a call that was sent and got no answer: time ran out, the connection broke."""
    if call.repeatable:
        return [] if call.sends < SENDS else [_interrupted(turn, call)]
    return uncertain(turn, call, message)


def abandon(turn: Turn, call: Call, words: str) -> list[e.Event]:
    """Facts about a call that is out while its turn ends."""
    if call.repeatable:
        return [_interrupted(turn, call, words)]
    return uncertain(turn, call, words)


def uncertain(turn: Turn, call: Call, reason: str) -> list[e.Event]:
    """The outcome is unknown, and a person is asked to settle it."""
    return [
        e.CallUncertain(turn_id=turn.id, effect_id=call.effect_id, reason=reason),
        e.WaitOpened(
            turn_id=turn.id, effect_id=call.effect_id,
            wait_id=ids.wait(call.effect_id, call.waits + 1), kind="uncertain",
        ),
    ]  # fmt: skip


def _interrupted(turn: Turn, call: Call, words: str = "") -> e.CallFailed:
    times = "once" if call.sends == 1 else f"{call.sends} times under the same key"
    return e.CallFailed(
        turn_id=turn.id, effect_id=call.effect_id, code=INTERRUPTED,
        message=f"Sent {times} and never heard back; it may have run. {words}".strip(),
    )  # fmt: skip
