"""When the older part of a talk is summarised, up to where, and what the model is shown then."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.core.rules import calls, contents, context, ends, messages, summaries, turn
from studio.core.rules import events as e
from studio.core.rules.context import Asked, Said
from studio.core.rules.session import Place, Session
from studio.core.rules.summaries import Plan, Sizes, Written
from tests.core.rules import facts as f

WORDS = "x" * 400  # 100 tokens, and 8 for the message
WINDOW = 1_000


def sizes(session: Session, overhead: int = 50) -> Sizes:
    """The sizes of what a session says now."""
    turns = [*session.past, *([session.turn] if session.turn else [])]
    start = summaries.behind(session).turn
    said = {t.number: context.of_turn(t, contents.words(t.message)) for t in turns}
    kept = {number: summaries.of_said(talk) for number, talk in said.items() if number >= start}
    return Sizes(overhead=overhead, turns=kept)


def talked(turns: int, text: str = WORDS) -> Session:
    """So many turns of a message and an answer are over, and the next is queued."""
    session = f.idle()
    for number in range(1, turns + 1):
        opened = messages.accept(session, turn_id=f"trn_{number:026}", text=text, by=f.OWNER)
        session = f.reply(f.ask(f.after(session, opened)), f.says(text))
    opened = messages.accept(session, turn_id=f"trn_{turns + 1:026}", text=text, by=f.OWNER)
    return f.after(session, opened)


def worked(steps: int, text: str = WORDS) -> Session:
    """One turn did so many steps, each with two calls."""
    session = f.queued(text, calls=1_000)
    for _ in range(steps):
        asked = f.ask(session)
        session = f.reply(asked, f.calls(f.judged("a"), f.judged("b"), text=text))
        for send in turn.advance(session, f.NOW).sends:
            decided = f.the_turn(session).calls[send.effect_id].decided
            session = f.after(session, calls.intend_call(session, send, digest_sent=decided))
            came = calls.outcome(session, f.TURN, send.effect_id, f.ok(text))
            session = f.after(session, came)
    return session


def plan(session: Session, window: int | None = WINDOW, **more: Any) -> Plan | None:
    return summaries.plan(session, sizes(session), window=window, **more)


def summarised(session: Session, planned: Plan, text: str = "In short.", **more: Any) -> Session:
    """The summary was asked for and written."""
    asked = f.after(session, summaries.intend(
        session, planned, provider="chat", model="m", request_hash="r"
    ))  # fmt: skip
    call = f.the_turn(asked).summary
    assert call is not None
    came = Written(text=contents.of_text(text), usage=e.Usage(**more), tokens_after=9)
    return f.after(asked, summaries.written(asked, call.effect_id, came))


# Whether -----------------------------------------------------------------------------------------


def test_short_talk_is_shown_whole() -> None:
    assert plan(talked(2)) is None


def test_talk_that_leaves_no_room_for_a_reply_is_summarised_up_to_the_newest_part() -> None:
    session = talked(4)

    planned = plan(session)

    assert planned == Plan(place=Place(turn=5), tokens=50 + 9 * 108, replaced=8 * 108)


def test_nothing_is_summarised_while_nobody_knows_the_window() -> None:
    assert plan(talked(30), window=None) is None


def test_what_the_provider_counted_counts_more_than_characters() -> None:
    session = f.reply(f.asked(), f.says("Done.", usage=e.Usage(input_tokens=790, output_tokens=5)))
    opened = messages.accept(session, turn_id=f.NEXT_TURN, text="x" * 40, by=f.OWNER)
    session = f.after(session, opened)

    assert summaries.estimate(session, sizes(session)) == 795 + 18


def test_talk_that_the_session_would_forget_is_summarised_before() -> None:
    session = talked(39, "Hi")

    planned = plan(session, window=1_000_000)

    assert planned is not None
    assert planned.place == Place(turn=20)


# Up to where -------------------------------------------------------------------------------------


def test_a_long_turn_is_summarised_between_two_steps_and_its_message_stays() -> None:
    session = worked(6)

    planned = plan(session, window=2_000)

    assert planned is not None
    assert planned.place == Place(turn=1, replies=5)


def test_the_last_step_is_never_summarised_however_large() -> None:
    session = worked(1, "x" * 100_000)

    assert plan(session) is None


def test_what_was_summarised_is_not_summarised_again() -> None:
    session = talked(4)
    planned = plan(session)
    assert planned is not None

    assert plan(summarised(session, planned), forced=True) is None


def test_a_provider_that_says_it_is_too_long_is_believed_without_a_window() -> None:
    planned = plan(talked(4), window=None, forced=True)

    assert planned is not None
    assert planned.place == Place(turn=5)


# What follows ------------------------------------------------------------------------------------


def test_a_summary_takes_the_place_of_what_lies_behind_it() -> None:
    session = talked(4)
    planned = plan(session)
    assert planned is not None

    done = summarised(session, planned, input_tokens=900, output_tokens=9, cost=0.5)

    assert done.summary is not None
    assert (done.summary.place, done.summary.text.value) == (Place(turn=5), "In short.")
    assert (done.input_tokens, done.cost) == (900, 0.5)
    assert summaries.estimate(done, sizes(done)) == 50 + 108


def test_nobody_asks_for_a_summary_twice() -> None:
    session = talked(4)
    planned = plan(session)
    assert planned is not None
    intent = summaries.intend(session, planned, provider="chat", model="m", request_hash="r")
    asked = f.after(session, intent)

    again = summaries.intend(asked, planned, provider="chat", model="m", request_hash="r")
    resting = turn.advance(asked, f.NOW, frozenset(f.the_turn(asked).out()))

    assert again == []
    assert resting == turn.Next(until=f.NOW + 600 * f.SECOND)


def _asked(provider: str = "chat") -> tuple[Session, str]:
    session = talked(4)
    planned = plan(session)
    assert planned is not None
    intent = summaries.intend(session, planned, provider=provider, model="m", request_hash="r")
    asked = f.after(session, intent)
    call = f.the_turn(asked).summary
    assert call is not None
    return asked, call.effect_id


def test_a_summary_that_failed_never_fails_the_turn_and_the_newest_part_is_shown() -> None:
    asked, effect_id = _asked()

    failed = summaries.failed(asked, effect_id, code="model.server", message="It said 500.")
    after = f.after(asked, failed)

    assert summaries.behind(after) == Place(turn=5)
    assert after.summary is None
    assert turn.advance(after, f.NOW).ask is not None
    assert plan(after) is None


def test_the_next_turn_is_shown_all_again_or_a_summary() -> None:
    asked, effect_id = _asked()
    failed = summaries.failed(asked, effect_id, code="model.server", message="It said 500.")
    session = f.reply(f.ask(f.after(asked, failed)), f.says("Done."))
    opened = messages.accept(session, turn_id=f.NEXT_TURN, text="More", by=f.OWNER)

    session = f.after(session, opened)

    assert summaries.behind(session) == Place()
    assert plan(session) is not None


def test_a_summary_whose_worker_died_is_asked_for_once_more() -> None:
    asked, _ = _asked()

    lost = turn.advance(asked, f.NOW).events
    after = f.after(asked, lost)
    again = plan(after)
    assert again is not None
    second = f.after(
        after, summaries.intend(after, again, provider="chat", model="m", request_hash="r")
    )
    given_up = f.after(second, turn.advance(second, f.NOW).events)

    assert f.kinds(lost) == ["summary.failed"]
    assert (after.maybe_billed, after.cost_known) == (1, False)
    assert summaries.behind(given_up) == Place(turn=5)


def test_a_summary_no_shorter_than_what_it_stands_for_is_not_written() -> None:
    asked, effect_id = _asked()
    text = contents.of_text("In long.")
    came = Written(
        text=text, usage=e.Usage(input_tokens=9), tokens_after=9, tokens=300, replaced=300,
        first_token=7,
    )  # fmt: skip

    (failed,) = summaries.written(asked, effect_id, came)
    session = f.after(asked, [failed])

    assert isinstance(failed, e.SummaryFailed)
    assert (failed.code, failed.again, failed.maybe_billed) == ("summary.longer", False, True)
    assert (failed.usage.input_tokens, failed.tokens, failed.first_token) == (9, 300, 7)
    assert (session.summary, summaries.behind(session)) == (None, Place(turn=5))
    shorter = replace(came, tokens=299)
    assert f.kinds(summaries.written(asked, effect_id, shorter)) == ["context.compacted"]


def test_after_one_that_saved_nothing_none_is_asked_for_until_there_is_twice_as_much() -> None:
    session = worked(6)
    planned = plan(session)
    assert planned is not None
    asked = f.after(session, summaries.intend(
        session, planned, provider="chat", model="m", request_hash="r"
    ))  # fmt: skip
    call = f.the_turn(asked).summary
    assert call is not None

    def failed(tokens: int) -> Session:
        came = Written(
            text=contents.of_text("x"), usage=e.Usage(), tokens_after=9, tokens=tokens,
            replaced=min(tokens, planned.replaced),
        )  # fmt: skip
        return f.after(asked, summaries.written(asked, call.effect_id, came))

    small, large = failed(planned.replaced), failed(planned.replaced * 9)
    room = 200  # so that even the newest part is too much
    assert plan(small, room) is None or plan(small, room).replaced >= 2 * planned.replaced  # type: ignore[union-attr]
    assert plan(large, room) is None


def test_a_lost_summary_of_the_scripted_model_costs_nothing() -> None:
    asked, _ = _asked("scripted")

    (failed,) = turn.advance(asked, f.NOW).events

    assert isinstance(failed, e.SummaryFailed)
    assert (failed.maybe_billed, failed.usage.cost) == (False, 0.0)


def test_a_turn_that_is_stopped_gives_its_summary_up() -> None:
    asked, effect_id = _asked()

    stopped = messages.stop(asked, by=f.OWNER, reason="")
    after = f.after(asked, stopped)
    came = Written(text=contents.of_text("Late."), usage=e.Usage(), tokens_after=9)

    assert f.kinds(stopped) == ["summary.failed", "turn.cancelled"]
    assert summaries.written(after, effect_id, came) == []
    assert summaries.failed(after, effect_id, code="model.server", message="") == []


def test_a_talk_that_cannot_be_made_shorter_is_not_tried_again() -> None:
    session = f.asked()
    assert ends.LOST == "summary.lost"
    assert plan(session, forced=True) is None


# What the model is shown -------------------------------------------------------------------------


def test_a_record_says_who_said_what_and_is_never_longer_than_it_may_be() -> None:
    said = [
        Said(role="user", text="Look."),
        Said(role="assistant", calls=(Asked(id="1", name="look", arguments={"at": "it"}),)),
        Said(role="tool", name="look", call_id="1", text="y" * 50_000),
    ]

    short = summaries.record("Before that.", said, 4_000)

    assert short.startswith("### Summary so far\nBefore that.\n\n### Person\nLook.")
    assert '[calls look {"at":"it"}]' in short
    assert "characters left out" in short
    assert len(short) <= 4_100


@pytest.mark.parametrize(
    "place,said",
    [
        ((2, 0), "turn 1"),
        ((35, 0), "turns 1–34"),
        ((1, 1), "the first step of turn 1"),
        ((35, 5), "turns 1–34 and the first 5 steps of turn 35"),
    ],
)
def test_what_is_covered_is_said_in_words(place: tuple[int, int], said: str) -> None:
    assert summaries.covered(*place) == said


def paired(said: Sequence[Said]) -> bool:
    """Every call has its result, next to it and in order, and every result has its call."""
    open_calls: list[str] = []
    for one in said:
        if one.role == "tool":
            if not open_calls or open_calls.pop(0) != one.call_id:
                return False
        elif open_calls:
            return False
        open_calls += [call.id for call in one.calls]
    return not open_calls


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.integers(0, 14))
def test_no_place_parts_a_call_from_its_result(calls: list[int], replies: int) -> None:
    said = [Said(role="user", text="Go.")]
    for step, count in enumerate(calls):
        names = [f"{step}.{n}" for n in range(count)]
        asked = tuple(Asked(id=name, name="t", arguments={}) for name in names)
        said.append(Said(role="assistant", text="So.", calls=asked))
        said += [Said(role="tool", call_id=name, name="t") for name in names]

    rest = summaries.cut(said, replies)

    assert paired(said)
    assert paired(rest)
    assert rest[0] == said[0]
    assert sum(one.role == "assistant" for one in rest) == max(0, len(calls) - replies)


@given(st.integers(1, 8), st.integers(0, 6), st.integers(256, 20_000), st.booleans())
def test_a_plan_moves_on_and_leaves_the_newest_step(
    turns: int, steps: int, window: int, forced: bool
) -> None:
    counts = {n: (20, ((30, 40),) * (steps if n == turns else 2)) for n in range(1, turns + 1)}
    session = talked(turns - 1, "Hi")
    given_turn = f.the_turn(session)
    session = replace(session, turn=replace(given_turn, number=turns))

    planned = summaries.plan(
        session, Sizes(overhead=10, turns=counts), window=window, forced=forced
    )

    if planned is not None:
        assert planned.place > Place()
        assert planned.place <= Place(turn=turns, replies=max(0, steps - 1))
