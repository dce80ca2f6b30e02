"""Faults of the studio's own while it moves a session: tried again, ended in words, or said."""

import asyncio
import json
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from studio.core.rules import ends
from studio.core.rules import events as e
from studio.core.rules.access import RANK
from studio.core.rules.session import Session
from studio.core.store import failing, raw
from studio.core.store.failing import TRIES, Failing
from studio.core.tools.tool import Kit, Lends, Offered
from studio.core.work import judge
from studio.core.work.failing import wait
from tests import forked
from tests.core import failing_child
from tests.core.conftest import ALICE, PATIENCE, Core
from tests.fakes import FakeCatalog, Gate, tool
from tests.forked import ROOT

READ = {"read_only": True}
FOR_EVER = 1_000_000


class Bug(Exception):
    """What nobody foresaw."""


class BrokenCatalog(FakeCatalog):
    """Breaks as often as it is told to, or over one agent's session alone."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.broke = 0, 0

    async def offered(self, manifest: Mapping[str, Any], lends: Lends | None = None) -> Offered:
        if self.left and manifest["name"] == "helper":
            self.left -= 1
            self.broke += 1
            raise Bug("secret words")
        return await super().offered(manifest, lends)


@pytest.fixture
def catalog(core: Core) -> BrokenCatalog:
    """The core's catalog from now on."""
    core.catalog = broken = BrokenCatalog()
    return broken


async def found(core: Core, session_id: str) -> Failing:
    return await core.parts.db.read(lambda conn: failing.find(conn, session_id))


async def tried(core: Core, session_id: str, tries: int) -> Failing:
    """How the session stands once so many tries in a row have failed."""
    async with asyncio.timeout(PATIENCE):
        while (standing := await found(core, session_id)).tries != tries:
            await asyncio.sleep(0.01)
    return standing


async def pass_to(core: Core, standing: Failing) -> None:
    """Let the time of the next try come."""
    core.clock.pass_time(max(0, standing.again - core.clock.now()))
    core.parts.feed.publish(standing.session_id, 0)


async def fail(core: Core, session_id: str, first: int, last: int) -> None:
    """Go through these tries, and to the time of the one behind them."""
    for number in range(first, last + 1):
        await pass_to(core, await tried(core, session_id, number))


async def ended(core: Core, session_id: str) -> e.TurnFailed:
    events = [fact.event for fact in await core.facts(session_id)]
    (last,) = [event for event in events if isinstance(event, e.TurnFailed)]
    assert events[-1] is last
    return last


def test_each_further_try_waits_twice_as_long_up_to_a_minute() -> None:
    waits = [wait(tries) for tries in (1, 2, 3, 4, 5, 6, 1_000)]

    assert waits == [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]


async def test_a_turn_that_fails_again_and_again_is_ended_in_words(
    core: Core, catalog: BrokenCatalog, caplog: pytest.LogCaptureFixture
) -> None:
    catalog.left = FOR_EVER
    async with core.working():
        before = core.clock.now()
        session_id = await core.start("say hello")
        for number in range(1, TRIES):
            standing = await tried(core, session_id, number)
            assert catalog.broke == number
            assert standing.again >= before + wait(number)
            before = standing.again
            await pass_to(core, standing)
        session = await core.over(session_id)
        again = await core.runtime.send_message(ALICE, session_id, "say again")
        await tried(core, session_id, 1)
        catalog.left = 0
        await pass_to(core, await found(core, session_id))
        session = await core.over(session_id)

    assert again.turn_id == session.turn.id  # type: ignore[union-attr]
    assert session.status == "completed"
    failed = next(f.event for f in await core.facts(session_id) if f.event.TYPE == "turn.failed")
    assert failed.code == "studio.fault"
    assert "nothing more is sent" in failed.message
    fault = next(word for word in failed.message.split() if word.startswith("flt_")).strip(".")
    said = [f.event for f in await core.facts(session_id) if isinstance(f.event, e.TurnFaulted)]
    assert [(one.tries, one.most, one.wait) for one in said] == [
        *((tries, TRIES, wait(tries)) for tries in range(1, TRIES)), (1, TRIES, wait(1))
    ]  # fmt: skip
    assert all(one.fault in caplog.text for one in said)
    assert fault in caplog.text
    assert "secret words" not in failed.message
    assert await core.parts.reader.trouble("admin") == ""


async def test_what_was_sent_is_uncertain_and_what_was_held_is_closed(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = Gate()
    core.offer(tool("pay", stuck, timeout=600.0), tool("ask"))
    await core.runtime.save_policy(
        ALICE, [{"effect": "allow", "tool": "pay"}, {"effect": "ask", "tool": "ask"}], expect=None
    )
    async with core.working("first"):
        session_id = await core.start("call pay {}\ncall ask {}")
        await stuck.reached.wait()
        await core.held(session_id)
    core.clock.pass_time(11_000)
    worker = core.worker("second")

    def broken(hold: Any) -> Any:
        raise Bug

    monkeypatch.setattr(worker.driver, "following", broken)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(worker.run())
        await fail(core, session_id, 1, TRIES - 1)
        session = await core.over(session_id)
        running.cancel()

    calls = {call.tool: call for call in turn_of(session).calls.values()}
    assert (calls["pay"].state, calls["ask"].state) == ("uncertain", "cancelled")
    assert [wait.kind for wait in turn_of(session).open_waits()] == ["uncertain"]
    assert (await ended(core, session_id)).code == "studio.fault"


async def test_a_worker_that_is_killed_between_tries_loses_no_count(
    core: Core, catalog: BrokenCatalog
) -> None:
    catalog.left = FOR_EVER
    async with core.working("first"):
        session_id = await core.start("say hello")
        await fail(core, session_id, 1, 2)
        await tried(core, session_id, 3)
    core.clock.pass_time(11_000)
    async with core.working("second"):
        await pass_to(core, await tried(core, session_id, 4))
        await core.over(session_id)

    assert catalog.broke == TRIES


def test_a_try_in_which_the_studio_is_killed_is_made_again_and_no_count_is_lost(
    store_url: str, tmp_path: Path
) -> None:
    killed, done = (
        forked.run(
            failing_child.main, str(tmp_path), store_url, in_try,
            environ={"PYTHONPATH": str(ROOT), "PATH": os.defpath, "HOME": str(tmp_path)},
        )
        for in_try in ("3", "0")
    )  # fmt: skip

    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    tries = [payload["tries"] for kind, payload in facts if kind == "turn.faulted"]
    assert tries == list(range(1, TRIES))
    assert facts[-1][0] == "turn.failed"
    assert facts[-1][1]["code"] == "studio.fault"


async def test_a_fault_that_passes_costs_nothing_and_progress_begins_anew(
    core: Core, catalog: BrokenCatalog
) -> None:
    async def breaks(arguments: Any, kit: Kit) -> Any:
        catalog.left = TRIES - 1
        return {"ok": True}

    catalog.left = TRIES - 1
    core.offer(look := tool("look", breaks, **READ))
    async with core.working():
        session_id = await core.start("call look {}\nthen\nsay seen")
        await fail(core, session_id, 1, TRIES - 1)
        await fail(core, session_id, 1, TRIES - 1)
        session = await core.over(session_id)

    assert session.status == "completed"
    assert len(look.calls) == 1
    assert catalog.broke == 2 * (TRIES - 1)
    assert (await found(core, session_id)).tries == 0


async def test_asking_again_is_no_progress(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **more: Any) -> Any:
        raise Bug

    monkeypatch.setattr(judge, "output", broken)
    async with core.working():
        session_id = await core.start("say hello")
        await fail(core, session_id, 1, TRIES - 1)
        await core.over(session_id)

    assert (await ended(core, session_id)).code == "studio.fault"
    assert (await core.types(session_id)).count("model.requested") == TRIES


async def test_a_session_that_cannot_even_be_ended_is_said_and_holds_up_nobody(
    core: Core, catalog: BrokenCatalog
) -> None:
    await core.runtime.save_agent(ALICE, {**AGENT_TWO})
    catalog.left = FOR_EVER
    async with core.working():
        session_id = await core.start("say hello")
        await tried(core, session_id, 1)
        await core.parts.db.touch(lambda conn: spoil(conn, session_id))
        await fail(core, session_id, 1, TRIES - 1)
        standing = await tried(core, session_id, TRIES)
        told = {role: await core.parts.reader.trouble(role) for role in RANK}
        other = await core.runtime.start_session(ALICE, agent="second", message="say fine")
        done = await core.over(other.session_id)
        await pass_to(core, standing)
        later = await tried(core, session_id, TRIES + 1)

    assert session_id in told["admin"]
    assert all("1 session" in words for words in told.values())
    assert session_id not in told["operator"] + told["viewer"]
    assert done.status == "completed"
    assert later.again - core.clock.now() > 30_000
    assert "turn.failed" not in await written(core, session_id)
    assert (await written(core, session_id)).count("turn.faulted") == 1  # before it was spoiled


async def test_a_session_that_can_be_ended_at_last_is_said_no_longer(
    core: Core, catalog: BrokenCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any) -> Any:
        raise Bug

    catalog.left = FOR_EVER
    with monkeypatch.context() as patch:
        patch.setattr(ends, "give_up", broken)
        async with core.working():
            session_id = await core.start("say hello")
            await fail(core, session_id, 1, TRIES)
            standing = await tried(core, session_id, TRIES + 1)
            assert session_id in await core.parts.reader.trouble("admin")
    async with core.working():
        await pass_to(core, standing)
        await core.over(session_id)

    assert await core.parts.reader.trouble("admin") == ""


AGENT_TWO = {
    "name": "second",
    "description": "Works.",
    "instructions": "Help.",
    "model": {"provider": "scripted", "name": "scripted"},
}


def turn_of(session: Session) -> Any:
    assert session.turn is not None
    return session.turn


def spoil(conn: Any, session_id: str) -> None:
    """A fact that nobody can read, as a fault of ours might have left it."""
    raw.put(conn, "UPDATE positions SET last = last + 1")
    raw.put(
        conn,
        "INSERT INTO events (position, session_id, seq, id, type, time, actor, evidence, payload) "
        "SELECT p.last, e.session_id, e.seq + 1, 'fct_bad', 'nobody.knows', e.time, e.actor, "
        "e.evidence, '{}' FROM events AS e, positions AS p WHERE e.session_id = ? "
        "ORDER BY e.seq DESC LIMIT 1",
        (session_id,),
    )


async def written(core: Core, session_id: str) -> list[str]:
    """The types of a session's facts, though one cannot be read."""
    query = "SELECT type FROM events WHERE session_id = ?"
    rows = await core.parts.db.read(lambda conn: raw.every(conn, query, (session_id,)))
    return [row[0] for row in rows]
