"""The catalog: names, gaps, one start for all, lists that stay fresh, servers that come back."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from studio.core.tools import offers
from studio.core.tools.catalog import LiveCatalog
from studio.core.tools.plugins import Plugins
from studio.core.tools.tool import Kit, Offered

ROOT = Path(__file__).parents[3]
STAND_IN = ["${python}", "-m", "tests.standins.mcp_server", "--mode"]
PLATFORM = {"ask_person", "wait_until", "save_artifact", "read_artifact"}


def server(name: str = "s", mode: str = "plain", **more: Any) -> dict[str, Any]:
    env = {"PYTHONPATH": str(ROOT), **more.pop("env", {})}
    return {"name": name, "command": [*STAND_IN, mode], "env": env, "timeout": 20, **more}


def http_tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "kind": "http", "url": "https://x.example/", **more}


def kit(seconds: float = 10) -> Kit:
    return Kit(key="k" * 64, deadline=time.monotonic() + seconds, session_id="s", effect_id="e")


@pytest.fixture
def plugins(tmp_path) -> Plugins:
    folder = tmp_path / "plugins" / "kit"
    folder.mkdir(parents=True)
    described = {
        "name": "kit",
        "version": "2.0",
        "description": "x",
        "servers": [server("p", transport="stdio")],
    }
    (folder / "plugin.json").write_text(json.dumps(described))
    return Plugins([tmp_path / "plugins"])


@pytest.fixture
async def catalog(plugins, tmp_path) -> AsyncIterator[LiveCatalog]:
    found = LiveCatalog(plugins, {"SET": "value"}, frozenset(), tmp_path)
    yield found
    await found.close()


def names(offered: Offered) -> set[str]:
    return set(offered.tools) - PLATFORM


async def until(claim: Callable[[], Any]) -> Any:
    end = time.monotonic() + 10
    while not (found := claim()) and time.monotonic() < end:
        await asyncio.sleep(0.02)
    return found


async def test_an_empty_manifest_is_offered_the_platform_s_tools(catalog):
    offered = await catalog.offered({})

    assert set(offered.tools) == PLATFORM
    assert offered.gaps == ()


async def test_every_tool_is_found_under_the_name_it_bears(catalog):
    manifest = {"tools": [http_tool("notify")], "servers": [server()], "plugins": ["kit"]}

    offered = await catalog.offered(manifest)

    assert all(name == tool.spec.name for name, tool in offered.tools.items())
    assert offered.tools["notify"].spec.origin.kind == "http"
    assert offered.tools["echo"].spec.origin.server == "s"
    origin = offered.tools["p_echo"].spec.origin
    assert (origin.server, origin.plugin, origin.plugin_version) == ("p", "kit", "2.0")


async def test_a_server_s_tool_gives_way_to_a_described_one(catalog):
    offered = await catalog.offered({"tools": [http_tool("echo")], "servers": [server()]})

    assert offered.tools["echo"].spec.origin.kind == "http"
    assert offered.tools["s_echo"].spec.origin.kind == "mcp"


async def test_only_what_the_manifest_wants_is_offered(catalog):
    offered = await catalog.offered({"servers": [server(only=["echo", "missing"])]})

    assert names(offered) == {"echo"}


async def test_an_empty_list_offers_nothing(catalog):
    offered = await catalog.offered({"servers": [server(only=[])]})

    assert (names(offered), offered.gaps) == (set(), ())


async def test_tools_are_switched_off_and_on_by_name_and_for_the_rest(catalog):
    tools = {"*": {"enabled": False}, "echo": {"enabled": True, "repeatable": True}}

    offered = await catalog.offered({"servers": [server(tools=tools)]})
    others = await catalog.offered({"servers": [server(tools={"echo": {"enabled": False}})]})

    assert names(offered) == {"echo"}
    assert offered.tools["echo"].spec.repeatable
    assert "echo" not in others.tools
    assert "env" in others.tools


async def test_a_name_that_is_taken_is_explained(catalog):
    offered = await catalog.offered({"servers": [server("a", only=["echo"]), server("b")]})

    assert offered.tools["echo"].spec.origin.server == "a"
    assert offered.tools["b_echo"].spec.origin.server == "b"
    words = "b: echo is called b_echo here, because the server a has that name."
    assert [gap.message for gap in offered.gaps] == [words]
    assert [gap.kind for gap in offered.gaps] == ["renamed"]


async def test_the_manifest_s_word_weighs_more_than_the_server_s(catalog):
    overrides = {"echo": {"read_only": True, "repeatable": True, "on_uncertain": "tell"}}

    offered = await catalog.offered({"servers": [server(tools=overrides)]})

    spec = offered.tools["echo"].spec
    assert (spec.read_only, spec.repeatable, spec.on_uncertain) == (True, True, "tell")
    other = offered.tools["env"].spec
    assert (other.read_only, other.repeatable, other.on_uncertain) == (False, False, "ask")


async def test_a_destination_is_what_was_written_and_no_place_of_this_machine(catalog):
    offered = await catalog.offered({"servers": [server()]})

    words = " ".join([*STAND_IN, "plain"]).replace("${python}", "python")
    assert offered.tools["echo"].spec.destination == words


@pytest.mark.parametrize(
    "manifest,source,words",
    [
        ({"tools": [http_tool("ask_person")]}, "ask_person", "name of a tool of the studio"),
        ({"tools": [http_tool("a"), http_tool("a")]}, "a", "described twice"),
        ({"tools": [http_tool("do it")]}, "do it", "is no name"),
        ({"tools": [http_tool("a__b")]}, "a__b", "holds “__”"),
        ({"tools": [http_tool("a", kind="sandbox")]}, "a", "of the kind sandbox"),
        ({"tools": [http_tool("a", url="nowhere")]}, "a", "http or https"),
        ({"tools": [http_tool("a", timeout="soon")]}, "a", "soon"),
        ({"tools": [http_tool("a", headers={"X": {"setting": "NO"}})]}, "a", "STUDIO_SETTING_NO"),
        ({"plugins": ["none"]}, "none", "no such plugin"),
        ({"servers": [{"name": "s"}]}, "s", "“command” is a list"),
        ({"servers": [{"name": "s", "command": ["a\0b"]}]}, "s", "“command” is a list"),
        ({"servers": [{"name": "s", "transport": "smoke"}]}, "s", "no transport smoke"),
        ({"servers": [{"name": "s", "transport": "http", "url": "x"}]}, "s", "not an http"),
        ({"servers": [server(env={"A": {"setting": "NO"}})]}, "s", "STUDIO_SETTING_NO"),
        ({"servers": [server(timeout=0)]}, "s", "“timeout”"),
        ({"servers": [{"name": "s", "command": ["/no/such/program"]}]}, "s", "no such program"),
        ({"servers": [server(mode="quits")]}, "s", "No module named 'ledger'"),
        ({"servers": [server(mode="quits")]}, "s", "ended with status 7"),
        ({"servers": [server(mode="garbage", timeout=0.7)]}, "s", "Welcome to my server!"),
        ({"servers": [server(mode="mute", timeout=0.7)]}, "s", "no answer in time"),
        ({"servers": [server(mode="old")]}, "s", "1999-01-01"),
    ],
)
async def test_what_cannot_be_offered_is_a_gap_in_words(catalog, manifest, source, words):
    offered = await catalog.offered(manifest)

    assert names(offered) <= {"a"}
    assert [gap.source for gap in offered.gaps] == [source]
    assert words in offered.gaps[0].message


async def test_one_broken_server_does_not_hide_another(catalog):
    offered = await catalog.offered({"servers": [server("bad", "quits"), server("good")]})

    assert "echo" in offered.tools
    assert [gap.source for gap in offered.gaps] == ["bad"]


async def test_what_was_offered_is_kept_while_nothing_changes(catalog):
    manifest = {"servers": [server()]}

    assert await catalog.offered(manifest) is await catalog.offered(manifest)


async def test_all_who_come_at_once_share_one_start(catalog):
    manifests = [{"servers": [server()], "description": str(number)} for number in range(5)]

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(catalog.offered(manifest)) for manifest in manifests]
    pids = {(await task.result().tools["spawn"].call({}, kit())).value["own"] for task in tasks}

    assert len(pids) == 1


async def test_one_who_gives_up_waiting_does_not_stop_the_start(catalog):
    manifest = {"servers": [server()]}
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):  # it has only begun
            await catalog.offered(manifest)

    assert "echo" in (await catalog.offered(manifest)).tools


async def test_another_setting_is_another_server(plugins, tmp_path):
    manifest = {"servers": [server(env={"TOKEN": {"setting": "SET"}})]}
    seen = []
    for value in ("one-value", "two-value"):
        catalog = LiveCatalog(plugins, {"SET": value}, frozenset(), tmp_path)
        offered = await catalog.offered(manifest)
        seen.append(offered.tools["echo"].spec.hash)
        assert (await offered.tools["env"].call({}, kit())).value["TOKEN"] == "[masked: SET]"
        await catalog.close()

    assert seen[0] == seen[1]


async def test_a_server_whose_tools_changed_is_asked_again(catalog):
    manifest = {"servers": [server()]}
    before = await catalog.offered(manifest)

    await before.tools["change"].call({}, kit())

    assert "extra0" not in before.tools
    assert await until_offered(catalog, manifest, "extra0")


async def test_a_newer_server_tells_of_changes_to_those_who_listen(catalog):
    manifest = {"servers": [server(mode="sdk")]}
    before = await catalog.offered(manifest)
    connection = before.tools["change"]._connection
    assert await until(lambda: connection.is_listening)

    await before.tools["change"].call({}, kit())

    assert await until_offered(catalog, manifest, "extra0")


async def until_offered(catalog: LiveCatalog, manifest: dict[str, Any], name: str) -> bool:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if name in (await catalog.offered(manifest)).tools:
            return True
        await asyncio.sleep(0.02)
    return False


async def test_a_server_that_died_is_started_again(catalog):
    manifest = {"servers": [server()]}
    before = await catalog.offered(manifest)
    with pytest.raises(Exception, match="cannot go on"):
        await before.tools["dies"].call({}, kit())

    after = await catalog.offered(manifest)

    assert after.gaps == ()
    assert (await after.tools["echo"].call({"a": 1}, kit())).value == {"echo": {"a": 1}}
    assert after.tools["echo"].spec.hash == before.tools["echo"].spec.hash


async def test_a_server_that_keeps_failing_is_left_alone_for_a_while(catalog):
    manifest = {"servers": [server(mode="quits")]}
    for _ in range(5):
        offered = await catalog.offered(manifest)

    assert "is tried again in" in offered.gaps[0].message


async def test_an_odd_schema_leaves_out_one_tool_only(catalog, tmp_path):
    program = tmp_path / "odd.py"
    program.write_text(ODD)

    offered = await catalog.offered(
        {"servers": [{"name": "odd", "command": ["${python}", str(program)]}]}
    )

    assert names(offered) == {"good"}
    assert "bad is left out: its schema" in offered.gaps[0].message


@pytest.mark.parametrize(
    "name,words", [("a__b", "holds “__”"), ("read", "every agent has"), ("shell", "every agent")]
)
async def test_a_name_that_is_kept_for_the_studio_is_refused(catalog, tmp_path, name, words):
    program = tmp_path / "odd.py"
    program.write_text(ODD.replace('"bad"', f'"{name}"').replace('"type": "x"', '"type": "null"'))

    offered = await catalog.offered(
        {"servers": [{"name": "odd", "command": ["${python}", str(program)]}]}
    )

    assert names(offered) == {"good"}
    assert offered.gaps[0].message.startswith(f"odd: {name} is left out: its name ")
    assert words in offered.gaps[0].message


@pytest.mark.parametrize(
    "name,words",
    [
        ("", "odd: a tool is left out: it has no name."),
        ("ask person", "a tool of the studio has that"),
    ],
)
async def test_a_name_that_is_none_here_hides_no_other_tool(catalog, tmp_path, name, words):
    program = tmp_path / "odd.py"
    program.write_text(ODD.replace('"bad"', f'"{name}"').replace('"type": "x"', '"type": "null"'))

    offered = await catalog.offered(
        {"servers": [{"name": "odd", "command": ["${python}", str(program)]}]}
    )

    assert names(offered) == {"good"} | ({"odd_ask_person"} if name else set())
    assert words in offered.gaps[0].message


def test_a_long_name_keeps_its_beginning_and_stays_its_own():
    one, two = offers.plain("x" * 80 + "a"), offers.plain("x" * 80 + "b")

    assert (len(one), len(two)) == (64, 64)
    assert one[:55] == two[:55]
    assert one != two


async def test_an_endless_list_is_cut(catalog, tmp_path):
    program = tmp_path / "odd.py"
    program.write_text(ODD.replace("CURSOR = None", "CURSOR = 'more'"))

    offered = await catalog.offered(
        {"servers": [{"name": "odd", "command": ["${python}", str(program)]}]}
    )

    assert names(offered) == {"good"}


ODD = """
import json, sys
CURSOR = None
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    told = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "odd", "version": "0"}}
    if asked["method"] == "tools/list":
        told = {"tools": [{"name": "good", "inputSchema": {"type": "object"}},
                          {"name": "bad", "inputSchema": {"type": "object", "properties":
                                                          {"a": {"type": "x"}}}}]}
        if CURSOR:
            told["nextCursor"] = CURSOR + str(asked["id"])
    answer = {"jsonrpc": "2.0", "id": asked["id"], "result": told}
    if asked["method"] not in ("initialize", "tools/list"):
        answer = {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}}
    sys.stdout.write(json.dumps(answer) + "\\n")
    sys.stdout.flush()
"""


async def test_closing_twice_is_fine_and_nothing_is_left(plugins, tmp_path):
    catalog = LiveCatalog(plugins, {}, frozenset(), tmp_path)
    await catalog.offered({"servers": [server()], "tools": [http_tool("a")]})

    await catalog.close()
    await catalog.close()

    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert left == set()
