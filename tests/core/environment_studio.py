"""A core whose worker has environments, for tests, and what is said to it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from studio.core.disks.disks import Disks
from studio.core.network.resolver import Rules, Unresolved
from studio.core.providers.shelf import Shelf
from studio.core.rules import events as e
from studio.core.rules.environments.environment import Environment
from studio.core.sandboxes.opening import Opener
from studio.core.store import environments, operations
from studio.core.store import facts as journals
from studio.core.store.operations import Operation
from studio.core.tools.values import Values
from studio.core.work.environments.opens import Opens
from studio.core.work.environments.places import Places
from studio.core.work.opening import Opening
from studio.core.worker import Worker
from tests.core.conftest import ALICE, Core

DEFINITION = {"kind": "sandbox", "setup": [{"run": "echo made > made.txt"}]}


@dataclass
class Studio:
    """A core whose worker has environments."""

    core: Core
    folder: Path
    worker_: Worker | None = None
    names: dict[str, str] = field(default_factory=dict)
    allow: set[str] = field(default_factory=set)

    def rules(self) -> Rules:
        """Names are known by the test; what it allows may be reached though it is this machine."""

        async def lookup(host: str, port: int) -> list[str]:
            if host not in self.names:
                raise Unresolved(f"The name {host} could not be resolved.")
            return [self.names[host]]

        return Rules(allow=self.allow, lookup=lookup)  # type: ignore[arg-type]

    async def tried(self, id: str, count: int) -> list[e.EgressTried]:
        """The tries that were recorded, once there are so many."""
        async with asyncio.timeout(20), self.core.parts.feed.subscribe() as growth:
            while True:
                found = [f for f in await self.facts(id) if isinstance(f, e.EgressTried)]
                if len(found) >= count:
                    return found
                await growth.get()

    def worker(self) -> Worker:
        parts = self.core.parts
        opening = Opening(
            db=parts.db, feed=parts.feed, clock=self.core.clock, values=Values({}),
            seals=parts.seals,
        )  # fmt: skip
        places = Places(
            db=parts.db, journal=parts.journal, clock=self.core.clock, opening=opening,
            folder=self.folder / "environments", disks=Disks(self.folder / "versions"),
            opens=Opens(Opener(self.rules(), self.core.clock.now), opening.values), worker="one",
        )  # fmt: skip
        return Worker(
            db=parts.db, journal=parts.journal, feed=parts.feed, shelf=Shelf({}),
            catalog=self.core.catalog, clock=self.core.clock, name="one", opening=opening,
            places=places,
        )  # fmt: skip

    async def make(self, name: str = "lab", **more: Any) -> str:
        made = await self.core.runtime.make_environment(
            ALICE, name, definition={**DEFINITION, **more}
        )
        return str(made.id)

    async def find(self, id: str) -> Environment:
        found = await self.core.parts.db.read(lambda conn: environments.get(conn, id))
        assert found is not None
        return found

    async def facts(self, id: str) -> list[e.Event]:
        found = await self.core.parts.db.read(
            lambda conn: journals.facts(conn, id, after=0, limit=1_000)
        )
        return [fact.event for fact in found]

    async def kept(self, id: str) -> list[e.DiskKept]:
        return [f for f in await self.facts(id) if isinstance(f, e.DiskKept)]

    async def done(self, operation_id: str) -> Operation:
        """The operation once it has ended."""
        async with asyncio.timeout(20), self.core.parts.feed.subscribe() as growth:
            while True:
                found = await self.core.parts.db.read(
                    lambda conn: operations.get(conn, operation_id)
                )
                if found is not None and found.ended is not None:
                    return found
                await growth.get()

    async def kept_by(self, id: str, session_id: str, turns: int = 1) -> e.DiskKept:
        """The version that a turn of the session kept, once it has."""
        async with asyncio.timeout(20), self.core.parts.feed.subscribe() as growth:
            while True:
                found = [
                    one for one in await self.kept(id)
                    if one.turn is not None and one.turn.session_id == session_id
                ]  # fmt: skip
                if len(found) >= turns:
                    return found[-1]
                await growth.get()

    async def saved(self, session_id: str, count: int) -> None:
        """Wait until so many artifacts of the session are saved."""
        async with asyncio.timeout(20), self.core.parts.feed.subscribe() as growth:
            while (await self.core.types(session_id)).count("artifact.saved") < count:
                await growth.get()

    async def say(self, id: str, message: str, **more: Any) -> str:
        """A session of the environment whose first turn is over, its disk kept."""
        session_id = await self.core.start(message, environment=id, **more)
        await self.core.over(session_id)
        return session_id

    def disk(self, id: str) -> Path:
        return self.folder / "environments" / id / "disk"


@asynccontextmanager
async def working(core: Core, folder: Path) -> AsyncIterator[Studio]:
    """A studio whose worker works meanwhile."""
    found = Studio(core=core, folder=folder)
    await core.runtime.save_policy(ALICE, [{"effect": "allow"}], expect=None)
    worker = found.worker_ = found.worker()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(worker.run())
        yield found
        running.cancel()
    await worker.close()


async def results(core: Core, session_id: str) -> list[Any]:
    return [
        fact.event.result.value if isinstance(fact.event, e.CallSucceeded) else fact.event.message
        for fact in await core.facts(session_id)
        if isinstance(fact.event, e.CallSucceeded | e.CallFailed)
    ]


def shell(command: str, **more: Any) -> str:
    return f"call shell {json.dumps({'command': command, **more})}"
