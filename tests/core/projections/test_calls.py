import pytest

from studio.core.reader import Reader
from studio.core.rules import contents
from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from tests.core.projections.story import ASKS, Story


async def test_calls_of_a_session_are_light_and_in_order(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await story.session()
    await story.message(session_id)
    effects = await story.reply(
        session_id, "", {"tool": "a", "arguments": {"n": 1}}, {"tool": "b", "arguments": {"n": 2}}
    )
    await story.run(session_id, effects[0])

    rows = await reader.calls(bob, session_id)

    assert [(row.tool, row.peek, row.size, row.state) for row in rows] == [
        ("a", '{"n": 1}', 7, "succeeded"), ("b", '{"n": 2}', 7, "proposed"),
    ]  # fmt: skip
    assert {(row.full, row.arguments, row.proposed, row.result) for row in rows} == {
        (False, None, None, None)
    }


async def test_earlier_calls_are_asked_for_by_a_seq(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await story.session()
    await story.message(session_id)
    await story.reply(session_id, "", *({"tool": f"tool_{n}"} for n in range(5)))

    newest = await reader.calls(bob, session_id, limit=2)
    earlier = await reader.calls(bob, session_id, limit=2, before=newest[0].seq)

    assert [row.tool for row in newest] == ["tool_3", "tool_4"]
    assert [row.tool for row in earlier] == ["tool_1", "tool_2"]


async def test_call_has_its_contents_ruling_and_times(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id, effect_id, wait_id = await story.held()
    await story.decide(session_id, wait_id, "approve", reason="Fine.")
    await story.run(session_id, effect_id, {"id": 7})

    call = await reader.call(bob, effect_id)

    assert call.full
    assert call.arguments == call.proposed == contents.of({"release": "2.4"})
    assert call.result == contents.of({"id": 7})
    assert call.ruling is not None
    assert call.ruling.rules == (ASKS,)
    assert (call.state, call.verdict, call.choice, call.decided_by) == (
        "succeeded", "ask", "approve", "bob",
    )  # fmt: skip
    assert (call.took, call.sends) == (1_000, 1)
    assert (call.server, call.plugin, call.plugin_version) == ("ledger", "release-kit", "1.2.0")


async def test_edited_call_keeps_what_was_proposed(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id, effect_id, wait_id = await story.held()
    edited = contents.of({"release": "2.5"})
    await story.decide(session_id, wait_id, "approve", arguments=edited, digest_decided="9" * 64)

    call = await reader.call(bob, effect_id)

    assert call.arguments == edited
    assert call.proposed == contents.of({"release": "2.4"})
    assert (call.edited_by, call.decided, call.peek) == ("bob", "9" * 64, '{"release": "2.5"}')


async def test_model_attempt_is_an_effect_without_arguments(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await story.session()
    await story.message(session_id)
    await story.reply(session_id, "Hello.")
    (line,) = [line for line in (await reader.timeline(bob, session_id)).lines
               if line.kind == "agent"]  # fmt: skip

    call = await reader.call(bob, line.effect_id or "")

    assert (call.kind, call.tool, call.server, call.ruling) == ("model", "steady", "scripted", None)
    assert call.arguments is None
    assert call.result == contents.of_text("Hello.")
    assert (call.input_tokens, call.output_tokens, call.cost) == (100, 20, 0.01)
    assert await reader.calls(bob, session_id) == []


async def test_call_of_a_private_session_is_not_found_by_others(
    story: Story, reader: Reader, alice: Person, bob: Person, charlie: Person
) -> None:
    session_id, effect_id, _ = await story.held(private=True)

    for stranger in (bob, charlie):
        with pytest.raises(NotFound):
            await reader.call(stranger, effect_id)
        with pytest.raises(NotFound):
            await reader.calls(stranger, session_id)

    assert (await reader.call(alice, effect_id)).id == effect_id
