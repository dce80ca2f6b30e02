"""A studio in a process of its own that fails over its session, and may be killed in a try."""

import asyncio
import json
import os
import signal
from pathlib import Path

from studio import app
from studio.core.rules.access import Person
from studio.core.rules.session import Session
from studio.core.work import failing
from studio.settings import Settings
from tests.core.environments_child import AGENT, over

ADMIN = Person(id="tests", role="admin", via="key")
SOON = 10  # ms until the first new try


class Bug(Exception):
    """What nobody foresaw."""


def main(folder: str, url: str, killed_in: str) -> None:
    """Begin a session, or go on with it, until its turn is over; the facts of it are printed."""
    asyncio.run(_work(Path(folder), url, int(killed_in)))


async def _work(folder: Path, url: str, killed_in: int) -> None:
    environ = {"STUDIO_DATA": str(folder), "STUDIO_DATABASE_URL": url, "HOME": str(folder)}
    settings = Settings.from_env(environ)
    app.migrate(settings)
    failing.SOON = SOON
    tries = 0

    async def broken(session_id: str) -> Session | None:
        nonlocal tries
        tries += 1
        if tries == killed_in:
            os.kill(os.getpid(), signal.SIGKILL)
        raise Bug

    async with app.parts(settings) as built, asyncio.TaskGroup() as group:
        worker = app.worker(built)
        worker.driver.session = broken  # type: ignore[method-assign]
        working = group.create_task(worker.run())
        try:
            await built.runtime.save_agent(ADMIN, AGENT)
            done = await built.runtime.start_session(
                ADMIN, agent="helper", message="say hello", key="first"
            )
            await over(built, done.session_id)
            facts = await built.reader.events(ADMIN, done.session_id)
            print(json.dumps([[one.type, one.payload] for one in facts]), flush=True)  # noqa: T201
        finally:
            working.cancel()
    await worker.close()
