"""Chat completions through the SDK, against a server that behaves and one that does not."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from studio.core.providers.provider import (
    Message,
    ProposedCall,
    Provider,
    ProviderError,
    Reply,
    Request,
    TextDelta,
    ToolOffer,
)
from studio.core.providers.shelf import Shelf
from tests.standins.chat_model import ANSWER, ChatModel, chat_model

KEY = "sk-very-secret-key"


@pytest.fixture(scope="module")
def server() -> Iterator[ChatModel]:
    with chat_model() as model:
        yield model


@pytest.fixture
async def shelf() -> AsyncIterator[Shelf]:
    found = Shelf({"MODEL_KEY": KEY})
    yield found
    await found.close()


@pytest.fixture
async def provider(server, shelf) -> Provider:
    return await shelf.get(manifest(server))


def manifest(server: ChatModel, **more: Any) -> dict[str, Any]:
    key = {"setting": "MODEL_KEY"}
    return {"provider": "chat", "base_url": server.url, "key": key, "timeout": 5, **more}


def request(model: str, **more: Any) -> Request:
    return Request(
        model=model, **{"instructions": "", "messages": (Message(role="user", text="hi"),), **more}
    )


async def answer(provider: Provider, asked: Request) -> Reply:
    *deltas, last = [item async for item in provider.stream(asked)]

    assert isinstance(last, Reply)
    assert "".join(item.text for item in deltas if isinstance(item, TextDelta)) == last.text
    return last


async def error(provider: Provider, model: str) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await answer(provider, request(model))
    assert KEY not in caught.value.message
    return caught.value


async def test_text_comes_in_deltas_with_usage_at_the_end(provider):
    reply = await answer(provider, request("normal"))

    assert reply.text == ANSWER
    assert reply.stop == "end"
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (100, 40)
    assert reply.usage.cached_tokens == 60


def sent_call(call_id: str, arguments: str) -> dict[str, Any]:
    function = {"name": "read", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


async def test_the_talk_is_sent_as_the_protocol_has_it(provider, server):
    calls = (
        ProposedCall(id="a", name="read", arguments={"x": "ž"}),
        ProposedCall(id="b", name="read", arguments=None, broken="{oops"),
    )
    talk = (
        Message(role="user", text="go \ud800"),
        Message(role="assistant", calls=calls),
        Message(role="tool", text="no such file", call_id="a", name="read", failed=True),
        Message(role="assistant", text="Sorry."),
    )

    await answer(provider, request("normal", instructions="Be brief.", messages=talk))

    assert server.asked[-1]["body"]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "go ?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                sent_call("a", '{"x": "ž"}'),
                sent_call("b", '{"unreadable": "{oops"}'),
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "no such file"},
        {"role": "assistant", "content": "Sorry."},
    ]


async def test_tools_form_and_trace_are_sent_as_the_protocol_has_them(provider, server):
    offer = ToolOffer(name="read", description="Reads.", schema={"type": "object"})
    trace = "00-" + "1" * 32 + "-" + "2" * 16 + "-01"

    await answer(
        provider,
        request("normal", tools=(offer,), output_schema={"type": "object"}, traceparent=trace),
    )

    sent = server.asked[-1]
    assert sent["body"]["tools"][0]["function"] == {
        "name": "read",
        "description": "Reads.",
        "parameters": {"type": "object"},
    }
    assert sent["body"]["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert sent["body"]["stream_options"] == {"include_usage": True}
    assert sent["headers"]["traceparent"] == trace


@pytest.mark.parametrize("key", [{"setting": "MODEL_KEY"}, None])
async def test_nothing_of_the_environment_is_sent(server, shelf, monkeypatch, key):
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "BASE_URL"):
        monkeypatch.setenv(f"OPENAI_{name}", "http://ambient.example")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Ambient: ambient\nAuthorization: ambient")

    await answer(await shelf.get(manifest(server, key=key, timeout=4)), request("normal"))

    headers = server.asked[-1]["headers"]
    assert headers.get("authorization") == (f"Bearer {KEY}" if key else None)
    assert "ambient" not in str(headers)
    assert not [name for name in headers if name.startswith("x-")]


async def test_calls_that_come_in_pieces_are_put_together(provider):
    reply = await answer(provider, request("pieces"))

    assert reply.text == "Looking."
    assert reply.stop == "calls"
    assert reply.calls == (
        ProposedCall(id="call_a", name="read", arguments={"name": "x"}),
        ProposedCall(id="call_b", name="publish", arguments={"version": "1.0"}),
    )


async def test_odd_calls_stay_apart_and_bad_arguments_are_kept(provider):
    calls = (await answer(provider, request("odd-calls"))).calls

    assert [(call.name, call.arguments, call.broken) for call in calls] == [
        ("read", {"a": 1}, None),
        ("read", None, "{oops"),
        ("read", {}, None),
    ]
    assert len({call.id for call in calls}) == 3


async def test_letters_split_over_packets_arrive_whole(provider):
    assert (await answer(provider, request("utf8"))).text == "žluťoučký 🐎 €"


async def test_an_empty_answer_is_an_answer(provider):
    reply = await answer(provider, request("empty"))

    assert (reply.text, reply.calls, reply.stop) == ("", (), "end")


async def test_an_answer_cut_by_its_length_says_so(provider):
    assert (await answer(provider, request("length"))).stop == "length"


async def test_usage_that_is_not_told_stays_unknown(provider):
    usage = (await answer(provider, request("no-usage"))).usage

    assert (usage.input_tokens, usage.output_tokens, usage.cost) == (None, None, None)


async def test_usage_that_makes_no_sense_stays_unknown(provider):
    usage = (await answer(provider, request("odd-usage"))).usage

    assert (usage.input_tokens, usage.output_tokens) == (None, None)


@pytest.mark.parametrize(
    "model,prices,cost",
    [
        ("normal", None, None),
        ("normal", {"input": 10, "output": 20}, 0.0018),
        ("normal", {"input": 10, "output": 20, "cached": 1}, 0.00126),
        ("normal", {"input": 10}, None),
        ("normal", {"input": 0, "output": 0}, 0.0),
        ("no-usage", {"input": 10, "output": 20}, None),
    ],
)
async def test_cost_comes_from_the_prices_or_is_unknown(provider, model, prices, cost):
    usage = (await answer(provider, request(model, options={"prices": prices}))).usage

    assert usage.cost == (None if cost is None else pytest.approx(cost))


@pytest.mark.parametrize(
    "model,code,words",
    [
        ("rate", "model.rate_limited", "Rate limit reached"),
        ("server", "model.server", "The server had an error"),
        ("overloaded", "model.server", "Overloaded"),
        ("broken-error", "model.server", "(502)"),
        ("drop", "model.unreachable", "dropped the connection"),
        ("cut", "model.unreachable", "dropped the connection"),
        ("short", "model.interrupted", "broke off"),
        ("error-event", "model.interrupted", "The engine caught fire"),
        ("garbage", "model.garbage", "not an answer"),
        ("odd-shapes", "model.garbage", "not an answer"),
        ("bad-utf8", "model.garbage", "not an answer"),
        ("nothing", "model.interrupted", "broke off"),
    ],
)
async def test_what_may_pass_is_tried_again(provider, model, code, words):
    found = await error(provider, model)

    assert (found.code, found.permanent) == (code, False)
    assert words in found.message


@pytest.mark.parametrize(
    "model,code,words",
    [
        ("quota", "model.quota", "exceeded your current quota"),
        ("context", "model.context", "maximum context length is 8 tokens"),
        ("filter", "model.refused", "The response was filtered"),
        ("filtered", "model.refused", "refused"),
        ("refusal", "model.refused", "I will not do that."),
        ("bad-request", "model.bad_request", "Unknown parameter: tools[0]"),
        ("key", "model.key", "Incorrect API key provided: Bearer •••"),
        ("forbidden", "model.forbidden", "does not have access"),
        ("no-such-model", "model.not_found", "`no-such-model` does not exist"),
        ("page", "model.address", "a web page instead of a stream"),
        ("moved", "model.address", "leads elsewhere"),
        ("huge", "model.too_large", "8 MiB"),
        ("huge-line", "model.too_large", "8 MiB"),
    ],
)
async def test_what_will_not_pass_is_never_tried_again(provider, model, code, words):
    found = await error(provider, model)

    assert (found.code, found.permanent) == (code, True)
    assert words in found.message


@pytest.mark.parametrize("model,seconds", [("rate", 7.0), ("rate-ms", 1.5), ("server", None)])
async def test_the_server_says_when_to_come_back(provider, model, seconds):
    assert (await error(provider, model)).retry_after == seconds


async def test_an_error_quotes_no_web_page(provider):
    assert "<html>" not in (await error(provider, "broken-error")).message


async def test_a_silent_server_is_not_waited_for(server, shelf):
    provider = await shelf.get(manifest(server, timeout=0.2))

    found = await error(provider, "hang")

    assert (found.code, found.permanent) == ("model.timeout", False)


async def test_no_server_is_said_in_words(shelf):
    provider = await shelf.get({"provider": "chat", "base_url": "http://127.0.0.1:9/v1"})

    assert (await error(provider, "normal")).code == "model.unreachable"


async def ended(server: ChatModel) -> str:
    """How the last answer ended, once it has."""
    until = time.monotonic() + 10
    while not server.asked[-1]["ended"] and time.monotonic() < until:
        await asyncio.sleep(0.01)
    return str(server.asked[-1]["ended"])


async def test_closing_the_stream_closes_the_connection(provider, server):
    stream = provider.stream(request("slow"))
    assert await anext(stream) == TextDelta(text="word0 ")

    await stream.aclose()

    assert await ended(server) == "cut"


async def test_cancelling_the_task_closes_the_connection(provider, server):
    reading, started = asyncio.Event(), time.monotonic()

    async def read() -> None:
        async for _ in provider.stream(request("slow")):
            reading.set()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(read())
        await reading.wait()
        task.cancel()

    assert await ended(server) == "cut"
    assert time.monotonic() - started < 10


async def test_nothing_is_tried_again_by_itself(provider, server):
    before = len(server.asked)

    await error(provider, "server")

    assert len(server.asked) == before + 1
