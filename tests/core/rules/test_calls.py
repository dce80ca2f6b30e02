"""What comes of sending a call."""

from dataclasses import replace
from typing import Any

import pytest

from studio.core.rules import (
    calls,
    contents,
    effects,
    ids,
    turn,
)
from studio.core.rules import events as e
from studio.core.rules.calls import Outcome
from studio.core.rules.turn import SendCall
from tests.core.rules import facts as f

E1 = f.effect(1)


def test_intent_names_the_key_and_the_digest() -> None:
    session = f.proposed(f.judged())
    decided = f.call(session).decided

    (intent,) = calls.intend_call(session, SendCall(effect_id=E1, send=1), digest_sent=decided)

    assert intent == e.CallStarted(
        turn_id=f.TURN, effect_id=E1, key=ids.effect_key(f.TURN, E1, "notify", 0), send=1,
        digest_sent=decided,
    )  # fmt: skip


def test_call_whose_digest_moved_is_not_sent() -> None:
    session = f.proposed(f.judged())

    (event,) = calls.intend_call(session, SendCall(effect_id=E1, send=1), digest_sent="other")

    assert isinstance(event, e.CallFailed)
    assert (event.code, event.settled) == ("tool.changed", True)


NOT_NOW = {
    "no turn": (f.idle, 1),
    "held": (f.held, 1),
    "denied": (lambda: f.proposed(f.judged(verdict="deny")), 1),
    "another count": (lambda: f.proposed(f.judged()), 2),
    "out and not to be repeated": (f.sent, 2),
    "has its result": (lambda: f.came(f.sent(), f.ok()), 2),
    "stopped": (lambda: f.stopped(f.proposed(f.judged())), 1),
}


@pytest.mark.parametrize("make,send", NOT_NOW.values(), ids=NOT_NOW)
def test_call_that_may_not_go_out_now_records_no_intent(make: Any, send: int) -> None:
    session = make()

    assert calls.intend_call(session, SendCall(effect_id=E1, send=send), digest_sent="any") == []


def test_call_that_cannot_be_sent_at_all_fails_and_is_settled() -> None:
    session = f.proposed(f.judged())

    (event,) = calls.refuse_call(session, E1, code="tool.missing", message="It is gone.")

    assert isinstance(event, e.CallFailed)
    assert (event.code, event.settled) == ("tool.missing", True)


def test_call_that_was_sent_before_and_cannot_be_sent_again_is_not_said_to_be_settled() -> None:
    keyed, unkeyed = f.sent(repeatable=True), f.sent()

    (failed,) = calls.refuse_call(keyed, E1, code="tool.missing", message="It is gone.")
    doubt = calls.refuse_call(unkeyed, E1, code="tool.missing", message="It is gone.")

    assert isinstance(failed, e.CallFailed)
    assert (failed.code, failed.settled) == ("tool.interrupted", False)
    assert f.kinds(doubt) == ["call.uncertain", "wait.opened"]


@pytest.mark.parametrize("make", [f.idle, f.held])
def test_call_that_is_not_open_is_not_refused(make: Any) -> None:
    assert calls.refuse_call(make(), E1, code="x", message="y") == []


def test_outcome_is_recorded_once() -> None:
    session = f.came(f.sent(), f.ok("yes"))

    again = calls.outcome(session, f.TURN, E1, f.ok("no"))

    assert f.call(session).result == contents.of("yes")
    assert f.kinds(again) == ["call.late"]
    assert f.call(f.after(session, again)).result == contents.of("yes")


def test_failure_of_a_call_is_a_result() -> None:
    session = f.came(f.sent(), f.BROKEN)

    assert (f.call(session).state, f.call(session).code) == ("failed", "http.500")


def test_call_without_an_answer_that_may_be_repeated_goes_again_under_the_same_key() -> None:
    session = f.came(f.sent(repeatable=True), f.LOST)
    key = f.call(session).key

    following = turn.advance(session, f.NOW)
    session = f.send(session)

    assert following.sends == (SendCall(effect_id=E1, send=2),)
    assert (f.call(session).key, f.call(session).sends) == (key, 2)


def test_call_without_an_answer_that_may_not_be_repeated_is_uncertain() -> None:
    session = f.came(f.sent(), f.LOST)

    assert (f.call(session).state, session.status) == ("uncertain", "held")
    assert f.wait(session).kind == "uncertain"


def test_third_send_without_an_answer_is_interrupted_and_the_turn_goes_on() -> None:
    session = f.proposed(f.judged(repeatable=True))
    for _ in range(effects.SENDS):
        session = f.came(f.send(session), f.LOST)

    assert (f.call(session).state, f.call(session).code) == ("failed", "tool.interrupted")
    assert "3 times under the same key" in f.call(session).message
    assert turn.advance(session, f.NOW).ask is not None


def test_third_send_whose_worker_died_is_interrupted() -> None:
    session = f.proposed(f.judged(repeatable=True))
    for _ in range(effects.SENDS):
        session = f.send(session)

    session = f.after(session, turn.advance(session, f.NOW).events)

    assert f.call(session).code == "tool.interrupted"


def test_keyed_call_of_a_dead_worker_is_sent_again() -> None:
    session = f.sent(repeatable=True)

    assert turn.advance(session, f.NOW).sends == (SendCall(effect_id=E1, send=2),)


def test_unkeyed_call_of_a_dead_worker_is_never_sent_again() -> None:
    session = f.uncertain()

    assert turn.advance(session, f.NOW + f.HOUR).sends == ()
    assert session.status == "held"
    assert set(session.unsettled) == {f.wait_id()}


def test_model_is_told_of_doubt_where_the_tool_says_so_and_a_person_may_still_settle() -> None:
    session = f.uncertain(on_uncertain="tell")

    assert f.some(turn.advance(session, f.NOW).ask).step == 2
    assert set(session.unsettled) == {f.wait_id()}


def test_late_outcome_of_a_stopped_turn_is_kept_and_closes_the_doubt() -> None:
    session = f.stopped(f.sent())

    events = calls.outcome(session, f.TURN, E1, f.ok("after all"))
    after = f.after(session, events)

    assert f.kinds(events) == ["call.late", "decision.recorded"]
    assert after.unsettled == {}
    assert f.call(after) == f.call(session)


def test_late_failure_says_so() -> None:
    (late,) = calls.outcome(f.stopped(f.sent(repeatable=True)), f.TURN, E1, f.BROKEN)

    assert isinstance(late, e.CallLate)
    assert (late.outcome, late.message) == ("failed", "It said 500.")


def test_late_silence_is_no_news() -> None:
    assert calls.outcome(f.stopped(f.sent()), f.TURN, E1, f.LOST) == []


def test_outcome_that_comes_while_a_person_is_asked_is_used() -> None:
    session = f.uncertain()

    session = f.after(session, calls.outcome(session, f.TURN, E1, f.ok("it ran")))

    assert f.call(session).state == "succeeded"
    assert session.unsettled == {}
    assert f.some(turn.advance(session, f.NOW).ask).step == 2


def test_outcome_that_comes_after_the_model_was_told_of_doubt_is_late() -> None:
    session = f.uncertain(on_uncertain="tell")

    events = calls.outcome(session, f.TURN, E1, f.ok())

    assert f.kinds(events) == ["call.late", "decision.recorded"]
    assert f.call(f.after(session, events)).state == "uncertain"


@pytest.mark.parametrize("make", [f.idle, f.sent])
def test_only_a_call_that_may_run_opens_a_wait(make: Any) -> None:
    assert calls.stand(make(), E1, kind="timer", deadline=None) == []


def test_call_that_cannot_be_sent_again_stays_in_doubt() -> None:
    session = f.sent_again()
    going = SendCall(effect_id=E1, send=2)

    moved = calls.intend_call(session, going, digest_sent="other")
    missing = calls.refuse_call(session, E1, code="tool.missing", message="It is gone.")

    assert f.kinds(moved) == f.kinds(missing) == ["call.uncertain", "wait.opened"]


def test_outcome_of_an_earlier_turn_is_late_and_settles_its_doubt() -> None:
    session = f.send(f.proposed(f.judged("a")), 1)
    session = f.after(session, f.deny_and_send(session))

    events = calls.outcome(session, f.TURN, E1, Outcome(result=contents.of("x")))
    after = f.after(session, events)

    assert after.unsettled == {}
    assert f.the_turn(after) == f.the_turn(session)


def test_calls_of_an_earlier_turn_are_not_current() -> None:
    session = f.after(f.held(), f.deny_and_send(f.held()))

    assert calls.current_call(session, E1) is None
    assert calls.current_call(replace(session, turn=None), E1) is None
