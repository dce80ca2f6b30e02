"""A look at something outside is sent once at most, by one worker, and ends in words."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from studio.core.projections.probes import ProbeView
from studio.core.rules.errors import Denied, NotFound, Refused
from studio.core.sealing import KeyFile
from studio.core.store import raw, rows
from studio.core.tools.values import Values
from studio.core.work.opening import Opening
from studio.core.work.probing import Look, LookError, Probing
from tests.core.conftest import ALICE, BOB, Core
from tests.fakes import Gate

SECRET = "fake-token-0123456789"


@asynccontextmanager
async def probing(core: Core, look: Look, name: str = "one") -> AsyncIterator[None]:
    """A worker's probing at work; at the end it is gone without a word, as by kill -9."""
    parts = core.parts
    opening = Opening(
        db=parts.db, feed=parts.feed, clock=core.clock, values=Values({"TOKEN": SECRET}),
        seals=KeyFile(parts.settings.secrets_key),
    )  # fmt: skip
    made = Probing(
        db=parts.db, journal=parts.journal, feed=parts.feed, clock=core.clock, opening=opening,
        worker=name, looks={"thing": look},
    )  # fmt: skip
    async with asyncio.TaskGroup() as group:
        running = group.create_task(made.run())
        yield
        running.cancel()


async def ask(core: Core, subject: Any = None) -> str:
    return str(await core.runtime.ask_probe(ALICE, "thing", "a", subject or {"n": 1}))


async def until(core: Core, probe_id: str, *states: str) -> ProbeView:
    """The look once it is in one of these states."""
    async with asyncio.timeout(10), core.parts.feed.subscribe() as growth:
        while True:
            probe = await core.parts.reader.probe(ALICE, probe_id)
            if probe.state in states:
                return probe
            await growth.get()


async def types(core: Core) -> list[str]:
    return [fact.event.TYPE for fact in await core.facts("probes")]


async def test_what_was_found_is_a_fact_and_intent_is_recorded_before(core):
    seen = []

    async def look(subject: Any) -> Any:
        seen.append((subject, await types(core)))
        return {"found": subject["n"]}

    async with probing(core, look):
        probe = await until(core, await ask(core), "answered")

    assert probe.answer == {"found": 1}
    assert (probe.by, probe.target, probe.is_over) == ("alice", "a", True)
    assert seen == [({"n": 1}, ["probe.asked", "probe.started"])]
    assert await core.parts.reader.probes(ALICE, "thing") == {"a": probe}


async def test_it_waits_for_a_worker_and_says_so(core):
    probe_id = await ask(core)

    before = await core.parts.reader.probe(ALICE, probe_id)
    gate = Gate()
    async with probing(core, lambda subject: gate(subject, None)):
        running = await until(core, probe_id, "running")

    assert (before.state, running.state) == ("waiting", "running")


async def failing(subject: Any) -> Any:
    raise LookError("thing.closed", f"It says: “{SECRET} is wrong”.")


async def breaking(subject: Any) -> Any:
    raise ZeroDivisionError(SECRET)


@pytest.mark.parametrize(
    "look,code,words",
    [
        (failing, "thing.closed", "It says: “[masked: TOKEN] is wrong”."),
        (breaking, "probe.broken", "The test broke: ZeroDivisionError."),
    ],
)
async def test_a_failure_is_told_in_words_without_secrets(core, look, code, words):
    async with probing(core, look):
        probe = await until(core, await ask(core), "failed")

    assert (probe.code, probe.message) == (code, words)


async def test_a_secret_in_an_answer_is_masked_and_counted(core):
    async def look(subject: Any) -> Any:
        return {"text": [SECRET[:9], SECRET[9:]], "token": SECRET}

    async with probing(core, look):
        probe = await until(core, await ask(core), "answered")

    assert probe.answer == {
        "text": ["[masked: TOKEN]", "[masked: TOKEN]"], "token": "[masked: TOKEN]",
    }  # fmt: skip
    assert probe.masked == 2


async def test_a_look_whose_worker_died_is_unknown_and_never_sent_again(core):
    gate, calls = Gate(), []

    async def second(subject: Any) -> Any:
        calls.append(subject)

    probe_id = await ask(core)
    async with probing(core, lambda subject: gate(subject, None)):
        await gate.reached.wait()

    async with probing(core, second, "two"):
        probe = await until(core, probe_id, "unknown")

    assert probe.answer is None
    assert calls == []
    assert await types(core) == ["probe.asked", "probe.started", "probe.lost"]


async def test_two_workers_send_it_once(core):
    calls = []
    present = "INSERT INTO workers (id, lock_key, alive_until) VALUES (?, 1, ?)"
    for name in ("one", "two"):
        row = (name, core.clock.now() + 60_000)
        await core.parts.db.touch(lambda conn, row=row: raw.put(conn, present, row))

    async def look(subject: Any) -> Any:
        calls.append(subject)
        return subject

    async with probing(core, look), probing(core, look, "two"):
        ids = [await core.runtime.ask_probe(ALICE, "thing", str(n), {"n": n}) for n in range(10)]
        states = {(await until(core, each, "answered", "unknown")).state for each in ids}

    assert sorted(call["n"] for call in calls) == list(range(10))
    if core.parts.db.kind == "postgresql":  # a SQLite file has one worker, so others are gone
        assert states == {"answered"}
    assert (await types(core)).count("probe.started") == 10


async def test_the_same_question_while_one_is_open_is_that_one(core):
    first, again = await ask(core), await ask(core)

    other = await ask(core, {"n": 2})

    assert first == again
    assert other != first
    assert await types(core) == ["probe.asked"] * 2


async def test_too_many_open_ones_are_refused(core):
    for number in range(20):
        await core.runtime.ask_probe(ALICE, "thing", str(number), {})

    with pytest.raises(Refused, match="no worker"):
        await core.runtime.ask_probe(ALICE, "thing", "more", {})


async def test_one_that_waited_too_long_is_not_sent(core):
    async def look(subject: Any) -> Any:
        raise AssertionError("nobody waits for it")

    probe_id = await ask(core)
    core.clock.pass_time(700_000)

    async with probing(core, look):
        probe = await until(core, probe_id, "failed")

    assert probe.code == "probe.stale"


async def test_only_admins_ask_and_see(core):
    probe_id = await ask(core)

    with pytest.raises(Denied):
        await core.runtime.ask_probe(BOB, "thing", "a", {})
    with pytest.raises(Denied):
        await core.parts.reader.probe(BOB, probe_id)
    with pytest.raises(NotFound):
        await core.parts.reader.probe(ALICE, "prb_none")


async def test_the_rows_are_what_the_journal_says(core):
    async def look(subject: Any) -> Any:
        return await failing(subject) if subject["n"] == 2 else subject

    async with probing(core, look):
        await until(core, await ask(core), "answered")
        await until(core, await ask(core, {"n": 2}), "failed")
    await ask(core, {"n": 3})
    query = "SELECT * FROM probes ORDER BY id"
    followed = await core.parts.db.read(lambda conn: raw.every(conn, query))

    await core.parts.db.record(rows.rebuild)

    assert await core.parts.db.read(lambda conn: raw.every(conn, query)) == followed
    assert len(followed) == 3
