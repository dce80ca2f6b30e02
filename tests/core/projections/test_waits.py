import pytest

from studio.core.projections import waits as projection
from studio.core.projections.pages import Patience
from studio.core.projections.waits import Asked
from studio.core.reader import Pending, Reader
from studio.core.rules.access import Person
from studio.core.rules.errors import Invalid
from tests.core.projections.story import MCP, START, Story

HOUR = 3_600_000


async def test_open_waits_are_listed_oldest_first_with_their_light_calls(
    story: Story, reader: Reader, bob: Person
) -> None:
    first = await story.held("First")
    second = await story.held("Second")

    page = await reader.waits(bob)

    assert [(row.session_id, row.effect_id, row.id) for row in page.items] == [first, second]
    wait = page.items[0]
    assert (wait.kind, wait.state, wait.tool, wait.title) == (
        "approval", "open", "publish_release", "First",
    )  # fmt: skip
    assert (wait.agent, wait.owner, wait.server, wait.plugin) == (
        "helper", "alice", MCP.server, MCP.plugin,
    )  # fmt: skip
    assert (wait.call.peek, wait.call.full) == ('{"release": "2.4"}', False)


async def test_closed_waits_are_listed_newest_first_with_the_decision(
    story: Story, reader: Reader, bob: Person
) -> None:
    first, second = await story.held("First"), await story.held("Second")
    await story.decide(first[0], first[2], "approve", by="bob")
    await story.decide(second[0], second[2], "deny", by="carol", reason="Not on a Friday.")

    page = await reader.waits(bob, state="closed")

    assert [(row.title, row.choice, row.closed_by, row.reason) for row in page.items] == [
        ("Second", "deny", "carol", "Not on a Friday."), ("First", "approve", "bob", ""),
    ]  # fmt: skip
    assert (await reader.waits(bob)).items == ()


async def test_pages_of_open_waits_show_each_once_while_others_open_and_close(
    story: Story, reader: Reader, bob: Person
) -> None:
    held = [await story.held(f"Session {number}") for number in range(5)]

    first = await reader.waits(bob, limit=2)
    await story.decide(held[0][0], held[0][2], "approve")
    await story.held("New")
    second = await reader.waits(bob, limit=2, cursor=first.next)
    third = await reader.waits(bob, limit=2, cursor=second.next)

    seen = [row.title for page in (first, second, third) for row in page.items]
    assert seen == [*(f"Session {number}" for number in range(5)), "New"]
    assert third.next is None


async def test_pages_of_closed_waits_part_those_of_one_moment_by_id(
    story: Story, reader: Reader, bob: Person
) -> None:
    for number in range(3):
        story.clock.told = START  # so that all close at the same time
        held = await story.held(f"Session {number}")
        await story.decide(held[0], held[2], "approve")

    first = await reader.waits(bob, state="closed", limit=2)
    second = await reader.waits(bob, state="closed", limit=2, cursor=first.next)

    seen = [row.title for page in (first, second) for row in page.items]
    assert sorted(seen) == ["Session 0", "Session 1", "Session 2"]


async def test_cursor_of_open_waits_does_not_fit_closed_ones(
    story: Story, reader: Reader, bob: Person
) -> None:
    await story.held()
    await story.held()
    cursor = (await reader.waits(bob, limit=1)).next

    with pytest.raises(Invalid) as refused:
        await reader.waits(bob, state="closed", limit=1, cursor=cursor)

    assert refused.value.code == "cursor_mismatch"


async def test_waits_are_filtered_by_what_they_are_about(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id, _, wait_id = await story.held("Release", agent="scribe")
    await story.held("Other")

    async def found(**asked: object) -> list[str]:
        page = await reader.waits(bob, **asked)  # type: ignore[arg-type]
        return [row.id for row in page.items]

    assert await found(agent="scribe") == [wait_id]
    assert await found(session_id=session_id) == [wait_id]
    assert await found(tool="publish_release", plugin="release-kit", q="scribe") == [wait_id]
    assert await found(tool="other") == []
    assert await found(q=wait_id) == await found(q=session_id) == [wait_id]


async def test_waits_are_found_by_words_of_title_and_arguments(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await story.session("Quarter 50%")
    await story.message(session_id)
    (effect_id,) = await story.reply(
        session_id, "", {"tool": "pay", "arguments": {"to": "Mallory", "note": "50%"}}
    )
    await story.hold(session_id, effect_id)
    await story.held("Quarter 500")

    page = await reader.waits(bob, q="MALLORY 50% quarter")

    assert [row.tool for row in page.items] == ["pay"]


async def test_waits_are_filtered_by_age(story: Story, reader: Reader, bob: Person) -> None:
    await story.held("Old")
    story.clock.told += HOUR
    await story.held("New")

    page = await reader.waits(bob, older_than_ms=HOUR)

    assert [row.title for row in page.items] == ["Old"]


async def test_timers_stand_on_nobody_and_are_listed_when_asked_for(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await story.session()
    await story.message(session_id)
    (effect_id,) = await story.reply(session_id, "", {"tool": "wait_until"})
    await story.hold(session_id, effect_id, kind="timer", deadline=story.clock.told + HOUR)

    assert (await reader.waits(bob)).items == ()
    assert len((await reader.waits(bob, kind="timer")).items) == 1
    assert (await reader.pending(bob)).total == 0
    assert (await reader.home(bob, since=START)).oldest_wait is None


async def test_everything_that_stands_on_people_is_counted_by_kind(
    story: Story, reader: Reader, bob: Person
) -> None:
    await story.held()
    session_id = await story.session()
    await story.message(session_id)
    asks, lost = await story.reply(session_id, "", {"tool": "ask_person"}, {"tool": "send_mail"})
    await story.hold(session_id, asks, kind="question", prompt="Which?")
    await story.lose(session_id, lost)

    assert await reader.pending(bob) == Pending(held=1, questions=1, uncertain=1, total=3)
    assert [row.kind for row in (await reader.waits(bob)).items] == [
        "approval", "question", "uncertain",
    ]  # fmt: skip


async def test_waits_of_private_sessions_are_neither_listed_nor_counted_for_others(
    story: Story, reader: Reader, alice: Person, bob: Person, charlie: Person, admin: Person
) -> None:
    await story.held(private=True)

    for stranger in (bob, charlie):
        assert (await reader.waits(stranger)).items == ()
        assert (await reader.pending(stranger)).total == 0
    for one in (alice, admin):
        assert len((await reader.waits(one)).items) == 1
        assert (await reader.pending(one)).total == 1


async def test_first_of_two_approvals_is_on_the_row(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await story.session()
    await story.message(session_id)
    (effect_id,) = await story.reply(session_id, "", {"tool": "publish_release"})
    wait_id = await story.hold(session_id, effect_id, approvers=2)
    await story.decide(session_id, wait_id, "approve", by="bob", closes=False)

    (wait,) = (await reader.waits(bob)).items

    assert (wait.state, wait.approvers, wait.approved_by) == ("open", 2, ("bob",))


async def test_search_of_closed_waits_that_loses_patience_goes_on_from_there(
    small_story: Story, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projection, "STEP", 10_000)
    for title in ("Needle", "Hay", "Hay"):
        session_id, _, wait_id = await small_story.held(title)
        await small_story.decide(session_id, wait_id, "approve")
    hurried = Patience(clock=lambda: 1.0, begun=0.0)
    seen: list[tuple[list[str], bool]] = []
    cursor = None

    while not seen or cursor is not None:
        page = await small_story.db.read(
            lambda conn, at=cursor: projection.page(
                conn, bob, Asked(state="closed", q="needle"), now=0, limit=10, cursor=at,
                patience=hurried,
            )
        )  # fmt: skip
        seen.append(([row.title for row in page.items], page.complete))
        cursor = page.next

    assert seen == [([], False), (["Needle"], True)]


async def test_state_or_kind_that_is_none_is_refused(small_story: Story, bob: Person) -> None:
    for asked in (Asked(state="ajar"), Asked(kind="guess")):
        with pytest.raises(Invalid):
            await small_story.db.read(
                lambda conn, asked=asked: projection.page(
                    conn, bob, asked, now=0, limit=10, cursor=None,
                    patience=Patience(clock=lambda: 0.0, begun=0.0),
                )
            )  # fmt: skip
