"""Saved views: one's own, shared ones, who changes them, and that they come back."""

import pytest

from studio.core.projections.views import SHARED_MOST
from studio.core.reader import Reader
from studio.core.rules.access import Person
from studio.core.rules.errors import Denied, Invalid, NotFound, Refused
from studio.core.store import raw, rows
from studio.core.tokens import Tokens
from studio.core.verbs.views import ViewVerbs
from tests.core.projections.story import Story

ALICE = Person(id="alice", role="operator")
BOB = Person(id="bob", role="operator")
CHARLIE = Person(id="charlie", role="viewer")
ADA = Person(id="ada", role="admin")


@pytest.fixture
def verbs(story: Story) -> ViewVerbs:
    return ViewVerbs(
        db=story.db, journal=story.journal, tokens=Tokens(b"k" * 32), clock=story.clock
    )


async def names(reader: Reader, person: Person, list: str = "") -> list[str]:
    return [one.name for one in (await reader.views(person, list)).items]


async def save(verbs: ViewVerbs, person: Person, name: str = "Slow", **more: object) -> str:
    given = {"list": "traces", "query": "seconds=60&agent=&cursor=abc&tool=dig"} | more
    return await verbs.save_view(person, name=name, **given)  # type: ignore[arg-type]


async def test_a_view_keeps_the_filters_alone_and_is_seen_by_its_owner(
    verbs: ViewVerbs, reader: Reader
) -> None:
    view_id = await save(verbs, CHARLIE, "  My  slow ones ")

    found = await reader.view(CHARLIE, view_id)
    assert (found.name, found.query) == ("My slow ones", "seconds=60&tool=dig")
    assert found.url == "/traces?seconds=60&tool=dig"
    assert (found.owner, found.by, found.shared) == ("charlie", "charlie", False)
    assert await names(reader, CHARLIE, "sessions") == []
    assert await names(reader, ADA) == []
    with pytest.raises(NotFound):
        await reader.view(ADA, view_id)


async def test_a_shared_view_is_everybodys_to_see_and_its_owners_to_change(
    verbs: ViewVerbs, reader: Reader
) -> None:
    view_id = await save(verbs, ALICE, shared=True)

    assert await names(reader, CHARLIE) == ["Slow"]
    assert not (await reader.view(BOB, view_id)).may_change
    with pytest.raises(Denied):
        await verbs.change_view(BOB, view_id, name="Mine")
    with pytest.raises(Denied):
        await save(verbs, CHARLIE, shared=True)
    await verbs.change_view(ADA, view_id, name="Slow turns", shared=False)
    assert await names(reader, ALICE) == ["Slow turns"]
    assert (await reader.view(ALICE, view_id)).by == "ada"
    assert await names(reader, CHARLIE) == []
    with pytest.raises(NotFound):
        await verbs.remove_view(ADA, view_id)


async def test_a_deleted_view_comes_back_as_it_was(verbs: ViewVerbs, reader: Reader) -> None:
    view_id = await save(verbs, ALICE)

    await verbs.remove_view(ALICE, view_id)
    gone = await names(reader, ALICE)
    with pytest.raises(NotFound):
        await verbs.change_view(ALICE, view_id, name="Other")
    await verbs.restore_view(ALICE, view_id)
    await verbs.restore_view(ALICE, view_id)

    assert gone == []
    assert await names(reader, ALICE) == ["Slow"]


async def test_names_are_ones_own_and_once(verbs: ViewVerbs, reader: Reader) -> None:
    view_id = await save(verbs, ALICE)
    await save(verbs, BOB)
    other = await save(verbs, ALICE, "Other")

    for act in (save(verbs, ALICE, "slow"), verbs.change_view(ALICE, other, name="SLOW")):
        with pytest.raises(Refused, match="already"):
            await act
    await verbs.change_view(ALICE, view_id, name="Slow", query="tool=x")
    assert (await reader.view(ALICE, view_id)).query == "tool=x"


@pytest.mark.parametrize(
    "given, field",
    [
        ({"name": "  "}, "name"),
        ({"name": "x" * 61}, "name"),
        ({"name": "safe\u202egpj"}, "name"),
        ({"list": "agents"}, "list"),
        ({"query": "cursor=abc"}, "query"),
        ({"query": ""}, "query"),
        ({"query": "&".join(f"a={n}" for n in range(80))}, "query"),
        ({"query": "tool=" + "x" * 2_000}, "query"),
    ],
)
async def test_what_makes_no_view_is_told_by_field(
    verbs: ViewVerbs, given: dict[str, str], field: str
) -> None:
    with pytest.raises(Invalid) as caught:
        await save(verbs, ALICE, **given)

    assert list(caught.value.fields) == [field]


async def test_every_change_is_a_fact_with_its_person(
    verbs: ViewVerbs, reader: Reader, story: Story
) -> None:
    view_id = await save(verbs, ALICE)
    before = await reader.views_moved()
    await verbs.remove_view(ALICE, view_id)

    facts = await story.db.read(lambda conn: story.journal.facts(conn, "views"))
    assert [(fact.event.TYPE, fact.actor) for fact in facts] == [
        ("view.saved", "operator:alice"), ("view.removed", "operator:alice"),
    ]  # fmt: skip
    assert await reader.views_moved() > before


async def test_rebuilt_views_are_those_that_were(
    verbs: ViewVerbs, reader: Reader, story: Story
) -> None:
    view_id = await save(verbs, ALICE)
    await verbs.change_view(ALICE, view_id, shared=True)
    await verbs.remove_view(ALICE, await save(verbs, ALICE, "Gone"))
    before = await reader.views(ALICE)

    await story.db.record(rows.rebuild)

    assert await reader.views(ALICE) == before


SHARE = (
    "INSERT INTO views (id, list, name, query, owner, shared, by, made, time) "
    "VALUES (?, 'sessions', ?, 'q=x', ?, 1, 'bob', 1, 1)"
)


async def test_a_thousand_shared_views_push_out_none_of_ones_own(
    verbs: ViewVerbs, reader: Reader, story: Story
) -> None:
    await save(verbs, ALICE, "Mine")  # of traces, which come after sessions
    many = [(f"viw_{n:04}", f"Shared {n:04}", "bob") for n in range(1_000)]
    await story.db.touch(lambda conn: raw.put_many(conn, SHARE, many))

    found = await reader.views(ALICE)
    few = await reader.views(ALICE, "sessions", shared=5)

    assert [one.name for one in found.items[:2]] == ["Mine", "Shared 0000"]
    assert len(found.items) == 1 + SHARED_MOST
    assert found.left_out == 1_000 - SHARED_MOST
    assert [one.name for one in few.items] == [f"Shared {n:04}" for n in range(5)]
    assert (few.left_out, (await reader.views(ALICE, "traces")).left_out) == (995, 0)
    own = await reader.views(BOB)
    assert (len(own.items), own.left_out) == (1_000, 0)
