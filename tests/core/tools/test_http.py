"""HTTP tools against a receiver that writes every call down, and one that behaves badly."""

import asyncio
import base64
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from studio.core.network.connector import Connector
from studio.core.network.resolver import Rules
from studio.core.tools import http, http_answer
from studio.core.tools.tool import Kit, Result, ToolError
from tests.standins.receiver import Receiver, receiver

KEY = "k" * 64
TRACE = "00-" + "1" * 32 + "-" + "2" * 16 + "-01"
SETTINGS = {"TOKEN": "s3cr3t/token&more", "BASIC": "Basic dXNlcjpwYXNz", "EMPTY": ""}


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Receiver]:
    with receiver(tmp_path_factory.mktemp("receiver")) as found:
        yield found


@pytest.fixture
async def connector(server) -> AsyncIterator[Connector]:
    found = Connector(Rules.of([server.url.removeprefix("http://")]))
    yield found
    await found.aclose()


def kit(seconds: float = 10) -> Kit:
    return Kit(
        key=KEY, deadline=time.monotonic() + seconds, session_id="s", effect_id="e",
        traceparent=TRACE, tracestate="a=1",
    )  # fmt: skip


def tool(connector: Connector, url: str, **more: Any) -> http.HttpTool:
    entry = {"name": "notify", "kind": "http", "method": "POST", "url": url, **more}
    return http.HttpTool(http.described(entry, SETTINGS), connector)


@pytest.fixture
def call(server, connector):
    """Call a path of the receiver."""

    async def calling(path: str, arguments: Any = None, *, seconds: float = 10, **more) -> Result:
        made = tool(connector, server.url + path, **more)
        return await made.call({} if arguments is None else arguments, kit(seconds))

    return calling


@pytest.fixture
def failure(call):
    """The error of calling a path of the receiver."""

    async def failing(path: str, arguments: Any = None, **more) -> ToolError:
        with pytest.raises(ToolError) as caught:
            await call(path, arguments, **more)
        return caught.value

    return failing


# What is sent ---------------------------------------------------------------------------------


async def test_arguments_go_into_the_path_and_the_body(call):
    result = await call("/x/{release}/{n}", {"release": "a/b ?ž", "n": 3, "text": "hi", "to": [1]})

    assert result.value["path"] == "/x/a%2Fb%20%3F%C5%BE/3"
    assert result.value["body"] == {"text": "hi", "to": [1]}


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_without_a_body_they_go_into_the_query(call, method):
    result = await call(
        "/x?fixed=1",
        {"a": "b&c", "flag": True, "many": ["x"], "none": None, "obj": {"k": 1}},
        method=method,
    )

    assert result.value["method"] == method
    assert result.value["query"] == {
        "fixed": "1", "a": "b&c", "flag": "true", "many": "x", "obj": '{"k": 1}',
    }  # fmt: skip


async def test_key_trace_and_settings_go_out_as_headers(call, server):
    await call("/x", headers={"Authorization": {"setting": "BASIC"}, "X-Kind": "test"})

    headers = server.lines()[-1]["headers"]
    assert headers["idempotency-key"] == KEY
    assert (headers["traceparent"], headers["tracestate"]) == (TRACE, "a=1")
    assert headers["authorization"] == "Basic dXNlcjpwYXNz"
    assert headers["x-kind"] == "test"
    assert headers["content-type"] == "application/json"
    assert headers["host"] == server.url.removeprefix("http://")


async def test_each_call_is_sent_once(call, server):
    before = len(server.lines())

    await call("/x")

    assert len(server.lines()) == before + 1


async def test_half_a_surrogate_pair_can_be_sent(call):
    assert (await call("/x", {"text": "\ud800"})).value["body"] == {"text": "\ud800"}
    assert (await call("/x", {"text": "\ud800"}, method="GET")).value["query"] == {"text": "?"}


@pytest.mark.parametrize("value", ["..", ".", "", None, True, ["a"], {"a": 1}])
async def test_a_path_parameter_cannot_leave_its_place(call, server, value):
    before = len(server.lines())

    with pytest.raises(ToolError) as caught:
        await call("/x/{part}/y", {"part": value})

    assert (caught.value.code, caught.value.settled) == ("tool.bad_arguments", True)
    assert len(server.lines()) == before


# What comes back ------------------------------------------------------------------------------


async def test_json_comes_back_as_a_value(call):
    assert (await call("/typed/application/vnd.x+json?body=[1]", method="GET")).value == [1]


async def test_text_comes_back_as_text(call):
    result = await call("/typed/text/csv?body=a,b", method="GET")

    assert (result.text, result.media) == ("a,b", "text/csv")


async def test_bytes_come_back_in_base_64(call):
    result = await call("/typed/image/png?body=%C3%BFPNG", method="GET")

    assert result.value == {
        "media": "image/png",
        "bytes": 4,
        "base64": base64.b64encode(b"\xffPNG").decode(),
    }


@pytest.mark.parametrize(
    "body,value,text", [("{}", {}, None), ("hello", None, "hello"), ("", None, None)]
)
async def test_an_untyped_answer_is_what_it_looks_like(call, body, value, text):
    result = await call(f"/typed?body={body}", method="GET")

    assert (result.value, result.text) == (value, text)


async def test_an_empty_answer_is_null(call):
    assert (await call("/empty/204")).value is None


@pytest.mark.parametrize("body", ["{oops", "NaN", "[1e999]", "{'a': 1}"])
async def test_json_that_is_none_is_a_bad_result(failure, body):
    path = f"/typed/application/json?body={body}"

    assert (await failure(path, method="GET")).code == "tool.bad_result"


async def test_endless_nesting_is_a_bad_result(failure):
    assert (await failure("/deep/2000")).code == "tool.bad_result"
    assert (await failure("/deep/200000")).code == "tool.bad_result"


async def test_a_result_that_fits_its_schema_passes(call):
    schema = {"type": "object", "required": ["key"]}

    assert (await call("/x", output=schema)).value["key"] == KEY


async def test_a_result_that_does_not_fit_its_schema_is_a_bad_result(failure):
    schema = {"type": "object", "properties": {"applied": {"type": "string"}}}

    error = await failure("/x", output=schema)

    assert (error.code, error.maybe_ran, error.settled) == ("tool.bad_result", False, False)
    assert "applied" in error.message
    assert error.result["key"] == KEY


async def test_a_secret_that_comes_back_is_masked(call, failure):
    headers = {"Authorization": {"setting": "TOKEN"}, "X-Basic": {"setting": "BASIC"}}

    echoed = (await call("/echo", headers=headers)).value
    refused = await failure("/fail/400/s3cr3t%2Ftoken%26more", headers=headers)

    assert (echoed["authorization"], echoed["x-basic"]) == (
        "[masked: TOKEN]",
        "[masked: BASIC]",
    )
    assert "s3cr3t" not in refused.message + str(refused.result)
    assert "[masked: TOKEN]" in refused.message


CANARY = "canary-in-the-answer"


async def test_only_what_is_selected_comes_back(call):
    body = f'{{"data":{{"id":7,"more":"{CANARY}"}},"x":"{CANARY}"}}'
    path = f"/typed/application/json?body={body}"

    kept = await call(path, method="GET", select={"id": "data.id"}, output={"type": "object"})

    assert kept.value == {"id": 7}


@pytest.mark.parametrize(
    "path,more",
    [
        (f'/typed/application/json?body={{"other":"{CANARY}"}}', {}),
        (f'/typed/application/json?body={{"id":"{CANARY}"}}', {"select": "id[0]"}),
        (f"/typed/text/html?body={CANARY}", {}),
        (f'/typed/application/json?body={{"id":1,"x":"{CANARY}"}}', {"output": {"type": "string"}}),
        (f"/echo?x={CANARY}", {"select": "nothing"}),
    ],
)
async def test_an_answer_that_does_not_fit_is_told_without_it(failure, path, more):
    error = await failure(path, method="GET", **{"select": "id", **more})

    assert error.code == "tool.bad_result"
    assert CANARY not in error.message + str(error.result)
    assert "fit" in error.message or "not JSON" in error.message


async def test_a_failure_keeps_the_server_s_words_and_not_its_answer(failure):
    error = await failure("/fail/400/no room", select="id")

    assert "no room" in error.message.replace("%20", " ")
    assert error.result is None


async def test_a_look_at_the_head_says_what_it_found(call):
    kept = (await call("/typed/text/plain?body=hello", method="HEAD")).value

    assert (kept["status"], kept["content-type"]) == (200, "text/plain")


# What goes wrong ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "status,settled",
    [(400, True), (404, True), (422, True), (408, False), (409, False), (429, False)],
)
async def test_a_refusal_is_a_definite_answer(failure, status, settled):
    error = await failure(f"/fail/{status}/nothing here")

    assert (error.code, error.settled, error.maybe_ran) == ("tool.refused", settled, False)
    assert "nothing here" in error.message.replace("%20", " ")
    assert error.result["key"] == KEY


@pytest.mark.parametrize("read_only", [True, False])
async def test_a_server_that_failed_may_have_done_it_unless_it_only_reads(failure, read_only):
    error = await failure("/fail/503", read_only=read_only)

    assert (error.code, error.maybe_ran) == ("tool.failed", not read_only)


@pytest.mark.parametrize("path", ["/cut", "/half", "/noise"])
async def test_a_connection_that_breaks_after_the_send_leaves_it_open(failure, server, path):
    before = len(server.lines())

    error = await failure(path)

    assert (error.code, error.maybe_ran, error.settled) == ("tool.unreachable", True, False)
    assert len(server.lines()) == before + 1


async def test_a_read_that_broke_did_nothing(failure):
    assert (await failure("/cut", method="GET")).maybe_ran is False


@pytest.mark.parametrize("path", ["/hang", "/drip"])
@pytest.mark.parametrize("limit", [{"seconds": 0.3}, {"timeout": 0.3}])
async def test_an_answer_that_does_not_end_is_not_waited_for(failure, path, limit):
    started = time.monotonic()

    error = await failure(path, **limit)

    assert (error.code, error.maybe_ran) == ("tool.timeout", True)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("path", ["/huge/50", "/endless", "/huge/7?type=image/png"])
async def test_an_answer_that_is_too_large_is_not_kept(failure, path):
    assert (await failure(path)).code == "tool.too_large"


async def test_a_packed_answer_is_not_unpacked(failure):
    assert (await failure("/zip")).code == "tool.bad_result"


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_a_redirect_that_would_change_the_request_is_not_followed(failure, server, status):
    error = await failure(f"/away/{status}")

    assert error.code == "tool.redirected"
    assert server.lines()[-1]["path"] == f"/away/{status}"


@pytest.mark.parametrize("status", [301, 307])
async def test_a_redirect_elsewhere_is_named_and_not_followed(failure, status):
    to = "http://secret.example:81/x?token=1"

    error = await failure(f"/away/{status}?to={to}", method="GET")

    assert "points to http://secret.example; that is not followed" in error.message


async def test_a_place_that_is_not_public_is_not_reached(server):
    strict = Connector(Rules.of([]))
    before = len(server.lines())

    with pytest.raises(ToolError, match=r"loopback.*Nothing was sent") as caught:
        await tool(strict, server.url + "/x").call({}, kit())
    await strict.aclose()

    assert (caught.value.settled, caught.value.maybe_ran) == (True, False)
    assert len(server.lines()) == before


async def test_a_name_that_turns_to_loopback_after_the_check_is_not_followed(server):
    asked = list[str]()

    async def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["192.0.2.1"] if len(asked) == 1 else ["127.0.0.1"]

    connector = Connector(Rules.of([], rebinding))
    before = len(server.lines())
    port = server.url.rpartition(":")[2]
    for _ in range(3):
        with pytest.raises(ToolError, match="may not reach"):
            await tool(connector, f"http://rebind.example:{port}/x").call({}, kit())
    await connector.aclose()

    assert len(asked) == 3
    assert len(server.lines()) == before


async def test_a_vetted_name_is_reached_at_its_address_under_its_own_name(server):
    async def lookup(host: str, port: int) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]

    port = int(server.url.rpartition(":")[2])
    connector = Connector(Rules.of([f"names.example:{port}"], lookup))

    result = await tool(connector, f"http://names.example:{port}/echo").call({}, kit())
    await connector.aclose()

    assert result.value["host"] == f"names.example:{port}"


async def test_nobody_there_means_nothing_was_sent():
    connector = Connector(Rules.of(["127.0.0.1:9"]))

    with pytest.raises(ToolError) as caught:
        await tool(connector, "http://127.0.0.1:9/x").call({}, kit())
    await connector.aclose()

    assert (caught.value.code, caught.value.settled) == ("tool.unreachable", True)


async def test_tls_asks_for_the_name_and_not_for_the_address():
    hello = bytearray()

    async def greeted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hello.extend(await reader.read(4096))
        writer.transport.abort()

    async def lookup(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    server = await asyncio.start_server(greeted, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    connector = Connector(Rules.of([f"names.example:{port}"], lookup))
    with pytest.raises(ToolError) as caught:
        await tool(connector, f"https://names.example:{port}/x").call({}, kit())
    await connector.aclose()
    server.close()

    assert b"names.example" in hello
    assert caught.value.settled


async def test_cancelling_stops_at_once(call, server):
    before = len(server.lines())

    async with asyncio.TaskGroup() as group:
        task = group.create_task(call("/hang"))
        while len(server.lines()) == before:
            await asyncio.sleep(0.01)
        task.cancel()

    assert task.cancelled()


def test_an_answer_whose_type_is_none_counts_as_untyped():
    assert http_answer.read("text/日本", b"hello").media == "text/plain"
