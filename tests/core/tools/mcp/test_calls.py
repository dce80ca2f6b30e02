"""Calls of MCP tools: what comes back, and what is said when it breaks; over stdio and HTTP."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from studio.core.tools.catalog import LiveCatalog
from studio.core.tools.plugins import Plugins
from studio.core.tools.tool import Kit, Offered, Result, ToolError
from tests.standins.mcp_plain import PlainHttp, plain_http
from tests.standins.mcp_server import sdk_http

KEY = "k" * 64
TRACE = "00-" + "1" * 32 + "-" + "2" * 16 + "-01"
ROOT = Path(__file__).parents[4]
SETTINGS = {"TOKEN": "very-secret-token"}


@pytest.fixture
def calls(tmp_path) -> Path:
    """The file that the hand-made server writes calls into."""
    return tmp_path / "calls.jsonl"


def described_stdio(mode: str, **env: Any) -> dict[str, Any]:
    """A manifest's description of a stand-in over stdio."""
    command = ["${python}", "-m", "tests.standins.mcp_server", "--mode", mode]
    env = {"PYTHONPATH": str(ROOT), "TOKEN": {"setting": "TOKEN"}, **env}
    return {"name": "s", "transport": "stdio", "command": command, "env": env}


@pytest.fixture
def plain(calls) -> Iterator[PlainHttp]:
    with plain_http(calls) as server:
        yield server


@pytest.fixture
async def offered(tmp_path) -> AsyncIterator[Callable[..., Any]]:
    """What is offered of one server; everything is closed at the end."""
    catalogs = list[LiveCatalog]()

    async def found(described: dict[str, Any], allow: str = "") -> Offered:
        place = described.get("url", "").removeprefix("http://").partition("/")[0]
        catalog = LiveCatalog(Plugins([]), SETTINGS, frozenset({allow or place}), tmp_path)
        catalogs.append(catalog)
        manifest = {"servers": [described]}
        return await catalog.offered(manifest)

    yield found
    for catalog in catalogs:
        await catalog.close()


def kit(seconds: float = 20, progress: Any = lambda *_: None) -> Kit:
    return Kit(
        key=KEY, deadline=time.monotonic() + seconds, session_id="s", effect_id="eff_01e1",
        traceparent=TRACE, tracestate="a=1", progress=progress,
    )  # fmt: skip


async def call(found: Offered, name: str, arguments: Any = None, **more: Any) -> Result:
    return await found.tools[name].call({} if arguments is None else arguments, kit(**more))


async def failure(found: Offered, name: str, arguments: Any = None, **more: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await call(found, name, arguments, **more)
    return caught.value


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


async def until(claim: Callable[[], Any]) -> Any:
    """Wait until a claim holds; at most ten seconds."""
    end = time.monotonic() + 10
    while not (found := claim()) and time.monotonic() < end:
        await asyncio.sleep(0.02)
    return found


# A good server, both ways ---------------------------------------------------------------------


# A server made with the SDK takes seconds to start, so these tests share two, and their loop.
shared = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["stdio", "http"])
async def good(request, tmp_path_factory) -> AsyncIterator[Offered]:
    with sdk_http() as url:
        described = (
            described_stdio("sdk")
            if request.param == "stdio"
            else {"name": "s", "transport": "http", "url": url}
        )
        place = url.removeprefix("http://").partition("/")[0]
        folder = tmp_path_factory.mktemp("data")
        catalog = LiveCatalog(Plugins([]), SETTINGS, frozenset({place}), folder)
        yield await catalog.offered({"servers": [described]})
        await catalog.close()


@shared
async def test_a_good_server_answers_in_every_form(good):
    assert good.gaps == ()
    assert (await call(good, "add", {"a": 1, "b": 2})).value == {"sum": 3}
    assert (await call(good, "say", {"text": "ahoj"})).text == "ahoj"
    assert (await call(good, "do_it_now")).value == {"called": "do it!/now"}
    parts = await call(good, "parts")
    assert [(file.media, file.data) for file in parts.files] == [("image/png", b"\0\0\0")]
    assert parts.value == [
        {"type": "text", "text": "a picture"},
        {"type": "image", "media": "image/png", "bytes": 3, "artifact": "art_01e1p1"},
        {"type": "resource", "uri": "file:///a.txt", "media": "text/plain", "text": "inside"},
    ]


@shared
async def test_key_and_trace_travel_in_the_meta(good):
    meta = (await call(good, "meta")).value

    assert meta["studio/idempotency-key"] == KEY
    assert (meta["traceparent"], meta["tracestate"]) == (TRACE, "a=1")


@shared
async def test_progress_is_passed_on(good):
    seen = list[tuple[float, float | None, str]]()

    await call(good, "slow", {"steps": 2}, progress=lambda *step: seen.append(step))

    assert await until(lambda: len(seen) == 2)
    assert sorted(seen) == [(1.0, 2.0, "step 1"), (2.0, 2.0, "step 2")]


@shared
async def test_a_tool_that_fails_says_so_in_its_own_words(good):
    error = await failure(good, "fails")

    assert (error.code, error.message) == ("tool.failed", "disk full")
    assert (error.maybe_ran, error.settled, error.result) == (False, False, "disk full")


@shared
async def test_a_result_against_its_own_schema_is_a_bad_result(good):
    error = await failure(good, "wrong_sum")

    assert (error.code, error.result) == ("tool.bad_result", {"sum": "many"})
    assert "sum" in error.message


@shared
async def test_a_tool_that_asks_for_input_is_told_no(good):
    assert (await failure(good, "asks")).code == "tool.needs_input"


@shared
async def test_an_answer_too_late_may_have_run(good):
    started = time.monotonic()

    error = await failure(good, "slow", {"seconds": 30}, seconds=0.3)

    assert (error.code, error.maybe_ran) == ("tool.timeout", True)
    assert time.monotonic() - started < 5
    assert (await call(good, "add", {"a": 2, "b": 2})).value == {"sum": 4}


@shared
async def test_arguments_that_are_no_object_are_not_sent(good):
    assert (await failure(good, "add", [1])).settled


# A bad server over stdio ----------------------------------------------------------------------


@pytest.fixture
async def bad(calls, offered) -> Offered:
    return await offered(described_stdio("plain", CALLS=str(calls)))


async def test_a_server_that_dies_leaves_it_open_and_comes_back(bad, calls):
    error = await failure(bad, "dies")

    assert (error.code, error.maybe_ran, error.settled) == ("tool.unreachable", True, False)
    assert "I cannot go on" in error.message
    assert (await call(bad, "echo", {"a": 1})).value == {"echo": {"a": 1}}
    assert [line["tool"] for line in lines(calls)] == ["dies", "echo"]


@pytest.mark.parametrize("name", ["hangs", "garbage", "wrong_id"])
async def test_no_answer_leaves_it_open_and_the_server_lives(bad, name):
    error = await failure(bad, name, seconds=0.5)

    assert (error.code, error.maybe_ran) == ("tool.timeout", True)
    assert (await call(bad, "echo")).value == {"echo": {}}


async def test_noise_between_the_lines_is_passed_over(bad):
    assert (await call(bad, "noise")).text == "after the noise"


async def test_a_flood_is_lived_through_and_kept_short(bad):
    assert (await call(bad, "flood")).text == "after the flood"
    assert len(bad.tools["flood"]._connection.words()) < 400
    assert (await call(bad, "echo")).value == {"echo": {}}


async def test_the_first_of_two_answers_counts(bad):
    assert (await call(bad, "twice")).text == "first"
    assert (await call(bad, "echo")).value == {"echo": {}}


@pytest.mark.parametrize(
    "name,code,maybe_ran",
    [
        ("huge", "tool.too_large", True),
        ("shapeless", "tool.bad_result", True),
        ("worded", "tool.bad_result", True),
        ("halved", "tool.bad_result", True),
        ("deep", "tool.bad_result", False),
        ("nan", "tool.bad_result", False),
        ("error", "tool.failed", False),
    ],
)
async def test_what_cannot_be_kept_is_said_and_the_server_lives(bad, name, code, maybe_ran):
    error = await failure(bad, name)

    assert (error.code, error.maybe_ran, error.settled) == (code, maybe_ran, False)
    assert (await call(bad, "echo")).value == {"echo": {}}


async def test_a_refusal_of_the_protocol_ran_nothing(bad):
    error = await failure(bad, "refuses")

    assert (error.code, error.settled) == ("tool.refused", True)


async def test_cancelling_tells_the_server(bad, calls):
    async with asyncio.TaskGroup() as group:
        task = group.create_task(call(bad, "hangs"))
        assert await until(lambda: lines(calls))
        task.cancel()

    assert await until(lambda: any("cancelled" in line for line in lines(calls)))
    assert (await call(bad, "echo")).value == {"echo": {}}


async def test_the_server_sees_a_narrow_environment(bad, monkeypatch):
    monkeypatch.setenv("AWS_SECRET", "not for you")

    seen = (await call(bad, "env")).value

    assert set(seen) - {"LC_CTYPE"} == {"PATH", "HOME", "LANG", "CALLS", "PYTHONPATH", "TOKEN"}


@pytest.mark.parametrize("fail", [False, True])
async def test_a_secret_in_an_answer_is_masked(bad, fail):
    if fail:
        error = await failure(bad, "secret", {"fail": True})
        told = error.message + str(error.result)
    else:
        told = str((await call(bad, "secret")).text)

    assert "[masked: TOKEN]" in told
    assert SETTINGS["TOKEN"] not in told


async def test_a_secret_on_stderr_is_masked(bad):
    await call(bad, "secret")

    error = await failure(bad, "hangs", seconds=0.3)

    assert "the token is [masked: TOKEN]" in error.message


def alive(pid: int) -> bool:
    """It runs; one that ended and is not yet reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("stubborn", [False, True])
async def test_closing_ends_the_whole_process_group(tmp_path, stubborn):
    catalog = LiveCatalog(Plugins([]), SETTINGS, frozenset(), tmp_path)
    found = await catalog.offered({"servers": [described_stdio("plain")]})
    pids = (await call(found, "spawn")).value
    if stubborn:
        await call(found, "ignores")
    assert alive(pids["pid"])
    assert alive(pids["own"])
    assert pids["own"] != os.getpid()

    await catalog.close()

    assert await until(lambda: not alive(pids["own"]) and not alive(pids["pid"]))


# A bad server over HTTP -----------------------------------------------------------------------


@pytest.fixture
async def web(plain, offered) -> Offered:
    return await offered({"name": "s", "transport": "http", "url": plain.url, "timeout": 20})


async def test_an_older_server_over_http_answers(web):
    assert web.gaps == ()
    assert (await call(web, "echo", {"a": 1})).value == {"echo": {"a": 1}}


@pytest.mark.parametrize(
    "name,code,maybe_ran",
    [
        ("cut", "tool.unreachable", True),
        ("half", "tool.unreachable", True),
        ("huge", "tool.too_large", True),
        ("shapeless", "tool.bad_result", True),
        ("error", "tool.failed", False),
    ],
)
async def test_what_breaks_over_http_breaks_one_call_only(web, name, code, maybe_ran):
    tool = web.tools["echo"]
    tool._name = name

    error = await failure(web, "echo")

    assert (error.code, error.maybe_ran, error.settled) == (code, maybe_ran, False)
    tool._name = "echo"
    assert (await call(web, "echo")).value == {"echo": {}}


@pytest.mark.parametrize(
    "status,maybe_ran,settled", [(400, False, True), (403, False, True), (500, True, False)]
)
async def test_a_status_says_whether_it_may_have_run(web, status, maybe_ran, settled):
    web.tools["echo"]._name = "status"

    error = await failure(web, "echo", {"status": status})

    assert (error.code, error.maybe_ran, error.settled) == ("tool.unreachable", maybe_ran, settled)
    assert str(status) in error.message
    assert "<h1>" not in error.message


async def test_a_server_that_forgot_us_is_asked_again(web, plain, calls):
    plain.session = "session-2"

    result = await call(web, "echo", {"a": 1})

    assert result.value == {"echo": {"a": 1}}
    assert [line["tool"] for line in lines(calls)] == ["echo"]


@pytest.mark.parametrize("about,words", [("New.", "was changed by"), ("gone", "is no longer")])
async def test_a_tool_that_changed_with_a_session_that_ended_is_not_called(
    web, plain, calls, about, words
):
    plain.session, plain.about = "session-2", {"echo": about}

    error = await failure(web, "echo", {"a": 1})

    assert (error.code, error.settled, error.maybe_ran) == ("tool.changed", True, False)
    assert words in error.message
    assert "not sent" in error.message
    assert lines(calls) == []


async def test_a_tool_that_changed_with_a_restart_is_not_called(offered, calls, tmp_path):
    about = tmp_path / "about.json"
    found = await offered(described_stdio("plain", CALLS=str(calls), ABOUT=str(about)))
    await failure(found, "dies")
    about.write_text(json.dumps({"echo": "Something else."}))

    error = await failure(found, "echo")
    again = await call(found, "noise")

    assert (error.code, error.settled) == ("tool.changed", True)
    assert again.text == "after the noise"
    assert [line["tool"] for line in lines(calls)] == ["dies", "noise"]


async def test_a_tool_that_changed_while_its_call_was_held_is_not_called(web, plain, calls):
    plain.about = {"echo": "New."}

    with pytest.raises(ToolError) as caught:
        await web.tools["echo"].call({}, replace(kit(), held=True))

    assert caught.value.code == "tool.changed"
    assert lines(calls) == []


async def test_a_held_call_of_a_server_that_forgot_us_is_sent(web, plain, calls):
    plain.session = "session-2"

    result = await web.tools["echo"].call({"a": 1}, replace(kit(), held=True))

    assert result.value == {"echo": {"a": 1}}
    assert [line["tool"] for line in lines(calls)] == ["echo"]


async def test_a_server_that_went_away_got_nothing(offered, calls):
    with plain_http(calls) as server:
        found = await offered({"name": "s", "transport": "http", "url": server.url})

    error = await failure(found, "echo")

    assert (error.code, error.settled, error.maybe_ran) == ("tool.unreachable", True, False)


async def test_headers_with_settings_are_sent_and_masked(plain, offered):
    plain.tokens = {SETTINGS["TOKEN"]}
    headers = {"Authorization": {"setting": "TOKEN"}}

    found = await offered({"name": "s", "transport": "http", "url": plain.url, "headers": headers})

    assert found.gaps == ()
    assert plain.asked[-1].headers["authorization"] == SETTINGS["TOKEN"]


async def test_a_server_that_is_not_public_is_not_reached(plain, offered):
    described = {"name": "s", "transport": "http", "url": plain.url}

    found = await offered(described, allow="elsewhere.example:80")

    assert "may not reach" in found.gaps[0].message
    assert plain.asked == []
