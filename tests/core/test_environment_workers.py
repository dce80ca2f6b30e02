"""Two workers, two processes, one environment on PostgreSQL: order kept, nothing done twice."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from studio import app
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.errors import Refused
from studio.core.rules.session import Session
from studio.core.store import facts as journals
from studio.core.store import operations
from studio.core.store.operations import Operation
from studio.settings import Settings

ROOT = Path(__file__).parents[2]
ADMIN = Person(id="tests", role="admin", via="key")
AGENT = {
    "name": "helper", "instructions": "Help.",
    "model": {"provider": "scripted", "name": "scripted"},
}  # fmt: skip
SESSIONS, ROUNDS = 4, 4
# Waits until every session is here, which takes both workers: each moves two at most.
MEET = "touch here-{n}; for i in $(seq 300); do [ $(ls here-* | wc -l) -ge {all} ] && break; sleep 0.1; done; "  # noqa: E501
WRITE = "echo {n}.{k} >> order-{n}; echo {n}.{k} >> all"

pytestmark = pytest.mark.postgres


@asynccontextmanager
async def worker(folder: Path, url: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A worker at work; it is ended at the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.core.environments_worker", str(folder), url, "2", cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": os.defpath, "HOME": str(folder)},
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"at work\n"
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


@pytest.fixture
async def built(postgres_url: str, tmp_path: Path) -> AsyncIterator[app.Parts]:
    """A studio that asks and does nothing itself."""
    environ = {"STUDIO_DATA": str(tmp_path), "STUDIO_DATABASE_URL": postgres_url}
    settings = Settings.from_env({**environ, "HOME": str(tmp_path)})
    app.migrate(settings)
    async with app.parts(settings) as found:
        await found.runtime.save_agent(ADMIN, AGENT)
        await found.runtime.save_policy(ADMIN, [{"effect": "allow"}], expect=None)
        yield found


async def until(built: app.Parts, claim: Any) -> Any:
    """What a claim gives, once it gives something."""
    async with asyncio.timeout(60), built.feed.subscribe() as growth:
        while not (found := await claim()):
            await growth.get()
        return found


async def over(built: app.Parts, session_id: str) -> Session:
    async def claim() -> Session | None:
        session = await built.journal.session(session_id)
        assert session is not None
        return session if session.turn is not None and session.turn.is_over else None

    found: Session = await until(built, claim)
    return found


async def done(built: app.Parts, operation_id: str) -> Operation:
    async def claim() -> Operation | None:
        found = await built.db.read(lambda conn: operations.get(conn, operation_id))
        return found if found is not None and found.ended is not None else None

    found: Operation = await until(built, claim)
    return found


def said(*commands: str) -> str:
    return "\nthen\n".join(f"call shell {json.dumps({'command': line})}" for line in commands)


async def start(built: app.Parts, id: str, *commands: str) -> str:
    found = await built.runtime.start_session(
        ADMIN, agent="helper", message=said(*commands), environment=id
    )
    return str(found.session_id)


async def facts(built: app.Parts, id: str) -> list[e.Event]:
    found = await built.db.read(lambda conn: journals.facts(conn, id, after=0, limit=1_000))
    return [fact.event for fact in found]


async def test_two_workers_keep_the_order_of_each_session_and_do_nothing_twice(
    built: app.Parts, postgres_url: str, tmp_path: Path
) -> None:
    id = (await built.runtime.make_environment(ADMIN, "lab", definition={})).id
    disk = tmp_path / "environments" / id / "disk"
    async with worker(tmp_path, postgres_url), worker(tmp_path, postgres_url):
        assert (await done(built, await built.runtime.start_environment(ADMIN, id))).state == "done"
        sessions = [
            await start(built, id, *(
                (MEET.format(n=n, all=SESSIONS) if k == 0 else "") + WRITE.format(n=n, k=k)
                for k in range(ROUNDS)
            ))
            for n in range(SESSIONS)
        ]  # fmt: skip
        kept = await built.runtime.keep_disk(ADMIN, id, note="in between")
        with pytest.raises(Refused, match="is busy"):
            await built.runtime.restore_disk(ADMIN, id, 1)
        turns = [(await over(built, session_id)).turn for session_id in sessions]
        assert (await done(built, kept)).state == "done"
        lines = (disk / "all").read_text().split()
        back = await done(built, await built.runtime.restore_disk(ADMIN, id, 1))
        later = [await start(built, id, f"ls; echo {n} > later-{n}") for n in range(2)]
        for session_id in later:
            await over(built, session_id)

    assert {turn.status for turn in turns if turn is not None} == {"completed"}
    assert sorted(lines) == sorted(f"{n}.{k}" for n in range(SESSIONS) for k in range(ROUNDS))
    for n in range(SESSIONS):
        assert [one for one in lines if one.startswith(f"{n}.")] == [
            f"{n}.{k}" for k in range(ROUNDS)
        ]
    assert back.state == "done", back.message
    assert sorted(path.name for path in disk.iterdir()) == ["later-0", "later-1"]
    told = await facts(built, id)
    asked = [f.operation_id for f in told if isinstance(f, e.OperationAsked)]
    assert [f.operation_id for f in told if isinstance(f, e.OperationStarted)] == asked
    assert [f.operation_id for f in told if isinstance(f, e.OperationEnded)] == asked
    assert [type(f) for f in told].count(e.SetupFinished) == 1


async def test_what_a_killed_worker_ran_is_not_run_by_the_other(
    built: app.Parts, postgres_url: str, tmp_path: Path
) -> None:
    id = (await built.runtime.make_environment(ADMIN, "lab", definition={})).id
    disk = tmp_path / "environments" / id / "disk"
    async with worker(tmp_path, postgres_url) as first:
        session_id = await start(built, id, "echo ran >> ran; sleep 60", "echo next >> ran")
        async with asyncio.timeout(60):
            while not (disk / "ran").exists():
                await asyncio.sleep(0.02)
        async with worker(tmp_path, postgres_url):
            first.kill()
            session = await over(built, session_id)
            version = await built.runtime.keep_disk(ADMIN, id)
            assert (await done(built, version)).state == "done"

    assert (disk / "ran").read_text() == "ran\nnext\n"
    assert session.turn is not None
    assert [call.state for call in session.turn.calls.values()] == ["uncertain", "succeeded"]
