"""Nothing that an agent can write reaches this machine: every form of an address, and rebinding.

The canary listens on every address of the machine. Names are answered by a name service of ours;
connections are real ones, except that the outside is not there.
"""

import asyncio
import ipaddress
import sys
import time
from collections.abc import AsyncIterator, Iterable
from typing import Any

import httpcore2
import httpx2
import pytest

from studio.core.network.connector import Connector, Sent
from studio.core.network.resolver import Refused, Rules
from studio.core.tools import http
from studio.core.tools.mcp import streamable
from studio.core.tools.tool import Kit, ToolError
from tests.core.network.canary import Canary, canary
from tests.core.network.test_addresses import DENIED
from tests.core.network.test_hosts import ODD, SAME
from tests.standins import dns

HERE = {
    "A": {"rebind.example": "127.0.0.1", "ten.example": "10.0.0.1", "zero.example": "0.0.0.0",
          "meta.example": "169.254.169.254", "127.0.0.1.nip.example": "127.0.0.1"},
    "AAAA": {"six.example": "::1", "mapped.example": "::ffff:127.0.0.1",
             "nat.example": "64:ff9b::7f00:1", "ula.example": "fd00:ec2::254"},
}  # fmt: skip
NAMES = """
localhost LOCALHOST localhost. LocalHost.localdomain a.localhost a.b.localhost. localhost6
ip6-localhost ip6-loopback broadcasthost metadata metadata.google.internal metadata.goog
instance-data host.docker.internal localhost%00.example localhost%2eexample
""".split()
AROUND = """
good.example@{} good.example:80@{} @{} :@{} good.example%40{} good.example\\@{} good.example#@{}
good.example?@{} {}%2f@good.example {}\\.good.example {}%00.good.example ;{} {}; {}, {}' <{}> {}%20
%5b::1%5d 127%2e0%2e0%2e1 127.0.0.1%09 [127.0.0.1] [::1%25lo] [::1%25eth0] [::ffff:127.0.0.1%251]
[v1.127.0.0.1]
""".split()


def say(words: str) -> None:
    sys.stdout.write(words)


class Inside(httpcore2.AsyncNetworkBackend):
    """Opens real connections within this machine; the outside is not there, and is counted."""

    def __init__(self) -> None:
        self.outside, self._real = 0, httpcore2.AnyIOBackend()

    async def connect_tcp(self, host: str, port: int, **more: Any) -> httpcore2.AsyncNetworkStream:
        if ipaddress.ip_address(host).is_global:
            self.outside += 1
            raise httpcore2.ConnectError("the outside is not there")
        return await self._real.connect_tcp(host, port, **more)


def addresses() -> list[str]:
    """Every form, as the part of a URL before its port."""
    plain = [*DENIED, *(text for texts in SAME.values() for text in texts.split()), *ODD]
    plain += [name for table in HERE.values() for name in table]
    plain = [host for host in dict.fromkeys(plain) if not host.lower().endswith(("com", "com."))]
    hosts = [f"[{host}]" if ":" in host and host[0] != "[" else host for host in plain]
    hosts += [*NAMES, *(form.replace("{}", "127.0.0.1") for form in AROUND)]
    return [
        host
        for host in dict.fromkeys(hosts)
        if "bücher" not in host.lower() and "bcher" not in host
    ]


@pytest.fixture
async def bird() -> AsyncIterator[Canary]:
    async with canary() as found:
        yield found


@pytest.fixture(autouse=True)
def proxies(monkeypatch, bird) -> None:
    """The environment names the canary as its proxy for everything."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{bird.port}")


def kit() -> Kit:
    return Kit(key="k", deadline=time.monotonic() + 10, session_id="s", effect_id="e")


async def call_tool(url: str, connector: Connector) -> str:
    """What an HTTP tool of this address says; empty when it was answered."""
    entry = {"name": "x", "kind": "http", "method": "POST", "url": url}
    try:
        await http.HttpTool(http.described(entry, {}), connector).call({}, kit())
    except (http.BadTool, ToolError) as refused:
        return str(refused)
    return ""


async def ask_server(url: str, rules: Rules) -> str:
    """What an MCP server at this address says; empty when it was answered."""
    try:
        async with streamable.client({}, rules) as client:
            answer = await client.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
            return "" if answer.is_success else answer.text
    except (httpx2.HTTPError, httpx2.InvalidURL, Refused, ValueError) as refused:
        return str(refused) or type(refused).__name__


def answers(name: str, kind: str, count: int) -> list[str]:
    """What the names of the table are answered."""
    found = HERE[kind].get(name)
    return [found] if found else []


async def test_no_form_of_an_address_reaches_the_canary(bird, capsys):
    forms, inside = addresses(), Inside()
    with dns.names(answers) as server:
        rules = Rules.of([], dns.lookup(server.port))
        connector = Connector(rules, inside)
        said = dict[str, str]()
        for form in forms:
            url = f"http://{form}:{bird.port}/x"
            said[f"HTTP {form}"] = await call_tool(url, connector)
            said[f"MCP {form}"] = await ask_server(url, rules)
        await connector.aclose()

    with capsys.disabled():
        say(f"\naddress forms: {len(forms)}, tried {len(said)} times, reached: {bird.reached}")
    assert len(forms) >= 200
    assert bird.reached == 0
    assert inside.outside == 0
    assert [form for form, words in said.items() if not words] == []


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "0x7f000001", "rebind.example"])
async def test_the_canary_is_there_and_is_reached_where_it_is_allowed(bird, host):
    with dns.names(answers) as server:
        allow = [f"127.0.0.1:{bird.port}", f"rebind.example:{bird.port}"]
        rules = Rules.of(allow, dns.lookup(server.port))
        connector = Connector(rules, Inside())
        assert await call_tool(f"http://{host}:{bird.port}/x", connector) == ""
        assert await ask_server(f"http://{host}:{bird.port}/x", rules) == ""
        await connector.aclose()

    assert bird.reached == 2


# Rebinding ------------------------------------------------------------------------------------

PUBLIC = "93.184.216.34"
TRIES = 1_000


def changing(name: str, kind: str, count: int) -> list[str]:
    """A name that changes its mind; how is told by its first label."""
    how = name.partition(".")[0].partition("-")[0]
    if kind == "AAAA":
        return {"six": ["::1"], "mapped": ["::ffff:127.0.0.1"]}.get(how, [])
    if how == "mixed":
        return [PUBLIC, "127.0.0.1"]
    is_good = count % 2 == 1 if how == "flip" else count == 1
    return [PUBLIC] if is_good or how in {"six", "mapped"} else ["127.0.0.1"]


def rebinding(tries: int) -> Iterable[str]:
    """The names to try: few of some, so that each is asked for again and again."""
    for number in range(tries):
        how = ("flip", "late", "mixed", "six", "mapped")[number % 5]
        yield f"{how}-{number % 50}.example"


async def test_no_name_that_changes_its_mind_reaches_the_canary(bird, capsys):
    inside, said = Inside(), list[str]()
    with dns.names(changing) as server:
        connector = Connector(Rules.of([], dns.lookup(server.port)), inside)

        async def one(name: str) -> None:
            said.append(await call_tool(f"http://{name}:{bird.port}/x", connector))

        names = list(rebinding(TRIES))
        for start in range(0, TRIES, 25):
            async with asyncio.TaskGroup() as group:
                for name in names[start : start + 25]:
                    group.create_task(one(name))
        await connector.aclose()
        asked = server.asked

    with capsys.disabled():
        say(
            f"\nrebinding tries: {len(said)}, queries: {asked.total()}, connected to the vetted "
            f"public address: {inside.outside}, reached: {bird.reached}"
        )
    assert bird.reached == 0
    assert (asked["A"], asked["AAAA"]) == (TRIES, TRIES)  # each try asks once
    assert inside.outside > 100
    assert all(said)


async def test_one_who_asks_twice_would_have_reached_it(bird):
    """The same names against check-then-connect by name: the test above can fail."""
    with dns.names(changing) as server:
        lookup = dns.lookup(server.port)
        rules = Rules.of([], lookup)
        for name in rebinding(50):
            try:
                await rules.vetted(name, bird.port)
            except Refused:
                continue
            address = (await lookup(name, bird.port))[0]
            if address == "127.0.0.1":
                _, writer = await asyncio.open_connection(address, bird.port)
                writer.write(b"GET / HTTP/1.1\r\n\r\n")
                writer.close()
                await writer.wait_closed()

        await asyncio.sleep(0.05)

    assert bird.reached > 0


async def test_sent_is_told_of_nothing_that_was_refused(bird):
    connector = Connector(Rules.of([]))
    sent = Sent()

    with pytest.raises(Refused):
        async with connector.send(httpx2.Request("POST", f"http://127.0.0.1:{bird.port}/"), sent):
            pass
    await connector.aclose()

    assert not sent.begun
