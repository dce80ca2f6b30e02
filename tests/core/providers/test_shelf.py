"""The shelf keeps one provider for each configuration, and says in words what is wrong with one."""

import subprocess
import sys

import pytest

from studio.core.providers.provider import ProviderError
from studio.core.providers.shelf import Shelf

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


def test_the_sdk_is_not_imported_before_it_is_needed():
    code = (
        "import sys, studio.core.providers.shelf;"
        "print([name for name in ('openai', 'httpx', 'httpx2', 'mcp') if name in sys.modules])"
    )

    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert told.stdout.strip() == "[]"
