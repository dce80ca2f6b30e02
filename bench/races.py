"""Decision races: five people at a time decide on the same held call, 10,000 times, on each store.

One must win and every other must be told who did; every approved call runs once, no denied one
runs. On PostgreSQL the people come through two runtimes with connections of their own.
"""

import asyncio
import itertools
import os
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from bench import embedded
from bench.figures import Figure
from studio import app
from studio.core.providers.shelf import Shelf
from studio.core.rules import ids
from studio.core.rules.access import Person
from studio.core.rules.errors import StudioError
from studio.core.rules.events import Origin
from studio.core.tools.tool import Kit, Lends, Offered, Result, ToolSpec
from studio.core.worker import Worker
from studio.settings import Settings
from tests import postgres

RACES = int(os.environ.get("BENCH_RACES", "10000"))
A_SESSION = 100
AT_ONCE = 10  # races; with five people each that is 50 at a time
PEOPLE = [Person(id=f"person {n}", role="operator", via="key") for n in range(50)]
CONTENDERS = 5


@dataclass
class Mark:
    """A tool that nobody declared harmless: it is held, and each of its calls counts."""

    seen: Counter[str] = field(default_factory=Counter)
    spec: ToolSpec = field(
        default_factory=lambda: ToolSpec(
            name="mark", description="Leaves a mark.", schema=embedded.SCHEMA,
            origin=Origin(kind="http"), hash=ids.digest("mark"), destination="nowhere",
        )
    )  # fmt: skip

    async def call(self, arguments: Any, kit: Kit) -> Result:
        """Leave a mark under the effect's key."""
        self.seen[kit.key] += 1
        return Result(value={"marked": True})

    async def prepare(self) -> None:
        """Nothing needs it."""

    async def offered(self, manifest: Mapping[str, Any], lends: Lends | None = None) -> Offered:
        """As a catalog: this tool alone."""
        return Offered(tools={"mark": self})

    async def tidy(self) -> None:
        """Nothing is let go."""

    async def close(self) -> None:
        """Nothing was opened."""


@dataclass
class Outcome:
    """What came of all races of one store."""

    won: Counter[str] = field(default_factory=Counter)  # by wait
    approved: int = 0
    refused: Counter[str] = field(default_factory=Counter)  # by code
    seconds: float = 0.0


async def run() -> list[Figure]:
    """SQLite, and PostgreSQL where its programs are."""
    figures = await _store("SQLite", "")
    try:
        cluster = await asyncio.to_thread(postgres.start)
    except postgres.Unavailable:
        return figures
    try:
        figures += await _store("PostgreSQL", cluster.create_database())
    finally:
        cluster.stop()
    return figures


async def _store(name: str, url: str) -> list[Figure]:
    mark = Mark()
    async with _running(url, mark) as doors:
        outcome = await _race(doors)
        await _all_over(doors[0])
    winners = sum(count == 1 for count in outcome.won.values())
    doubles = sum(count - 1 for count in mark.seen.values()) + sum(
        count > 1 for count in outcome.won.values()
    )
    lost = outcome.approved - len(mark.seen)
    refused = ", ".join(f"{count:,} × {code}" for code, count in sorted(outcome.refused.items()))
    rate = RACES * CONTENDERS / outcome.seconds
    return [
        Figure(name=f"{name}: races with one winner", value=winners, unit="races", least=RACES,
               note=f"{CONTENDERS} people each; {refused}"),
        Figure(name=f"{name}: double effects", value=doubles, unit="", most=0,
               note=f"{outcome.approved:,} approved, {len(mark.seen):,} ran"),
        Figure(name=f"{name}: approved calls that did not run", value=lost, unit="", most=0),
        Figure(name=f"{name}: decisions a second", value=rate, unit="1/s"),
    ]  # fmt: skip


@asynccontextmanager
async def _running(url: str, mark: Mark) -> AsyncIterator[list[app.Parts]]:
    """A worker with the tool, and the doors people come through."""
    with tempfile.TemporaryDirectory(prefix="studio-bench-") as folder:
        environ = {"STUDIO_DATA": folder, "HOME": folder}
        settings = Settings.from_env(environ | ({"STUDIO_DATABASE_URL": url} if url else {}))
        Path(folder).chmod(0o700)
        app.migrate(settings)
        async with AsyncExitStack() as stack:
            doors = [
                await stack.enter_async_context(app.parts(settings)) for _ in range(2 if url else 1)
            ]
            await doors[0].runtime.save_agent(app.STUDIO, embedded.AGENT)
            group = await stack.enter_async_context(asyncio.TaskGroup())
            workers = [
                group.create_task(
                    Worker(
                        db=built.db, journal=built.journal, feed=built.feed, shelf=Shelf({}),
                        catalog=mark, clock=built.clock, name=f"bench {number}",
                    ).run()
                )
                for number, built in enumerate(doors)
            ]  # fmt: skip
            yield doors
            for working in workers:
                working.cancel()


async def _race(doors: list[app.Parts]) -> Outcome:
    """Hold calls, a session at a time, and let people at them."""
    outcome, dice = Outcome(), Random(7)
    left = itertools.count()
    for _ in range(RACES // A_SESSION):
        waits = await _held(doors[0])
        began = time.perf_counter()
        queue = iter(waits)

        async def runner(queue: Any = queue) -> None:
            for wait_id, digest in queue:
                who = dice.sample(PEOPLE, CONTENDERS)
                await asyncio.gather(
                    *(
                        _decide(doors[next(left) % len(doors)], person, wait_id, digest, outcome)
                        for person in who
                    )
                )

        await asyncio.gather(*(runner() for _ in range(AT_ONCE)))
        outcome.seconds += time.perf_counter() - began
    return outcome


async def _decide(
    door: app.Parts, person: Person, wait_id: str, digest: str, outcome: Outcome
) -> None:
    choice = "approve" if int(person.id.split()[1]) % 2 else "deny"
    try:
        await door.runtime.decide(person, wait_id, choice, digest=digest)
    except StudioError as refused:
        outcome.refused[refused.code] += 1
    else:
        outcome.won[wait_id] += 1
        outcome.approved += choice == "approve"


async def _held(door: app.Parts) -> list[tuple[str, str]]:
    """A new session with that many held calls: its waits with the digests that are shown."""
    message = "\n".join([f'call mark {{"n": {n}}}' for n in range(A_SESSION)])
    started = await door.runtime.start_session(
        app.STUDIO, agent="bench", message=f"{message}\nthen\nsay done"
    )
    async with door.feed.subscribe() as growth:
        while True:
            page = await door.reader.waits(app.STUDIO, session_id=started.session_id, limit=200)
            if len(page.items) == A_SESSION:
                return [(row.id, row.digest) for row in page.items]
            await growth.get()


async def _all_over(door: app.Parts) -> None:
    """Wait until every turn came to its end, and so every approved call ran."""
    async with asyncio.timeout(120), door.feed.subscribe() as growth:
        while True:
            busy = [
                row
                for status in ("queued", "running", "held")
                for row in (await door.reader.sessions(app.STUDIO, status=status)).items
            ]
            if not busy:
                return
            await growth.get()
