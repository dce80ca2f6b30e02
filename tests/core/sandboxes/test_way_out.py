"""A command, its closed network, the proxy, and a host: all of it together, for each local kind."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from studio.core.network.resolver import Rules
from studio.core.sandboxes.containers.cli import Cli
from studio.core.sandboxes.contract import Command, Sandbox
from studio.core.sandboxes.egress.tried import Tried
from studio.core.sandboxes.opening import Opener, Spec
from tests.standins import boxed, container_cli
from tests.standins.told import Host, host

pytestmark = [
    pytest.mark.skipif(boxed.MISSING is not None, reason=str(boxed.MISSING)),
    pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed"),
]
NAME = "api.good.example"


@pytest.fixture
async def there() -> AsyncIterator[Host]:
    async with host() as found:
        yield found


@pytest.fixture
def told() -> list[Tried]:
    return []


@pytest.fixture(params=["sandbox", "container"])
async def box(request, there, told, tmp_path) -> AsyncIterator[Sandbox]:
    async def lookup(name: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    cli = Cli(str(container_cli.program(tmp_path)), "docker")
    container_cli.with_socat(tmp_path / "state")
    opener = Opener(Rules.of([f"{NAME}:{there.port}"], lookup), lambda: 0, cli=cli, free=0)
    spec = Spec(
        kind=request.param, identity="env_1", folder=Path(tmp_path) / "env_1",
        image=container_cli.IMAGE, places=((NAME, (there.port,)),),
    )  # fmt: skip
    opened = await opener.open(spec, told.append)
    yield opened.sandbox
    await opened.sandbox.stop()
    await opener.aclose()


async def test_what_is_listed_is_reached_and_told_under_the_commands_id(box, there, told):
    line = f"curl -sS -m 5 http://{NAME}:{there.port}/x"
    ran = await box.shell(Command(line=line, egress="eff_7"))

    assert ran.output == b"hello"
    (item,) = told
    assert (item.host, item.port, item.outcome, item.command) == (
        NAME, there.port, "allowed", "eff_7",
    )  # fmt: skip


async def test_a_tunnel_is_reached_too(box, there, told):
    ran = await box.shell(Command(line=f"curl -sS -p -m 5 http://{NAME}:{there.port}/x"))

    assert ran.output == b"hello"
    assert [item.outcome for item in told] == ["allowed"]


async def test_what_is_not_listed_is_refused_in_words(box, there, told):
    ran = await box.shell(Command(line="curl -sS -m 5 http://evil.example/x"))

    assert b"ask the operator to add evil.example:80" in ran.output
    assert [(item.host, item.outcome) for item in told] == [("evil.example", "refused")]


async def test_there_is_no_way_around_the_proxy(box, there, told):
    line = (
        f"curl -sS -m 3 --noproxy '*' http://127.0.0.1:{there.port}/x;"
        f" curl -sS -m 3 --noproxy '*' --resolve {NAME}:{there.port}:127.0.0.1"
        f" http://{NAME}:{there.port}/x; curl -sS -m 3 --noproxy '*' http://93.184.216.34/; true"
    )
    ran = await box.shell(Command(line=line))

    assert b"hello" not in ran.output
    assert told == []
    assert there.heard == []


async def test_two_commands_at_once_are_told_apart(box, there, told):
    line = f"curl -sS -m 5 http://{NAME}:{there.port}/x"
    async with asyncio.TaskGroup() as group:
        for number in (1, 2):
            group.create_task(box.shell(Command(line=line, egress=f"eff_{number}")))

    assert sorted(item.command for item in told) == ["eff_1", "eff_2"]
