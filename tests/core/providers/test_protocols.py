"""What every protocol has to do, against a server that behaves and one that does not."""

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
    ThinkingDelta,
    ToolOffer,
)
from studio.core.providers.shelf import Shelf
from tests.standins.certificates import self_signed
from tests.standins.models import ANSWER, LETTERS, Models, models
from tests.standins.raw_http import served

KEY = "sk-very-secret-key"
PROTOCOLS = ("chat", "google", "anthropic", "openai")


@pytest.fixture(scope="module")
def server() -> Iterator[Models]:
    with models() as standin:
        yield standin


@pytest.fixture
async def shelf() -> AsyncIterator[Shelf]:
    found = Shelf({"MODEL_KEY": KEY})
    yield found
    await found.close()


@pytest.fixture(params=PROTOCOLS)
def protocol(request) -> str:
    return str(request.param)


@pytest.fixture
async def provider(server, shelf, protocol) -> Provider:
    return await shelf.get(manifest(server, protocol))


def manifest(server: Models, protocol: str, **more: Any) -> dict[str, Any]:
    key = {"setting": "MODEL_KEY"}
    base_url = server.base_url(protocol)
    return {"provider": protocol, "base_url": base_url, "key": key, "timeout": 5, **more}


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
    usage = reply.usage
    assert (usage.input_tokens, usage.output_tokens) == (100, 40)
    assert (usage.cached_tokens, usage.cache_write_tokens) == (60, 5)
    assert usage.reasoning_tokens == 7


@pytest.mark.parametrize("key", [{"setting": "MODEL_KEY"}, None])
async def test_nothing_of_the_environment_is_sent(server, shelf, protocol, monkeypatch, key):
    for maker in ("OPENAI", "ANTHROPIC"):
        for name in ("API_KEY", "ADMIN_KEY", "AUTH_TOKEN", "ORG_ID", "PROJECT_ID", "BASE_URL"):
            monkeypatch.setenv(f"{maker}_{name}", "http://ambient.example")
        custom = "X-Ambient: ambient\nAuthorization: ambient"
        monkeypatch.setenv(f"{maker}_CUSTOM_HEADERS", custom)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")

    found = await shelf.get(manifest(server, protocol, key=key, timeout=4))
    await answer(found, request("normal"))

    headers = server.asked[-1]["headers"]
    assert headers.get("authorization") == (f"Bearer {KEY}" if key else None)
    assert "ambient" not in str(headers)
    allowed = {"x-api-key"} if key and protocol == "anthropic" else set()
    assert {name for name in headers if name.startswith("x-")} == allowed


async def test_the_trace_is_sent_along(provider, server):
    trace = "00-" + "1" * 32 + "-" + "2" * 16 + "-01"

    await answer(provider, request("normal", traceparent=trace, tracestate="a=1"))

    headers = server.asked[-1]["headers"]
    assert (headers["traceparent"], headers["tracestate"]) == (trace, "a=1")


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
    assert (await answer(provider, request("utf8"))).text == LETTERS


async def test_pings_and_what_nobody_knows_add_nothing(provider):
    assert (await answer(provider, request("pings"))).text == "Still here."


async def test_an_empty_answer_is_an_answer(provider):
    reply = await answer(provider, request("empty"))

    assert (reply.text, reply.calls, reply.stop) == ("", (), "end")


async def test_an_answer_cut_by_its_length_says_so(provider):
    assert (await answer(provider, request("length"))).stop == "length"


@pytest.mark.parametrize("model", ["no-usage", "odd-usage"])
async def test_usage_that_is_not_told_or_makes_no_sense_stays_unknown(provider, model):
    usage = (await answer(provider, request(model))).usage

    assert (usage.input_tokens, usage.output_tokens, usage.cost) == (None, None, None)
    assert (usage.cached_tokens, usage.cache_write_tokens) == (None, None)


@pytest.mark.parametrize(
    "model,prices,cost",
    [
        ("normal", None, None),
        ("normal", {"input": 10, "output": 20}, 0.0018),
        ("normal", {"input": 10, "output": 20, "cached": 1}, 0.00126),
        ("normal", {"input": 10, "output": 20, "cached": 1, "cache_write": 20}, 0.00131),
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
        ("drop", "model.interrupted", "dropped the connection"),
        ("busy-event", "model.server", "Overloaded"),
    ],
)
async def test_what_may_pass_is_tried_again(provider, model, code, words):
    found = await error(provider, model)

    assert (found.code, found.permanent) == (code, False)
    assert words in found.message


@pytest.mark.parametrize(
    "model,code,words",
    [
        ("quota", "model.quota", "run out"),
        ("context", "model.context", "prompt is too long"),
        ("filter", "model.refused", "blocked by content filtering"),
        ("filtered", "model.refused", "refused"),
        ("bad-request", "model.bad_request", "Unknown parameter: tools[0]"),
        ("late", "model.bad_request", "Too late"),
        ("key", "model.key", "Incorrect API key provided: Bearer •••"),
        ("forbidden", "model.forbidden", "does not have access"),
        ("no-such-model", "model.not_found", "`no-such-model` does not exist"),
        ("page", "model.address", "a web page instead of a stream"),
        ("json", "model.address", "“application/json” instead of a stream"),
        ("moved", "model.address", "leads elsewhere"),
        ("cut", "model.interrupted", "in the middle of its answer"),
        ("short", "model.interrupted", "broke off"),
        ("error-event", "model.server", "The engine caught fire"),
        ("nothing", "model.interrupted", "broke off"),
        ("garbage", "model.garbage", "not an answer"),
        ("odd-shapes", "model.garbage", "not an answer"),
        ("bad-utf8", "model.garbage", "not an answer"),
        ("huge", "model.too_large", "8 MiB"),
        ("huge-line", "model.too_large", "8 MiB"),
    ],
)
async def test_what_will_not_pass_is_never_tried_again(provider, model, code, words):
    found = await error(provider, model)

    assert (found.code, found.permanent) == (code, True)
    assert words in found.message


async def test_the_providers_own_words_stand_below_the_sentence(provider):
    found = await error(provider, "bad-request")

    assert found.words == "Unknown parameter: tools[0]"
    assert found.message.splitlines()[1] == f"It says: “{found.words}”"


@pytest.mark.parametrize(
    "model,seconds", [("rate", 7.0), ("rate-ms", 1.5), ("overloaded", 3.0), ("server", None)]
)
async def test_the_server_says_when_to_come_back(provider, model, seconds):
    assert (await error(provider, model)).retry_after == seconds


@pytest.mark.parametrize(
    "model,begun", [("drop", False), ("rate", False), ("cut", True), ("error-event", True)]
)
async def test_an_error_says_whether_the_answer_had_begun(provider, model, begun):
    assert (await error(provider, model)).begun is begun


async def test_an_error_quotes_no_web_page(provider):
    assert "<html>" not in (await error(provider, "broken-error")).message


async def test_a_base_url_with_nothing_behind_it_is_said_in_words(server, shelf, protocol):
    place = manifest(server, protocol, base_url=f"{server.origin}/nowhere")

    found = await error(await shelf.get(place), "normal")

    assert (found.code, found.permanent) == ("model.not_found", True)
    assert "its address is wrong" in found.message


async def test_a_silent_server_is_not_waited_for(server, shelf, protocol):
    provider = await shelf.get(manifest(server, protocol, timeout=0.2))

    found = await error(provider, "hang")

    assert (found.code, found.permanent, found.begun) == ("model.timeout", True, True)


async def test_no_server_is_said_in_words(shelf, protocol):
    provider = await shelf.get({"provider": protocol, "base_url": "http://127.0.0.1:9/v1"})

    assert (await error(provider, "normal")).code == "model.unreachable"


async def test_a_certificate_that_nobody_signed_is_not_trusted(shelf, protocol, tmp_path):
    with served(Models().handle, self_signed(tmp_path)) as port:
        place = {"provider": protocol, "base_url": f"https://localhost:{port}/v1"}
        found = await error(await shelf.get(place), "normal")

    assert (found.code, found.permanent) == ("model.certificate", True)
    assert "self-signed certificate" in found.words


async def test_an_address_that_speaks_no_tls_is_said_in_words(server, shelf, protocol):
    base_url = server.base_url(protocol).replace("http://", "https://")

    found = await error(await shelf.get(manifest(server, protocol, base_url=base_url)), "normal")

    assert (found.code, found.permanent) == ("model.address", True)
    assert "does not speak TLS" in found.message


async def ended(server: Models) -> str:
    """How the last answer ended, once it has."""
    until = time.monotonic() + 10
    while not server.asked[-1]["ended"] and time.monotonic() < until:
        await asyncio.sleep(0.01)
    return str(server.asked[-1]["ended"])


async def until_text(stream: AsyncIterator[Any]) -> TextDelta:
    async for item in stream:
        if isinstance(item, TextDelta):
            return item
    raise AssertionError("no text came")


async def test_closing_the_stream_closes_the_connection(provider, server):
    stream = provider.stream(request("slow"))
    assert await until_text(stream) == TextDelta(text="word0 ")

    closed = time.monotonic()
    await stream.aclose()

    assert await ended(server) == "cut"
    assert time.monotonic() - closed < 1


async def test_cancelling_the_task_closes_the_connection(provider, server):
    reading = asyncio.Event()

    async def read() -> None:
        async for _ in provider.stream(request("slow")):
            reading.set()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(read())
        await reading.wait()
        task.cancel()
        cancelled = time.monotonic()

    assert await ended(server) == "cut"
    assert time.monotonic() - cancelled < 1


@pytest.mark.parametrize("model", ["server", "rate", "drop", "bad-request"])
async def test_nothing_is_tried_again_by_itself(provider, server, model):
    before = len(server.asked)

    await error(provider, model)

    assert len(server.asked) == before + 1


async def test_a_redirect_is_not_followed_with_the_key(provider, server):
    before = len(server.asked)

    await error(provider, "moved")

    assert len(server.asked) == before + 1


# What a provider wants back ----------------------------------------------------------------------


async def test_thinking_streams_apart_from_the_answer(provider):
    deltas = [item async for item in provider.stream(request("thinks"))]
    thinking = [item for item in deltas if isinstance(item, ThinkingDelta)]

    assert "".join(item.text for item in thinking) == "Two and two make four."
    reply = deltas[-1]
    assert isinstance(reply, Reply)
    assert reply.text == "I will look."
    assert "four" not in repr(reply).replace(repr(reply.summary), "")


async def after_thinking(
    provider: Provider, server: Models, model: str = "thinks-as-well", **more: Any
) -> str:
    """What is sent after a reply that came with thinking, as text."""
    reply = await answer(provider, request("thinks"))
    talk = (
        Message(role="user", text="go"),
        Message(role="assistant", text=reply.text, calls=reply.calls, state=reply.state, **more),
        Message(role="tool", text="found", call_id="call_a", name="read"),
    )
    with pytest.raises(ProviderError):  # what it answers is of no interest
        await answer(provider, request(model, messages=talk))
    return str(server.asked[-1]["body"])


async def test_state_goes_back_unchanged_to_the_same_family(provider, server):
    sent = await after_thinking(provider, server, "thinks-2026-01-01")

    assert "c2lnbmVkLWJ5LW5vYm9keQ==" in sent


async def test_state_is_not_given_to_another_model(provider, server):
    sent = await after_thinking(provider, server, "another-model")

    assert "I will look." in sent
    assert "c2lnbmVkLWJ5LW5vYm9keQ==" not in sent
    assert "four" not in sent


# Of chat completions alone -----------------------------------------------------------------------


async def test_a_refusal_in_its_own_field_is_a_refusal(server, shelf):
    found = await error(await shelf.get(manifest(server, "chat")), "refusal")

    assert (found.code, found.permanent) == ("model.refused", True)
    assert "I will not do that." in found.message


async def test_two_calls_under_one_index_stay_apart(server, shelf):
    reply = await answer(await shelf.get(manifest(server, "chat")), request("odd-indexes"))

    assert [(call.id, call.arguments) for call in reply.calls] == [
        ("call_a", {"a": 1}),
        ("call_z", {"b": 2}),
    ]


async def test_google_is_told_the_form_in_words_when_there_are_tools(server, shelf):
    google = await shelf.get(manifest(server, "google"))
    form = {"type": "object", "title": "the form"}
    offer = ToolOffer(name="read", description="", schema={"type": "object"})

    await answer(google, request("normal", output_schema=form, tools=(offer,)))
    told = server.asked[-1]["body"]
    await answer(google, request("normal", output_schema=form))
    shown = server.asked[-1]["body"]

    assert "response_format" not in told
    assert "the form" in told["messages"][0]["content"]
    assert shown["response_format"]["json_schema"]["schema"] == form
