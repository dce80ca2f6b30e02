"""The shelf keeps one provider for each configuration, and says in words what is wrong with one."""

import subprocess
import sys
from contextlib import aclosing

import pytest

from studio.core.providers.provider import Key, Message, ProviderError, Request
from studio.core.providers.shelf import Shelf
from tests.standins.models import ANSWER, models

CHAT = {"provider": "chat", "base_url": "http://127.0.0.1:1/v1", "key": {"setting": "KEY"}}


@pytest.fixture
async def shelf():
    found = Shelf({"KEY": "secret", "OTHER": "secret too", "EMPTY": ""})
    yield found
    await found.close()


async def test_one_configuration_has_one_provider(shelf):
    assert await shelf.get(CHAT) is await shelf.get({**CHAT, "name": "another model"})


@pytest.mark.parametrize(
    "other", [{"key": {"setting": "OTHER"}}, {"base_url": "http://127.0.0.1:2/v1"}, {"timeout": 3}]
)
async def test_another_configuration_has_another(shelf, other):
    assert await shelf.get(CHAT) is not await shelf.get({**CHAT, **other})


async def test_the_scripted_model_is_always_there(shelf):
    assert (await shelf.get({"provider": "scripted"})).name == "scripted"


@pytest.mark.parametrize(
    "wrong,words",
    [
        ({"provider": "oracle"}, "no provider “oracle”"),
        ({**CHAT, "base_url": "ftp://x"}, "base_url"),
        ({**CHAT, "base_url": None}, "base_url"),
        ({**CHAT, "key": "plain"}, "names a setting"),
        ({**CHAT, "key": {"setting": "MISSING"}}, "STUDIO_SETTING_MISSING"),
        ({**CHAT, "key": {"setting": "EMPTY"}}, "STUDIO_SETTING_EMPTY"),
        ({**CHAT, "timeout": 0}, "timeout"),
        ({**CHAT, "timeout": "soon"}, "timeout"),
    ],
)
async def test_a_configuration_that_cannot_work_is_refused_in_words(shelf, wrong, words):
    with pytest.raises(ProviderError, match=words) as caught:
        await shelf.get(wrong)

    assert caught.value.permanent


@pytest.mark.parametrize("kind", ["anthropic", "openai", "google"])
async def test_a_provider_is_where_it_is_unless_the_model_says_otherwise(shelf, kind):
    own = await shelf.get({"provider": kind, "key": {"setting": "KEY"}})
    other = await shelf.get({"provider": kind, "base_url": "http://127.0.0.1:1", "key": None})

    assert own.place.base_url.startswith("https://")
    assert (other.place.base_url, other.place.key) == ("http://127.0.0.1:1", "")


async def test_a_saved_provider_is_resolved_and_its_opened_key_is_used():
    async def resolve(model):
        saved = {"provider": "openai", "key": Key(value="opened")}
        return {**model, **saved} if model["provider"] == "ours" else model

    shelf = Shelf({}, resolve)
    try:
        model = await shelf.resolved({"provider": "ours", "name": "m"})
        provider = await shelf.get(model)
        other = await shelf.resolved(CHAT)
    finally:
        await shelf.close()

    assert (provider.name, provider.place.key) == ("openai", "opened")
    assert other == CHAT
    assert "opened" not in f"{model} {provider.place}"


class Ticks:
    """A clock that stands until it is told."""

    at = 1_000.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


@pytest.fixture
async def timed(ticks):
    found = Shelf({"KEY": "secret"}, monotonic=ticks)
    yield found
    await found.close()


def keyed(value: str) -> dict[str, object]:
    return {**CHAT, "key": Key(value=value, of="provider ours")}


async def test_a_client_whose_key_was_replaced_is_closed_soon(timed, ticks):
    old, new, other = [await timed.get(model) for model in (keyed("a"), keyed("b"), CHAT)]
    await timed.let_go()
    at_once = old.http.is_closed
    ticks.at += 31

    await timed.let_go()

    assert not at_once
    assert [one.http.is_closed for one in (old, new, other)] == [True, False, False]
    assert await timed.get(keyed("a")) is not old


async def test_a_client_that_nobody_used_for_long_is_closed(timed, ticks):
    unused, used = await timed.get(keyed("a")), await timed.get(CHAT)
    ticks.at += 800
    await timed.get(CHAT)
    ticks.at += 101

    await timed.let_go()

    assert [one.http.is_closed for one in (unused, used)] == [True, False]


async def test_a_client_that_is_answering_is_not_closed(timed, ticks):
    with models() as server:
        place = {"provider": "chat", "base_url": server.url, "key": None}
        provider = await timed.get({**place, "key": Key(value="a", of="provider ours")})
        request = Request(model="normal", instructions="", messages=(Message(role="user"),))
        async with aclosing(provider.stream(request)) as items:
            await anext(items)
            ticks.at += 2_000
            await timed.let_go()
            *_, last = [item async for item in items]
        ticks.at += 901
        await timed.let_go()

    assert last.text == ANSWER
    assert provider.http.is_closed


def test_the_sdk_is_not_imported_before_it_is_needed():
    code = (
        "import sys, studio.core.providers.shelf;"
        "names = ('openai', 'anthropic', 'genai_prices', 'httpx', 'httpx2', 'mcp');"
        "print([name for name in names if name in sys.modules])"
    )

    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert told.stdout.strip() == "[]"
