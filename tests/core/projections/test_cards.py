from typing import Any

import pytest

from studio.core.projections import cards as projection
from studio.core.reader import Reader
from studio.core.rules import contents
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from studio.core.store import listings
from tests.core.projections.story import ASKS, START, Story

SCHEMA = {"type": "object", "properties": {"release": {"type": "string"}}}


async def listed(story: Story, *, hash: str = "3" * 64) -> None:
    """A worker listed the tools of the helper."""
    tool = {"name": "publish_release", "kind": "mcp", "schema": SCHEMA, "hash": hash}
    await story.db.touch(lambda conn: listings.save(conn, "helper", 1, [tool], [], START))


async def test_card_shows_the_call_its_rules_and_where_it_goes(
    story: Story, reader: Reader, bob: Person
) -> None:
    await listed(story)
    session_id, effect_id, wait_id = await story.held()

    card = await reader.wait(bob, wait_id)

    assert (card.wait.id, card.call.id, card.session.id) == (wait_id, effect_id, session_id)
    assert card.arguments_value == card.proposed_value == {"release": "2.4"}
    assert (card.rules, card.policy_version, card.agent_version) == ((ASKS.words,), 1, 1)
    assert (card.schema, card.destination) == (SCHEMA, "ledger")
    assert card.wait.digest == card.call.digest == card.call.decided
    assert card.decided is None


async def test_card_of_a_tool_that_changed_since_has_no_schema(
    story: Story, reader: Reader, bob: Person
) -> None:
    await listed(story, hash="4" * 64)
    _, _, wait_id = await story.held()

    assert (await reader.wait(bob, wait_id)).schema is None


async def test_operator_may_decide(story: Story, reader: Reader, bob: Person) -> None:
    _, _, wait_id = await story.held()

    card = await reader.wait(bob, wait_id)

    assert (card.may_decide, card.why_not, card.choices) == (True, None, ("approve", "deny"))


async def test_viewer_reads_the_card_and_may_not_decide(
    story: Story, reader: Reader, charlie: Person
) -> None:
    _, _, wait_id = await story.held()

    card = await reader.wait(charlie, wait_id)

    assert (card.may_decide, card.choices) == (False, ())
    assert card.why_not == "Your role is viewer; deciding needs the role operator."


async def test_own_call_can_only_be_denied_where_the_policy_forbids_more(
    story: Story, reader: Reader, alice: Person, bob: Person
) -> None:
    session_id = await story.session(owner="carol")
    await story.message(session_id, by="alice")
    (effect_id,) = await story.reply(session_id, "", {"tool": "publish_release"})
    wait_id = await story.hold(session_id, effect_id, not_own=True)

    own = await reader.wait(alice, wait_id)
    other = await reader.wait(bob, wait_id)

    assert (own.may_decide, own.choices) == (False, ("deny",))
    assert "your own session" in (own.why_not or "")
    assert other.may_decide


async def test_second_approval_is_for_somebody_else(
    story: Story, reader: Reader, alice: Person, bob: Person
) -> None:
    session_id = await story.session()
    await story.message(session_id)
    (effect_id,) = await story.reply(session_id, "", {"tool": "publish_release"})
    wait_id = await story.hold(session_id, effect_id, approvers=2)
    await story.decide(session_id, wait_id, "approve", by="bob", closes=False)

    first, second = await reader.wait(bob, wait_id), await reader.wait(alice, wait_id)

    assert (first.approvals, first.needed, first.choices) == (1, 2, ("deny",))
    assert first.why_not == "You approved this already. It waits for 1 more of other people."
    assert second.choices == ("approve", "deny")


async def test_expired_card_offers_nothing(story: Story, reader: Reader, bob: Person) -> None:
    session_id = await story.session()
    await story.message(session_id)
    (effect_id,) = await story.reply(session_id, "", {"tool": "publish_release"})
    wait_id = await story.hold(session_id, effect_id, deadline=story.clock.told + 5_000)
    before = await reader.wait(bob, wait_id)
    story.clock.told = before.wait.deadline or 0

    card = await reader.wait(bob, wait_id)

    assert before.may_decide
    assert (card.choices, card.why_not) == ((), "This expired and did not run.")


async def test_decided_card_says_by_whom_and_what(
    story: Story, reader: Reader, alice: Person
) -> None:
    session_id, _, wait_id = await story.held()
    await story.decide(session_id, wait_id, "deny", by="bob", reason="Use staging.")

    card = await reader.wait(alice, wait_id)

    assert card.decided is not None
    assert (card.decided.by, card.decided.choice, card.decided.reason) == (
        "bob", "deny", "Use staging.",
    )  # fmt: skip
    assert card.decided.at == story.clock.told
    assert (card.choices, card.why_not) == ((), "Already denied by bob.")


async def test_edited_card_shows_both_what_was_proposed_and_what_ran(
    story: Story, reader: Reader, alice: Person
) -> None:
    session_id, _, wait_id = await story.held()
    edited = contents.of({"release": "2.5"})
    await story.decide(session_id, wait_id, "approve", arguments=edited, digest_decided="9" * 64)

    card = await reader.wait(alice, wait_id)

    assert card.proposed_value == {"release": "2.4"}
    assert card.arguments_value == {"release": "2.5"}
    assert card.call.edited_by == "bob"


async def test_question_shows_its_own_schema_and_then_the_answer(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await story.session()
    await story.message(session_id)
    (effect_id,) = await story.reply(session_id, "", {"tool": "ask_person"})
    wait_id = await story.hold(
        session_id, effect_id, kind="question", prompt="Which release?", schema={"type": "string"}
    )
    asked = await reader.wait(bob, wait_id)
    await story.decide(session_id, wait_id, "answer", answer=contents.of("2.4"))

    answered = await reader.wait(bob, wait_id)

    assert (asked.schema, asked.choices) == ({"type": "string"}, ("answer", "deny"))
    assert asked.wait.prompt == "Which release?"
    assert answered.decided is not None
    assert answered.decided.answer == "2.4"


@pytest.mark.parametrize(
    "on_uncertain, choices",
    [("ask", ("ran", "did_not_run", "send_again")), ("tell", ("ran", "did_not_run"))],
)
async def test_uncertain_call_is_settled_by_what_can_still_be_done(
    story: Story, reader: Reader, bob: Person, on_uncertain: str, choices: tuple[str, ...]
) -> None:
    session_id = await story.session()
    await story.message(session_id)
    (effect_id,) = await story.reply(
        session_id, "", {"tool": "send_mail", "on_uncertain": on_uncertain}
    )
    wait_id = await story.lose(session_id, effect_id)

    card = await reader.wait(bob, wait_id)

    assert (card.wait.kind, card.choices, card.may_decide) == ("uncertain", choices, True)


async def test_uncertain_call_of_a_turn_that_is_over_is_not_sent_again(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await story.session()
    await story.message(session_id)
    (effect_id,) = await story.reply(session_id, "", {"tool": "send_mail"})
    wait_id = await story.lose(session_id, effect_id)
    cancelled = e.TurnCancelled(turn_id=story.turns[session_id], by="alice", unknown=(effect_id,))
    await story.record(session_id, cancelled)

    card = await reader.wait(bob, wait_id)

    assert card.choices == ("ran", "did_not_run")


async def held_with(story: Story, arguments: Any) -> str:
    session_id = await story.session()
    await story.message(session_id)
    call = {"tool": "publish_release", "arguments": arguments}
    (effect_id,) = await story.reply(session_id, "", call)
    return await story.hold(session_id, effect_id)


async def test_large_arguments_are_shown_whole(story: Story, reader: Reader, bob: Person) -> None:
    arguments = {"text": "ab\u00fc\n" * 20_000}

    card = await reader.wait(bob, await held_with(story, arguments))

    assert card.call.arguments is not None
    assert card.call.arguments.stored
    assert card.arguments_value == card.proposed_value == arguments
    assert card.readable


async def test_arguments_too_large_to_read_can_only_be_denied(
    story: Story, reader: Reader, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projection, "READABLE_BYTES", 50_000)

    card = await reader.wait(bob, await held_with(story, {"text": "a" * 50_000}))

    assert (card.readable, card.arguments_value) == (False, None)
    assert (card.may_decide, card.choices) == (False, ("deny",))
    assert "too large" in (card.why_not or "")


async def test_cards_of_a_session_are_its_open_waits_in_order(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await story.session()
    await story.message(session_id)
    effects = await story.reply(session_id, "", *({"tool": f"tool_{n}"} for n in range(4)))
    waits = [await story.hold(session_id, effect_id) for effect_id in effects[:3]]
    await story.hold(session_id, effects[3], kind="timer")
    await story.decide(session_id, waits[0], "deny")
    await story.held("Another")

    cards = await reader.cards(bob, session_id)

    assert [card.call.tool for card in cards] == ["tool_1", "tool_2"]


async def test_session_without_open_waits_has_no_cards(
    story: Story, reader: Reader, bob: Person
) -> None:
    assert await reader.cards(bob, await story.session()) == []


async def test_card_of_a_private_session_is_not_found_by_others(
    story: Story, reader: Reader, alice: Person, bob: Person, charlie: Person
) -> None:
    session_id, _, wait_id = await story.held(private=True)

    for stranger in (bob, charlie):
        with pytest.raises(NotFound):
            await reader.wait(stranger, wait_id)
        with pytest.raises(NotFound):
            await reader.cards(stranger, session_id)

    assert (await reader.wait(alice, wait_id)).wait.id == wait_id
