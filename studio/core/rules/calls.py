"""What comes of sending a call: its intent, what it stands on, its outcome."""

from dataclasses import dataclass, replace

from studio.core.rules import contents, effects, files, ids
from studio.core.rules import events as e
from studio.core.rules.files import Given
from studio.core.rules.session import Call, Session, Turn
from studio.core.rules.turn import SendCall

STEP_BYTES = 256 * 1024  # of all results of one step


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a send. `unknown` says that it was sent and nobody knows whether it ran.

    `files` are in the store already; those that are new become artifacts with the outcome.
    """

    result: e.Content | None = None
    files: tuple[Given, ...] = ()
    code: str = ""
    message: str = ""
    failed: bool = False
    unknown: bool = False
    settled: bool = False
    masked: int = 0


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
        return _result(turn, call, came)
    if call.state == "uncertain" and not call.is_final and not came.unknown:
        # nobody has settled it yet, and now it is known: the turn need not wait for a person
        return [*_close_unsettled(session, turn_id, effect_id), *_result(turn, call, came)]
    return _late(session, turn_id, effect_id, came)


def _result(turn: Turn, call: Call, came: Outcome) -> list[e.Event]:
    """The outcome as it is recorded, behind the artifacts that it leaves."""
    result, whole = _fitted(turn, call, came)
    given = (*came.files, *whole)
    saved = [
        files.saved(
            item, source=item.source, by=item.by or call.tool, turn_id=turn.id,
            effect_id=call.effect_id,
        )
        for item in given
        if item.is_new
    ]  # fmt: skip
    refs = tuple(item.ref for item in given)
    if came.failed:
        failed = e.CallFailed(
            turn_id=turn.id, effect_id=call.effect_id, code=came.code, message=came.message,
            settled=came.settled, result=result, files=refs, masked=came.masked,
        )  # fmt: skip
        return [*saved, failed]
    assert result is not None, "a call that succeeded has a result"
    return [
        *saved,
        e.CallSucceeded(
            turn_id=turn.id,
            effect_id=call.effect_id,
            result=result,
            files=refs,
            masked=came.masked,
        ),
    ]


def _fitted(
    turn: Turn, call: Call, came: Outcome
) -> tuple[e.Content | None, tuple[Given, ...]]:  # fmt: skip
    """The result with as much of it as fits, and the artifact that holds the whole if not all does.

    What a call read from an artifact needs no other: it is there already.
    """
    result = came.result
    if result is None:
        return None, ()
    room = max(STEP_BYTES - _taken(turn, call), contents.STUB_BYTES)
    if room < contents.INLINE_BYTES:
        result = replace(result, room=room)
    if contents.fits(result) or any(not item.is_new for item in came.files):
        return result, ()
    end = ".json" if result.media == "application/json" else ".txt"
    ref = e.FileRef(
        artifact_id=files.artifact_of_call(call.effect_id, 0), version=1,
        name=files.clean_name(call.tool)[:150] + "-result" + end, media=result.media,
        size=result.size, hash=result.hash,
    )  # fmt: skip
    found = files.Found(media=result.media, size=result.size, hash=result.hash)
    return result, (Given(ref=ref, found=found, is_new=True),)


def _taken(turn: Turn, call: Call) -> int:
    """The bytes that the results of the same step have taken so far."""
    return sum(
        len((other.result.head + other.result.tail).encode("utf-8", "surrogatepass"))
        if other.result.stored
        else other.result.size
        for other in turn.calls.values()
        if other.step == call.step and other.result is not None
    )


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
