"""Waits past their deadline."""

from studio.core.rules import contents, turn
from studio.core.rules.turn import Next
from tests.core.rules import facts as f


def test_question_rests_the_turn_as_waiting() -> None:
    session = f.question(deadline=f.NOW + 10)

    assert session.status == "waiting"
    assert turn.advance(session, f.NOW) == Next(until=f.NOW + 10)


def test_timer_is_due_at_its_time_and_the_turn_goes_on() -> None:
    session = f.timer(f.NOW + 10)

    session = f.after(session, turn.advance(session, f.NOW + 10).events)

    assert f.wait(session).choice == "due"
    assert f.call(session).result == contents.of({"waited": True})


def test_question_nobody_answers_in_time_fails_its_call() -> None:
    session = f.question(deadline=f.NOW + 10)

    session = f.after(session, turn.advance(session, f.NOW + 10).events)

    assert (f.wait(session).choice, f.call(session).code) == ("expired", "question.expired")


def test_held_call_nobody_decides_in_time_is_denied() -> None:
    session = f.held(expires_seconds=1)

    session = f.after(session, turn.advance(session, f.NOW + f.SECOND).events)

    assert (f.wait(session).choice, f.call(session).state) == ("expired", "denied")
    assert f.call(session).closed_by == "deadline"
