"""What people begin and stop, and what is named when they do."""

from typing import Any

import pytest

from studio.core.rules import events as e
from studio.core.rules import messages, replies, turn
from studio.core.rules.errors import Refused
from studio.core.rules.session import Session
from tests.core.rules import facts as f

E1, E2, E3 = f.effect(1), f.effect(2), f.effect(3)


def _over() -> Session:
    return f.reply(f.asked(), f.says("Done."))


def test_message_opens_a_queued_turn() -> None:
    session = f.queued("Hello")

    assert (session.status, f.the_turn(session).number) == ("queued", 1)


def test_message_is_refused_while_a_turn_is_in_hand_and_says_what_to_do() -> None:
    with pytest.raises(Refused, match="Wait for its work, stop the turn, or send") as told:
        messages.accept(f.asked(), turn_id=f.NEXT_TURN, text="More", by=f.OWNER)

    assert told.value.code == "turn.running"
    assert told.value.details["offers"] == ["stop"]


@pytest.mark.parametrize("count,words", [(1, "1 held call,"), (2, "2 held calls,")])
def test_message_is_refused_while_calls_are_held_and_denying_is_offered(
    count: int, words: str
) -> None:
    session = f.proposed(*[f.judged(f"t{n}", "ask") for n in range(count)])

    with pytest.raises(Refused, match=words) as told:
        messages.accept(session, turn_id=f.NEXT_TURN, text="More", by=f.OWNER)

    assert told.value.details == {
        "turn_id": f.TURN, "status": "held", "held": count, "offers": ["stop", "deny_and_send"],
    }  # fmt: skip


@pytest.mark.parametrize("make", [f.idle, _over])
def test_only_a_turn_in_hand_can_be_stopped(make: Any) -> None:
    with pytest.raises(Refused) as told:
        messages.stop(make(), by=f.OWNER, reason="")

    assert told.value.code == "turn.not_running"


def test_stopping_a_queued_turn_ends_it() -> None:
    session = f.stopped(f.queued())

    assert (session.status, f.the_turn(session).active) == ("cancelled", 0)


def test_stopping_while_the_model_thinks_leaves_its_cost_unknown() -> None:
    session = f.asked()

    events = messages.stop(session, by=f.OWNER, reason="enough")

    assert f.kinds(events) == ["model.failed", "turn.cancelled"]
    assert f.after(session, events).cost_known is False


def test_scripted_model_that_is_stopped_costs_nothing() -> None:
    session = f.queued()
    ask = f.some(turn.advance(session, f.NOW).ask)

    intent = replies.intend_model(session, ask, provider="scripted", model="m", request_hash="r")

    assert f.stopped(f.after(session, intent)).cost_known is True


def test_stopping_closes_every_open_wait_and_gives_every_call_its_result() -> None:
    session = f.proposed(f.judged("a", "ask"), f.judged("b"), f.judged("c"))
    session = f.stopped(f.came(f.send(session, 2), f.ok(), 2))

    states = [f.call(session, n).state for n in (1, 2, 3)]
    assert states == ["cancelled", "succeeded", "cancelled"]
    assert (f.wait(session).choice, f.wait(session).closed_by) == ("stopped", f.OWNER)
    assert "Stopped by alice." in f.call(session).message


def test_stopping_names_what_had_run_and_what_may_have_run() -> None:
    session = f.proposed(
        f.judged("ran"), f.judged("out"), f.judged("keyed", repeatable=True), f.judged("unsure"),
        f.judged("held", "ask"),
    )  # fmt: skip
    for index in (1, 2, 3, 4):
        session = f.send(session, index)
    session = f.came(f.came(session, f.ok(), 1), f.LOST, 4)

    cancelled = messages.stop(session, by=f.OWNER, reason="enough")[-1]

    assert isinstance(cancelled, e.TurnCancelled)
    assert cancelled.ran == (E1,)
    assert cancelled.unknown == (E2, E3, f.effect(4))


def test_stopping_leaves_an_uncertain_call_to_be_settled() -> None:
    session = f.stopped(f.uncertain())

    assert f.call(session).state == "uncertain"
    assert set(session.unsettled) == {f.wait_id()}


def test_stopping_before_a_call_is_sent_again_does_not_say_that_it_never_ran() -> None:
    session = f.sent_again()

    events = messages.stop(session, by=f.OWNER, reason="")

    assert f.kinds(events) == ["call.uncertain", "wait.opened", "turn.cancelled"]
    assert isinstance(events[-1], e.TurnCancelled)
    assert events[-1].unknown == (E1,)


def test_stopping_after_a_failed_attempt_records_no_second_failure() -> None:
    session = f.asked()
    session = f.after(session, f.fails(session, f.model(session)))

    assert f.kinds(messages.stop(session, by=f.OWNER, reason="")) == ["turn.cancelled"]


def test_deny_and_send_denies_every_held_call_and_opens_a_new_turn() -> None:
    session = f.proposed(f.judged("a", "ask"), f.judged("b", "ask"), f.judged("c"))

    after = f.after(session, f.deny_and_send(session))

    past = after.past[-1]
    assert [call.state for call in past.calls.values()] == ["denied", "denied", "cancelled"]
    assert {wait.choice for wait in past.waits.values()} == {"deny"}
    assert (past.status, after.status, f.the_turn(after).number) == ("cancelled", "queued", 2)


def test_deny_and_send_leaves_a_call_that_is_out_uncertain() -> None:
    session = f.send(f.proposed(f.judged("a", "ask"), f.judged("b")), 2)

    after = f.after(session, f.deny_and_send(session))

    assert after.past[-1].calls[E2].state == "uncertain"
    assert set(after.unsettled) == {f.wait_id(2)}


def test_deny_and_send_stops_a_question() -> None:
    after = f.after(f.question(), f.deny_and_send(f.question()))

    assert after.past[-1].calls[E1].state == "cancelled"


@pytest.mark.parametrize("make", [f.idle, _over])
def test_deny_and_send_without_a_turn_in_hand_just_sends(make: Any) -> None:
    assert f.kinds(f.deny_and_send(make())) == ["message.accepted"]
