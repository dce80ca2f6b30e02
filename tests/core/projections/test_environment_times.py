"""What happened in an environment between two moments, on both stores."""

import pytest

from studio.core.projections import environment_times
from studio.core.reader import Reader
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from tests.core.projections.counting import CountingDb
from tests.core.projections.story import SECOND, Story

ALICE = Person(id="alice", role="operator")
CHARLIE = Person(id="charlie", role="viewer")
DESK = "env_" + "0" * 26
MINUTE = 60 * SECOND


async def record(story: Story, *events: e.Event) -> int:
    """Facts of the environment, a second after what was before; when that was."""
    story.clock.told += SECOND
    await story.journal.commit_others(
        lambda conn: [(DESK, events)], at=story.clock.now(), actor="operator:ada"
    )
    return story.clock.now()


async def made(story: Story) -> int:
    return await record(
        story,
        e.EnvironmentMade(
            name="desk", kind="sandbox", manifest=None, manifest_version=None,
            definition={"kind": "sandbox", "secrets": [], "network": {"allow": []}},
            digest="0" * 64, labels={}, owner="", by="ada",
        ),
    )  # fmt: skip


async def turn(story: Story, title: str, *, private: bool = False) -> str:
    session_id = story.new_id("ses")
    started = e.SessionStarted(
        agent="helper", agent_version=1, title=title, owner="alice", private=private,
        environment_id=DESK,
    )  # fmt: skip
    await story.record(session_id, started)
    await story.message(session_id)
    return session_id


def tried(host: str = "evil.example", outcome: str = "refused") -> e.EgressTried:
    return e.EgressTried(host=host, port=443, outcome=outcome)  # type: ignore[arg-type]


async def test_turns_milestones_and_tries_stand_in_their_window(
    story: Story, reader: Reader
) -> None:
    begun = await made(story)
    await turn(story, "Work")
    await record(story, tried(), e.EnvironmentReset(by="ada"))
    middle = story.clock.told = story.clock.told + MINUTE
    await record(story, e.EnvironmentStopped(by="ada"), tried("pypi.org", "allowed"))

    whole = await reader.environment_times(ALICE, DESK)
    early = await reader.environment_times(ALICE, "desk", since=begun, until=middle)
    late = await reader.environment_times(ALICE, DESK, since=middle)

    assert [one.type for one in whole.milestones] == [
        "environment.made", "environment.reset", "environment.stopped",
    ]  # fmt: skip
    assert whole.is_moving
    assert [one.title for one in early.turns] == ["Work"]
    assert [one.type for one in early.milestones][-1] == "environment.reset"
    assert [(one.host, one.refused) for one in early.tries] == [("evil.example", 1)]
    assert (early.is_newest, late.is_newest) == (False, True)
    assert [one.title for one in late.turns] == ["Work"]
    assert [(one.host, one.allowed) for one in late.tries] == [("pypi.org", 1)]


async def test_many_tries_are_counted_and_their_sums_agree(
    story: Story, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment_times, "TRIES", 2)
    monkeypatch.setattr(environment_times, "STRETCHES", 4)
    await made(story)
    for number in range(12):
        await record(story, tried(), *[tried("a", "allowed")] * (number % 3))

    found = await reader.environment_times(ALICE, DESK)

    assert sum(one.refused for one in found.tries) == 12
    assert sum(one.allowed for one in found.tries) == 12
    assert len(found.tries) <= 5
    assert all(one.start < one.end for one in found.tries)
    assert [one.start for one in found.tries] == sorted(one.start for one in found.tries)
    assert found.complete


async def test_a_private_turn_is_there_for_its_owner_alone(story: Story, reader: Reader) -> None:
    await made(story)
    session_id = await turn(story, "Hidden", private=True)
    turn_id = story.turns[session_id]
    kept = e.DiskKept(
        version=1, digest="0" * 64, files=1, folders=0, bytes=1, added=1, reason="turn",
        turn=e.TurnRef(session_id=session_id, turn_id=turn_id),
    )  # fmt: skip
    await record(story, kept)

    mine = await reader.environment_times(ALICE, DESK)
    theirs = await reader.environment_times(CHARLIE, DESK)

    assert [one.title for one in mine.turns] == ["Hidden"]
    assert mine.milestones[-1].payload["turn"]["turn_id"] == turn_id
    assert theirs.turns == ()
    assert theirs.milestones[-1].payload["turn"] is None
    assert not theirs.is_moving
    with pytest.raises(NotFound):
        await reader.environment_times(ALICE, "none")


async def test_statements_are_few_and_milestones_come_by_their_index(
    small_story: Story, asked: tuple[Reader, CountingDb]
) -> None:
    reader, counting = asked
    await made(small_story)
    await turn(small_story, "Work")
    await record(small_story, tried())

    await reader.environment_times(ALICE, DESK)
    (query,) = [one for one in counting.statements if "FROM events" in one]
    plan = await small_story.db.read(
        lambda conn: conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}").all()
    )

    assert len(counting.statements) <= 8
    assert "events_milestones" in str(plan)
