"""A session's own model: at its start, between turns, and the default of agents that name none."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from studio import app
from studio.core.rules import events as e
from studio.core.rules.errors import Denied, Invalid, Refused
from tests.core.conftest import AGENT, ALICE, BOB, CHARLIE, Core
from tests.standins.models import Models, models

KEY = "fake-key-0123456789abcdef"


@pytest.fixture
def standin() -> Iterator[Models]:
    with models() as found:
        yield found


@asynccontextmanager
async def working(core: Core) -> AsyncIterator[None]:
    """The worker of the application itself."""
    worker = app.worker(core.parts)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(worker.run())
        yield
        running.cancel()
    await worker.close()


async def save(core: Core, standin: Models, name: str = "house", *offered: str) -> None:
    offered = offered or ("normal", "utf8")
    await core.runtime.save_provider(
        ALICE, {"name": name, "kind": "chat", "base_url": standin.url, "models": list(offered)},
        KEY,
    )  # fmt: skip


async def asked(core: Core, session_id: str) -> list[str]:
    facts = [fact.event for fact in await core.facts(session_id)]
    return [f"{x.provider}/{x.model}" for x in facts if isinstance(x, e.ModelRequested)]


async def test_a_session_is_started_with_its_own_model_and_its_key_is_opened(core, standin):
    await save(core, standin)

    async with working(core):
        session_id = await core.start("hi", model=("house", ""))
        session = await core.over(session_id)

    assert session.turn.status == "completed"
    assert await asked(core, session_id) == ["house/normal"]
    assert standin.asked[0]["headers"]["authorization"] == f"Bearer {KEY}"
    assert (await core.parts.reader.session(BOB, session_id)).row.model == "house/normal"


async def test_the_next_turn_gets_the_model_that_is_chosen_between_turns(core, standin):
    await save(core, standin)
    async with working(core):
        session_id = await core.start("say one")
        await core.over(session_id)
        await core.runtime.choose_model(BOB, session_id, ("house", "normal"))
        await core.runtime.send_message(BOB, session_id, "two")
        await core.over(session_id)
        await core.runtime.choose_model(BOB, session_id, None)
        await core.runtime.send_message(BOB, session_id, "say three")
        await core.over(session_id)

    assert await asked(core, session_id) == [
        "scripted/scripted", "house/normal", "scripted/scripted",
    ]  # fmt: skip
    assert (await core.types(session_id)).count("session.model_chosen") == 2


async def test_a_model_is_not_changed_under_a_turn(core, standin):
    await save(core, standin)
    session_id = await core.start("hi")

    with pytest.raises(Refused):
        await core.runtime.choose_model(BOB, session_id, ("house", "normal"))


async def test_what_is_not_offered_cannot_be_chosen(core, standin):
    await save(core, standin)

    with pytest.raises(Invalid, match="does not offer"):
        await core.start("hi", model=("house", "other"))
    with pytest.raises(Denied):
        await core.runtime.choose_model(CHARLIE, "ses_x", None)


async def test_an_agent_without_a_model_gets_the_default_of_its_start(core, standin):
    await save(core, standin)
    bare = {name: item for name, item in AGENT.items() if name != "model"}
    await core.runtime.save_agent(ALICE, bare)
    with pytest.raises(Refused, match="no default"):
        await core.start("hi")
    await core.runtime.choose_default_model(ALICE, "house", "normal")
    first = await core.start("hi")
    await core.runtime.choose_default_model(ALICE, "house", "utf8")
    second = await core.start("hi")

    async with working(core):
        await core.over(first)
        await core.over(second)

    assert await asked(core, first) == ["house/normal"]
    assert await asked(core, second) == ["house/utf8"]


async def test_a_test_of_a_model_tells_its_answer_and_how_long_it_took(core, standin):
    await save(core, standin)

    async with working(core):
        probe_id = await core.runtime.test_model(ALICE, "house", "normal")
        probe = await ended(core, probe_id)

    assert probe.state == "answered"
    assert probe.answer["text"]
    assert probe.answer["total_ms"] >= probe.answer["first_ms"] >= 0


@pytest.mark.parametrize("model,code", [("key", "model.key"), ("nowhere", "model.not_found")])
async def test_a_test_that_fails_says_why_in_the_providers_words_without_the_key(
    core, standin, model, code
):
    await save(core, standin, "house", model)

    async with working(core):
        probe = await ended(core, await core.runtime.test_model(ALICE, "house"))

    assert (probe.state, probe.code) == ("failed", code)
    assert "It says" in probe.message
    assert KEY not in probe.message


async def test_a_provider_that_is_gone_is_named_on_the_turn(core, standin):
    await save(core, standin)
    session_id = await core.start("hi", model=("house", "normal"))
    await core.runtime.remove_provider(ALICE, "house")

    async with working(core):
        session = await core.over(session_id)

    assert session.turn.status == "failed"
    failed = [x.event for x in await core.facts(session_id) if isinstance(x.event, e.TurnFailed)]
    assert "no provider house saved in the studio" in failed[0].message


async def ended(core: Core, probe_id: str):
    """The probe once it is over."""
    async with asyncio.timeout(15), core.parts.feed.subscribe() as growth:
        while True:
            probe = await core.parts.reader.probe(ALICE, probe_id)
            if probe.is_over:
                return probe
            await growth.get()


@pytest.mark.parametrize("change", [{"base_url": "http://127.0.0.1:9/v1"}, {"kind": "openai"}])
async def test_a_key_does_not_follow_a_changed_address(core, standin, change):
    await save(core, standin)
    moved = {"name": "house", "kind": "chat", "base_url": standin.url, "models": ["m"], **change}

    with pytest.raises(Invalid) as refused:
        await core.runtime.save_provider(ALICE, moved)

    assert (refused.value.code, list(refused.value.fields)) == ("provider.key_moved", ["key"])
    (kept,) = (await core.parts.reader.models(ALICE)).providers
    assert (kept.saved.kind, kept.saved.base_url) == ("chat", standin.url)
    await core.runtime.save_provider(ALICE, moved, KEY)
    await core.runtime.save_provider(ALICE, {**moved, "models": ["m", "n"]})
    await core.runtime.save_provider(ALICE, {**moved, "base_url": standin.url + "/other"}, "")
    (saved,) = (await core.parts.reader.models(ALICE)).providers
    assert (saved.saved.base_url, saved.has_key) == (standin.url + "/other", False)
    await core.runtime.save_provider(ALICE, moved)
