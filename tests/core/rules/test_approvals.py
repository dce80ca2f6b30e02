"""A person answers a wait. One answer wins, and it is bound to exactly what was shown."""

from dataclasses import replace
from typing import Any

import pytest

from studio.core.rules import approvals, calls, contents, messages, turn
from studio.core.rules import events as e
from studio.core.rules.approvals import Answer
from studio.core.rules.errors import Denied, Gone, Invalid, NotFound, Refused, StudioError
from studio.core.rules.session import Session
from tests.core.rules import facts as f

EDITED = contents.of({"to": "nobody"})


def _says(session: Session, choice: e.Choice = "approve", by: str = f.OTHER, **more: Any) -> Answer:
    given: dict[str, Any] = {"choice": choice, "by": by, "digest": f.call(session).decided}
    return Answer(**(given | more))


def _decide(session: Session, *args: Any, now: int = f.NOW, **more: Any) -> list[e.Event]:
    return approvals.decide(session, f.wait_id(), _says(session, *args, **more), now)


def _after(session: Session, *args: Any, **more: Any) -> Session:
    return f.after(session, _decide(session, *args, **more))


def _edit(session: Session, by: str = f.OTHER, **more: Any) -> Session:
    return _after(session, "approve", by, arguments=EDITED, digest_decided="d" * 64, **more)


def _refused(session: Session, *args: Any, **more: Any) -> StudioError:
    with pytest.raises(StudioError) as told:
        _decide(session, *args, **more)
    return told.value


def _stopped(session: Session) -> Session:
    return f.after(session, messages.stop(session, by=f.OWNER, reason=""))


# Approvals ---------------------------------------------------------------------------------------


def test_approved_call_is_sent_as_it_was_shown() -> None:
    session = _after(f.held())

    assert (f.call(session).state, session.status) == ("ready", "running")
    assert [send.effect_id for send in turn.advance(session, f.NOW).sends] == [f.effect(1)]


def test_decision_records_who_why_and_the_digests() -> None:
    session = f.held()
    digest = f.call(session).digest

    (decision,) = _decide(session, reason="Looks right.")

    assert decision == e.DecisionRecorded(
        turn_id=f.TURN, effect_id=f.effect(1), wait_id=f.wait_id(), choice="approve", by=f.OTHER,
        reason="Looks right.", digest_shown=digest, digest_decided=digest,
    )  # fmt: skip


def test_denied_call_never_runs_and_the_model_reads_the_reason() -> None:
    session = _after(f.held(), "deny", reason="Wrong release.")

    assert (f.call(session).state, f.call(session).message) == ("denied", "Wrong release.")
    assert turn.advance(session, f.NOW).ask is not None


def test_denial_without_a_reason_says_so() -> None:
    assert f.call(_after(f.held(), "deny")).message == "A person denied it and gave no reason."


def test_answer_to_another_card_decides_nothing() -> None:
    error = _refused(f.held(), digest="0" * 64)

    assert isinstance(error, Refused)
    assert error.code == "decision.changed"
    assert error.details == {"shown": "0" * 64, "current": f.call(f.held()).decided}


def test_second_decision_is_told_who_was_first() -> None:
    error = _refused(_after(f.held(), "deny", f.OWNER), "approve", f.OTHER)

    assert isinstance(error, Refused)
    assert error.details == {"choice": "deny", "by": f.OWNER, "at": f.NOW}
    assert "Already denied by alice." in error.message


def test_choice_that_does_not_fit_is_refused_with_those_that_do() -> None:
    error = _refused(f.held(), "answer")

    assert isinstance(error, Invalid)
    assert error.fields == {"choice": "Use one of: approve, deny."}


def test_timer_takes_no_answer() -> None:
    assert "nothing: it waits for a time" in _refused(f.timer(f.NOW + 9), "approve").message


def test_unknown_wait_is_not_found() -> None:
    with pytest.raises(NotFound):
        approvals.decide(f.idle(), "wai_other", _says(f.held()), f.NOW)
    with pytest.raises(NotFound):
        approvals.decide(f.held(), "wai_other", _says(f.held()), f.NOW)


# Deadlines ---------------------------------------------------------------------------------------


def test_answer_just_before_the_deadline_counts() -> None:
    session = f.held(expires_seconds=1)

    assert f.kinds(_decide(session, now=f.NOW + 999)) == ["decision.recorded"]


@pytest.mark.parametrize("choice", ["approve", "deny"])
def test_answer_at_the_deadline_is_too_late_though_nobody_recorded_the_expiry(choice: str) -> None:
    error = _refused(f.held(expires_seconds=1), choice, now=f.NOW + f.SECOND)

    assert isinstance(error, Gone)
    assert error.details == {"at": f.NOW + f.SECOND}


def test_answer_after_the_expiry_is_told_when() -> None:
    session = f.held(expires_seconds=1)
    session = f.after(session, turn.advance(session, f.NOW + 5_000).events, f.NOW + 5_000)

    error = _refused(session, now=f.NOW + 6_000)

    assert isinstance(error, Gone)
    assert error.details == {"at": f.NOW + 5_000}


def test_answer_after_the_expiry_is_told_so_also_when_the_turn_is_over() -> None:
    session = f.held(expires_seconds=1)
    session = _stopped(f.after(session, turn.advance(session, f.NOW + 5_000).events))

    assert isinstance(_refused(session), Gone)


# Edited arguments --------------------------------------------------------------------------------


def test_edited_call_runs_with_the_edited_arguments_and_keeps_the_proposal() -> None:
    session = _edit(f.held())

    call = f.call(session)
    assert (call.state, call.arguments, call.decided) == ("ready", EDITED, "d" * 64)
    assert (call.edited_by, call.proposed) == (f.OTHER, f.judged().arguments)


def test_edited_call_is_not_sent_as_it_was_proposed() -> None:
    session = _edit(f.held())
    proposal = f.call(session).digest

    going = turn.SendCall(effect_id=f.effect(1), send=1)
    events = calls.intend_call(session, going, digest_sent=proposal)

    assert f.kinds(events) == ["call.failed"]


@pytest.mark.parametrize("ruling", [{"approvers": 2}, {"not_own": True}])
def test_edit_cannot_take_a_call_past_a_stricter_rule(ruling: dict[str, Any]) -> None:
    error = _refused(
        f.held(), arguments=EDITED, digest_decided="d" * 64, ruling=f.ruling("ask", **ruling)
    )

    assert error.code == "arguments.stricter"


def test_edit_within_the_rules_of_the_card_is_taken() -> None:
    session = _edit(f.held(approvers=2, not_own=True), ruling=f.ruling("allow"))

    assert f.wait(session).approved_by == (f.OTHER,)


# Two people --------------------------------------------------------------------------------------


def test_first_of_two_approvals_lets_nothing_run() -> None:
    session = _after(f.held(approvers=2), "approve", f.OTHER)

    assert (f.call(session).state, f.wait(session).is_open) == ("held", True)
    assert turn.advance(session, f.NOW).sends == ()


def test_second_person_lets_it_run() -> None:
    session = _after(_after(f.held(approvers=2), "approve", f.OTHER), "approve", f.THIRD)

    assert f.wait(session).approved_by == (f.OTHER, f.THIRD)
    assert f.call(session).state == "ready"


def test_one_person_counts_once() -> None:
    error = _refused(_after(f.held(approvers=2), "approve", f.OTHER), "approve", f.OTHER)

    assert isinstance(error, Denied)
    assert error.code == "decision.twice"
    assert "1 more" in error.message


def test_either_person_may_deny() -> None:
    session = _after(_after(f.held(approvers=2), "approve", f.OTHER), "deny", f.THIRD)

    assert f.call(session).state == "denied"


def test_edit_by_the_first_person_is_what_the_second_must_have_seen() -> None:
    session = _edit(f.held(approvers=2))
    proposal = f.call(session).digest

    assert _refused(session, "approve", f.THIRD, digest=proposal).code == "decision.changed"
    assert f.call(_after(session, "approve", f.THIRD)).state == "ready"


def test_edit_by_the_second_person_starts_the_count_afresh() -> None:
    session = _edit(_after(f.held(approvers=2), "approve", f.OTHER), f.THIRD)

    assert (f.wait(session).approved_by, f.call(session).state) == ((f.THIRD,), "held")
    assert f.call(_after(session, "approve", f.OTHER)).state == "ready"


def test_person_may_edit_what_they_approved_and_still_counts_once() -> None:
    session = _edit(_after(f.held(approvers=2), "approve", f.OTHER), f.OTHER)

    assert f.wait(session).approved_by == (f.OTHER,)
    assert _refused(session, "approve", f.OTHER).code == "decision.twice"


@pytest.mark.parametrize("rule", [{"approvers": 2}, {"not_own": True}])
def test_application_key_counts_as_nobody_where_people_are_asked(rule: dict[str, Any]) -> None:
    session = f.held(**rule)

    assert _refused(session, by_key=True).code == "decision.key"
    assert f.call(_after(session, "deny", by_key=True)).state == "denied"


def test_application_key_may_approve_what_anybody_may() -> None:
    assert f.call(_after(f.held(), by_key=True)).state == "ready"


# One's own session -------------------------------------------------------------------------------


def test_own_call_cannot_be_approved_where_a_rule_forbids_it() -> None:
    error = _refused(f.held(not_own=True), "approve", f.OWNER)

    assert isinstance(error, Denied)
    assert error.code == "decision.own"


def test_who_sent_the_message_may_not_approve_its_calls_either() -> None:
    session = f.held(not_own=True)
    session = replace(session, turn=replace(f.the_turn(session), by=f.OTHER))

    assert _refused(session, "approve", f.OTHER).code == "decision.own"


def test_own_call_may_always_be_denied() -> None:
    assert f.call(_after(f.held(not_own=True), "deny", f.OWNER)).state == "denied"


# Questions ---------------------------------------------------------------------------------------


def test_answer_is_the_result_of_the_question() -> None:
    session = _after(f.question(), "answer", answer=contents.of("the second"))

    assert (f.call(session).state, f.call(session).result) == (
        "succeeded", contents.of("the second"),
    )  # fmt: skip


def test_question_may_be_declined() -> None:
    session = _after(f.question(), "deny")

    assert f.call(session).message == "The person did not want to answer."
    assert turn.advance(session, f.NOW).ask is not None


def test_declining_takes_a_reason() -> None:
    assert f.call(_after(f.question(), "deny", reason="Ask Bob.")).message == "Ask Bob."


def test_answer_without_a_value_is_refused() -> None:
    assert isinstance(_refused(f.question(), "answer"), Invalid)


# Uncertain calls ---------------------------------------------------------------------------------


def test_person_says_that_it_ran_and_the_turn_goes_on() -> None:
    session = _after(f.uncertain(), "ran")

    assert (f.call(session).state, f.call(session).said_to_run) == ("uncertain", True)
    assert session.unsettled == {}
    assert turn.advance(session, f.NOW).ask is not None


def test_person_says_that_it_did_not_run_and_the_turn_goes_on() -> None:
    session = _after(f.uncertain(), "did_not_run", reason="The log is empty.")

    assert (f.call(session).state, f.call(session).message) == ("failed", "The log is empty.")
    assert turn.advance(session, f.NOW).ask is not None


def test_person_sends_it_again_under_the_same_key() -> None:
    session = f.uncertain()
    key = f.call(session).key

    session = f.send(_after(session, "send_again"))

    assert (f.call(session).key, f.call(session).sends) == (key, 2)


def test_call_that_was_sent_again_and_lost_again_is_uncertain_again() -> None:
    session = f.send(_after(f.uncertain(), "send_again"))

    session = f.after(session, turn.advance(session, f.NOW).events)

    assert f.wait(session, 1, 2).is_open
    assert set(session.unsettled) == {f.wait_id(1, 2)}


def test_call_the_model_was_told_about_can_be_settled_but_not_sent_again() -> None:
    session = f.uncertain(on_uncertain="tell")

    settled = _after(session, "did_not_run")

    assert _refused(session, "send_again").code == "decision.told"
    assert f.call(settled) == f.call(session)
    assert settled.unsettled == {}


@pytest.mark.parametrize("choice", ["ran", "did_not_run"])
def test_uncertain_call_can_be_settled_after_its_turn_was_stopped(choice: e.Choice) -> None:
    session = _stopped(f.uncertain())

    after = _after(session, choice)

    assert after.unsettled == {}
    assert (f.the_turn(after).status, f.call(after)) == ("cancelled", f.call(session))


def test_uncertain_call_of_a_stopped_turn_cannot_be_sent_again() -> None:
    assert _refused(_stopped(f.uncertain()), "send_again").code == "decision.turn_over"


def test_uncertain_call_of_a_stopped_turn_is_bound_to_its_digest() -> None:
    assert _refused(_stopped(f.uncertain()), "ran", digest="0").code == "decision.changed"


def _much_later() -> Session:
    stopped = _stopped(f.uncertain())
    return f.after(stopped, messages.accept(stopped, turn_id=f.NEXT_TURN, text="More", by=f.OWNER))


def test_uncertain_call_can_be_settled_while_a_later_turn_is_in_hand() -> None:
    session = _much_later()
    given = Answer(choice="ran", by=f.OTHER, digest=session.unsettled[f.wait_id()].digest)

    after = f.after(session, approvals.decide(session, f.wait_id(), given, f.NOW))

    assert after.unsettled == {}
    assert f.the_turn(after) == f.the_turn(session)


@pytest.mark.parametrize(
    "make", [lambda: _stopped(f.uncertain()), _much_later], ids=["now", "past"]
)
def test_second_person_to_settle_a_call_of_a_turn_that_is_over_is_told_who_was_first(
    make: Any,
) -> None:
    session = make()
    given = Answer(choice="ran", by=f.OTHER, digest=session.unsettled[f.wait_id()].digest)
    session = f.after(session, approvals.decide(session, f.wait_id(), given, f.NOW))

    with pytest.raises(Refused) as told:
        approvals.decide(session, f.wait_id(), replace(given, by=f.THIRD), f.NOW)

    assert told.value.details == {"choice": "ran", "by": f.OTHER, "at": f.NOW}


def test_answer_after_a_stop_is_told_who_stopped() -> None:
    error = _refused(_stopped(f.held()))

    assert error.code == "decision.decided"
    assert "Already stopped by alice." in error.message


def test_choice_without_a_word_of_its_own_is_named_as_it_is() -> None:
    assert "Already odd by bob." in approvals.decided_already("odd", "bob", 1).message
