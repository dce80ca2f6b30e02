"""A studio in a process of its own that works in an environment until told; killed where asked.

It makes what is not there yet, waits until all of it is done, and prints what became of it.
Started again it goes on where it was killed.
"""

import asyncio
import io
import json
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from studio import app
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.session import Session
from studio.core.store import environments, operations
from studio.core.store import facts as journals
from studio.core.store.operations import Operation
from studio.core.work.environments.sweeping import Sweeping
from studio.core.worker import Worker
from studio.settings import Settings
from tests.core.packages import zips

ADMIN = Person(id="tests", role="admin", via="key")
AGENT = {
    "name": "helper", "instructions": "Help.",
    "model": {"provider": "scripted", "name": "scripted"},
}  # fmt: skip
SKILL = {"SKILL.md": zips.SKILL.encode(), "more.md": b"More.\n"}
DEFINITION = {"setup": [{"run": "echo made >> setup.txt"}]}
RUNS = 'call shell {"command": "echo ran >> ran.txt"}'
FOLDERS = """\
call shell {"command": "mkdir -p docs outputs/site; echo 1 > docs/a; echo 2 > outputs/site/b"}
then
call save_artifact {"name": "docs", "folder": "docs"}"""


def main(folder: str, url: str, act: str, fault: str) -> None:
    """Work, and say what became of it."""
    asyncio.run(_work(Path(folder), url, act, fault))


async def _work(folder: Path, url: str, act: str, fault: str) -> None:
    environ = {"STUDIO_DATA": str(folder), "STUDIO_DATABASE_URL": url, "HOME": str(folder)}
    settings = Settings.from_env({**environ, "STUDIO_FAULT": fault})
    app.migrate(settings)
    async with app.parts(settings) as built, asyncio.TaskGroup() as group:
        worker = app.worker(built)
        working = group.create_task(worker.run())
        try:
            print(json.dumps(await _play(built, worker, act)), flush=True)  # noqa: T201
        finally:
            working.cancel()
    await worker.close()


async def _play(built: app.Parts, worker: Worker, act: str) -> dict[str, Any]:
    runtime = built.runtime
    skill = (await runtime.save_skill(ADMIN, zips.packed(SKILL))).reference
    skills = {"skills": [skill]} if act == "skill" else {}
    await runtime.save_agent(ADMIN, {**AGENT, **skills})
    await runtime.save_policy(ADMIN, [{"effect": "allow"}], expect=None)
    id = await _made(built)
    if act == "folder":
        return await _folders(built, id)
    done = await runtime.start_session(
        ADMIN, agent="helper", message=RUNS, environment=id, key="first"
    )
    session = await over(built, done.session_id)
    if act == "skill":
        assert session.turn is not None
        return {"id": id, "skill": skill, "turn": session.turn.status}
    if act == "fork":
        return await _fork(built, id)
    if act == "delete":
        return await _delete(built, worker, id)
    if not await built.db.read(lambda conn: operations.newest(conn, id)):
        await _ask(built, id, act)
    ended = await _ended(built, id)
    facts = await built.db.read(lambda conn: journals.facts(conn, id, after=0, limit=1_000))
    assert session.turn is not None
    return {
        "id": id,
        "types": [fact.event.TYPE for fact in facts],
        "kept": [
            (f.event.version, f.event.digest, f.event.reason)
            for f in facts if isinstance(f.event, e.DiskKept)
        ],
        "operations": [(one.act, one.state, one.message) for one in ended],
        "turn": session.turn.status,
        "calls": [call.state for call in session.turn.calls.values()],
    }  # fmt: skip


async def _made(built: app.Parts) -> str:
    """The environment, also when it was deleted since; its name is free then."""
    runtime = built.runtime
    for found in (await built.reader.environments(ADMIN, state="deleted")).items:
        return found.id
    return str((await runtime.make_environment(ADMIN, "lab", definition=DEFINITION)).id)


async def _delete(built: app.Parts, worker: Worker, id: str) -> dict[str, Any]:
    """Delete it and clear it, as the sweeping of a worker does again and again."""
    assert worker.places is not None
    found = await built.db.read(lambda conn: environments.get(conn, id))
    if found is not None and found.deleted is None:
        await built.runtime.delete_environment(ADMIN, id)
    folder = worker.places.folder / id
    lock = worker.places.folder / "locks" / f"{id}.lock"  # the worker's own sweeping takes it last
    async with asyncio.timeout(60):
        while folder.exists() or lock.exists():  # perhaps the turn's end is not through yet
            await Sweeping(worker.places).round()
    return {"id": id, "deleted": True}


async def _folders(built: app.Parts, id: str) -> dict[str, Any]:
    """A turn that keeps a folder and leaves one in outputs, and both as artifacts."""
    done = await built.runtime.start_session(
        ADMIN, agent="helper", message=FOLDERS, environment=id, key="folder"
    )
    async with asyncio.timeout(60), built.feed.subscribe() as growth:
        while True:
            page = await built.reader.artifacts(ADMIN, done.session_id)
            if len(page.items) >= 2:
                break
            await growth.get()
    await over(built, done.session_id)
    page = await built.reader.artifacts(ADMIN, done.session_id)
    return {"artifacts": [(one.name, one.latest, one.hash) for one in page.items]}


async def _fork(built: app.Parts, id: str) -> dict[str, Any]:
    """A fork of what the turn left, and a turn in it."""
    await _kept(built, id)
    forked = await built.db.read(lambda conn: environments.find(conn, "fork"))
    if forked is None:
        plan = await built.runtime.fork_environment(ADMIN, id, "fork")
        forked = await built.db.read(lambda conn: environments.get(conn, str(plan.id)))
    assert forked is not None
    done = await built.runtime.start_session(
        ADMIN, agent="helper", message='call shell {"command": "cat ran.txt"}',
        environment=forked.id, key="fork",
    )  # fmt: skip
    session = await over(built, done.session_id)
    assert session.turn is not None
    return {
        "fork": forked.id, "fork_calls": [call.state for call in session.turn.calls.values()],
    }  # fmt: skip


async def _kept(built: app.Parts, id: str) -> None:
    """Wait until the turn's version is there."""
    async with asyncio.timeout(60), built.feed.subscribe() as growth:
        while len(await built.db.read(lambda conn: environments.versions(conn, id))) < 2:
            await growth.get()


async def _ask(built: app.Parts, id: str, act: str) -> None:
    runtime = built.runtime
    if act == "restore":
        await runtime.restore_disk(ADMIN, id, 1)
    elif act == "keep":
        await runtime.keep_disk(ADMIN, id, note="by hand")
    elif act == "reset":
        await runtime.reset_environment(ADMIN, id)
    else:
        await runtime.import_disk(ADMIN, id, name="a.tar", chunks=_archive())


async def _archive() -> AsyncIterator[bytes]:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for number in range(20):
            info = tarfile.TarInfo(f"brought/{number}.txt")
            info.size = 1
            tar.addfile(info, io.BytesIO(b"x"))
    yield data.getvalue()


async def over(built: app.Parts, session_id: str) -> Session:
    """The session once its turn is over."""
    async with asyncio.timeout(60), built.feed.subscribe() as growth:
        while True:
            session = await built.journal.session(session_id)
            assert session is not None
            if session.turn is not None and session.turn.is_over:
                return session
            await growth.get()


async def _ended(built: app.Parts, id: str) -> tuple[Operation, ...]:
    """What was asked of the disk, once all of it has ended."""
    async with asyncio.timeout(60), built.feed.subscribe() as growth:
        while True:
            found = await built.db.read(lambda conn: operations.newest(conn, id))
            if found and all(one.ended for one in found):
                return found
            await growth.get()
