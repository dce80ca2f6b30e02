"""Secrets of an environment reach MCP servers over HTTP, by connections of its own."""

import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from studio.core.rules.environments.environment import Environment
from studio.core.tools import lending
from studio.core.tools.catalog import LiveCatalog
from studio.core.tools.plugins import Plugins
from studio.core.tools.tool import Kit, Lent, Offered, ToolError
from studio.core.work.environments import secrets
from tests.standins.mcp_plain import PlainHttp, plain_http

ROOT = Path(__file__).parents[3]
TOKEN, OTHER = "fake-token-0123456789", "fake-token-9876543210"


class Lending:
    """Lends a token to one server, as an environment does to those below a binding."""

    def __init__(self, url: str, token: str, environment_id: str = "env_a") -> None:
        self.url, self.token, self.environment_id = url, token, environment_id

    @property
    def identity(self) -> str:
        return f"{self.environment_id} {self.token}"

    def of(self, url: str) -> Lent | None:
        if url != self.url:
            return None
        return Lent(
            name="CRM", environment_id=self.environment_id, identity=self.identity,
            headers={"authorization": f"Bearer {self.token}"},
        )  # fmt: skip


@pytest.fixture
def server() -> Iterator[PlainHttp]:
    with plain_http() as found:
        yield found


@pytest.fixture
async def catalog(server: PlainHttp, tmp_path: Path) -> AsyncIterator[LiveCatalog]:
    place = server.url.removeprefix("http://").partition("/")[0]
    found = LiveCatalog(Plugins([]), {}, frozenset({place}), tmp_path)
    yield found
    await found.close()


def manifest(server: PlainHttp, **more: Any) -> dict[str, Any]:
    return {"servers": [{"name": "crm", "transport": "http", "url": server.url, **more}]}


def tools(offered: Offered) -> set[str]:
    return {name for name, tool in offered.tools.items() if tool.spec.origin.kind == "mcp"}


async def call(offered: Offered, name: str) -> None:
    kit = Kit(key="k" * 64, deadline=time.monotonic() + 10, session_id="s", effect_id="e")
    await offered.tools[name].call({}, kit)


def sent(server: PlainHttp) -> set[str | None]:
    """The tokens that came since the last look."""
    found = {asked.headers.get("authorization") for asked in server.asked}
    server.asked.clear()
    return found


async def test_a_server_gets_the_secret_of_one_environment_and_nobody_elses(
    server: PlainHttp, catalog: LiveCatalog
) -> None:
    server.tokens = {f"Bearer {TOKEN}", f"Bearer {OTHER}"}
    given = manifest(server)

    without = await catalog.offered(given)
    assert sent(server) == {None}
    mine = await catalog.offered(given, Lending(server.url, TOKEN))
    assert sent(server) == {f"Bearer {TOKEN}"}
    theirs = await catalog.offered(given, Lending(server.url, OTHER, "env_b"))
    assert sent(server) == {f"Bearer {OTHER}"}

    assert tools(without) == set()
    assert "401" in without.gaps[0].message
    name = min(tools(mine))
    await call(mine, name)
    assert sent(server) == {f"Bearer {TOKEN}"}
    await call(theirs, name)
    assert sent(server) == {f"Bearer {OTHER}"}
    assert mine.tools[name].spec.lent == ("CRM",)
    assert mine.tools[name].spec.secrets == ()
    assert mine.tools[name].spec.hash != theirs.tools[name].spec.hash  # approved for one alone


async def test_a_new_value_ends_the_connection_with_the_old_one(
    server: PlainHttp, catalog: LiveCatalog
) -> None:
    given = manifest(server)
    before = await catalog.offered(given, Lending(server.url, TOKEN))
    (old,) = catalog._connections.values()

    after = await catalog.offered(given, Lending(server.url, OTHER))

    assert list(catalog._connections.values()) != [old]
    assert len(catalog._connections) == 1
    assert not old.is_up
    sent(server)
    await call(after, min(tools(before)))
    assert sent(server) == {f"Bearer {OTHER}"}
    assert await catalog.offered(given, Lending(server.url, OTHER)) is after


async def test_a_connection_that_was_let_go_is_never_begun_again(
    server: PlainHttp, catalog: LiveCatalog
) -> None:
    given = manifest(server)
    before = await catalog.offered(given, Lending(server.url, TOKEN))
    await catalog.offered(given, Lending(server.url, OTHER))
    sent(server)

    with pytest.raises(ToolError) as refused:
        await call(before, min(tools(before)))

    assert (refused.value.code, refused.value.settled) == ("tool.unreachable", True)
    assert f"Bearer {TOKEN}" not in sent(server)


async def test_connections_of_environments_are_few(
    server: PlainHttp, catalog: LiveCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lending, "MOST", 2)
    given = manifest(server)
    await catalog.offered(given)

    for number in range(5):
        await catalog.offered(given, Lending(server.url, TOKEN, f"env_{number}"))

    assert len(catalog._connections) == 1 + 2  # the shared one is none of them


async def test_a_server_that_is_a_program_gets_nothing(tmp_path: Path) -> None:
    command = ["${python}", "-m", "tests.standins.mcp_server", "--mode", "plain"]
    entry = {"name": "s", "command": command, "env": {"PYTHONPATH": str(ROOT)},
             "url": "http://127.0.0.1:1/mcp"}  # fmt: skip
    catalog = LiveCatalog(Plugins([]), {}, frozenset(), tmp_path)
    try:
        offered = await catalog.offered(
            {"servers": [entry]}, Lending("http://127.0.0.1:1/mcp", TOKEN)
        )
    finally:
        await catalog.close()

    assert {tool.spec.lent for tool in offered.tools.values()} == {()}


def test_an_environment_lends_what_is_bound_to_the_address() -> None:
    slots = [
        {"name": "CRM", "type": "bearer", "binding": "https://crm.test/mcp"},
        {"name": "ADMIN", "type": "headers", "binding": "https://admin.test"},
        {"name": "VARIABLE", "type": "variable", "binding": "TOKEN"},
    ]
    lab = Environment(id="env_a", definition={"secrets": slots})
    values = {"CRM": TOKEN, "VARIABLE": OTHER}

    found = secrets.lends(lab, values)

    assert found is not None
    lent = found.of("https://crm.test/mcp")
    assert lent is not None
    assert (lent.name, lent.headers) == ("CRM", {"authorization": f"Bearer {TOKEN}"})
    assert found.of("https://crm.test/other") is None
    assert found.of("https://admin.test/mcp") is None  # it is not set
    assert TOKEN not in f"{found!r} {lent!r} {found.identity}"
    again = secrets.lends(lab, {**values, "CRM": OTHER})
    assert again is not None
    assert again.identity != found.identity
    assert secrets.lends(Environment(id="env_b", definition={}), {}) is None
