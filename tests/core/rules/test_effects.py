"""An effect that was sent and whose outcome nobody recorded: never repeated unsaid."""

import pytest

from studio.core.rules import effects
from studio.core.rules import events as e
from tests.core.rules import facts as f


def test_unrepeatable_call_of_a_dead_worker_is_uncertain_and_a_person_is_asked() -> None:
    session = f.sent()

    events = effects.recover(f.the_turn(session), f.call(session))

    words = "The worker stopped while this call was out."
    assert events == [
        e.CallUncertain(turn_id=f.TURN, effect_id=f.effect(1), reason=words),
        e.WaitOpened(turn_id=f.TURN, effect_id=f.effect(1), wait_id=f.wait_id(), kind="uncertain"),
    ]


def test_doubt_after_an_approval_is_the_second_wait_of_its_call() -> None:
    session = f.uncertain()
    session = f.after(session, [_settled_again()])

    (_, wait) = effects.recover(f.the_turn(session), f.call(session))

    assert isinstance(wait, e.WaitOpened)
    assert wait.wait_id == f.wait_id(1, 2)


def _settled_again() -> e.CallSettled:
    return e.CallSettled(
        turn_id=f.TURN, effect_id=f.effect(1), choice="send_again", by=f.OWNER, reason=""
    )


@pytest.mark.parametrize("sends,recorded", [(1, 0), (2, 0), (3, 1)])
def test_repeatable_call_of_a_dead_worker_goes_again_until_three_sends(
    sends: int, recorded: int
) -> None:
    session = f.proposed(f.judged(repeatable=True))
    for _ in range(sends):
        session = f.send(session)

    assert len(effects.recover(f.the_turn(session), f.call(session))) == recorded
    assert len(effects.unheard(f.the_turn(session), f.call(session), "slow")) == recorded


def test_unrepeatable_call_without_an_answer_says_why_it_is_uncertain() -> None:
    session = f.sent()

    (doubt, _) = effects.unheard(f.the_turn(session), f.call(session), "No answer within 10 s.")

    assert isinstance(doubt, e.CallUncertain)
    assert doubt.reason == "No answer within 10 s."


def test_repeatable_call_that_is_out_when_its_turn_ends_is_said_to_have_perhaps_run() -> None:
    session = f.sent(repeatable=True)

    (failed,) = effects.abandon(f.the_turn(session), f.call(session), "Stopped by alice.")

    assert isinstance(failed, e.CallFailed)
    assert failed.code == effects.INTERRUPTED
    assert failed.message == "Sent once and never heard back; it may have run. Stopped by alice."
    assert failed.settled is False


def test_unrepeatable_call_that_is_out_when_its_turn_ends_is_uncertain() -> None:
    session = f.sent()

    events = effects.abandon(f.the_turn(session), f.call(session), "Stopped.")

    assert f.kinds(events) == ["call.uncertain", "wait.opened"]
