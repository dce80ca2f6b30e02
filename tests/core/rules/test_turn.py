"""What happens next in a turn: given these facts, these facts follow."""

from studio.core.rules import context, ids, turn
from studio.core.rules.turn import AskModel, Next, SendCall
from tests.core.rules import facts as f

E1, E2 = f.effect(1), f.effect(2)


def test_nothing_follows_without_a_turn() -> None:
    assert turn.advance(f.idle(), f.NOW) == Next()


def test_nothing_follows_after_the_end() -> None:
    assert turn.advance(f.reply(f.asked(), f.says("Done.")), f.NOW) == Next()


def test_new_turn_asks_the_model() -> None:
    following = turn.advance(f.queued(), f.NOW)

    assert following.ask == AskModel(effect_id=ids.model_effect(f.TURN, 1, 1), step=1, attempt=1)
    assert (following.events, following.sends) == ((), ())


def test_model_that_is_thinking_is_waited_for() -> None:
    session = f.asked()

    following = turn.advance(session, f.NOW, frozenset({f.model(session)}))

    assert following == Next(until=f.NOW + 600 * f.SECOND)


def test_model_call_of_a_dead_worker_becomes_uncertain_and_is_asked_again() -> None:
    session = f.asked()

    lost = turn.advance(session, f.NOW).events
    following = turn.advance(f.after(session, lost), f.NOW)

    assert f.kinds(lost) == ["model.uncertain"]
    assert f.some(following.ask).attempt == 2


def test_model_that_is_lost_five_times_fails_the_turn() -> None:
    session = f.queued()
    for _ in range(turn.MODEL_ATTEMPTS):
        session = f.ask(session)
        session = f.after(session, turn.advance(session, f.NOW).events)

    session = f.after(session, turn.advance(session, f.NOW).events)

    assert (session.status, f.the_turn(session).code) == ("failed", "model.unreachable")


def test_failed_attempt_is_tried_again_when_its_time_has_come() -> None:
    session = f.asked()
    session = f.after(session, f.fails(session, f.model(session)))

    early, due = turn.advance(session, f.NOW), turn.advance(session, f.NOW + 5)

    assert early == Next(until=f.NOW + 5)
    assert f.some(due.ask).attempt == 2


def test_failed_attempt_without_a_time_is_tried_again_at_once() -> None:
    session = f.asked()
    session = f.after(session, f.fails(session, f.model(session), retry_after=0.0))

    assert f.some(turn.advance(session, f.NOW).ask).attempt == 2


def test_allowed_call_is_sent() -> None:
    following = turn.advance(f.proposed(f.judged()), f.NOW)

    assert following.sends == (SendCall(effect_id=E1, send=1),)


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
    assert f.some(after.ask).step == 2


def test_last_step_is_the_last() -> None:
    session = f.came(f.send(f.proposed(f.judged(), steps=1)), f.ok())

    events = turn.advance(session, f.NOW).events
    session = f.after(session, events)

    assert (session.status, f.the_turn(session).code) == ("failed", "limit.steps")
    assert "raise limits.steps of the agent" in getattr(events[-1], "message", "")


def test_soft_limit_is_told_once_and_the_turn_goes_on() -> None:
    session = f.came(f.send(f.proposed(f.judged(), steps=f.soft(1))), f.ok())

    told = turn.advance(session, f.NOW).events
    session = f.after(session, told)

    assert f.kinds(told) == ["limit.reached"]
    assert f.some(turn.advance(session, f.NOW).ask).step == 2


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

    assert f.some(turn.advance(session, f.NOW + f.HOUR).ask).step == 2
