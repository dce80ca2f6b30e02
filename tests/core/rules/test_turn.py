"""What happens next in a turn: given these facts, these facts follow."""

from dataclasses import replace
from typing import Any

import pytest

from studio.core.rules import contents, context, digests, effects, ids, turn
from studio.core.rules import events as e
from studio.core.rules.errors import Refused
from studio.core.rules.session import Session
from studio.core.rules.turn import AskModel, Next, Outcome, SendCall
from tests.core.rules import facts as f

E1, E2, E3 = f.effect(1), f.effect(2), f.effect(3)


# Messages and the first step ---------------------------------------------------------------------


def test_message_opens_a_queued_turn() -> None:
    session = f.queued("Hello")

    assert (session.status, f.the_turn(session).number) == ("queued", 1)


def test_message_is_refused_while_a_turn_is_in_hand_and_says_what_to_do() -> None:
    with pytest.raises(Refused, match="Wait for its work, stop the turn, or send") as told:
        turn.accept(f.asked(), turn_id=f.NEXT_TURN, text="More", by=f.OWNER)

    assert told.value.code == "turn.running"
    assert told.value.details["offers"] == ["stop"]


@pytest.mark.parametrize("count,words", [(1, "1 held call,"), (2, "2 held calls,")])
def test_message_is_refused_while_calls_are_held_and_denying_is_offered(
    count: int, words: str
) -> None:
    session = f.proposed(*[f.judged(f"t{n}", "ask") for n in range(count)])

    with pytest.raises(Refused, match=words) as told:
        turn.accept(session, turn_id=f.NEXT_TURN, text="More", by=f.OWNER)

    assert told.value.details == {
        "turn_id": f.TURN, "status": "held", "held": count, "offers": ["stop", "deny_and_send"],
    }  # fmt: skip


def test_nothing_follows_without_a_turn() -> None:
    assert turn.advance(f.idle(), f.NOW) == Next()


def test_nothing_follows_after_the_end() -> None:
    assert turn.advance(f.reply(f.asked(), f.says("Done.")), f.NOW) == Next()


def test_new_turn_asks_the_model() -> None:
    following = turn.advance(f.queued(), f.NOW)

    assert following.ask == AskModel(effect_id=ids.model_effect(f.TURN, 1, 1), step=1, attempt=1)
    assert (following.events, following.sends) == ((), ())


def test_first_intent_starts_the_turn_and_later_ones_do_not() -> None:
    first = f.queued()
    lost = f.after(f.asked(), turn.advance(f.asked(), f.NOW).events)

    assert f.kinds(_intend(first)) == ["turn.started", "model.requested"]
    assert f.kinds(_intend(lost)) == ["model.requested"]


def _intend(session: Session) -> list[e.Event]:
    ask = _some(turn.advance(session, f.NOW).ask)
    return turn.intend_model(session, ask, provider="p", model="m", request_hash="r")


def _some(ask: AskModel | None) -> AskModel:
    assert ask is not None
    return ask


@pytest.mark.parametrize("step,attempt", [(2, 1), (1, 2), (1, 1)])
def test_intent_that_no_longer_follows_records_nothing(step: int, attempt: int) -> None:
    session = f.asked() if attempt == 1 and step == 1 else f.queued()
    ask = AskModel(effect_id="eff_x", step=step, attempt=attempt)

    assert turn.intend_model(session, ask, provider="p", model="m", request_hash="r") == []


def test_intent_after_a_stop_records_nothing() -> None:
    session = f.queued()
    ask = _some(turn.advance(session, f.NOW).ask)
    stopped = f.after(session, turn.stop(session, by=f.OWNER, reason=""))

    assert turn.intend_model(stopped, ask, provider="p", model="m", request_hash="r") == []


# The model ---------------------------------------------------------------------------------------


def test_model_that_is_thinking_is_waited_for() -> None:
    session = f.asked()

    following = turn.advance(session, f.NOW, frozenset({f.model(session)}))

    assert following == Next(until=f.NOW + 600 * f.SECOND)


def test_model_call_of_a_dead_worker_becomes_uncertain_and_is_asked_again() -> None:
    session = f.asked()

    lost = turn.advance(session, f.NOW).events
    following = turn.advance(f.after(session, lost), f.NOW)

    assert f.kinds(lost) == ["model.uncertain"]
    assert _some(following.ask).attempt == 2


def test_model_that_is_lost_five_times_fails_the_turn() -> None:
    session = f.queued()
    for _ in range(turn.MODEL_ATTEMPTS):
        session = f.ask(session)
        session = f.after(session, turn.advance(session, f.NOW).events)

    session = f.after(session, turn.advance(session, f.NOW).events)

    assert (session.status, f.the_turn(session).code) == ("failed", "model.unreachable")


def test_final_answer_completes_the_turn() -> None:
    session = f.asked()

    events = turn.reply(session, f.model(session), f.says("Done."), f.NOW)

    assert f.kinds(events) == ["model.replied", "turn.completed"]


def test_answer_that_fits_the_output_schema_is_kept() -> None:
    session = f.asked()

    events = turn.reply(
        session, f.model(session), f.says("{}", output=contents.of({"a": 1})), f.NOW
    )

    assert events[-1] == e.TurnCompleted(turn_id=f.TURN, output=contents.of({"a": 1}))


def test_answer_that_does_not_fit_the_output_schema_never_completes() -> None:
    session = f.reply(f.asked(), f.says("no", bad_output="It is not JSON."))

    assert (session.status, f.the_turn(session).code) == ("failed", "output.invalid")


def test_empty_answer_fails_the_turn() -> None:
    session = f.reply(f.asked(), f.says(""))

    assert (session.status, f.the_turn(session).code) == ("failed", "model.empty")


@pytest.mark.parametrize("state", ["idle", "other", "over", "uncertain", "failed"])
def test_reply_nobody_waits_for_changes_nothing(state: str) -> None:
    session, effect = _nobody_waits(state)

    assert turn.reply(session, effect, f.says("Done."), f.NOW) == []
    assert _fails(session, effect) == []


def _nobody_waits(state: str) -> tuple[Session, str]:
    session = f.asked()
    effect = f.model(session)
    match state:
        case "idle":
            return f.idle(), effect
        case "other":
            return session, "eff_other"
        case "over":
            return f.after(session, turn.stop(session, by=f.OWNER, reason="")), effect
        case "uncertain":
            return f.after(session, turn.advance(session, f.NOW).events), effect
        case _:
            return f.after(session, _fails(session, effect)), effect


def _fails(session: Session, effect: str, **more: Any) -> list[e.Event]:
    given = {"code": "model.busy", "message": "Busy.", "permanent": False, "retry_at": f.NOW + 5}
    return turn.model_failed(session, effect, **(given | more))


def test_failed_attempt_is_tried_again_when_its_time_has_come() -> None:
    session = f.asked()
    session = f.after(session, _fails(session, f.model(session)))

    early, due = turn.advance(session, f.NOW), turn.advance(session, f.NOW + 5)

    assert early == Next(until=f.NOW + 5)
    assert _some(due.ask).attempt == 2


def test_failed_attempt_without_a_time_is_tried_again_at_once() -> None:
    session = f.asked()
    session = f.after(session, _fails(session, f.model(session), retry_at=None))

    assert _some(turn.advance(session, f.NOW).ask).attempt == 2


def test_permanent_failure_of_the_model_ends_the_turn() -> None:
    session = f.asked()

    events = _fails(session, f.model(session), permanent=True, code="model.refused")

    assert f.kinds(events) == ["model.failed", "turn.failed"]
    assert f.the_turn(f.after(session, events)).code == "model.refused"


def test_fifth_failed_attempt_ends_the_turn() -> None:
    session = f.queued()
    for _ in range(turn.MODEL_ATTEMPTS - 1):
        session = f.ask(session)
        session = f.after(session, _fails(session, f.model(session), retry_at=None))
    session = f.ask(session)

    events = _fails(session, f.model(session))

    assert f.kinds(events) == ["model.failed", "turn.failed"]


# What a call begins with -------------------------------------------------------------------------


def test_allowed_call_is_sent() -> None:
    following = turn.advance(f.proposed(f.judged()), f.NOW)

    assert following.sends == (SendCall(effect_id=E1, send=1),)


def test_call_is_proposed_with_the_digest_of_what_would_run() -> None:
    judged = f.judged()

    call = f.call(f.proposed(judged))

    assert call.digest == call.decided == digests.of_call(
        effect_id=E1, tool="notify", tool_hash=judged.tool_hash, origin=judged.origin,
        destination=judged.destination, arguments=judged.arguments, agent="helper",
        agent_version=3,
    )  # fmt: skip


@pytest.mark.parametrize("said,kept", [("tell", "tell"), ("ask", "ask")])
def test_call_keeps_what_its_tool_says_of_doubt(said: str, kept: str) -> None:
    assert f.call(f.proposed(f.judged(on_uncertain=said))).on_uncertain == kept


def test_call_with_bad_arguments_fails_before_anything_is_sent_and_the_turn_goes_on() -> None:
    session = f.proposed(f.judged(problem=("arguments.invalid", "`to` is missing.")))

    assert (f.call(session).state, f.call(session).code) == ("failed", "arguments.invalid")
    assert turn.advance(session, f.NOW).ask is not None


def test_denied_call_never_runs_and_the_model_reads_the_rule() -> None:
    rules = (
        e.MatchedRule(number=1, effect="ask", words="ask of everything"),
        e.MatchedRule(number=2, effect="deny", words="deny notify", reason="Not at night."),
    )
    session = f.proposed(f.judged(verdict="deny", rules=rules))

    assert (f.call(session).state, f.call(session).message) == ("denied", "Not at night.")
    assert turn.advance(session, f.NOW).sends == ()


@pytest.mark.parametrize(
    "rules,words",
    [
        ((e.MatchedRule(number=1, effect="deny", words="deny notify"),), "deny notify"),
        ((), "The policy denies it."),
    ],
)
def test_denial_without_a_reason_is_told_in_the_words_of_the_rule(
    rules: tuple[e.MatchedRule, ...], words: str
) -> None:
    assert f.call(f.proposed(f.judged(verdict="deny", rules=rules))).message == words


def test_call_that_a_rule_asks_about_is_held_and_rests() -> None:
    session = f.held(expires_seconds=60, approvers=2, not_own=True)

    wait = f.wait(session)
    assert (f.call(session).state, session.status) == ("held", "held")
    assert (wait.kind, wait.approvers, wait.not_own) == ("approval", 2, True)
    assert turn.advance(session, f.NOW) == Next(until=f.NOW + 60 * f.SECOND)


def test_held_call_without_a_deadline_rests_until_the_turn_is_too_old() -> None:
    session = f.held()

    assert f.wait(session).deadline is None
    assert turn.advance(session, f.NOW) == Next(until=f.NOW + 7 * 24 * f.HOUR)


def test_held_call_does_not_stop_its_siblings_and_they_start_once() -> None:
    session = f.proposed(f.judged("a", "ask"), f.judged("b"))

    following = turn.advance(session, f.NOW)
    session = f.send(session, 2)

    assert [send.effect_id for send in following.sends] == [E2]
    assert turn.advance(session, f.NOW, frozenset({E2})).sends == ()
    assert session.status == "running"


# Side by side ------------------------------------------------------------------------------------


def test_calls_of_one_step_go_out_side_by_side_up_to_a_limit() -> None:
    session = f.proposed(*[f.judged(f"t{n}") for n in range(10)])

    sends = turn.advance(session, f.NOW).sends

    assert [send.effect_id for send in sends] == [f.effect(n) for n in range(1, 9)]


def test_next_call_goes_out_when_one_came_back() -> None:
    session = f.proposed(*[f.judged(f"t{n}") for n in range(9)])
    for index in range(1, 9):
        session = f.send(session, index)
    session = f.came(session, f.ok(), 4)

    out = frozenset(f.effect(n) for n in (1, 2, 3, 5, 6, 7, 8))

    assert [send.effect_id for send in turn.advance(session, f.NOW, out).sends] == [f.effect(9)]


def test_call_that_wants_to_be_alone_waits_for_those_before_and_holds_those_behind() -> None:
    session = f.proposed(f.judged("a"), f.judged("b", alone=True), f.judged("c"))

    first = turn.advance(session, f.NOW).sends
    session = f.came(f.send(session, 1), f.ok(), 1)
    second = turn.advance(session, f.NOW).sends
    session = f.send(session, 2)
    meanwhile = turn.advance(session, f.NOW, frozenset({E2})).sends

    assert [send.effect_id for send in first] == [E1]
    assert [send.effect_id for send in second] == [E2]
    assert meanwhile == ()


def test_results_are_given_to_the_model_in_the_order_of_the_calls() -> None:
    session = f.proposed(f.judged("a"), f.judged("b"))
    session = f.send(f.send(session, 1), 2)
    session = f.came(f.came(session, f.ok("second"), 2), f.ok("first"), 1)

    said = context.talk(session)

    assert [item.text for item in said if item.role == "tool"] == ["first", "second"]


def test_model_is_asked_when_every_call_has_its_result_and_not_before() -> None:
    session = f.proposed(f.judged("a"), f.judged("b"))
    session = f.came(f.send(f.send(session, 1), 2), f.ok(), 1)

    before = turn.advance(session, f.NOW, frozenset({E2}))
    after = turn.advance(f.came(session, f.BROKEN, 2), f.NOW)

    assert before.ask is None
    assert _some(after.ask).step == 2


# Terminal tools ----------------------------------------------------------------------------------


def test_terminal_tool_ends_the_turn_and_its_later_siblings_are_cancelled() -> None:
    session = f.proposed(f.judged("a"), f.judged("finish", terminal=True), f.judged("c"))

    assert f.call(session, 3).state == "cancelled"
    session = f.send(f.send(session, 1), 2)
    session = f.came(f.came(session, f.ok(), 1), f.ok(), 2)
    session = f.after(session, turn.advance(session, f.NOW).events)

    assert session.status == "completed"


def test_terminal_tool_that_failed_does_not_end_the_turn() -> None:
    session = f.came(f.sent(terminal=True), f.BROKEN)

    assert _some(turn.advance(session, f.NOW).ask).step == 2


@pytest.mark.parametrize("more", [{"verdict": "deny"}, {"problem": ("x", "y")}])
def test_terminal_tool_that_cannot_run_leaves_its_siblings_alone(more: dict[str, Any]) -> None:
    session = f.proposed(f.judged("finish", terminal=True, **more), f.judged("b"))

    assert f.call(session, 2).state == "ready"


# Sending -----------------------------------------------------------------------------------------


def test_intent_names_the_key_and_the_digest() -> None:
    session = f.proposed(f.judged())
    decided = f.call(session).decided

    (intent,) = turn.intend_call(session, SendCall(effect_id=E1, send=1), digest_sent=decided)

    assert intent == e.CallStarted(
        turn_id=f.TURN, effect_id=E1, key=ids.effect_key(f.TURN, E1, "notify", 0), send=1,
        digest_sent=decided,
    )  # fmt: skip


def test_call_whose_digest_moved_is_not_sent() -> None:
    session = f.proposed(f.judged())

    (event,) = turn.intend_call(session, SendCall(effect_id=E1, send=1), digest_sent="other")

    assert isinstance(event, e.CallFailed)
    assert (event.code, event.settled) == ("tool.changed", True)


NOT_NOW = {
    "no turn": (f.idle, 1),
    "held": (f.held, 1),
    "denied": (lambda: f.proposed(f.judged(verdict="deny")), 1),
    "another count": (lambda: f.proposed(f.judged()), 2),
    "out and not to be repeated": (f.sent, 2),
    "has its result": (lambda: f.came(f.sent(), f.ok()), 2),
    "stopped": (lambda: _stopped(f.proposed(f.judged())), 1),
}


@pytest.mark.parametrize("make,send", NOT_NOW.values(), ids=NOT_NOW)
def test_call_that_may_not_go_out_now_records_no_intent(make: Any, send: int) -> None:
    session = make()

    assert turn.intend_call(session, SendCall(effect_id=E1, send=send), digest_sent="any") == []


def _stopped(session: Session) -> Session:
    return f.after(session, turn.stop(session, by=f.OWNER, reason=""))


def test_call_that_cannot_be_sent_at_all_fails_and_is_settled() -> None:
    session = f.proposed(f.judged())

    (event,) = turn.refuse_call(session, E1, code="tool.missing", message="It is gone.")

    assert isinstance(event, e.CallFailed)
    assert (event.code, event.settled) == ("tool.missing", True)


def test_call_that_was_sent_before_and_cannot_be_sent_again_is_not_said_to_be_settled() -> None:
    keyed, unkeyed = f.sent(repeatable=True), f.sent()

    (failed,) = turn.refuse_call(keyed, E1, code="tool.missing", message="It is gone.")
    doubt = turn.refuse_call(unkeyed, E1, code="tool.missing", message="It is gone.")

    assert isinstance(failed, e.CallFailed)
    assert (failed.code, failed.settled) == ("tool.interrupted", False)
    assert f.kinds(doubt) == ["call.uncertain", "wait.opened"]


@pytest.mark.parametrize("make", [f.idle, f.held])
def test_call_that_is_not_open_is_not_refused(make: Any) -> None:
    assert turn.refuse_call(make(), E1, code="x", message="y") == []


# Outcomes ----------------------------------------------------------------------------------------


def test_outcome_is_recorded_once() -> None:
    session = f.came(f.sent(), f.ok("yes"))

    again = turn.outcome(session, f.TURN, E1, f.ok("no"))

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

    assert _some(turn.advance(session, f.NOW).ask).step == 2
    assert set(session.unsettled) == {f.wait_id()}


def test_late_outcome_of_a_stopped_turn_is_kept_and_closes_the_doubt() -> None:
    session = _stopped(f.sent())

    events = turn.outcome(session, f.TURN, E1, f.ok("after all"))
    after = f.after(session, events)

    assert f.kinds(events) == ["call.late", "decision.recorded"]
    assert after.unsettled == {}
    assert f.call(after) == f.call(session)


def test_late_failure_says_so() -> None:
    (late,) = turn.outcome(_stopped(f.sent(repeatable=True)), f.TURN, E1, f.BROKEN)

    assert isinstance(late, e.CallLate)
    assert (late.outcome, late.message) == ("failed", "It said 500.")


def test_late_silence_is_no_news() -> None:
    assert turn.outcome(_stopped(f.sent()), f.TURN, E1, f.LOST) == []


def test_outcome_that_comes_while_a_person_is_asked_is_used() -> None:
    session = f.uncertain()

    session = f.after(session, turn.outcome(session, f.TURN, E1, f.ok("it ran")))

    assert f.call(session).state == "succeeded"
    assert session.unsettled == {}
    assert _some(turn.advance(session, f.NOW).ask).step == 2


def test_outcome_that_comes_after_the_model_was_told_of_doubt_is_late() -> None:
    session = f.uncertain(on_uncertain="tell")

    events = turn.outcome(session, f.TURN, E1, f.ok())

    assert f.kinds(events) == ["call.late", "decision.recorded"]
    assert f.call(f.after(session, events)).state == "uncertain"


# Questions and timers ----------------------------------------------------------------------------


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


@pytest.mark.parametrize("make", [f.idle, f.sent])
def test_only_a_call_that_may_run_opens_a_wait(make: Any) -> None:
    assert turn.stand(make(), E1, kind="timer", deadline=None) == []


# Limits ------------------------------------------------------------------------------------------


def test_last_step_is_the_last() -> None:
    session = f.came(f.send(f.proposed(f.judged(), steps=1)), f.ok())

    session = f.after(session, turn.advance(session, f.NOW).events)

    assert (session.status, f.the_turn(session).code) == ("failed", "limit.steps")


def test_soft_limit_is_told_once_and_the_turn_goes_on() -> None:
    session = f.came(f.send(f.proposed(f.judged(), steps=f.soft(1))), f.ok())

    told = turn.advance(session, f.NOW).events
    session = f.after(session, told)

    assert f.kinds(told) == ["limit.reached"]
    assert _some(turn.advance(session, f.NOW).ask).step == 2


def test_batch_that_would_pass_the_limit_of_calls_is_refused_as_a_whole() -> None:
    session = f.proposed(f.judged("a"), f.judged("b"), f.judged("c"), calls=2)

    assert [f.call(session, n).code for n in (1, 2, 3)] == ["limit.calls"] * 3
    assert f.the_turn(session).told == ("calls",)
    assert _some(turn.advance(session, f.NOW).ask).step == 2


def test_refused_batch_takes_nothing_from_the_limit_and_the_limit_is_told_once() -> None:
    session = f.proposed(f.judged("a"), f.judged("b"), f.judged("c"), calls=2)

    more = turn.reply(f.ask(session), f.model(f.ask(session)), f.calls(*_many(3)), f.NOW)
    fits = f.reply(f.ask(session), f.calls(*_many(2)))

    assert f.kinds(more).count("limit.reached") == 0
    assert [f.call(fits, n, step=2).state for n in (1, 2)] == ["ready", "ready"]


def _many(count: int, **more: Any) -> list[turn.Judged]:
    return [f.judged(f"t{n}", **more) for n in range(count)]


def test_call_that_never_goes_out_is_not_counted() -> None:
    bad = f.judged("bad", problem=("arguments.invalid", "no"))
    session = f.proposed(bad, f.judged("denied", "deny"), f.judged("good"), calls=1)

    assert [f.call(session, n).state for n in (1, 2, 3)] == ["failed", "denied", "ready"]


def test_call_with_a_problem_is_told_of_its_problem_when_the_batch_is_refused() -> None:
    bad = f.judged("bad", problem=("arguments.invalid", "no"))
    session = f.proposed(bad, *_many(2), calls=1)

    assert [f.call(session, n).code for n in (1, 2, 3)] == [
        "arguments.invalid", "limit.calls", "limit.calls",
    ]  # fmt: skip


def test_soft_limit_of_calls_lets_them_run() -> None:
    session = f.proposed(*_many(2), calls=f.soft(1))

    assert [f.call(session, n).state for n in (1, 2)] == ["ready", "ready"]
    assert f.the_turn(session).told == ("calls",)


def test_turn_that_is_open_too_long_fails_and_closes_what_is_open() -> None:
    session = f.held()

    session = f.after(session, turn.advance(session, f.NOW + 7 * 24 * f.HOUR).events)

    assert (session.status, f.the_turn(session).code) == ("failed", "limit.total_seconds")
    assert (f.call(session).state, f.wait(session).choice) == ("cancelled", "stopped")


def test_turn_that_works_too_long_fails() -> None:
    session = f.sent()

    following = turn.advance(session, f.NOW + 600 * f.SECOND, frozenset({E1}))

    assert f.kinds(following.events)[0] == "limit.reached"
    assert f.the_turn(f.after(session, following.events)).code == "limit.active_seconds"


def test_soft_limit_of_total_time_does_not_hide_the_limit_of_active_time() -> None:
    session = f.send(f.proposed(f.judged(), total_seconds=f.soft(10), active_seconds=20))
    out = frozenset({E1})

    session = f.after(session, turn.advance(session, f.NOW + 10 * f.SECOND, out).events)
    quiet = turn.advance(session, f.NOW + 19 * f.SECOND, out)
    session = f.after(session, turn.advance(session, f.NOW + 20 * f.SECOND, out).events)

    assert quiet == Next(until=f.NOW + 20 * f.SECOND)
    assert f.the_turn(session).code == "limit.active_seconds"


def test_soft_limits_of_time_that_were_told_no_longer_wake_the_turn() -> None:
    session = f.send(f.proposed(f.judged(), total_seconds=f.soft(5), active_seconds=f.soft(5)))
    out, late = frozenset({E1}), f.NOW + 5 * f.SECOND
    for _ in range(2):
        session = f.after(session, turn.advance(session, late, out).events, late)

    assert f.the_turn(session).told == ("total_seconds", "active_seconds")
    assert turn.advance(session, late, out) == Next(until=late + 86_400_000)


def test_time_in_which_the_worker_was_dead_is_not_active_time() -> None:
    session = f.sent(repeatable=True)
    later = f.NOW + f.HOUR

    following = turn.advance(session, later)
    session = f.came(f.send(session, at=later), f.ok(), at=later + 7)

    assert following.sends == (SendCall(effect_id=E1, send=2),)
    assert f.the_turn(session).active == 7


def test_call_left_behind_that_cannot_go_yet_does_not_make_the_turn_spin() -> None:
    session = f.proposed(f.judged("a", alone=True), f.judged("b", repeatable=True))
    session = f.send(session, 2)  # its worker dies; then the first call goes, and it goes alone
    later = f.NOW + f.HOUR

    following = turn.advance(f.send(session, 1, at=later), later, frozenset({E1}))

    assert following == Next(until=f.NOW + 7 * 24 * f.HOUR)


def test_dead_worker_between_two_steps_costs_no_active_time() -> None:
    session = f.came(f.sent(), f.ok())

    assert _some(turn.advance(session, f.NOW + f.HOUR).ask).step == 2


# Stopping ----------------------------------------------------------------------------------------


def _over() -> Session:
    return f.reply(f.asked(), f.says("Done."))


@pytest.mark.parametrize("make", [f.idle, _over])
def test_only_a_turn_in_hand_can_be_stopped(make: Any) -> None:
    with pytest.raises(Refused) as told:
        turn.stop(make(), by=f.OWNER, reason="")

    assert told.value.code == "turn.not_running"


def test_stopping_a_queued_turn_ends_it() -> None:
    session = _stopped(f.queued())

    assert (session.status, f.the_turn(session).active) == ("cancelled", 0)


def test_stopping_while_the_model_thinks_leaves_its_cost_unknown() -> None:
    session = f.asked()

    events = turn.stop(session, by=f.OWNER, reason="enough")

    assert f.kinds(events) == ["model.failed", "turn.cancelled"]
    assert f.after(session, events).cost_known is False


def test_scripted_model_that_is_stopped_costs_nothing() -> None:
    session = f.queued()
    ask = _some(turn.advance(session, f.NOW).ask)

    intent = turn.intend_model(session, ask, provider="scripted", model="m", request_hash="r")

    assert _stopped(f.after(session, intent)).cost_known is True


def test_stopping_closes_every_open_wait_and_gives_every_call_its_result() -> None:
    session = f.proposed(f.judged("a", "ask"), f.judged("b"), f.judged("c"))
    session = _stopped(f.came(f.send(session, 2), f.ok(), 2))

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

    cancelled = turn.stop(session, by=f.OWNER, reason="enough")[-1]

    assert isinstance(cancelled, e.TurnCancelled)
    assert cancelled.ran == (E1,)
    assert cancelled.unknown == (E2, E3, f.effect(4))


def test_stopping_leaves_an_uncertain_call_to_be_settled() -> None:
    session = _stopped(f.uncertain())

    assert f.call(session).state == "uncertain"
    assert set(session.unsettled) == {f.wait_id()}


def _sent_again() -> Session:
    session = f.uncertain()
    settled = e.CallSettled(
        turn_id=f.TURN, effect_id=E1, choice="send_again", by=f.OTHER, reason=""
    )
    return f.after(session, [settled])


def test_stopping_before_a_call_is_sent_again_does_not_say_that_it_never_ran() -> None:
    session = _sent_again()

    events = turn.stop(session, by=f.OWNER, reason="")

    assert f.kinds(events) == ["call.uncertain", "wait.opened", "turn.cancelled"]
    assert isinstance(events[-1], e.TurnCancelled)
    assert events[-1].unknown == (E1,)


def test_call_that_cannot_be_sent_again_stays_in_doubt() -> None:
    session = _sent_again()
    going = SendCall(effect_id=E1, send=2)

    moved = turn.intend_call(session, going, digest_sent="other")
    missing = turn.refuse_call(session, E1, code="tool.missing", message="It is gone.")

    assert f.kinds(moved) == f.kinds(missing) == ["call.uncertain", "wait.opened"]


def test_stopping_after_a_failed_attempt_records_no_second_failure() -> None:
    session = f.asked()
    session = f.after(session, _fails(session, f.model(session)))

    assert f.kinds(turn.stop(session, by=f.OWNER, reason="")) == ["turn.cancelled"]


# Deny and send -----------------------------------------------------------------------------------


def _deny_and_send(session: Session) -> list[e.Event]:
    return turn.deny_and_accept(
        session, turn_id=f.NEXT_TURN, text="Do this instead", by=f.OTHER, reason="Wrong release."
    )


def test_deny_and_send_denies_every_held_call_and_opens_a_new_turn() -> None:
    session = f.proposed(f.judged("a", "ask"), f.judged("b", "ask"), f.judged("c"))

    after = f.after(session, _deny_and_send(session))

    past = after.past[-1]
    assert [call.state for call in past.calls.values()] == ["denied", "denied", "cancelled"]
    assert {wait.choice for wait in past.waits.values()} == {"deny"}
    assert (past.status, after.status, f.the_turn(after).number) == ("cancelled", "queued", 2)


def test_deny_and_send_leaves_a_call_that_is_out_uncertain() -> None:
    session = f.send(f.proposed(f.judged("a", "ask"), f.judged("b")), 2)

    after = f.after(session, _deny_and_send(session))

    assert after.past[-1].calls[E2].state == "uncertain"
    assert set(after.unsettled) == {f.wait_id(2)}


def test_deny_and_send_stops_a_question() -> None:
    after = f.after(f.question(), _deny_and_send(f.question()))

    assert after.past[-1].calls[E1].state == "cancelled"


@pytest.mark.parametrize("make", [f.idle, _over])
def test_deny_and_send_without_a_turn_in_hand_just_sends(make: Any) -> None:
    assert f.kinds(_deny_and_send(make())) == ["message.accepted"]


# What comes back of another turn -----------------------------------------------------------------


def test_outcome_of_an_earlier_turn_is_late_and_settles_its_doubt() -> None:
    session = f.send(f.proposed(f.judged("a")), 1)
    session = f.after(session, _deny_and_send(session))

    events = turn.outcome(session, f.TURN, E1, Outcome(result=contents.of("x")))
    after = f.after(session, events)

    assert after.unsettled == {}
    assert f.the_turn(after) == f.the_turn(session)


def test_calls_of_an_earlier_turn_are_not_current() -> None:
    session = f.after(f.held(), _deny_and_send(f.held()))

    assert turn.current_call(session, E1) is None
    assert turn.current_call(replace(session, turn=None), E1) is None
