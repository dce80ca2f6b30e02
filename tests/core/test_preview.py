"""The preview of a message: it is what is sent, and nothing of it is ever sent by itself."""

from typing import Any

import pytest

from studio.core.rules.access import Person
from studio.core.rules.errors import Denied, Invalid, NotFound, Refused
from studio.core.rules.events import Fact, ModelRequested
from tests.core.conftest import ALICE, BOB, CHARLIE, Core
from tests.core.test_session_model import working as own_worker
from tests.fakes import tool
from tests.standins.models import Models, models

RECOVERIES = 5


def asked(facts: list[Fact]) -> list[ModelRequested]:
    return [fact.event for fact in facts if isinstance(fact.event, ModelRequested)]


async def warm(core: Core) -> str:
    """A session whose agent's tools a worker has listed, with one turn behind it."""
    core.offer(tool("look", read_only=True))
    async with core.working():
        session_id = await core.start("call look {}")
        await core.over(session_id)
    core.pass_leases()
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


def small(standin: Models, path: str = "") -> dict[str, Any]:
    """A saved provider whose one model has little room; agents know only its name."""
    return {"name": "house", "kind": "chat", "base_url": standin.url + path, "models": ["normal"],
            "context_window": 600}  # fmt: skip


async def test_with_a_saved_provider_too_what_was_previewed_is_what_is_sent(core: Core) -> None:
    short, long = "and now?", "Some words about nothing. " * 80
    with models() as standin:
        await core.runtime.save_provider(ALICE, small(standin), "fake-key-0123456789abcdef")
        session_id = await core.start(model=("house", ""))
        async with own_worker(core):
            await core.runtime.send_message(BOB, session_id, "hello")
            await core.over(session_id)
            seen = await core.runtime.preview_message(BOB, session_id, short)
            await core.runtime.send_message(BOB, session_id, short)
            await core.over(session_id)
            sent = asked(await core.facts(session_id))[-1]
            before = await core.types(session_id)
            too_long = await core.runtime.preview_message(BOB, session_id, long)
            await core.runtime.send_message(BOB, session_id, long)
            await core.until(session_id, lambda s: s.turns == 3 and s.turn.is_over)  # type: ignore[misc]

    assert (seen.digest, seen.model, seen.summarises) == (sent.request_hash, sent.model, "")
    assert "summary.requested" not in before
    assert "summary.requested" in await core.types(session_id)
    assert (too_long.digest, bool(too_long.summarises)) == (None, True)


async def test_another_address_of_a_saved_provider_is_another_request(core: Core) -> None:
    with models() as standin:
        await core.runtime.save_provider(ALICE, small(standin))
        session_id = await core.start(model=("house", ""))
        async with own_worker(core):
            await core.runtime.send_message(BOB, session_id, "hello")
            await core.over(session_id)
        seen = await core.runtime.preview_message(BOB, session_id, "go on")
        await core.runtime.save_provider(ALICE, small(standin, "/other"))
        moved = await core.runtime.preview_message(BOB, session_id, "go on")

    assert seen.digest is not None
    assert moved.digest is not None
    assert seen.digest != moved.digest
