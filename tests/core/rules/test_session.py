"""What the facts of one session add up to."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from studio.core.rules import calls, contents, messages, replies, session, turn
from studio.core.rules import events as e
from studio.core.rules.session import Session, fold
from tests.core.rules import facts as f

USAGE = e.Usage(input_tokens=10, output_tokens=5, cost=0.25)


def _fact(seq: int, event: e.Event, at: int = f.NOW) -> e.Fact:
    return e.Fact(
        session_id="ses_1", seq=seq, position=seq, id=f"evt_{seq}", time=at, actor="test",
        evidence="observed", event=event,
    )  # fmt: skip


def test_first_fact_says_what_the_session_is() -> None:
    idle = f.idle()

    assert (idle.agent, idle.agent_version, idle.owner, idle.started) == (
        "helper", 3, f.OWNER, f.NOW,
    )  # fmt: skip
    assert (idle.status, idle.busy) == ("idle", False)


def test_session_is_busy_while_a_turn_is_in_hand() -> None:
    over = f.reply(f.asked(), f.says("Done."))

    assert (f.asked().busy, over.busy, over.status) == (True, False, "completed")


def test_folding_counts_facts_and_time_never_goes_back() -> None:
    started = _fact(1, e.SessionStarted(agent="a", agent_version=1, title="", owner="o"))
    earlier = _fact(2, f.queued().turn and _message(), at=f.NOW - 500)

    after = fold(Session(id="ses_1"), [started, earlier])

    assert (after.seq, after.time) == (2, f.NOW)


def _message(number: int = 1, text: str = "Hello") -> e.MessageAccepted:
    return e.MessageAccepted(
        turn_id=f"trn_{number:026d}", number=number, text=contents.of_text(text), by=f.OWNER
    )


def test_fact_of_another_turn_leaves_the_turn_in_hand_alone() -> None:
    asked = f.asked()

    after = f.after(asked, [e.TurnCompleted(turn_id="trn_other")])

    assert after.turn == asked.turn


def test_fact_of_another_kind_leaves_the_turn_alone() -> None:
    sent = f.sent()
    late = e.CallLate(turn_id=f.TURN, effect_id=f.effect(1), outcome="succeeded")

    assert f.after(sent, [late]).turn == sent.turn


def test_nothing_changes_a_turn_that_is_over() -> None:
    over = f.after(f.uncertain(), messages.stop(f.uncertain(), by=f.OWNER, reason=""))
    events: list[e.Event] = [
        e.TurnStarted(turn_id=f.TURN),
        e.CallSucceeded(turn_id=f.TURN, effect_id=f.effect(1), result=contents.of(1)),
        e.CallSettled(turn_id=f.TURN, effect_id=f.effect(1), choice="send_again", by=f.OWNER),
        e.TurnCompleted(turn_id=f.TURN),
    ]

    assert f.after(over, events).turn == over.turn


# Status ------------------------------------------------------------------------------------------


STANDS_ON = {
    "its start": (f.queued, "queued"),
    "the model": (f.asked, "running"),
    "a call that may go": (lambda: f.proposed(f.judged()), "running"),
    "a call that is out": (f.sent, "running"),
    "a held call": (f.held, "held"),
    "a doubt": (f.uncertain, "held"),
    "a question": (f.question, "waiting"),
    "a timer": (lambda: f.timer(f.NOW + 5), "waiting"),
    "its next step": (lambda: f.came(f.sent(), f.ok()), "running"),
    "a doubt that was told": (lambda: f.uncertain(on_uncertain="tell"), "running"),
    "a held call beside one that is out": (
        lambda: f.send(f.proposed(f.judged("a", "ask"), f.judged("b")), 2), "running",
    ),
    "its answer": (lambda: f.reply(f.asked(), f.says("Done.")), "completed"),
    "nothing said": (lambda: f.reply(f.asked(), f.says("")), "failed"),
}  # fmt: skip


@pytest.mark.parametrize("make,status", STANDS_ON.values(), ids=STANDS_ON)
def test_status_says_what_the_turn_stands_on(make: Callable[[], Session], status: str) -> None:
    assert make().status == status


def test_held_is_said_before_waiting() -> None:
    both = f.proposed(
        f.judged("ask_person", origin=e.Origin(kind="platform")), f.judged("b", "ask")
    )
    stands = calls.stand(both, f.effect(1), kind="question", deadline=None)

    assert f.after(both, stands).status == "held"


# Active time -------------------------------------------------------------------------------------


def test_waiting_for_a_person_is_not_active_time() -> None:
    thinking = f.asked()
    held = f.reply(thinking, f.calls(f.judged(verdict="ask")), at=f.NOW + 300)
    stopped = f.after(held, messages.stop(held, by=f.OWNER, reason=""), f.NOW + f.HOUR)

    assert f.the_turn(stopped).active == 300


def test_calls_side_by_side_count_once() -> None:
    both = f.proposed(f.judged("a"), f.judged("b"))
    both = f.send(f.send(both, 1), 2, at=f.NOW + 100)
    both = f.came(f.came(both, f.ok(), 1, f.NOW + 200), f.ok(), 2, f.NOW + 500)

    assert f.the_turn(both).active == 500


def test_active_time_stops_with_the_turn() -> None:
    sent = f.sent(repeatable=True)
    stopped = f.after(sent, messages.stop(sent, by=f.OWNER, reason=""), f.NOW + 40)

    assert (f.the_turn(stopped).active, f.the_turn(stopped).active_since) == (40, None)


def test_time_until_a_lost_model_call_was_found_is_left_out() -> None:
    lost = f.asked()
    lost = f.after(lost, turn.advance(lost, f.NOW + f.HOUR).events, f.NOW + f.HOUR)

    assert (f.the_turn(lost).active, f.the_turn(lost).active_since) == (0, None)


def test_time_until_a_lost_call_was_found_is_left_out_and_its_sibling_counts_on() -> None:
    both = f.proposed(f.judged("a"), f.judged("b", repeatable=True))
    both = f.send(f.send(both, 1), 2)
    found = f.after(both, turn.advance(both, f.NOW + f.HOUR).events, f.NOW + f.HOUR)

    assert (f.the_turn(found).active, f.the_turn(found).active_since) == (0, f.NOW + f.HOUR)


# Money -------------------------------------------------------------------------------------------


def test_usage_adds_up() -> None:
    done = f.reply(f.asked(), f.says("Done.", usage=USAGE))

    assert (done.input_tokens, done.output_tokens, done.cost) == (10, 5, 0.25)
    assert done.cost_known is True


def test_unknown_cost_stays_unknown() -> None:
    assert f.reply(f.asked(), f.says("Done.")).cost_known is False


def test_attempt_that_was_lost_leaves_the_cost_unknown() -> None:
    lost = f.after(f.asked(), turn.advance(f.asked(), f.NOW).events)

    assert lost.cost_known is False


def test_attempt_that_failed_before_it_was_billed_leaves_the_cost_known() -> None:
    asked = f.asked()
    after = f.after(asked, f.fails(asked, f.model(asked), code="model.rate_limited"))

    assert (after.cost_known, after.maybe_billed) == (True, 0)


@pytest.mark.parametrize(
    "more",
    [{"code": "model.timeout"}, {"code": "model.cut_off"}, {"code": "model.server", "begun": True}],
)
def test_attempt_that_ended_without_an_answer_may_have_been_billed(more: dict[str, Any]) -> None:
    asked = f.asked()
    after = f.after(asked, f.fails(asked, f.model(asked), **more))

    assert (after.cost_known, after.maybe_billed) == (False, 1)


def test_attempt_that_told_what_it_cost_before_it_broke_is_known() -> None:
    asked = f.asked()
    after = f.after(
        asked, f.fails(asked, f.model(asked), code="model.interrupted", usage=USAGE, begun=True)
    )

    assert (after.cost, after.cost_known, after.maybe_billed) == (0.25, True, 0)


def test_scripted_model_bills_nobody() -> None:
    session = f.queued()
    ask = f.some(turn.advance(session, f.NOW).ask)
    intent = replies.intend_model(session, ask, provider="scripted", model="m", request_hash="r")
    session = f.after(session, intent)

    after = f.after(session, f.fails(session, f.model(session), code="model.garbage"))

    assert (after.cost_known, after.maybe_billed) == (True, 0)


# The window --------------------------------------------------------------------------------------


def _turns(count: int, text: str = "Hello") -> Session:
    talk = f.idle()
    for number in range(1, count + 1):
        message = _message(number, text)
        end = e.TurnCompleted(turn_id=message.turn_id)
        talk = f.after(talk, [message, end])
    return talk


def test_first_turn_has_no_past() -> None:
    assert _turns(1).past == ()


def test_last_turns_are_kept_and_older_ones_let_go() -> None:
    talk = _turns(session.WINDOW_TURNS + 5)

    assert len(talk.past) == session.WINDOW_TURNS
    assert talk.past[-1].number == session.WINDOW_TURNS + 4


def test_long_talk_is_let_go_earlier() -> None:
    talk = _turns(6, "x" * (session.WINDOW_BYTES // 3))

    assert [item.number for item in talk.past] == [3, 4, 5]


def test_last_turn_is_kept_however_long() -> None:
    talk = _turns(2, "x" * (session.WINDOW_BYTES * 2))

    assert [item.number for item in talk.past] == [1]


def test_weight_counts_calls_and_their_results() -> None:
    small = f.came(f.sent(), f.ok("y" * 10_000))
    later = f.after(small, messages.stop(small, by=f.OWNER, reason=""))
    heavy = replace(f.the_turn(later), weight=session.WINDOW_BYTES - 5_000)
    later = replace(later, past=(heavy,))

    after = f.after(later, [_message(2)])

    assert [item.id for item in after.past] == [f.TURN]
