"""The pages on a real runtime and reader over SQLite, asked by Alice, Bob, Charlie and Ada.

Alice is an operator and owns the sessions, Bob is another operator, Charlie a viewer who is a
stranger to private sessions, Ada an admin. No worker is at work: a story tells the facts.
"""

import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from studio import web
from studio.core.reader import Reader
from studio.core.rules.access import Person, Role
from studio.core.runtime import Runtime
from studio.core.sealing import KeyFile
from studio.core.store.db import Db
from studio.core.store.feed import Feed
from studio.core.store.journal import Journal
from studio.core.store.migrate import migrate
from studio.core.tokens import Tokens
from tests.core.projections.story import AGENT, Story, StoryClock
from tests.web import html

BASE = "http://localhost:8321"
ROLES: dict[str, Role] = {
    "alice": "operator", "bob": "operator", "charlie": "viewer", "ada": "admin",
}  # fmt: skip
RULES = [{"effect": "ask", "tool": "publish_*", "reason": "Look twice."}]


@dataclass(frozen=True, kw_only=True)
class PlainSettings:
    """Settings of a studio on this machine."""

    secure: bool = False
    sign_in_days: int = 90
    url: str = "http://localhost:8321"
    names: tuple[str, ...] = ("localhost:8321", "127.0.0.1:8321")

    def allows_host(self, header: str) -> bool:
        """Whether this is one of the names."""
        return header.lower() in self.names


@dataclass
class Visitor:
    """A person with a browser: it says where its requests come from, and shows pages as trees."""

    http: httpx.AsyncClient
    person: Person

    async def open(self, path: str, status: int = 200, **headers: str) -> html.Element:
        """Follow a link."""
        answer = await self.get(path, **headers)
        assert answer.status_code == status, answer.text[:2000]
        return html.read(answer.text, path)

    async def get(self, path: str, **headers: str) -> httpx.Response:
        return await self.http.get(path, headers=_named(headers))

    async def post(self, path: str, data: Any = None, **headers: str) -> httpx.Response:
        """Send a form from one of our own pages."""
        own = {"Sec-Fetch-Site": "same-origin", "Origin": BASE, **_named(headers)}
        return await self.http.post(path, data=data, headers=own)

    async def press(
        self, form: html.Element, button: str = "", worth: str = "", **typed: str
    ) -> httpx.Response:
        """Press a button of a form, with what was typed."""
        sent = form.fields() | typed | ({button: worth} if button else {})
        return await self.post(form.attrs["action"], sent)


@dataclass
class Studio:
    """One studio, its story and who may look at it."""

    app: Starlette
    db: Db
    runtime: Runtime
    reader: Reader
    story: Story
    tokens: Tokens
    stack: AsyncExitStack

    async def visitor(self, name: str, role: Role | None = None) -> Visitor:
        """Somebody who has signed in."""
        role = role or ROLES[name]
        secret, _person = await self.runtime.sign_in(self.runtime.link(name, role))
        guest = await self.guest()
        guest.http.cookies.set("studio", self.tokens.cookie(secret))
        return Visitor(guest.http, Person(id=name, role=role))

    async def guest(self) -> Visitor:
        """Somebody who has not."""
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        http = httpx.AsyncClient(transport=transport, base_url=BASE)
        await self.stack.enter_async_context(http)
        return Visitor(http, Person(id="nobody", role="viewer"))


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty store, made once and copied."""
    path = tmp_path_factory.mktemp("migrated") / "studio.db"
    migrate(f"sqlite:///{path}")
    return path


@pytest.fixture
async def studio(migrated: Path, tmp_path: Path) -> AsyncIterator[Studio]:
    """A studio with the helper agent and a policy that asks before anything is published."""
    shutil.copy(migrated, tmp_path / "studio.db")
    async with AsyncExitStack() as stack:
        db = Db.open(f"sqlite:///{tmp_path / 'studio.db'}", readers=2)
        stack.push_async_callback(db.close)
        await db.start()
        feed = Feed(db)
        await feed.start()
        stack.push_async_callback(feed.close)
        clock, tokens, journal = StoryClock(), Tokens(b"k" * 32), Journal(db, feed)
        seals = KeyFile(tmp_path / "secrets.key")
        runtime = Runtime(
            db=db, journal=journal, tokens=tokens, clock=clock, seals=seals, data=tmp_path
        )
        reader = Reader(
            db=db, journal=journal, feed=feed, clock=clock, data=tmp_path, seals=seals
        )  # fmt: skip
        ada = Person(id="ada", role="admin", via="key")
        await runtime.save_agent(ada, AGENT)
        await runtime.save_policy(ada, RULES, expect=None)
        made = Studio(
            app=web.app(runtime, reader, PlainSettings()), db=db, runtime=runtime, reader=reader,
            story=Story(db=db, feed=feed, journal=journal, clock=clock), tokens=tokens,
            stack=stack,
        )  # fmt: skip
        yield made
        made.app.state.hub.close()


@pytest.fixture
async def alice(studio: Studio) -> Visitor:
    return await studio.visitor("alice")


@pytest.fixture
async def bob(studio: Studio) -> Visitor:
    return await studio.visitor("bob")


@pytest.fixture
async def charlie(studio: Studio) -> Visitor:
    return await studio.visitor("charlie")


@pytest.fixture
async def ada(studio: Studio) -> Visitor:
    return await studio.visitor("ada")


@pytest.fixture
async def guest(studio: Studio) -> Visitor:
    return await studio.guest()


def _named(headers: dict[str, str]) -> dict[str, str]:
    """`HX_Request` is the header `HX-Request`."""
    return {name.replace("_", "-"): value for name, value in headers.items()}
