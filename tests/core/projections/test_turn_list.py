"""Turns over all sessions: their order, filters, pages, who sees them, and what is usual."""

import pytest

from studio.core.projections import turn_list
from studio.core.reader import AskedTurns, Reader
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.errors import Invalid
from tests.core.projections.story import Story

ALICE = Person(id="alice", role="operator")
CHARLIE = Person(id="charlie", role="viewer")


async def told(story: Story, title: str, *tools: str, cost: float = 0.01, **more: bool) -> str:
    """A session with one turn that calls these tools."""
    session_id = await story.session(title, **more)
    await story.message(session_id, f"Message of {title}")
    await story.reply(session_id, "Looking.", *({"tool": tool} for tool in tools), cost=cost)
    return session_id


async def titles(reader: Reader, person: Person = ALICE, **asked: object) -> list[str]:
    found = await reader.turns(person, AskedTurns(**asked))  # type: ignore[arg-type]
    return [line.title for line in found.items]


async def test_the_newest_turn_comes_first_with_its_session(story: Story, reader: Reader) -> None:
    await told(story, "First")
    await told(story, "Second")

    found = await reader.turns(ALICE, AskedTurns())

    assert [line.title for line in found.items] == ["Second", "First"]
    assert found.items[0].turn.excerpt == "Message of Second"
    assert (found.items[0].agent, found.items[0].agent_version) == ("helper", 1)


@pytest.mark.parametrize(
    "asked, left",
    [
        ({"tool": "dig"}, ["Digs"]),
        ({"tool": "IG"}, ["Digs"]),
        ({"tool": "%"}, []),
        ({"tool": "steady"}, []),
        ({"error": "anything"}, []),
        ({"agent": "helper"}, ["Dear", "Digs"]),
        ({"agent": "nobody"}, []),
        ({"status": "failed"}, []),
        ({"status": "running"}, ["Dear", "Digs"]),
        ({"least_cost": 0.5}, ["Dear"]),
        ({"least_ms": 1}, []),
        ({"until": 1}, []),
        ({"since": 1}, ["Dear", "Digs"]),
    ],
)
async def test_filters_narrow_the_list(
    story: Story, reader: Reader, asked: dict[str, object], left: list[str]
) -> None:
    await told(story, "Digs", "dig")
    await told(story, "Dear", "look", cost=0.9)

    assert await titles(reader, **asked) == left


async def test_an_error_is_found_by_its_code_or_its_words_also_in_a_call(
    story: Story, reader: Reader
) -> None:
    failed = await story.session("Failed")
    await story.message(failed)
    await story.end(failed, code="model.away", message="The model is AWAY.")
    called = await story.session("Called")
    await story.message(called)
    (effect_id,) = await story.reply(called, "I try.", {"tool": "dig"})
    wrong = e.CallFailed(
        turn_id=story.turns[called], effect_id=effect_id, code="tool.broken", message="It broke."
    )
    await story.record(called, wrong)
    await told(story, "Fine")

    assert await titles(reader, error="model.") == ["Failed"]
    assert await titles(reader, error="is away") == ["Failed"]
    assert await titles(reader, error="tool.broken") == ["Called"]
    assert await titles(reader, error="it broke") == ["Called"]
    assert await titles(reader, most_ms=1_000_000) == ["Failed"]
    assert await titles(reader, most_ms=0) == []


def test_an_address_becomes_a_filter_and_junk_filters_nothing() -> None:
    given = {"agent": "a", "seconds": "1.5", "under": "-1", "cost": "nan", "days": "1"}
    dated = {"since": "2026-01-02", "until": "2026-01-02", "days": "7"}

    found = turn_list.of_texts(given, 10 * turn_list.DAY)
    day = turn_list.of_texts(dated, 0)

    assert found == AskedTurns(agent="a", least_ms=1_500, since=9 * turn_list.DAY, days=1)
    assert (day.until or 0) - (day.since or 0) == turn_list.DAY
    assert turn_list.day("2026-02-30") is None


async def test_pages_of_the_last_days_follow_each_other_as_time_passes(
    story: Story, reader: Reader
) -> None:
    for number in range(3):
        await told(story, f"T{number}")

    seen, cursor = list[str](), None
    for _ in range(2):
        asked = turn_list.of_texts({"days": "1"}, story.clock.now())
        found = await reader.turns(ALICE, asked, limit=2, cursor=cursor)
        seen, cursor = [*seen, *(line.title for line in found.items)], found.next
        story.clock.told += 5_000

    assert seen == ["T2", "T1", "T0"]


async def test_pages_neither_skip_nor_repeat_while_turns_are_added(
    story: Story, reader: Reader
) -> None:
    for number in range(5):
        await told(story, f"T{number}")

    first = await reader.turns(ALICE, AskedTurns(), limit=2)
    await told(story, "Later")
    second = await reader.turns(ALICE, AskedTurns(), limit=2, cursor=first.next)

    assert [line.title for line in (*first.items, *second.items)] == ["T4", "T3", "T2", "T1"]
    with pytest.raises(Invalid):
        await reader.turns(ALICE, AskedTurns(tool="dig"), cursor=first.next)


async def test_a_look_goes_through_so_many_turns_and_says_that_there_are_more(
    story: Story, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_list, "LOOKED", 2)
    await told(story, "Needle", "dig")
    for title in ("A", "B", "C"):
        await told(story, title, "look")
    asked, seen, cursor = AskedTurns(tool="dig"), [], None

    while not seen or cursor is not None:
        page = await reader.turns(ALICE, asked, cursor=cursor)
        seen.append(([line.title for line in page.items], page.complete))
        cursor = page.next

    assert seen == [([], False), (["Needle"], True)]
    assert await reader.usual(ALICE, asked) == ([], [])


async def test_private_turns_are_nowhere_for_a_stranger(story: Story, reader: Reader) -> None:
    await told(story, "Mine", "dig", private=True)

    assert await titles(reader) == ["Mine"]
    assert await titles(reader, CHARLIE) == []
    assert await reader.usual(CHARLIE, AskedTurns()) == ([], [])


async def test_an_unknown_state_is_told(reader: Reader) -> None:
    with pytest.raises(Invalid, match="status"):
        await reader.turns(ALICE, AskedTurns(status="zebra"))


@pytest.mark.parametrize(
    "values, half, most", [([5], 5, 5), ([1, 2], 1, 2), (range(1, 101), 50, 95)]
)
def test_percentiles_are_of_nearest_rank(values: list[int], half: int, most: int) -> None:
    assert turn_list.at(values, 0.5) == half
    assert turn_list.at(values, 0.95) == most
