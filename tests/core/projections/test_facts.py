import pytest

from studio.core.reader import Reader
from studio.core.rules import contents
from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from tests.core.projections.story import Story


async def test_facts_come_in_order_behind_a_seq(story: Story, reader: Reader, bob: Person) -> None:
    session_id, effect_id, _ = await story.held()

    first = await reader.events(bob, session_id, limit=3)
    rest = await reader.events(bob, session_id, after=3)

    assert [(row.seq, row.type) for row in first + rest] == [
        (1, "session.started"), (2, "message.accepted"), (3, "turn.started"),
        (4, "model.requested"), (5, "model.replied"), (6, "call.proposed"), (7, "wait.opened"),
    ]  # fmt: skip
    assert (rest[-1].effect_id, rest[-1].turn_id) == (effect_id, story.turns[session_id])


async def test_fact_tells_who_wrote_it_and_how_it_is_known(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id, _, _ = await story.held()

    rows = {row.type: row for row in await reader.events(bob, session_id)}

    assert rows["message.accepted"].actor == "operator:alice"
    assert rows["message.accepted"].payload["text"]["value"] == "Please go on."
    assert (rows["call.proposed"].actor, rows["call.proposed"].evidence) == (
        "agent:helper", "claimed",
    )  # fmt: skip


async def test_newest_facts_and_those_before_them_come_oldest_first(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id, _, _ = await story.held()

    newest = await reader.events_before(bob, session_id, limit=2)
    earlier = await reader.events_before(bob, session_id, before=newest[0].seq, limit=2)

    assert [row.seq for row in earlier + newest] == [4, 5, 6, 7]


async def test_large_value_is_head_and_hash_in_its_fact_and_whole_by_hash(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await story.session()
    await story.message(session_id, "x" * 50_000)
    text = contents.of_text("x" * 50_000)

    fact = (await reader.events(bob, session_id, after=1, limit=1))[0]
    data = await reader.blob(bob, text.hash, session_id)

    assert fact.payload["text"]["value"] is None
    assert fact.payload["text"]["hash"] == text.hash
    assert data == b"x" * 50_000


async def test_content_of_another_session_is_not_found_by_its_hash(
    story: Story, reader: Reader, alice: Person, bob: Person
) -> None:
    private = await story.session(private=True)
    await story.message(private, "x" * 50_000)
    mine = await story.session(owner="bob")
    hash = contents.of_text("x" * 50_000).hash

    for session_id, wanted in ((mine, hash), (private, hash), (mine, "%"), (mine, "0" * 64)):
        with pytest.raises(NotFound):
            await reader.blob(bob, wanted, session_id)

    assert await reader.blob(alice, hash, private)


async def test_facts_of_a_private_session_are_not_found_by_others(
    story: Story, reader: Reader, alice: Person, bob: Person, charlie: Person
) -> None:
    session_id = await story.session(private=True)

    for stranger in (bob, charlie):
        with pytest.raises(NotFound):
            await reader.events(stranger, session_id)
        with pytest.raises(NotFound):
            await reader.events_before(stranger, session_id)

    assert len(await reader.events(alice, session_id)) == 1
