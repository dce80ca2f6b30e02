"""What the commands of an environment reach, and the secrets that they are given."""

import dataclasses
import http.server
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from studio.core.rules import events as e
from studio.core.work.environments import tries
from tests.core.conftest import ALICE, BOB, Core
from tests.core.environment_studio import Studio, results, shell, working
from tests.fakes import tool


@pytest.fixture
async def studio(core: Core, tmp_path: Path) -> AsyncIterator[Studio]:
    async with working(core, tmp_path) as found:
        yield found


@contextmanager
def served(text: str) -> Iterator[int]:
    """A server of this machine that answers with a text; its port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


GET = (
    'python3 -c "import urllib.request as u; '
    "print(u.urlopen('{url}', timeout=5).read().decode())\" 2>&1 | tail -1"
)


async def test_what_is_reached_for_is_recorded_with_its_turn(studio: Studio) -> None:
    with served("hello") as port:
        studio.names["allowed.test"] = "127.0.0.1"
        studio.allow.add(f"allowed.test:{port}")
        id = await studio.make(network={"allow": [{"host": "allowed.test", "ports": [port]}]})
        session_id = await studio.say(
            id,
            "\n".join([
                shell(GET.format(url=f"http://allowed.test:{port}/path?secret=1")), "then",
                shell(GET.format(url=f"http://other.test:{port}/")), "then",
                shell(GET.format(url="http://127.0.0.1:1/")),
            ]),
        )  # fmt: skip
        tried = await studio.tried(id, 3)

    reached, refused, loopback = await results(studio.core, session_id)
    assert reached["output"] == "hello\n"
    assert "403" in refused["output"]
    assert "403" in loopback["output"]
    assert [(one.host, one.outcome) for one in tried] == [
        ("allowed.test", "allowed"), ("other.test", "refused"), ("127.0.0.1", "refused"),
    ]  # fmt: skip
    session = await studio.core.session(session_id)
    assert session.turn is not None
    assert {turn.turn_id for one in tried for turn in one.turns} == {session.turn.id}
    assert tried[0].down > len("hello")
    told = json.dumps([dataclasses.asdict(one) for one in tried])
    assert "path" not in told
    assert "secret" not in told


async def test_without_an_allow_list_nothing_is_reached(studio: Studio) -> None:
    with served("hello") as port:
        id = await studio.make()
        session_id = await studio.say(id, shell(GET.format(url=f"http://127.0.0.1:{port}/")))

    (result,) = await results(studio.core, session_id)
    assert "hello" not in result["output"]
    assert not [f for f in await studio.facts(id) if isinstance(f, e.EgressTried)]


async def test_a_secret_is_given_to_the_command_that_asks_for_it_and_masked(studio: Studio) -> None:
    slots = [
        {"name": "TOKEN", "type": "variable", "binding": "API_TOKEN", "required": True},
        {"name": "KEY", "type": "file", "binding": "deploy.key", "required": False},
    ]
    id = await studio.make(secrets=slots)
    await studio.core.runtime.set_environment_secret(ALICE, id, "TOKEN", "canary-1a2b3c4d")
    await studio.core.runtime.set_environment_secret(ALICE, id, "KEY", "-----KEY-5e6f7a8b-----")
    session_id = await studio.say(
        id,
        "\n".join([
            shell("echo [$API_TOKEN]"), "then",
            shell("echo [$API_TOKEN]; cat /run/secrets/deploy.key", secrets=["TOKEN", "KEY"]),
            "then",
            shell("ls /run/secrets; true"), "then",
            shell("true", secrets=["OTHER"]),
        ]),
    )  # fmt: skip

    without, given, after, unknown = await results(studio.core, session_id)
    assert without["output"] == "[]\n"
    assert "canary" not in given["output"]
    assert given["output"].startswith("[[masked: TOKEN of lab]]\n")
    assert "[masked: KEY of lab]" in given["output"]
    assert "deploy.key" not in after["output"]
    assert "no secret OTHER" in unknown


@pytest.mark.parametrize("kind", ["http", "mcp"])
async def test_a_secret_of_an_environment_is_no_secret_of_the_studio(
    studio: Studio, kind: Any
) -> None:
    """Of one name: what the environment lends marks its own as used, and nobody else's."""
    got = list[Any]()

    async def act(arguments: Any, kit: Any) -> Any:
        got.append(dict(kit.headers))

    made = tool("crm", act)
    mcp = {"lent": ("CRM",)} if kind == "mcp" else {}
    origin = dataclasses.replace(made.spec.origin, kind=kind)
    made.spec = dataclasses.replace(
        made.spec, origin=origin, destination="GET https://crm.test/api", **mcp
    )
    studio.core.offer(made)
    slots = [{"name": "CRM", "type": "bearer", "binding": "https://crm.test/api"}]
    id, runtime = await studio.make(secrets=slots), studio.core.runtime
    await runtime.set_secret(ALICE, "CRM", "the-studios-own-value")
    await runtime.set_environment_secret(ALICE, id, "CRM", "the-environments-value")

    session_id = await studio.say(id, "call crm {}")

    assert await results(studio.core, session_id) == [None]
    if kind == "http":
        assert got == [{"authorization": "Bearer the-environments-value"}]
    (slot,) = await studio.core.parts.reader.environment_secrets(ALICE, id)
    assert (slot.used_by, bool(slot.effect_id)) == ("crm", True)
    (own,) = await studio.core.parts.reader.secrets(ALICE)
    assert own.used is None


async def test_many_refused_tries_of_one_command_are_counted(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tries, "MOST_OF_A_HOST", 3)
    id = await studio.make(network={"allow": [{"host": "allowed.test"}]})
    line = "for n in 1 2 3 4 5 6 7 8; do curl -s http://other.test/; done; true"

    await studio.say(id, shell(line))

    told = await studio.tried(id, 4)
    assert [one.tries for one in told] == [1, 1, 1, 5]
    assert "5 more tries by this command" in told[3].reason
    rows = (await studio.core.parts.reader.egress(BOB, id)).items
    assert [row.host for row in rows] == ["other.test"] * 4
    assert rows[0].reason == told[3].reason
