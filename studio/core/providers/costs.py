"""What a model call cost, in US dollars: by the model object's own prices, else by a public table.

The table (genai-prices) is part of the installation; nothing is asked of the network. What it does
not know costs an unknown amount, never nothing.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from studio.core.rules.events import Usage

TABLE = "genai_prices"


async def of(usage: Usage, *, model: str, base_url: str, prices: Any) -> float | None:
    """US dollars, or None when a number or a price is missing. `prices` are for a million tokens.

    The public table is asked for the provider at this address, so a server of one's own has no
    price unless the model object says one.
    """
    if isinstance(prices, Mapping):
        return by_prices(usage, prices)
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    return await asyncio.to_thread(_by_table, usage, model, base_url)


def by_prices(usage: Usage, prices: Mapping[str, Any]) -> float | None:
    """By the prices of a manifest: `input` and `output`, and `cached` and `cache_write` if told.

    Without a price of their own, tokens read from a cache or written to one cost what others do.
    """
    read, written = usage.input_tokens, usage.output_tokens
    price_in, price_out = _price(prices.get("input")), _price(prices.get("output"))
    if read is None or written is None or price_in is None or price_out is None:
        return None
    cost = written * price_out
    for tokens, name in (
        (usage.cached_tokens, "cached"),
        (usage.cache_write_tokens, "cache_write"),
    ):
        price = _price(prices.get(name))
        if price is None:
            continue
        elif tokens is None and name == "cached":
            return None
        part = min(tokens or 0, read)
        cost, read = cost + part * price, read - part
    return (cost + read * price_in) / 1_000_000


def _by_table(usage: Usage, model: str, base_url: str) -> float | None:
    import genai_prices

    told = genai_prices.Usage(
        input_tokens=usage.input_tokens, output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_tokens, cache_write_tokens=usage.cache_write_tokens,
    )  # fmt: skip
    try:
        found = genai_prices.calc_price(told, model, provider_api_url=base_url)
    except (LookupError, ValueError):  # no such provider or model; numbers that make no sense
        return None
    return float(found.total_price)


def _price(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and value >= 0 else None
