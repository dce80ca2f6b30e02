"""What is known of a model from its object: what it reads, its window, its family, its faults."""

from typing import Any

import pytest

from studio.core.rules import models
from studio.core.rules.reading import Faults, Reader

EVERYTHING = {"text", "image", "pdf", "audio"}


@pytest.mark.parametrize(
    "provider,name,kinds",
    [
        ("scripted", "", EVERYTHING),
        ("anthropic", "claude-sonnet-4-5-20250929", {"text", "image", "pdf"}),
        ("anthropic", "claude-2", {"text"}),
        ("openai", "gpt-4o-mini", {"text", "image", "pdf"}),
        ("openai", "gpt-5.1", {"text", "image", "pdf"}),
        ("openai", "o3", {"text", "image", "pdf"}),
        ("openai", "o3-mini", {"text"}),
        ("openai", "gpt-4", {"text"}),
        ("openai", "gpt-3.5-turbo", {"text"}),
        ("google", "models/gemini-2.5-flash", {"text", "image", "audio"}),
        ("google", "gemma-3", {"text", "image"}),
        ("anthropic", "somebody-else", {"text"}),
        ("chat", "gpt-4o", {"text"}),
        ("our-own", "llama", {"text"}),
    ],
)
def test_what_a_model_reads_goes_by_its_provider_and_name(provider, name, kinds):
    assert models.reads({"provider": provider, "name": name}) == kinds


def test_a_model_object_may_say_what_it_reads():
    chat = {"provider": "chat", "name": "x", "reads": ["image", "smell"]}

    assert models.reads(chat) == {"text", "image"}
    assert models.reads({"provider": "scripted", "reads": []}) == {"text"}


@pytest.mark.parametrize(
    "provider,name,tokens",
    [
        ("anthropic", "claude-3-5-haiku-latest", 200_000),
        ("anthropic", "claude-opus-4-6", 1_000_000),
        ("anthropic", "claude-sonnet-5", 1_000_000),
        ("openai", "gpt-4o-2024-05-13", 128_000),
        ("openai", "gpt-4", 8_192),
        ("openai", "gpt-4.1-mini", 1_000_000),
        ("openai", "gpt-5", 400_000),
        ("openai", "gpt-5.4", 1_000_000),
        ("openai", "gpt-5.4-mini", 400_000),
        ("openai", "o3", 200_000),
        ("google", "gemini-2.5-flash", 1_000_000),
        ("google", "gemini-live", None),
        ("openai", "never-heard-of", None),
        ("chat", "gpt-4o", None),
        ("scripted", "", None),
    ],
)
def test_the_window_of_a_model_is_known_or_is_not(provider, name, tokens):
    assert models.window({"provider": provider, "name": name}) == tokens


def test_a_model_object_may_say_its_window():
    assert models.window({"provider": "chat", "context_window": 4096}) == 4096
    assert models.window({"provider": "openai", "name": "gpt-4", "context_window": 512}) == 512


@pytest.mark.parametrize(
    "name,family",
    [
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-3-5-haiku@20241022", "claude-3-5-haiku"),
        ("anthropic/Claude-Sonnet-4-5", "claude-sonnet-4-5"),
        ("gpt-4o-2024-05-13", "gpt-4o"),
        ("gpt-4o-latest", "gpt-4o"),
        ("models/gemini-2.5-flash", "gemini-2.5-flash"),
        (None, ""),
    ],
)
def test_a_family_is_the_name_without_maker_and_date(name, family):
    assert models.family({"name": name}) == family


def faults(model: dict[str, Any]) -> dict[str, str]:
    found = Faults()
    models.check(Reader(value=model, path="model", faults=found))
    return found.fields


KEY = {"setting": "KEY"}
WHOLE = {
    "provider": "anthropic", "name": "claude-sonnet-5", "key": KEY, "timeout": 60,
    "prices": {"input": 3, "output": 15, "cached": 0.3, "cache_write": 3.75},
    "reads": ["text", "pdf"], "context_window": 200_000, "max_output": 8_000, "effort": "low",
    "fallbacks": [
        {"provider": "openai", "name": "gpt-5", "key": KEY},
        {"provider": "our-own", "name": "llama"},
        {"provider": "scripted"},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    "model",
    [
        WHOLE,
        {"provider": "our-own"},
        {"provider": "openai", "name": "gpt-5", "base_url": "http://proxy:4000/v1"},
        {"provider": "google", "name": "gemini-2.5-flash", "key": KEY},
    ],
)
def test_a_whole_model_object_has_no_faults(model):
    assert faults(model) == {}


@pytest.mark.parametrize(
    "model,path",
    [
        ({"provider": "Claude AI"}, "model.provider"),
        ({"provider": "openai", "name": "gpt-5"}, "model.key"),
        ({"provider": "openai", "key": KEY}, "model.name"),
        ({"provider": "our-own", "base_url": "http://x"}, "model.base_url"),
        ({"provider": "our-own", "key": KEY}, "model.key"),
        ({**WHOLE, "reads": ["text", "smell"]}, "model.reads"),
        ({**WHOLE, "context_window": 12}, "model.context_window"),
        ({**WHOLE, "context_window": True}, "model.context_window"),
        ({**WHOLE, "max_output": 0}, "model.max_output"),
        ({**WHOLE, "effort": "heroic"}, "model.effort"),
        ({**WHOLE, "prices": {"cache_write": -1}}, "model.prices.cache_write"),
        ({**WHOLE, "fallbacks": [{"provider": "chat"}]}, "model.fallbacks[0].name"),
        ({**WHOLE, "fallbacks": [WHOLE]}, "model.fallbacks[0].fallbacks"),
        ({**WHOLE, "fallbacks": [{"provider": "our-own"}] * 9}, "model.fallbacks"),
    ],
)
def test_each_fault_of_a_model_object_is_named_by_its_place(model, path):
    assert path in faults(model)


# The chain ---------------------------------------------------------------------------------------

A1 = {"provider": "a", "name": "one"}
A2 = {"provider": "a", "name": "two"}
B1 = {"provider": "b", "name": "one"}
CHAIN = (A1, A2, B1)


def test_a_chain_is_the_model_and_its_fallbacks_each_of_them_once():
    again = {**A2, "prices": {"input": 1}}

    found = models.chain({**A1, "fallbacks": [A2, A1, B1, again]})

    assert found == CHAIN


def test_the_same_name_elsewhere_is_another_model():
    here = {"provider": "chat", "name": "m", "base_url": "http://here"}
    there = {**here, "base_url": "http://there"}
    other_key = {**here, "key": {"setting": "OTHER"}}

    assert len(models.chain({**here, "fallbacks": [there, other_key, here]})) == 3


@pytest.mark.parametrize(
    "at,code,closed,successor",
    [
        (0, "model.not_found", (), 1),
        (0, "model.key", (0,), 2),
        (0, "model.quota", (0,), 2),
        (1, "model.server", (0,), 2),
        (2, "model.server", (), None),
        (0, "model.refused", (), None),
        (0, "model.context", (), 1),
    ],
)
def test_a_failing_account_skips_its_other_models(at, code, closed, successor):
    assert models.successor(CHAIN, at, code, closed) == successor


def test_an_account_that_failed_stays_closed_further_down_the_chain():
    assert models.successor((A1, B1, A2), 1, "model.server", (0,)) is None
