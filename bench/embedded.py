"""A runtime and a worker in this process, on SQLite with synchronous=FULL, with an instant tool."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from studio import app, warming
from studio.core.providers.shelf import Shelf
from studio.core.rules import ids
from studio.core.rules.events import Origin
from studio.core.tools.tool import Kit, Lends, Offered, Result, ToolSpec
from studio.core.worker import Worker
from studio.settings import Settings

AGENT = {
    "name": "bench",
    "description": "Answers at once.",
    "instructions": "Be quick.",
    "model": {"provider": "scripted", "name": "scripted"},
}
MESSAGE = "\n".join(["call note {}", "call note {}", "call note {}", "then", "say done"])
SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {}, "additionalProperties": True}


@dataclass
class Note:
    """A tool that answers at once and counts how often it was called."""

    count: int = 0
    spec: ToolSpec = field(
        default_factory=lambda: ToolSpec(
            name="note", description="Takes a note.", schema=SCHEMA, origin=Origin(kind="http"),
            hash=ids.digest("note"), destination="nowhere", read_only=True,
        )
    )  # fmt: skip

    async def call(self, arguments: Any, kit: Kit) -> Result:
        """Answer at once."""
        self.count += 1
        return Result(value={"noted": self.count})


class OneTool:
    """A catalog of that one tool."""

    def __init__(self) -> None:
        self.note = Note()
        self._offered = Offered(tools={"note": self.note})

    async def prepare(self) -> None:
        """Nothing needs it."""

    async def offered(self, manifest: Mapping[str, Any], lends: Lends | None = None) -> Offered:
        """The one tool."""
        return self._offered

    async def tidy(self) -> None:
        """Nothing is let go."""

    async def close(self) -> None:
        """Nothing was opened."""


@asynccontextmanager
async def running() -> "AsyncIterator[tuple[app.Parts, Ends]]":
    """Parts with a worker at work and the bench agent saved."""
    with tempfile.TemporaryDirectory(prefix="studio-bench-") as folder:
        settings = Settings.from_env({"STUDIO_DATA": folder, "HOME": folder})
        Path(folder).chmod(0o700)
        app.migrate(settings)
        warming.settle()
        async with app.parts(settings) as built:
            worker = Worker(
                db=built.db, journal=built.journal, feed=built.feed, shelf=Shelf({}),
                catalog=OneTool(), clock=built.clock, name="bench",
            )  # fmt: skip
            await built.runtime.save_agent(app.STUDIO, AGENT)
            async with asyncio.TaskGroup() as group:
                ends = Ends(built)
                tasks = [group.create_task(worker.run()), group.create_task(ends.listen())]
                yield built, ends
                for task in tasks:
                    task.cancel()


class Ends:
    """Tells, from one place, when sessions grow: as a page does, not one listener a session."""

    def __init__(self, built: app.Parts) -> None:
        self._built = built
        self._bells: dict[str, asyncio.Event] = {}

    async def listen(self) -> None:
        """Listen until cancelled."""
        async with self._built.feed.subscribe() as growth:
            while True:
                for session_id in await growth.get():
                    if session_id in self._bells:
                        self._bells[session_id].set()

    async def turn(self, session_id: str, text: str = MESSAGE) -> None:
        """Send a message and wait until its turn is over."""
        bell = self._bells.setdefault(session_id, asyncio.Event())
        sent = await self._built.runtime.send_message(app.STUDIO, session_id, text)
        while True:
            bell.clear()
            session = await self._built.journal.session(session_id)
            assert session is not None, "it was just sent"
            assert session.turn is not None, "it has a turn"
            if session.turn.id == sent.turn_id and session.turn.is_over:
                assert session.turn.status == "completed", session.turn.code
                return
            await bell.wait()
