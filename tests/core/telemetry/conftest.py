"""An exporter beside a core that runs, and a collector that answers as it is told."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from studio.core.projections.collector import CollectorState, state
from studio.core.telemetry.exporter import Exporter, Pace
from studio.core.telemetry.sending import Target
from tests.core.conftest import PATIENCE, Core, core
from tests.standins.collector import Collector, collector

__all__ = ["core"]
QUICK = Pace(linger=0.05, look=0.02, idle=0.2, first_rest=0.02, longest_rest=0.1)


@dataclass
class Desk:
    """A core, its collector, and exporters by name."""

    core: Core
    collector: Collector
    more: dict[str, Any] = field(default_factory=dict)

    def exporter(self, name: str = "one", **more: Any) -> Exporter:
        settings = {
            "service": "operator-studio", "hours": 24, "kinds": frozenset[str](),
            "hide": lambda text: text.replace("hunter2-hunter2", "***"), "pace": QUICK,
        }  # fmt: skip
        target = more.pop("target", None) or Target(
            url=f"{self.collector.url}/v1/traces", seconds=1
        )
        parts = self.core.parts
        return Exporter(
            db=parts.db, feed=parts.feed, clock=self.core.clock, owner=name, target=target,
            key=parts.tokens.trace_key, **{**settings, **self.more, **more},
        )  # fmt: skip

    @asynccontextmanager
    async def exporting(self, name: str = "one", **more: Any) -> AsyncIterator[None]:
        """An exporter at work until the block ends."""
        async with asyncio.TaskGroup() as group:
            running = group.create_task(self.exporter(name, **more).run())
            await self.until(lambda found: found.state != "off")
            yield
            running.cancel()

    async def turn(self, message: str = "Hello", **more: Any) -> str:
        """A session whose first turn is over."""
        session_id = await self.core.start(message, **more)
        await self.core.over(session_id)
        return session_id

    async def export(self) -> CollectorState:
        return await self.core.parts.db.read(lambda conn: state(conn, self.core.clock.now()))

    async def until(self, holds: Callable[[CollectorState], object]) -> CollectorState:
        """How the export stands as soon as `holds` says so."""
        async with asyncio.timeout(PATIENCE):
            while True:
                found = await self.export()
                if holds(found):
                    return found
                await asyncio.to_thread(self.collector.changed.wait, 0.05)
                self.collector.changed.clear()


@pytest.fixture
def receiving() -> Iterator[Collector]:
    with collector() as found:
        yield found


@pytest.fixture
async def desk(core: Core, receiving: Collector) -> Desk:
    return Desk(core=core, collector=receiving)
