"""Stores that are migrated and open, of either kind."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from studio.core import faults
from studio.core.rules.events import Fact
from studio.core.store import raw, rows
from studio.core.store.db import Db
from studio.core.store.feed import Feed
from studio.core.store.journal import Committed, Journal
from tests.core.store.stories import START, Append

TRUTH = ("events", "blobs", "positions")


@dataclass
class Store:
    """An open store with its journal and feed, and short ways to ask it."""

    url: str
    db: Db
    feed: Feed
    journal: Journal

    async def start(self, session_id: str = "ses_1", **options: Any) -> Committed:
        """A session with its first fact."""
        return await self.journal.commit(
            session_id, lambda _: [started()], at=START, must_exist=False, **options
        )

    async def tell(self, append: Append, **options: Any) -> Committed:
        """One append of a story."""
        return await self.journal.commit(
            append.session_id, lambda _: append.events, at=append.at, actor=append.actor,
            must_exist=False, **options,
        )  # fmt: skip

    async def tell_other(self, append: Append) -> list[Fact]:
        """One append of a story whose journal is no session's."""
        return await self.journal.commit_others(
            lambda _: [(append.session_id, append.events)], at=append.at, actor=append.actor
        )

    async def one(self, statement: str, *values: Any) -> Any:
        """The first row."""
        return await self.db.read(lambda conn: raw.one(conn, statement, values))

    async def every(self, statement: str, *values: Any) -> list[Any]:
        """All rows, as tuples."""
        rows = await self.db.read(lambda conn: raw.every(conn, statement, values))
        return [tuple(row) for row in rows]

    async def derived(self) -> dict[str, list[Any]]:
        """Every derived table but the checkpoints, which are only a saving of time."""
        tables = [name for name in rows.DERIVED if name != "checkpoints"]
        found = {name: await self.every(f"SELECT * FROM {name}") for name in tables}
        return {name: sorted(some, key=str) for name, some in found.items()}


def started(**changes: Any) -> Any:
    from studio.core.rules.events import SessionStarted

    fields = {"agent": "helper", "agent_version": 1, "title": "A session", "owner": "alice"}
    return SessionStarted(**(fields | changes))


@asynccontextmanager
async def opened(url: str, **options: Any) -> AsyncIterator[Store]:
    """A store that is migrated already, open for the block."""
    db = Db.open(url, **options)
    try:
        await db.start()
        feed = Feed(db)
        await feed.start()
        try:
            yield Store(url=url, db=db, feed=feed, journal=Journal(db, feed))
        finally:
            await feed.close()
    finally:
        await db.close()


@pytest.fixture(autouse=True)
def nothing_armed() -> Iterator[None]:
    yield
    faults.disarm()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def ready_url(request: pytest.FixtureRequest) -> str:
    """A migrated store of either kind."""
    name = "sqlite_url" if request.param == "sqlite" else "server_url"
    url: str = request.getfixturevalue(name)
    return url


@pytest.fixture
async def store(ready_url: str) -> AsyncIterator[Store]:
    """An open store of either kind."""
    async with opened(ready_url) as store:
        yield store
