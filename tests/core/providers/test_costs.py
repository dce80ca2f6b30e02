"""Costs: by the prices of the model object, by the public table, or unknown; never a false zero."""

import pytest

from studio.core.providers import anthropic, chat, costs, openai
from studio.core.rules.events import Usage

TOLD = Usage(input_tokens=1_000, output_tokens=100, cached_tokens=600, cache_write_tokens=100)
PRICES = {"input": 10, "output": 20, "cached": 1, "cache_write": 12}


async def of(usage: Usage, model: str, base_url: str, prices: object = None) -> float | None:
    return await costs.of(usage, model=model, base_url=base_url, prices=prices)


@pytest.mark.parametrize(
    "model,base_url",
    [
        ("claude-sonnet-4-5-20250929", anthropic.ADDRESS),
        ("gpt-4o-2024-11-20", openai.ADDRESS),
        ("gemini-2.5-flash", chat.GOOGLE),
    ],
)
async def test_the_public_table_knows_the_providers_themselves(model, base_url):
    plain = await of(Usage(input_tokens=1_000, output_tokens=100), model, base_url)
    cached = await of(
        Usage(input_tokens=1_000, output_tokens=100, cached_tokens=900), model, base_url
    )

    assert plain is not None
    assert cached is not None
    assert 0 < cached < plain < 1


@pytest.mark.parametrize(
    "model,base_url",
    [
        ("gpt-4o", "http://127.0.0.1:11434/v1"),
        ("never-heard-of", openai.ADDRESS),
        ("claude-sonnet-4-5", "https://proxy.example/anthropic"),
    ],
)
async def test_what_the_table_does_not_know_is_unknown(model, base_url):
    assert await of(TOLD, model, base_url) is None


@pytest.mark.parametrize("missing", ["input_tokens", "output_tokens"])
async def test_a_missing_number_makes_the_cost_unknown(missing):
    usage = Usage(**{"input_tokens": 10, "output_tokens": 10, missing: None})

    assert await of(usage, "gpt-4o", openai.ADDRESS) is None
    assert await of(usage, "gpt-4o", openai.ADDRESS, PRICES) is None


async def test_numbers_that_make_no_sense_have_no_price():
    usage = Usage(input_tokens=10, output_tokens=10, cached_tokens=50)

    assert await of(usage, "gpt-4o-2024-11-20", openai.ADDRESS) is None


@pytest.mark.parametrize(
    "prices,cost",
    [
        (PRICES, (300 * 10 + 600 * 1 + 100 * 12 + 100 * 20) / 1_000_000),
        ({"input": 10, "output": 20, "cached": 1}, (400 * 10 + 600 + 100 * 20) / 1_000_000),
        ({"input": 10, "output": 20}, (1_000 * 10 + 100 * 20) / 1_000_000),
        ({"input": 0, "output": 0}, 0.0),
        ({"output": 20}, None),
        ({}, None),
    ],
)
async def test_the_prices_of_the_model_object_win(prices, cost):
    found = await of(TOLD, "gpt-4o", openai.ADDRESS, prices)

    assert found == (None if cost is None else pytest.approx(cost))
