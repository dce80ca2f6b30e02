"""A core that runs: a store of either kind, runtime, reader and a worker with recording tools."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

from studio import app
from studio.core.providers.shelf import Shelf
from studio.core.rules.access import Person
from studio.core.rules.events import Fact
from studio.core.rules.session import Session
from studio.core.store import facts as journals
from studio.core.store import migrate, tables
from studio.core.worker import LEASE_SECONDS, Worker
from studio.settings import Settings
from tests import postgres
from tests.fakes import FakeCatalog, RecordingTool, ToldClock

ALICE = Person(id="alice", role="admin", via="key")
BOB = Person(id="bob", role="operator", via="key")
CHARLIE = Person(id="charlie", role="viewer", via="key")
AGENT = {
    "name": "helper",
    "description": "Follows directives.",
    "instructions": "Help.",
    "model": {"provider": "scripted", "name": "scripted"},
}
PATIENCE = 20.0


@dataclass
class Core:
    """The parts of one running core, and a few ways to ask it things."""

    parts: app.Parts
    clock: ToldClock
    catalog: FakeCatalog
    workers: list["asyncio.Task[None]"] = field(default_factory=list)

    @property
    def runtime(self) -> Any:
        return self.parts.runtime

    def worker(self, name: str = "one") -> Worker:
        """A worker with these tools, not started."""
        return Worker(
            db=self.parts.db, journal=self.parts.journal, feed=self.parts.feed, shelf=Shelf({}),
            catalog=self.catalog, clock=self.clock, name=name,
            trace_key=self.parts.tokens.trace_key,
        )  # fmt: skip

    @asynccontextmanager
    async def working(self, name: str = "one") -> AsyncIterator[Worker]:
        """A worker at work until the block ends; then it is gone without a word, as by kill -9."""
        worker = self.worker(name)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(worker.run())
            yield worker
            running.cancel()

    def pass_leases(self) -> None:
        """Let the leases of workers that are gone run out."""
        self.clock.pass_time(round(LEASE_SECONDS * 1000) + 1)

    def offer(self, *tools: RecordingTool) -> None:
        """Offer these tools to every agent."""
        for item in tools:
            self.catalog.tools[item.spec.name] = item

    async def start(self, message: str | None = None, person: Person = BOB, **more: Any) -> str:
        """A session of the helper agent, with a first message."""
        done = await self.runtime.start_session(person, agent="helper", message=message, **more)
        return str(done.session_id)

    async def session(self, session_id: str) -> Session:
        session = await self.parts.journal.session(session_id)
        assert session is not None
        return session

    async def until(self, session_id: str, holds: Callable[[Session], object]) -> Session:
        """The session as soon as `holds` says so; fails loudly after a while."""
        async with asyncio.timeout(PATIENCE), self.parts.feed.subscribe() as growth:
            while True:
                session = await self.session(session_id)
                if holds(session):
                    return session
                await growth.get()

    async def over(self, session_id: str) -> Session:
        """The session once its turn is over."""
        return await self.until(session_id, lambda s: s.turn is not None and s.turn.is_over)

    async def held(self, session_id: str) -> Session:
        """The session once its turn stands on something."""
        return await self.until(session_id, lambda s: s.turn and s.turn.open_waits())

    async def facts(self, session_id: str) -> list[Fact]:
        """Every fact of a session."""
        return await self.parts.db.read(
            lambda conn: journals.facts(conn, session_id, after=0, limit=10_000)
        )

    async def types(self, session_id: str) -> list[str]:
        """The types of its facts, in order."""
        return [fact.event.TYPE for fact in await self.facts(session_id)]


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once and copied."""
    path = tmp_path_factory.mktemp("migrated") / "studio.db"
    migrate.migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def migrated_database(postgres_cluster: postgres.Cluster) -> str:
    """Made once and emptied for every test, which is faster than a copy."""
    url = postgres_cluster.create_database()
    migrate.migrate(url)
    return url


@pytest.fixture
def sqlite_url(migrated_file: Path, tmp_path: Path) -> str:
    """A migrated SQLite store."""
    shutil.copy(migrated_file, tmp_path / "studio.db")
    return f"sqlite:///{tmp_path / 'studio.db'}"


@pytest.fixture
def server_url(migrated_database: str) -> str:
    """A migrated PostgreSQL store, empty. Who is still connected to it is sent away."""
    emptied = [f"DELETE FROM {table.name}" for table in tables.metadata.sorted_tables]
    with psycopg.connect(migrated_database) as conn:
        conn.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        conn.execute("SET session_replication_role = replica")  # facts may go, for once
        conn.execute("; ".join(emptied).encode())
        conn.execute("INSERT INTO positions (id, last) VALUES (1, 0)")
        conn.execute("UPDATE alembic_version SET version_num = %s", (tables.SCHEMA,))
    return migrated_database


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store_url(request: pytest.FixtureRequest) -> str:
    """A migrated, empty store, once as a SQLite file and once as a PostgreSQL database."""
    url: str = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "server_url")
    return url


@pytest.fixture
async def core(store_url: str, tmp_path: Path) -> AsyncIterator[Core]:
    """A core on an empty store of either kind, with the helper agent and an open policy saved."""
    environ = {"STUDIO_DATA": str(tmp_path), "STUDIO_DATABASE_URL": store_url}
    settings = Settings.from_env({**environ, "HOME": str(tmp_path)})
    clock = ToldClock()
    async with app.parts(settings, clock=clock) as parts:
        await parts.runtime.save_agent(ALICE, AGENT)
        yield Core(parts=parts, clock=clock, catalog=FakeCatalog())
