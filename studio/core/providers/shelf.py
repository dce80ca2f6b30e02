"""Finds the provider of an agent's `model`, and keeps one for each configuration."""

import asyncio
import importlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from studio.core.providers import costs
from studio.core.providers.anthropic import ADDRESS as ANTHROPIC
from studio.core.providers.anthropic import Anthropic
from studio.core.providers.chat import GOOGLE, Chat, Google
from studio.core.providers.endpoint import Endpoint, Place
from studio.core.providers.openai import ADDRESS as OPENAI
from studio.core.providers.openai import OpenAI
from studio.core.providers.provider import Key, Provider, ProviderError
from studio.core.providers.scripted import Scripted
from studio.core.rules import models

DEFAULT_TIMEOUT = 120.0
IDLE_SECONDS = 900.0  # unused for so long, a client is closed
REPLACED_SECONDS = 30.0  # its key is replaced: whoever was just given it may still ask
_KINDS: dict[str, tuple[Callable[[Place], Endpoint], str | None, tuple[str, ...]]] = {
    "chat": (Chat, None, ("openai", "openai.resources.chat.completions")),
    "google": (Google, GOOGLE, ("openai", "openai.resources.chat.completions")),
    "openai": (OpenAI, OPENAI, ("openai", "openai.resources.responses")),
    "anthropic": (Anthropic, ANTHROPIC, ("anthropic", "anthropic.resources.messages")),
}

Resolve = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]


@dataclass
class _Use:
    """When a client was last asked for (monotonic seconds), and what its key was opened from."""

    at: float
    key_of: str


async def _as_it_is(model: Mapping[str, Any]) -> Mapping[str, Any]:
    return model


class Shelf:
    """The providers in use. `settings` maps a name to its secret value; it is never recorded.

    `resolve` gets a model object as it stands in a manifest and gives a full one: where `provider`
    names a provider saved in the studio, it puts in that one's kind, base_url, `Key`, reads,
    context_window and prices (what the manifest says itself wins), and leaves every other object
    as it is. It raises ProviderError (`model.configuration`, permanent) with a sentence for people.
    `monotonic` tells the time in seconds.
    """

    def __init__(
        self, settings: Mapping[str, str], resolve: Resolve = _as_it_is, *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._settings, self._resolve, self._monotonic = settings, resolve, monotonic
        self._scripted = Scripted()
        self._endpoints: dict[tuple[str, Place], Endpoint] = {}
        self._uses: dict[Endpoint, _Use] = {}
        self._keys: dict[str, str] = {}  # the newest value of each key, by what was opened

    async def resolved(self, model: Mapping[str, Any]) -> Mapping[str, Any]:
        """The model object with what its saved provider says; it may hold an opened key."""
        return await self._resolve(model)

    async def get(self, model: Mapping[str, Any]) -> Provider:
        """The provider of a resolved model object; ProviderError says what is wrong with it."""
        kind = model.get("provider")
        if kind == "scripted":
            return self._scripted
        elif kind in _KINDS:
            return await self._endpoint(str(kind), model)
        known = ", ".join(models.PROVIDERS)
        raise _bad(f"There is no provider “{kind}”: it is {known}, or one saved in the studio.")

    async def close(self) -> None:
        """Let go of every connection."""
        endpoints, self._endpoints = list(self._endpoints.values()), {}
        self._uses, self._keys = {}, {}
        for endpoint in endpoints:
            await endpoint.close()

    async def let_go(self) -> None:
        """Close clients that nobody needs: unused for long, or with a key that was replaced."""
        now = self._monotonic()
        over = list[Endpoint]()
        for name, endpoint in list(self._endpoints.items()):
            use = self._uses[endpoint]
            if endpoint.busy:
                use.at = now
            elif now - use.at > self._patience(endpoint, use):
                over.append(self._endpoints.pop(name))
                del self._uses[endpoint]
        kept = {use.key_of for use in self._uses.values()}
        self._keys = {of: value for of, value in self._keys.items() if of in kept}
        for endpoint in over:
            await endpoint.close()

    def _patience(self, endpoint: Endpoint, use: "_Use") -> float:
        newest = self._keys.get(use.key_of, endpoint.place.key)
        return IDLE_SECONDS if newest == endpoint.place.key else REPLACED_SECONDS

    async def _endpoint(self, kind: str, model: Mapping[str, Any]) -> Endpoint:
        made, address, modules = _KINDS[kind]
        place = Place(
            base_url=_address(model.get("base_url") or address),
            key=self._key(model),
            timeout=_timeout(model),
        )
        if (kind, place) not in self._endpoints:
            for module in (*modules, costs.TABLE):
                await asyncio.to_thread(importlib.import_module, module)
        if (kind, place) not in self._endpoints:
            self._endpoints[kind, place] = made(place)
        endpoint = self._endpoints[kind, place]
        key_of = key.of if isinstance(key := model.get("key"), Key) else ""
        self._uses[endpoint] = _Use(at=self._monotonic(), key_of=key_of)
        if key_of:
            self._keys[key_of] = place.key
        return endpoint

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
