import pytest

from studio.core.reader import LimitUse, Reader
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from tests.core.projections.story import AGENT, Story


async def test_session_shows_its_turns_newest_first(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await story.session()
    await story.message(session_id, "First question")
    await story.reply(session_id)
    await story.end(session_id)
    await story.message(session_id, "Second question", by="bob")

    view = await reader.session(bob, session_id)

    assert [(turn.number, turn.excerpt, turn.status, turn.by) for turn in view.turns] == [
        (2, "Second question", "running", "bob"),
        (1, "First question", "completed", "alice"),
    ]
    assert view.turn == view.turns[0]
    assert view.row.id == session_id


async def test_seq_and_position_are_those_of_this_read(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await story.session()
    await story.message(session_id)
    await story.session("Another")

    view = await reader.session(bob, session_id)

    assert (view.seq, view.row.seq, view.position) == (3, 3, 4)


async def test_limits_say_what_the_newest_turn_used(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = story.new_id("ses")
    limits = e.Limits(steps=e.Limit(value=9, hard=False))
    started = e.SessionStarted(
        agent="helper", agent_version=1, title="", owner="alice", limits=limits
    )
    await story.record(session_id, started)
    await story.message(session_id)
    await story.reply(session_id, "", {"tool": "a"}, {"tool": "b"})

    view = await reader.session(bob, session_id)

    assert view.limits[:2] == (
        LimitUse(name="steps", used=1, exact=1, value=9, hard=False, unit="steps"),
        LimitUse(name="calls", used=2, exact=2, value=100, hard=True, unit="calls"),
    )
    assert [(limit.name, limit.unit) for limit in view.limits[2:]] == [
        ("active_seconds", "seconds"), ("total_seconds", "seconds"),
    ]  # fmt: skip
    assert (view.limits[3].used, view.limits[3].exact // 1000) == (2, 2)


async def test_time_of_a_turn_ends_with_it_whatever_comes_after(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await story.session()
    await story.message(session_id)
    (effect_id,) = await story.reply(session_id, "", {"tool": "send_mail"})
    wait_id = await story.lose(session_id, effect_id)
    stopped = e.TurnCancelled(turn_id=story.turns[session_id], by="alice", unknown=(effect_id,))
    await story.record(session_id, stopped)
    at_the_end = await reader.session(bob, session_id)
    story.clock.told += 3_600_000
    await story.decide(session_id, wait_id, "ran")

    later = await reader.session(bob, session_id)

    assert later.limits == at_the_end.limits
    assert later.row.last > at_the_end.row.last


async def test_session_without_a_turn_has_used_nothing(
    story: Story, reader: Reader, bob: Person
) -> None:
    view = await reader.session(bob, await story.session())

    assert view.turn is None
    assert {limit.used for limit in view.limits} == {0}


async def test_session_tells_that_its_agent_has_a_newer_version(
    story: Story, reader: Reader, bob: Person
) -> None:
    for version in (1, 2):
        saved = e.AgentSaved(
            name="helper", version=version, manifest=AGENT, digest=f"d{version}", by="ada"
        )
        await story.journal.commit_other("agents", lambda _, saved=saved: [saved], at=1, actor="a")
    session_id = await story.session()

    view = await reader.session(bob, session_id)

    assert (view.agent.version, view.agent.latest) == (1, 2)
    assert view.agent.description == "Helps with releases."


async def test_private_session_is_not_found_by_others(
    story: Story, reader: Reader, alice: Person, bob: Person, charlie: Person, admin: Person
) -> None:
    session_id = await story.session(private=True)

    for stranger in (bob, charlie):
        with pytest.raises(NotFound, match="There is no such session"):
            await reader.session(stranger, session_id)

    assert (await reader.session(alice, session_id)).row.private
    assert (await reader.session(admin, session_id)).row.private


async def test_session_that_never_was_is_not_found(
    story: Story, reader: Reader, admin: Person
) -> None:
    with pytest.raises(NotFound) as missing:
        await reader.session(admin, "ses_none")

    assert missing.value.code == "session.not_found"
