"""Finds the provider of an agent's `model`, and keeps one for each configuration."""

import asyncio
import importlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from studio.core.providers.chat import Chat
from studio.core.providers.provider import Key, Provider, ProviderError
from studio.core.providers.scripted import Scripted

DEFAULT_TIMEOUT = 120.0
SDK = ("openai", "openai.resources.chat.completions")


Resolve = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]


async def _as_it_is(model: Mapping[str, Any]) -> Mapping[str, Any]:
    return model


class Shelf:
    """The providers in use. `settings` maps a name to its secret value; it is never recorded.

    `resolve` gets a model object as it stands in a manifest and gives a full one: where `provider`
    names a provider saved in the studio, it puts in that one's kind, base_url, `Key`, reads,
    context_window and prices (what the manifest says itself wins), and leaves every other object
    as it is. It raises ProviderError (`model.configuration`, permanent) with a sentence for people.
    """

    def __init__(self, settings: Mapping[str, str], resolve: Resolve = _as_it_is) -> None:
        self._settings, self._resolve = settings, resolve
        self._scripted = Scripted()
        self._chats: dict[tuple[str, str, float], Chat] = {}

    async def resolved(self, model: Mapping[str, Any]) -> Mapping[str, Any]:
        """The model object with what its saved provider says; it may hold an opened key."""
        return await self._resolve(model)

    async def get(self, model: Mapping[str, Any]) -> Provider:
        """The provider of a resolved model object; ProviderError says what is wrong with it."""
        kind = model.get("provider")
        if kind == "scripted":
            return self._scripted
        elif kind == "chat":
            return await self._chat(model)
        raise _bad(f"There is no provider “{kind}”: it is scripted or chat.")

    async def close(self) -> None:
        """Let go of every connection."""
        chats, self._chats = list(self._chats.values()), {}
        for chat in chats:
            await chat.close()

    async def _chat(self, model: Mapping[str, Any]) -> Chat:
        place = (_address(model.get("base_url")), self._key(model), _timeout(model))
        if place not in self._chats:
            for module in SDK:
                await asyncio.to_thread(importlib.import_module, module)
        if place not in self._chats:
            base_url, key, timeout = place
            self._chats[place] = Chat(base_url=base_url, key=key, timeout=timeout)
        return self._chats[place]

    def _key(self, model: Mapping[str, Any]) -> str:
        key = model.get("key")
        if key is None:
            return ""
        if isinstance(key, Key):
            return key.value
        name = key.get("setting") if isinstance(key, Mapping) else None
        if not isinstance(name, str):
            raise _bad('The model\'s key names a setting: {"setting": "NAME"}.')
        if not self._settings.get(name):
            raise _bad(f"The model's key is not set: give STUDIO_SETTING_{name} a value.")
        return self._settings[name]


def _address(url: Any) -> str:
    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
        raise _bad("The model's base_url is not an http or https address.")
    return str(url)


def _timeout(model: Mapping[str, Any]) -> float:
    found = model.get("timeout", DEFAULT_TIMEOUT)
    if not isinstance(found, int | float) or not 0 < found <= 3600:
        raise _bad("The model's timeout is a number of seconds, 3600 at most.")
    return float(found)


def _bad(words: str) -> ProviderError:
    return ProviderError("model.configuration", words, permanent=True)
