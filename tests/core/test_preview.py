"""The preview of a message: it is what is sent, and nothing of it is ever sent by itself."""

from typing import Any

import pytest

from studio.core.rules.access import Person
from studio.core.rules.errors import Denied, Invalid, NotFound, Refused
from studio.core.rules.events import Fact, ModelRequested
from tests.core.conftest import BOB, CHARLIE, Core
from tests.fakes import tool

RECOVERIES = 5


def asked(facts: list[Fact]) -> list[ModelRequested]:
    return [fact.event for fact in facts if isinstance(fact.event, ModelRequested)]


async def warm(core: Core) -> str:
    """A session whose agent's tools a worker has listed, with one turn behind it."""
    core.offer(tool("look", read_only=True))
    async with core.working():
        session_id = await core.start("call look {}")
        await core.over(session_id)
    return session_id


@pytest.mark.parametrize("text", ["say and what now?", "say " + "long " * 20_000, "say ä\u202e😀"])
async def test_what_was_previewed_is_what_is_sent(core: Core, text: str) -> None:
    session_id = await warm(core)

    preview = await core.runtime.preview_message(BOB, session_id, text)
    async with core.working("two"):
        await core.runtime.send_message(BOB, session_id, text)
        await core.over(session_id)

    sent = asked(await core.facts(session_id))[-1]
    assert preview.digest == sent.request_hash
    assert preview.model == sent.model == "scripted"
    assert preview.messages[-1].text == text
    assert [said.role for said in preview.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert "look" in [offered["name"] for offered in preview.tools]


async def test_recovery_never_sends_what_was_only_previewed(core: Core) -> None:
    session_id = await warm(core)
    before = await core.facts(session_id)
    preview = await core.runtime.preview_message(BOB, session_id, "say later")

    for number in range(RECOVERIES):
        async with core.working(f"recovery {number}"):
            await core.over(await core.start("say that it works"))

    assert await core.facts(session_id) == before
    again = await core.runtime.preview_message(BOB, session_id, "say later")
    assert again.digest == preview.digest


@pytest.mark.parametrize(
    "change",
    ["another text", "a tool that changed", "one more turn"],
)
async def test_what_is_not_the_same_request_has_another_digest(core: Core, change: str) -> None:
    session_id = await warm(core)
    preview = await core.runtime.preview_message(BOB, session_id, "say hello")

    text = "say goodbye" if change == "another text" else "say hello"
    async with core.working("two"):
        if change == "a tool that changed":
            core.offer(tool("look", schema={"type": "object", "title": "other"}, read_only=True))
        if change == "one more turn":
            await core.runtime.send_message(BOB, session_id, "say between")
            await core.over(session_id)
        await core.runtime.send_message(BOB, session_id, text)
        await core.over(session_id)

    assert asked(await core.facts(session_id))[-1].request_hash != preview.digest


async def test_without_a_listing_there_is_no_digest(core: Core) -> None:
    session_id = await core.start()

    preview = await core.runtime.preview_message(BOB, session_id, "say hello")

    assert (preview.digest, preview.listed, preview.tools) == (None, None, ())
    assert preview.messages[0].text == "say hello"


async def test_it_is_refused_as_sending_would_be(core: Core) -> None:
    session_id = await core.start(private=True)
    other: Any = Person(id="eve", role="operator")

    with pytest.raises(Denied):
        await core.runtime.preview_message(CHARLIE, session_id, "say hello")
    with pytest.raises(NotFound):
        await core.runtime.preview_message(other, session_id, "say hello")
    with pytest.raises(NotFound):
        await core.runtime.preview_message(BOB, "ses_nothing", "say hello")
    with pytest.raises(Invalid):
        await core.runtime.preview_message(BOB, session_id, "  ")
    await core.runtime.send_message(BOB, session_id, "say hello")
    with pytest.raises(Refused, match="turn"):
        await core.runtime.preview_message(BOB, session_id, "say hello")
