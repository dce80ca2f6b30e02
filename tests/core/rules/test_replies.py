"""What comes of asking the model."""

from typing import Any

import pytest

from studio.core.rules import contents, digests, messages, replies, turn
from studio.core.rules import events as e
from studio.core.rules.session import Session
from studio.core.rules.turn import AskModel, Next
from tests.core.rules import facts as f

E1, E2 = f.effect(1), f.effect(2)


def _intend(session: Session) -> list[e.Event]:
    ask = f.some(turn.advance(session, f.NOW).ask)
    return replies.intend_model(session, ask, provider="p", model="m", request_hash="r")


def _nobody_waits(state: str) -> tuple[Session, str]:
    session = f.asked()
    effect = f.model(session)
    match state:
        case "idle":
            return f.idle(), effect
        case "other":
            return session, "eff_other"
        case "over":
            return f.after(session, messages.stop(session, by=f.OWNER, reason="")), effect
        case "uncertain":
            return f.after(session, turn.advance(session, f.NOW).events), effect
        case _:
            return f.after(session, f.fails(session, effect)), effect


def _many(count: int, **more: Any) -> list[replies.Judged]:
    return [f.judged(f"t{n}", **more) for n in range(count)]


def test_first_intent_starts_the_turn_and_later_ones_do_not() -> None:
    first = f.queued()
    lost = f.after(f.asked(), turn.advance(f.asked(), f.NOW).events)

    assert f.kinds(_intend(first)) == ["turn.started", "model.requested"]
    assert f.kinds(_intend(lost)) == ["model.requested"]


@pytest.mark.parametrize("step,attempt", [(2, 1), (1, 2), (1, 1)])
def test_intent_that_no_longer_follows_records_nothing(step: int, attempt: int) -> None:
    session = f.asked() if attempt == 1 and step == 1 else f.queued()
    ask = AskModel(effect_id="eff_x", step=step, attempt=attempt)

    assert replies.intend_model(session, ask, provider="p", model="m", request_hash="r") == []


def test_intent_after_a_stop_records_nothing() -> None:
    session = f.queued()
    ask = f.some(turn.advance(session, f.NOW).ask)
    stopped = f.after(session, messages.stop(session, by=f.OWNER, reason=""))

    assert replies.intend_model(stopped, ask, provider="p", model="m", request_hash="r") == []


def test_final_answer_completes_the_turn() -> None:
    session = f.asked()

    events = replies.reply(session, f.model(session), f.says("Done."), f.NOW)

    assert f.kinds(events) == ["model.replied", "turn.completed"]


def test_answer_that_fits_the_output_schema_is_kept() -> None:
    session = f.asked()

    events = replies.reply(
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

    assert replies.reply(session, effect, f.says("Done."), f.NOW) == []
    assert f.fails(session, effect) == []


def test_permanent_failure_of_the_model_ends_the_turn() -> None:
    session = f.asked()

    events = f.fails(session, f.model(session), permanent=True, code="model.refused")

    assert f.kinds(events) == ["model.failed", "turn.failed"]
    assert f.the_turn(f.after(session, events)).code == "model.refused"


def test_fifth_failed_attempt_ends_the_turn() -> None:
    session = f.queued()
    for _ in range(turn.MODEL_ATTEMPTS - 1):
        session = f.ask(session)
        session = f.after(session, f.fails(session, f.model(session), retry_after=0.0))
    session = f.ask(session)

    events = f.fails(session, f.model(session))

    assert f.kinds(events) == ["model.failed", "turn.failed"]


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


def test_terminal_tool_ends_the_turn_and_its_later_siblings_are_cancelled() -> None:
    session = f.proposed(f.judged("a"), f.judged("finish", terminal=True), f.judged("c"))

    assert f.call(session, 3).state == "cancelled"
    session = f.send(f.send(session, 1), 2)
    session = f.came(f.came(session, f.ok(), 1), f.ok(), 2)
    session = f.after(session, turn.advance(session, f.NOW).events)

    assert session.status == "completed"


def test_terminal_tool_that_failed_does_not_end_the_turn() -> None:
    session = f.came(f.sent(terminal=True), f.BROKEN)

    assert f.some(turn.advance(session, f.NOW).ask).step == 2


@pytest.mark.parametrize("more", [{"verdict": "deny"}, {"problem": ("x", "y")}])
def test_terminal_tool_that_cannot_run_leaves_its_siblings_alone(more: dict[str, Any]) -> None:
    session = f.proposed(f.judged("finish", terminal=True, **more), f.judged("b"))

    assert f.call(session, 2).state == "ready"


def test_batch_that_would_pass_the_limit_of_calls_is_refused_as_a_whole() -> None:
    session = f.proposed(f.judged("a"), f.judged("b"), f.judged("c"), calls=2)

    assert [f.call(session, n).code for n in (1, 2, 3)] == ["limit.calls"] * 3
    assert f.the_turn(session).told == ("calls",)
    assert f.some(turn.advance(session, f.NOW).ask).step == 2


def test_refused_batch_takes_nothing_from_the_limit_and_the_limit_is_told_once() -> None:
    session = f.proposed(f.judged("a"), f.judged("b"), f.judged("c"), calls=2)

    more = replies.reply(f.ask(session), f.model(f.ask(session)), f.calls(*_many(3)), f.NOW)
    fits = f.reply(f.ask(session), f.calls(*_many(2)))

    assert f.kinds(more).count("limit.reached") == 0
    assert [f.call(fits, n, step=2).state for n in (1, 2)] == ["ready", "ready"]


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


@pytest.mark.parametrize("after,pause", [(7.0, 7_000), (90_000.0, 3_600_000), (None, 1_000)])
def test_pause_is_what_the_server_asked_for_an_hour_at_most(after: Any, pause: int) -> None:
    session = f.asked()

    (failed,) = f.fails(session, f.model(session), retry_after=after)

    assert isinstance(failed, e.ModelFailed)
    assert failed.retry_at == f.NOW + pause


# The chain ---------------------------------------------------------------------------------------

A1 = {"provider": "a", "name": "one"}
A2 = {"provider": "a", "name": "two"}
B1 = {"provider": "b", "name": "one"}
CHAIN = (A1, A2, B1)


def failed(session: Session, code: str, *, permanent: bool, after: float = 0.0) -> Session:
    """The session after its attempt failed in this way."""
    events = f.fails(
        session, f.model(session), code=code, permanent=permanent, retry_after=after,
        candidates=CHAIN,
    )  # fmt: skip
    return f.after(session, events)


def candidate(session: Session) -> int:
    return f.some(turn.advance(session, f.NOW).ask).candidate


def test_an_account_failure_goes_to_the_next_account_at_once() -> None:
    session = failed(f.asked(), "model.key", permanent=True)

    assert f.the_turn(session).is_over is False
    assert candidate(session) == 2
    assert f.some(turn.advance(session, f.NOW).ask).attempt == 2


def test_a_model_that_is_not_there_goes_to_the_next_of_the_account() -> None:
    assert candidate(failed(f.asked(), "model.not_found", permanent=True)) == 1


def test_what_may_pass_is_tried_twice_before_the_next_is_asked() -> None:
    session = failed(f.asked(), "model.server", permanent=False)
    assert candidate(session) == 0

    session = failed(f.ask(session), "model.server", permanent=False)

    assert candidate(session) == 1


def test_a_long_wait_is_not_waited_for_when_another_can_be_asked() -> None:
    assert candidate(failed(f.asked(), "model.rate_limited", permanent=False, after=60.0)) == 1


def test_the_last_of_the_chain_is_tried_as_often_as_a_model_alone() -> None:
    session = f.ask(failed(f.asked(), "model.key", permanent=True))
    for _ in range(turn.MODEL_ATTEMPTS - 1):
        session = f.ask(failed(session, "model.server", permanent=False))

    session = failed(session, "model.server", permanent=False)

    assert f.the_turn(session).code == "model.server"


def test_a_refused_answer_is_refused_by_the_whole_chain() -> None:
    session = failed(f.asked(), "model.refused", permanent=True)

    assert f.the_turn(session).code == "model.refused"


def test_the_next_step_begins_with_who_answered() -> None:
    session = f.ask(failed(f.asked(), "model.key", permanent=True))
    answered = replies.reply(session, f.model(session), f.calls(f.judged(), text="On it."), f.NOW)
    session = f.after(session, answered)
    replied = next(event for event in answered if isinstance(event, e.ModelReplied))

    assert replied.candidate == 2
    assert f.the_turn(session).candidate == 2


def test_an_answer_that_had_begun_makes_the_cost_unknown() -> None:
    session = f.asked()

    begun = f.after(session, f.fails(session, f.model(session), begun=True))
    never = f.after(session, f.fails(session, f.model(session), begun=False))

    assert (begun.cost_known, never.cost_known) == (False, True)
