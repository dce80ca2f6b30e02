from collections.abc import Sequence

import pytest

from studio.core.projections import sessions as projection
from studio.core.projections.pages import Patience
from studio.core.reader import Reader, SessionRow
from studio.core.rules import ids
from studio.core.rules.access import Person
from studio.core.rules.errors import Invalid
from tests.core.projections.counting import CountingDb
from tests.core.projections.story import Story


def titles(rows: Sequence[SessionRow]) -> list[str]:
    return [row.title for row in rows]


async def test_sessions_are_listed_in_the_order_of_starting_newest_first(
    story: Story, reader: Reader, bob: Person
) -> None:
    first = await story.session("First")
    await story.session("Second")
    await story.message(first)

    page = await reader.sessions(bob)

    assert titles(page.items) == ["Second", "First"]
    assert (page.next, page.complete) == (None, True)


async def test_session_row_tells_what_became_of_it(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id, effect_id, _ = await story.held()

    (row,) = (await reader.sessions(bob)).items

    assert (row.id, row.status, row.turns, row.held) == (session_id, "held", 1, 1)
    assert (row.owner, row.agent, row.private) == ("alice", "helper", False)
    assert (row.input_tokens, row.output_tokens, row.cost) == (100, 20, 0.01)
    assert row.cost_known
    assert row.turn_id == story.turns[session_id]
    assert effect_id.startswith(f"eff_{ids.core(row.turn_id or '')}")


async def test_unknown_cost_makes_the_sum_a_lower_bound(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await story.session()
    await story.message(session_id)
    await story.reply(session_id, cost=None)

    (row,) = (await reader.sessions(bob)).items

    assert (row.cost, row.cost_known) == (0.0, False)


async def test_private_session_is_listed_for_its_owner_and_for_admins_only(
    story: Story, reader: Reader, alice: Person, bob: Person, charlie: Person, admin: Person
) -> None:
    await story.session("Secret", private=True)

    seen = [titles((await reader.sessions(who)).items) for who in (alice, bob, charlie, admin)]

    assert seen == [["Secret"], [], [], ["Secret"]]


async def test_private_session_is_not_found_by_its_words_or_id(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await story.session("Secret", private=True)

    assert (await reader.sessions(bob, q="secret")).items == ()
    assert (await reader.sessions(bob, q=session_id)).items == ()


async def test_filters_narrow_the_list_together(story: Story, reader: Reader, bob: Person) -> None:
    await story.session("Idle")
    await story.session("Other", agent="scribe")
    held, _, _ = await story.held("Held")

    by_status = await reader.sessions(bob, status="held")
    by_agent = await reader.sessions(bob, agent="scribe")
    by_both = await reader.sessions(bob, agent="helper", status="idle")
    by_need = await reader.sessions(bob, needs="held")

    assert [row.id for row in by_status.items] == [held]
    assert titles(by_agent.items) == ["Other"]
    assert titles(by_both.items) == ["Idle"]
    assert titles(by_need.items) == ["Held"]


async def test_sessions_that_need_a_person_for_anything_are_found_by_any(
    story: Story, reader: Reader, bob: Person
) -> None:
    await story.session("Idle")
    await story.held("Held")
    asking = await story.session("Asking")
    await story.message(asking)
    (effect_id,) = await story.reply(asking, "Which?", {"tool": "ask_person"})
    await story.hold(asking, effect_id, kind="question", prompt="Which release?")

    anything = await reader.sessions(bob, needs="any")
    question = await reader.sessions(bob, needs="questions", agent="helper")

    assert titles(anything.items) == ["Asking", "Held"]
    assert titles(question.items) == ["Asking"]


@pytest.mark.parametrize("wrong", [{"status": "sleeping"}, {"needs": "sleep"}, {"limit": 0},
                                   {"limit": 201}])  # fmt: skip
async def test_filter_that_makes_no_sense_is_refused(
    asked: tuple[Reader, CountingDb], bob: Person, wrong: dict[str, object]
) -> None:
    reader, _ = asked

    with pytest.raises(Invalid) as refused:
        await reader.sessions(bob, **wrong)  # type: ignore[arg-type]

    assert set(refused.value.fields) == set(wrong)


# Paging -------------------------------------------------------------------------------------------


async def test_pages_show_every_session_once_while_others_start_and_move(
    story: Story, reader: Reader, bob: Person
) -> None:
    made = [await story.session(f"Session {number}") for number in range(7)]
    seen: list[str] = []
    cursor = None

    while True:
        page = await reader.sessions(bob, limit=3, cursor=cursor)
        seen += [row.id for row in page.items]
        cursor = page.next
        if cursor is None:
            break
        await story.session("New")
        await story.message(made[0])
        await story.end(made[0])

    assert seen == list(reversed(made))


async def test_full_last_page_has_no_cursor(story: Story, reader: Reader, bob: Person) -> None:
    for number in range(4):
        await story.session(f"Session {number}")

    first = await reader.sessions(bob, limit=2)
    last = await reader.sessions(bob, limit=2, cursor=first.next)

    assert len(last.items) == 2
    assert last.next is None


async def test_cursor_of_another_filter_is_refused(
    story: Story, reader: Reader, bob: Person
) -> None:
    for number in range(3):
        await story.session(f"Session {number}")
    cursor = (await reader.sessions(bob, limit=1)).next

    with pytest.raises(Invalid) as refused:
        await reader.sessions(bob, limit=1, status="idle", cursor=cursor)

    assert refused.value.code == "cursor_mismatch"


async def test_cursor_of_another_size_of_page_goes_on(
    story: Story, reader: Reader, bob: Person
) -> None:
    for number in range(3):
        await story.session(f"Session {number}")
    cursor = (await reader.sessions(bob, limit=1)).next

    page = await reader.sessions(bob, limit=50, cursor=cursor)

    assert titles(page.items) == ["Session 1", "Session 0"]


# Words --------------------------------------------------------------------------------------------


async def test_every_word_must_be_found_in_any_case_and_order(
    story: Story, reader: Reader, bob: Person
) -> None:
    await story.session("Publish release 2.4")
    await story.session("Publish the notes")

    both = await reader.sessions(bob, q="  RELEASE publ ")
    one = await reader.sessions(bob, q="publish")
    none = await reader.sessions(bob, q="publish nothing")

    assert titles(both.items) == ["Publish release 2.4"]
    assert len(one.items) == 2
    assert none.items == ()


async def test_agent_owner_tool_and_failure_are_found_by_their_words(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await story.session("Payment", owner="alice@example.test", agent="cashier")
    await story.message(session_id)
    await story.reply(session_id, "", {"tool": "refund_payment"})
    await story.end(session_id, "model.failed", "The card was declined.")
    await story.session("Something else")

    for q in ("cashier", "alice@example", "refund_pay", "declined", "model.failed declined"):
        assert titles((await reader.sessions(bob, q=q)).items) == ["Payment"]


@pytest.mark.parametrize("q", ["50%", "a_b", "c\\d"])
async def test_signs_of_patterns_are_letters_like_others(
    story: Story, reader: Reader, bob: Person, q: str
) -> None:
    await story.session("50% a_b c\\d")
    await story.session("50 per cent, aXb, cXd")

    page = await reader.sessions(bob, q=q)

    assert titles(page.items) == ["50% a_b c\\d"]


async def test_ids_of_session_turn_call_and_wait_lead_to_the_session(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id, effect_id, wait_id = await story.held("This one")
    await story.session("Another")

    for q in (session_id, session_id.upper(), story.turns[session_id], effect_id, wait_id):
        assert titles((await reader.sessions(bob, q=q)).items) == ["This one"]


async def test_beginning_of_an_id_is_enough(story: Story, reader: Reader, bob: Person) -> None:
    first = await story.session("First")
    await story.session("Second")
    shared = first[:10]

    page = await reader.sessions(bob, q=shared, limit=1)
    rest = await reader.sessions(bob, q=shared, limit=1, cursor=page.next)

    assert titles([*page.items, *rest.items]) == ["Second", "First"]


async def test_words_and_filters_narrow_together(story: Story, reader: Reader, bob: Person) -> None:
    await story.session("Release one")
    await story.held("Release two")

    page = await reader.sessions(bob, q="release", status="held", agent="helper", needs="held")

    assert titles(page.items) == ["Release two"]


async def test_search_pages_like_the_list(story: Story, reader: Reader, bob: Person) -> None:
    for number in range(5):
        await story.session(f"Release {number}")
        await story.session("Other")

    first = await reader.sessions(bob, q="release", limit=3)
    second = await reader.sessions(bob, q="release", limit=3, cursor=first.next)

    assert titles([*first.items, *second.items]) == [f"Release {n}" for n in (4, 3, 2, 1, 0)]
    assert second.next is None


async def test_search_that_loses_patience_says_so_and_goes_on_from_there(
    small_story: Story, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projection, "STEP", 2)
    for title in ("Needle", "Hay", "Hay", "Hay"):
        await small_story.session(title)
    hurried = Patience(clock=lambda: 1.0, begun=0.0)
    asked = {"q": "needle", "agent": "", "status": "", "needs": "", "limit": 10}
    pages = []
    cursor = None

    while not pages or cursor is not None:
        page = await small_story.db.read(
            lambda conn, at=cursor: projection.page(conn, bob, **asked, cursor=at, patience=hurried)
        )
        pages.append((titles(page.items), page.complete))
        cursor = page.next

    assert pages == [([], False), (["Needle"], True)]
