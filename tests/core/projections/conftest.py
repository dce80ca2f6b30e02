"""A store of either kind with a reader on it, and a story to fill it. Alice is an operator who owns
what the stories tell unless they say otherwise; Bob is another operator, Charlie a viewer.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from studio.core.reader import Reader
from studio.core.rules.access import Person
from studio.core.store.db import Db
from studio.core.store.feed import Feed
from studio.core.store.journal import Journal
from tests.core.projections.counting import CountingDb
from tests.core.projections.story import Story, StoryClock


@pytest.fixture
def alice() -> Person:
    return Person(id="alice", role="operator")


@pytest.fixture
def bob() -> Person:
    return Person(id="bob", role="operator")


@pytest.fixture
def charlie() -> Person:
    return Person(id="charlie", role="viewer")


@pytest.fixture
def admin() -> Person:
    return Person(id="ada", role="admin")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def ready_url(request: pytest.FixtureRequest) -> str:
    """A migrated, empty store of either kind."""
    name = "sqlite_url" if request.param == "sqlite" else "server_url"
    url: str = request.getfixturevalue(name)
    return url


@pytest.fixture
async def story(ready_url: str) -> AsyncIterator[Story]:
    """A story on an empty store of either kind."""
    async for told in _told(ready_url):
        yield told


@pytest.fixture
async def small_story(sqlite_url: str) -> AsyncIterator[Story]:
    """A story on SQLite, where one store is enough to show it."""
    async for told in _told(sqlite_url):
        yield told


async def _told(url: str) -> AsyncIterator[Story]:
    db = Db.open(url, readers=2)
    try:
        await db.start()
        feed = Feed(db)
        await feed.start()
        yield Story(db=db, feed=feed, journal=Journal(db, feed), clock=StoryClock())
        await feed.close()
    finally:
        await db.close()


@pytest.fixture
def reader(story: Story, tmp_path: Path) -> Reader:
    """A reader of the story's store."""
    return reader_of(story, story.db, tmp_path)


def reader_of(story: Story, db: Any, folder: Path) -> Reader:
    return Reader(db=db, journal=story.journal, feed=story.feed, clock=story.clock, data=folder)


@pytest.fixture
def asked(small_story: Story, tmp_path: Path) -> tuple[Reader, CountingDb]:
    """A reader of the small story's store, and what it asks of it."""
    counting = CountingDb(small_story.db)
    return reader_of(small_story, counting, tmp_path), counting
