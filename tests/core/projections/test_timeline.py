import pytest

from studio.core.projections import timeline as projection
from studio.core.reader import Grown, Line, Reader
from studio.core.rules import contents, ids
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.errors import Invalid, NotFound
from tests.core.projections.story import Story


async def whole_story(story: Story) -> str:
    """A session with a line of almost every kind."""
    session_id = await story.session()
    turn_id = await story.message(session_id, "Publish 2.4.")
    effects = await story.reply(
        session_id, "I publish.", {"tool": "publish_release"}, {"tool": "notify_team"}
    )
    await story.run(session_id, effects[1])
    wait_id = await story.hold(session_id, effects[0])
    await story.decide(session_id, wait_id, "deny", reason="Not on a Friday.")
    reached = e.LimitReached(turn_id=turn_id, limit="active_seconds", value=600, hard=False)
    await story.record(session_id, reached)
    fault = e.TurnFaulted(turn_id=turn_id, fault="flt_1", tries=1, most=5, wait=2_000)
    await story.record(session_id, fault)
    await story.reply(session_id, "Then I do not.")
    await story.end(session_id)
    return session_id


async def test_lines_come_oldest_first_one_for_each_fact_that_opens_one(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await whole_story(story)

    timeline = await reader.timeline(bob, session_id)

    assert [(line.kind, line.text) for line in timeline.lines] == [
        ("person", "Publish 2.4."),
        ("agent", "I publish."),
        ("call", "publish_release"),
        ("call", "notify_team"),
        ("limit", "The turn reached its limit: 600 active seconds. It goes on."),
        (
            "faulted",
            "The studio itself failed, try 1 of 5. The next is 2 s later. "
            "Its log says what happened, at flt_1.",
        ),
        ("agent", "Then I do not."),
        ("completed", ""),
    ]
    assert {line.turn_number for line in timeline.lines} == {1}
    assert not timeline.has_earlier
    assert not timeline.has_later


async def test_line_of_a_call_shows_call_and_newest_wait(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await whole_story(story)

    held, sent = [
        line for line in (await reader.timeline(bob, session_id)).lines if line.kind == "call"
    ]

    assert held.call is not None
    assert held.wait is not None
    assert (held.call.state, held.wait.choice, held.wait.closed_by) == ("denied", "deny", "bob")
    assert sent.call is not None
    assert (sent.call.state, sent.wait) == ("succeeded", None)
    assert sent.call.result == contents.of({"ok": True})


async def test_call_that_stood_on_two_waits_shows_the_later(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id, effect_id, wait_id = await story.held()
    await story.decide(session_id, wait_id, "approve")
    place = {"turn_id": story.turns[session_id], "effect_id": effect_id}
    await story.record(session_id, e.CallUncertain(**place, reason="Lost."))
    second = await story.hold(session_id, effect_id, kind="uncertain", ordinal=2)

    line = (await reader.timeline(bob, session_id)).lines[-1]

    assert line.wait is not None
    assert (line.wait.id, line.wait.kind) == (second, "uncertain")


async def test_line_of_a_reply_tells_its_usage(story: Story, reader: Reader, bob: Person) -> None:
    session_id = await whole_story(story)

    line = (await reader.timeline(bob, session_id)).lines[1]

    assert line.usage == e.Usage(input_tokens=100, output_tokens=20, cost=0.01)
    assert line.content == contents.of_text("I publish.")


@pytest.mark.parametrize(
    "provider,candidate,shown", [("openai", 1, ("m", True)), ("scripted", 0, ("", False))]
)
async def test_line_of_a_reply_tells_which_model_answered_and_its_summary(
    story: Story, reader: Reader, bob: Person, provider: str, candidate: int,
    shown: tuple[str, bool],
) -> None:  # fmt: skip
    session_id = await story.session()
    turn_id = await story.message(session_id)
    effect_id = ids.model_effect(turn_id, 1, 1)
    who = {"turn_id": turn_id, "effect_id": effect_id, "provider": provider, "model": "m"}
    await story.record(
        session_id,
        e.ModelRequested(**who, step=1, attempt=1, request_hash="0", candidate=candidate),
        e.ModelReplied(
            **who, text=contents.of_text("Hi."), calls=0, usage=e.Usage(), candidate=candidate,
            summary=contents.of_text("In short."), stop="length",
        ),
    )  # fmt: skip

    line = (await reader.timeline(bob, session_id)).lines[-1]

    assert (line.model, line.is_fallback) == shown
    assert (line.summary, line.is_cut) == ("In short.", True)


async def test_line_of_a_message_tells_who_wrote_it(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await story.session()
    await story.message(session_id, "x" * 50_000, by="bob")

    (line,) = (await reader.timeline(bob, session_id)).lines

    assert line.by == "bob"
    assert line.content is not None
    assert line.content.stored
    assert "bytes left out" in line.text


async def test_failures_and_stops_are_lines_with_their_reasons(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await story.session()
    turn_id = await story.message(session_id)
    effect_id = ids.model_effect(turn_id, 1, 1)
    await story.record(
        session_id,
        e.ModelRequested(
            turn_id=turn_id, effect_id=effect_id, step=1, attempt=1, provider="chat", model="m",
            request_hash="0",
        ),
        e.ModelFailed(
            turn_id=turn_id, effect_id=effect_id, code="model.busy", message="Busy.",
            permanent=False,
        ),
    )  # fmt: skip
    await story.end(session_id, "model.failed", "The model failed.")
    stopped = await story.message(session_id)
    await story.record(session_id, e.TurnCancelled(turn_id=stopped, by="bob", reason="Enough."))

    lines = (await reader.timeline(bob, session_id)).lines

    assert [(line.kind, line.code, line.text, line.by) for line in lines] == [
        ("person", "", "Please go on.", "alice"),
        ("model_failed", "model.busy", "Busy.", None),
        ("failed", "model.failed", "The model failed.", None),
        ("person", "", "Please go on.", "alice"),
        ("cancelled", "", "Enough.", "bob"),
    ]
    assert [line.turn_number for line in lines] == [1, 1, 1, 2, 2]


def test_every_fact_that_opens_a_line_has_a_kind() -> None:
    opening = {kind.TYPE for kind in e.EVENTS.values() if kind.LINE}

    assert set(projection.KINDS) == opening


# Windows ------------------------------------------------------------------------------------------


async def talk(story: Story, turns: int) -> str:
    """A session of three lines a turn."""
    session_id = await story.session()
    for number in range(turns):
        await story.message(session_id, f"Question {number}")
        await story.reply(session_id, f"Answer {number}")
        await story.end(session_id)
    return session_id


def seqs(lines: tuple[Line, ...]) -> list[int]:
    return [line.seq for line in lines]


async def test_windows_before_and_after_join_without_gap_or_overlap(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await talk(story, 3)
    whole = await reader.timeline(bob, session_id)

    newest = await reader.timeline(bob, session_id, limit=4)
    middle = await reader.timeline(bob, session_id, before=newest.first_seq, limit=4)
    oldest = await reader.timeline(bob, session_id, before=middle.first_seq, limit=4)
    again = await reader.timeline(bob, session_id, after=oldest.last_seq, limit=4)

    assert oldest.lines + middle.lines + newest.lines == whole.lines
    assert again.lines == middle.lines
    assert [w.has_earlier for w in (newest, middle, oldest, again)] == [True, True, False, True]
    assert [w.has_later for w in (newest, middle, oldest, again)] == [False, True, True, True]


async def test_last_window_knows_that_there_is_more_before_it_and_nothing_behind(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await talk(story, 2)
    whole = await reader.timeline(bob, session_id)

    last = await reader.timeline(bob, session_id, after=whole.lines[-2].seq)
    beyond = await reader.timeline(bob, session_id, after=whole.seq)
    from_the_start = await reader.timeline(bob, session_id, after=1)

    assert last.lines == whole.lines[-1:]
    assert [(w.has_earlier, w.has_later) for w in (last, beyond, from_the_start)] == [
        (True, False), (True, False), (False, False),
    ]  # fmt: skip


async def test_window_tells_the_newest_fact_of_the_session_as_its_cursor(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await talk(story, 1)
    await story.session("Another")

    timeline = await reader.timeline(bob, session_id, limit=1)

    assert (timeline.seq, timeline.position) == (6, 6)


async def test_session_without_lines_has_an_empty_window(
    story: Story, reader: Reader, bob: Person
) -> None:
    timeline = await reader.timeline(bob, await story.session())

    assert (timeline.lines, timeline.first_seq, timeline.seq) == ((), None, 1)
    assert not timeline.has_earlier


async def test_window_of_no_size_is_refused(story: Story, reader: Reader, bob: Person) -> None:
    with pytest.raises(Invalid):
        await reader.timeline(bob, await story.session(), limit=0)


# Snapshots ----------------------------------------------------------------------------------------


async def test_line_looks_the_same_however_it_was_fetched(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await whole_story(story)
    whole = (await reader.timeline(bob, session_id)).lines
    newest = (await reader.session_head(bob, session_id)).seq

    grown = [await reader.grown(bob, session_id, after) for after in range(newest)]

    assert grown[0].lines == whole
    assert all(line in whole for one in grown for line in one.lines)
    assert [one.facts[0].seq for one in grown] == list(range(1, newest + 1))


async def test_line_of_a_call_is_found_by_its_effect_when_it_moved(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id, effect_id, wait_id = await story.held()
    before = (await reader.session_head(bob, session_id)).seq
    await story.decide(session_id, wait_id, "approve")
    await story.run(session_id, effect_id)

    (line,) = (await reader.grown(bob, session_id, before)).lines

    assert line.seq < before

    assert line.kind == "call"
    assert line.call is not None
    assert line.call.state == "succeeded"


async def test_facts_that_open_no_line_and_those_of_others_give_none(
    story: Story, reader: Reader, bob: Person
) -> None:
    await story.held("Other")
    session_id = await story.session()
    await story.held("Another")

    started = await reader.grown(bob, session_id, 0)

    assert [fact.event.TYPE for fact in started.facts] == ["session.started"]
    assert started.lines == ()
    assert await reader.grown(bob, session_id, 1) == Grown(facts=(), lines=())


async def test_timeline_of_a_private_session_is_not_found_by_others(
    story: Story, reader: Reader, alice: Person, bob: Person, charlie: Person
) -> None:
    session_id, *_ = await story.held(private=True)

    for stranger in (bob, charlie):
        with pytest.raises(NotFound):
            await reader.timeline(stranger, session_id)
        with pytest.raises(NotFound):
            await reader.grown(stranger, session_id, 0)

    assert (await reader.timeline(alice, session_id)).lines
