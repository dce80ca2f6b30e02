"""Trying a model: one short question to it, as a probe, with how long it took and what it cost."""

from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

from studio.core.clock import Clock
from studio.core.providers.provider import Message, ProviderError, Reply, Request
from studio.core.providers.shelf import Shelf
from studio.core.work.probing import Look, LookError

QUESTION = "Say hello and name yourself, in one short sentence."
INSTRUCTIONS = "This is a test of the connection. Answer in one short sentence."
KEPT_CHARACTERS = 2_000


def model_look(shelf: Shelf, clock: Clock) -> Look:
    """What tries {provider, name}.

    It gives {text, model, first_ms, total_ms, input_tokens, output_tokens, cost, stop}.
    """

    async def look(subject: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return await _ask(shelf, clock, subject)
        except ProviderError as error:
            raise LookError(error.code, error.message) from error

    return look


async def _ask(shelf: Shelf, clock: Clock, subject: Mapping[str, Any]) -> dict[str, Any]:
    model = await shelf.resolved(subject)
    provider = await shelf.get(model)
    request = Request(
        model=str(model.get("name", "")), instructions=INSTRUCTIONS,
        messages=(Message(role="user", text=QUESTION),), options=model,
    )  # fmt: skip
    begun, first = clock.monotonic(), None
    async with aclosing(provider.stream(request)) as stream:  # type: ignore[type-var]
        async for item in stream:
            now = clock.monotonic()
            first = now if first is None else first
            if isinstance(item, Reply):
                return _answer(item, request.model, first - begun, now - begun)
    words = "The model's answer broke off before its end."
    raise ProviderError("model.cut_off", words, permanent=False)


def _answer(reply: Reply, model: str, first: float, total: float) -> dict[str, Any]:
    return {
        "text": reply.text[:KEPT_CHARACTERS],
        "model": model,
        "first_ms": round(first * 1000),
        "total_ms": round(total * 1000),
        "input_tokens": reply.usage.input_tokens,
        "output_tokens": reply.usage.output_tokens,
        "cost": reply.usage.cost,
        "stop": reply.stop,
    }
