"""Models through the whole runtime: one task in every protocol, chains, state, failures, stops."""

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from studio.core.rules import events as e
from studio.core.rules.errors import NotFound
from studio.core.rules.session import Session
from studio.core.store import raw
from tests import task
from tests.core.conftest import AGENT, ALICE, BOB, Core
from tests.fakes import tool
from tests.standins.certificates import self_signed
from tests.standins.models import PROOF, THOUGHT, Models, models
from tests.standins.raw_http import served

KINDS = ("chat", "google", "anthropic", "openai")


@pytest.fixture(scope="module")
def server() -> Iterator[Models]:
    with models() as standin:
        yield standin


def model(server: Models, kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"provider": kind, "name": name, "base_url": server.base_url(kind), **more}


async def says(core: Core, model: dict[str, Any]) -> str:
    """A session of an agent with this model, with a first message."""
    await core.runtime.save_agent(ALICE, {**AGENT, "model": model})
    return await core.start("Go.")


def asked(server: Models, since: int) -> list[tuple[str, str]]:
    """The models that were asked, and by which path."""
    return [(entry["body"]["model"], entry["path"]) for entry in server.asked[since:]]


async def of(core: Core, session_id: str, kind: type[e.Event]) -> list[Any]:
    return [fact.event for fact in await core.facts(session_id) if isinstance(fact.event, kind)]


async def ended(core: Core, session_id: str, attempts: int) -> Session:
    """The session once its turn is over; pauses between attempts are not waited for."""
    for number in range(1, attempts):
        async with asyncio.timeout(20):
            while len(await of(core, session_id, e.ModelFailed)) < number:
                await asyncio.sleep(0.02)
        core.clock.pass_time(60_000)
    return await core.over(session_id)


# One task ----------------------------------------------------------------------------------------


async def test_the_same_task_leaves_the_same_journal_in_every_protocol(core, server):
    played = [await task.play(core.parts, server, protocol) for protocol in task.PROTOCOLS]

    reference = task.journal(played[0])
    assert len(reference) > 30
    for one in played[1:]:
        assert task.journal(one) == reference
        assert one.calls == played[0].calls
    rows = task.table(played).splitlines()[2:]
    assert [row.split(" | ")[1:3] for row in rows] == [["5", "5"]] * 5
    assert all("completed" in row for row in rows)
    assert len({row.split(" | ", 1)[1] for row in rows[1:]}) == 1


# Chains ------------------------------------------------------------------------------------------


async def test_an_account_that_fails_is_left_with_all_its_models(core, server):
    since = len(server.asked)
    chain = model(
        server, "chat", "key",
        fallbacks=[model(server, "chat", "normal"), model(server, "anthropic", "normal")],
    )  # fmt: skip
    async with core.working():
        session = await core.over(await says(core, chain))

    assert session.status == "completed"
    paths = [("key", "/v1/chat/completions"), ("normal", "/v1/messages")]
    assert asked(server, since) == paths
    requested = await of(core, session.id, e.ModelRequested)
    assert [(r.provider, r.model, r.candidate) for r in requested] == [
        ("chat", "key", 0), ("anthropic", "normal", 2),
    ]  # fmt: skip
    (replied,) = await of(core, session.id, e.ModelReplied)
    assert (replied.provider, replied.model, replied.candidate) == ("anthropic", "normal", 2)


async def test_a_saved_provider_that_is_gone_gives_way_like_any_other(core, server):
    since = len(server.asked)
    chain = {"provider": "gone", "name": "m", "fallbacks": [model(server, "google", "normal")]}
    async with core.working():
        session = await core.over(await says(core, chain))

    assert session.status == "completed"
    assert [name for name, _ in asked(server, since)] == ["normal"]
    (failed,) = await of(core, session.id, e.ModelFailed)
    assert (failed.code, failed.successor) == ("model.configuration", 1)


async def test_every_attempt_has_its_row_with_its_provider_and_model(core, server):
    chain = model(server, "openai", "no-such-model", fallbacks=[model(server, "openai", "normal")])
    async with core.working():
        session = await core.over(await says(core, chain))

    query = (
        "SELECT server, tool, state, code, cached_tokens, cache_write_tokens, reasoning_tokens "
        'FROM effects WHERE session_id = ? ORDER BY "index"'
    )
    rows = await core.parts.db.read(lambda conn: raw.every(conn, query, (session.id,)))
    assert [tuple(row) for row in rows] == [
        ("openai", "no-such-model", "failed", "model.not_found", None, None, None),
        ("openai", "normal", "succeeded", "", 60, 5, 7),
    ]


async def test_what_passes_is_tried_twice_and_then_another_model(core, server):
    since = len(server.asked)
    chain = model(server, "anthropic", "server", fallbacks=[model(server, "chat", "normal")])
    async with core.working():
        session = await ended(core, await says(core, chain), attempts=2)

    assert [name for name, _ in asked(server, since)] == ["server", "server", "normal"]
    assert session.status == "completed"


async def test_an_answer_that_broke_off_is_not_asked_for_again(core, server):
    since = len(server.asked)
    async with core.working():
        session = await core.over(await says(core, model(server, "anthropic", "cut")))

    assert [name for name, _ in asked(server, since)] == ["cut"]
    assert (session.status, session.turn.code) == ("failed", "model.interrupted")
    (failed,) = await of(core, session.id, e.ModelFailed)
    assert failed.maybe_billed


async def test_a_broken_stream_gives_way_to_another_model(core, server):
    since = len(server.asked)
    chain = model(server, "anthropic", "cut", fallbacks=[model(server, "chat", "normal")])
    async with core.working():
        session = await core.over(await says(core, chain))

    assert [name for name, _ in asked(server, since)] == ["cut", "normal"]
    (failed,) = await of(core, session.id, e.ModelFailed)
    assert (failed.code, failed.maybe_billed) == ("model.interrupted", True)
    assert session.status == "completed"
    assert session.cost_known is False


async def test_a_request_that_is_refused_is_sent_once_whatever_looks_at_it_again(core, server):
    since = len(server.asked)
    async with core.working("one"):
        session = await core.over(await says(core, model(server, "chat", "bad-request")))
    for name in ("two", "three", "four"):
        async with core.working(name):
            await asyncio.sleep(0.05)

    assert session.status == "failed"
    assert len(asked(server, since)) == 1


# What a provider wants back ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
async def test_state_goes_back_after_a_restart_and_is_shown_to_nobody(core, server, kind):
    core.offer(tool("read"))
    async with core.working("first"):
        session = await core.held(await says(core, model(server, kind, "ponders")))
    before = len(server.asked)
    assert session.turn is not None
    (wait,) = session.turn.open_waits()
    call = session.turn.calls[wait.effect_id]
    await core.runtime.decide(BOB, wait.id, "approve", digest=call.decided)
    core.pass_leases()
    async with core.working("second"):
        await core.over(session.id)

    (entry,) = server.asked[before:]
    assert PROOF in json.dumps(entry["body"])
    await _is_shown_to_nobody(core, session.id)


async def _is_shown_to_nobody(core: Core, session_id: str) -> None:
    (replied, *_) = await of(core, session_id, e.ModelReplied)
    assert replied.state.size > len(PROOF)
    reader = core.parts.reader
    seen = [
        await reader.events(ALICE, session_id),
        await reader.timeline(ALICE, session_id),
        await core.session(session_id),
        await core.parts.db.read(lambda conn: raw.every(conn, "SELECT payload FROM events", ())),
    ]
    assert PROOF not in repr(seen)
    if replied.summary is None:  # else it is what the provider wrote for people
        assert THOUGHT not in repr(seen)
    with pytest.raises(NotFound):
        await reader.blob(ALICE, replied.state.hash, session_id)


# Bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name,code,words",
    [
        ("key", "model.key", "does not accept the key"),
        ("no-such-model", "model.not_found", "does not know this model"),
        ("context", "model.context", "longer than the model can read"),
        ("filter", "model.refused", "refused this request"),
        ("page", "model.address", "a web page instead of a stream"),
    ],
)
async def test_bad_input_ends_the_turn_with_a_sentence(store, server, kind, name, code, words):
    core: Core = store
    async with core.working():
        session = await core.over(await says(core, model(server, kind, name)))

    (failed,) = await of(core, session.id, e.TurnFailed)
    assert failed.code == code
    assert words in failed.message


@pytest.fixture
def store(core: Core, store_url: str) -> Core:
    if not store_url.startswith("sqlite"):
        pytest.skip("which store keeps the words makes no difference")
    return core


async def test_a_certificate_that_is_not_trusted_ends_the_turn(store, tmp_path):
    core: Core = store
    with served(Models().handle, self_signed(tmp_path)) as port:
        place = {"provider": "openai", "name": "m", "base_url": f"https://localhost:{port}/v1"}
        async with core.working():
            session = await core.over(await says(core, place))

    (failed,) = await of(core, session.id, e.TurnFailed)
    assert failed.code == "model.certificate"
    assert "self-signed" in failed.message


async def test_saving_an_agent_warns_of_providers_that_are_not_saved(core: Core) -> None:
    fallbacks = [{"provider": "gone", "name": "m"}, {"provider": "scripted"}]
    wanted = {**AGENT, "model": {"provider": "nobodys", "name": "m", "fallbacks": fallbacks}}
    ours = {"name": "ours", "kind": "chat", "base_url": "http://127.0.0.1:9/v1", "models": ["m"]}

    plan = await core.runtime.save_agent(ALICE, wanted)
    await core.runtime.save_provider(ALICE, ours)
    again = await core.runtime.save_agent(
        ALICE, {**AGENT, "model": {"provider": "ours", "name": "m"}}, dry_run=True
    )

    assert plan.creates
    assert plan.warnings == tuple(
        f"Its model names the provider {name}, which is not saved under Models. Turns that would "
        "ask it fail until an admin adds it there."
        for name in ("gone", "nobodys")
    )
    assert again.warnings == ()


async def test_a_provider_that_was_never_saved_ends_the_turn(store):
    core: Core = store
    async with core.working():
        session = await core.over(await says(core, {"provider": "nobodys", "name": "m"}))

    (failed,) = await of(core, session.id, e.TurnFailed)
    assert failed.code == "model.configuration"
    assert "no provider “nobodys”" in failed.message


# Stopping ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
async def test_stopping_a_turn_closes_the_connection_within_a_second(store, server, kind):
    core: Core = store
    since = len(server.asked)
    async with core.working():
        session_id = await says(core, model(server, kind, "slow"))
        async with asyncio.timeout(20):
            while not core.parts.feed.draft(session_id):
                await asyncio.sleep(0.01)
        stopped = time.monotonic()
        await core.runtime.cancel_turn(BOB, session_id)
        while not server.asked[since]["ended"]:
            assert time.monotonic() - stopped < 1
            await asyncio.sleep(0.01)

    assert server.asked[since]["ended"] == "cut"
