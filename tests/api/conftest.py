"""The real application over a real store, asked through `api_client` without a network.

Alice rules, Bob operates, Charlie views; Dora operates too and has nothing to do with Bob.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from api_client import AsyncClient
from api_client.retry import Retries
from api_client.shapes import Approval
from studio import app
from studio.api import routes
from studio.api.auth import Rates
from studio.core.rules.access import Role
from studio.settings import Settings
from tests.core.conftest import AGENT, ALICE, Core
from tests.fakes import FakeCatalog, ToldClock, tool

URL = "http://localhost:8321"
ROLES: dict[str, Role] = {
    "alice": "admin", "bob": "operator", "charlie": "viewer", "dora": "operator",
}  # fmt: skip
LEASE_MS = 15_000  # after that the worker that went away is given up
PAY = {
    "type": "object",
    "properties": {"amount": {"type": "integer"}},
    "required": ["amount"],
    "additionalProperties": False,
}


@dataclass
class Studio:
    """A running core behind its API, with a client for each person."""

    core: Core
    asgi: Starlette
    keys: dict[str, str]
    clients: list[AsyncClient] = field(default_factory=list)

    def client(self, person: str = "", *, key: str | None = None) -> AsyncClient:
        """A client that speaks for a person, or with any key at all."""
        made = AsyncClient(
            URL, key=self.keys.get(person, "") if key is None else key,
            transport=self.transport(), retries=Retries(most=0),
        )  # fmt: skip
        self.clients.append(made)
        return made

    def transport(self) -> httpx.ASGITransport:
        """What leads to the application."""
        return httpx.ASGITransport(self.asgi, raise_app_exceptions=False)

    async def raw(
        self, method: str, path: str, *, person: str = "bob", **more: Any
    ) -> httpx.Response:
        """One plain request, for what the client would never send."""
        given = dict(more.pop("headers", {}))
        left_out = [name for name, value in given.items() if value is None]
        headers = [(name, value) for name, value in given.items() if value is not None]
        if person:
            headers.append(("Authorization", f"Bearer {self.keys[person]}"))
        async with httpx.AsyncClient(base_url=URL, transport=self.transport()) as http:
            request = http.build_request(method, path, headers=headers, **more)
            for name in left_out:
                request.headers.pop(name, None)
            return await http.send(request)

    async def session(self, message: str | None = None, *, person: str = "bob", **more: Any) -> str:
        """A session of the helper agent."""
        started = await self.client(person).sessions.start("helper", message=message, **more)
        return started["session_id"]

    async def held(self, arguments: str = '{"amount": 5}', **more: Any) -> Approval:
        """A call to `pay` that waits for a person; the worker is gone again."""
        self.core.offer(tool("pay", schema=PAY, plugin="ledger"))
        async with self.core.working():
            session_id = await self.session(f"call pay {arguments}", **more)
            await self.core.held(session_id)
        page = await self.approvals(session=session_id, person=more.get("person", "bob"))
        return page[0]

    async def over(self, session_id: str) -> None:
        """Another worker takes the session over and brings its turn to an end."""
        self.core.clock.pass_time(LEASE_MS)
        async with self.core.working("two"):
            await self.core.over(session_id)

    async def approvals(self, *, person: str = "bob", **filters: Any) -> list[Approval]:
        """Every wait that these filters give."""
        return [one async for one in self.client(person).approvals.list(**filters)]


@dataclass(frozen=True)
class Prepared:
    """A store with the helper agent and a key for each person; each test gets a copy."""

    folder: Path
    keys: dict[str, str]


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """SQLite alone; the stores' own tests cover both kinds."""
    folder = tmp_path_factory.mktemp("prepared")
    return Prepared(folder=folder, keys=asyncio.run(_prepare(settings_of(folder))))


async def _prepare(settings: Settings) -> dict[str, str]:
    await asyncio.to_thread(app.migrate, settings)
    async with app.parts(settings) as parts:
        await parts.runtime.save_agent(ALICE, AGENT)
        return {
            person: (await parts.runtime.make_key(ALICE, person, role))[1]
            for person, role in ROLES.items()
        }


@pytest.fixture
async def core(tmp_path: Path, prepared: Prepared) -> AsyncIterator[Core]:
    """A core on a copy of the prepared store."""
    for path in prepared.folder.iterdir():
        shutil.copy(path, tmp_path)
    clock = ToldClock()
    async with app.parts(settings_of(tmp_path), clock=clock) as parts:
        yield Core(parts=parts, clock=clock, catalog=FakeCatalog())


@pytest.fixture
def rates() -> Rates:
    """How often one may ask; a test may say otherwise."""
    return Rates()


@pytest.fixture
async def studio(core: Core, prepared: Prepared, rates: Rates) -> AsyncIterator[Studio]:
    """The application over that core."""
    inner = routes.app(
        core.runtime, core.parts.reader, core.parts.settings, rates=rates,
        monotonic=lambda: core.clock.now() / 1000,
    )  # fmt: skip
    made = Studio(core=core, asgi=Starlette(routes=[Mount("/v1", app=inner)]), keys=prepared.keys)
    yield made
    for client in made.clients:
        await client.close()


def settings_of(folder: Path) -> Settings:
    """Settings with everything in one folder."""
    return Settings.from_env({"STUDIO_DATA": str(folder), "HOME": str(folder)})
