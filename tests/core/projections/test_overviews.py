"""A session's turns with their waits: windows, rights, and few statements however long it is."""

import pytest

from studio.core.projections import overviews
from studio.core.reader import Reader
from studio.core.rules import events as e
from studio.core.rules import ids
from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from tests.core.projections.counting import CountingDb
from tests.core.projections.story import SECOND, Story

ALICE = Person(id="alice", role="operator")
CHARLIE = Person(id="charlie", role="viewer")


async def turn(story: Story, session_id: str) -> None:
    await story.message(session_id)
    await story.reply(session_id)
    await story.end(session_id)


async def test_a_held_call_is_a_wait_inside_its_turn(story: Story, reader: Reader) -> None:
    session_id, _effect_id, wait_id = await story.held("Held")
    story.clock.told += 60 * SECOND
    await story.decide(session_id, wait_id, "approve")

    found = await reader.overview(ALICE, session_id)

    ((wait,),) = [one.waits for one in found.turns]
    assert wait.kind == "approval"
    assert wait.closed is not None
    assert wait.closed - wait.opened == 61 * SECOND
    assert found.is_moving


async def test_the_pause_before_another_try_is_a_wait(story: Story, reader: Reader) -> None:
    session_id = await story.session()
    turn_id = await story.message(session_id)
    for attempt in (1, 2):
        place = {"turn_id": turn_id, "effect_id": ids.model_effect(turn_id, 1, attempt)}
        asked = e.ModelRequested(
            **place, step=1, attempt=attempt, provider="scripted", model="steady",
            request_hash="0" * 64,
        )  # fmt: skip
        await story.record(session_id, asked)
        failed = e.ModelFailed(**place, code="model.server", message="503", permanent=False)
        await story.record(session_id, failed)
        story.clock.told += 4 * SECOND

    found = await reader.overview(ALICE, session_id)

    ((first, second),) = [one.waits for one in found.turns]
    assert (first.kind, second.kind) == ("retry", "retry")
    assert first.closed is not None
    assert first.closed - first.opened == 5 * SECOND
    assert second.closed is None


async def test_a_call_that_is_out_beside_a_wait_is_told(story: Story, reader: Reader) -> None:
    session_id = await story.session()
    await story.message(session_id)
    held, sent, lost = await story.reply(session_id, "", {}, {}, {})
    await story.lose(session_id, lost)
    await story.hold(session_id, held)
    await story.run(session_id, sent)

    (found,) = (await reader.overview(ALICE, session_id)).turns

    ((begun, ended),) = found.calls
    assert ended is not None
    assert ended - begun == SECOND


async def test_windows_meet_and_say_what_is_before_them(story: Story, reader: Reader) -> None:
    session_id = await story.session()
    for _ in range(5):
        await turn(story, session_id)

    newest = await reader.overview(ALICE, session_id)
    before = await reader.overview(ALICE, session_id, before=4)

    assert [one.turn.number for one in newest.turns] == [1, 2, 3, 4, 5]
    assert (newest.earlier, newest.is_newest, newest.total) == (None, True, 5)
    assert [one.turn.number for one in before.turns] == [1, 2, 3]
    assert (before.earlier, before.is_newest) == (None, False)
    assert not newest.is_moving


async def test_a_private_session_is_nowhere_for_a_stranger(story: Story, reader: Reader) -> None:
    session_id = await story.session(private=True)

    assert (await reader.overview(ALICE, session_id)).turns == ()
    with pytest.raises(NotFound):
        await reader.overview(CHARLIE, session_id)


async def test_it_asks_as_little_of_long_sessions_as_of_short_ones(
    small_story: Story, asked: tuple[Reader, CountingDb], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, counting = asked
    monkeypatch.setattr(overviews, "WINDOW", 2)
    session_id, _effect_id, wait_id = await small_story.held("Long")
    await small_story.decide(session_id, wait_id, "deny")
    await small_story.end(session_id)
    for _ in range(4):
        await turn(small_story, session_id)

    await reader.overview(ALICE, session_id)

    assert len(counting.statements) <= 6
    assert not any("FROM events" in one for one in counting.statements)
