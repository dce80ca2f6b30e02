"""What a span is by the words of two conventions, old names included."""

from typing import Any

import pytest

from studio.core.rules.outside.recognising import recognised
from tests.core.rules.outside.spans import NOW, claim


@pytest.mark.parametrize(
    "said,kind,what,convention",
    [
        ({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}, "model", "m", "GenAI"),
        ({"gen_ai.operation.name": "chat", "gen_ai.request.model": " ",
          "gen_ai.response.model": "m"}, "model", "m", "GenAI"),
        ({"gen_ai.operation.name": "embeddings"}, "model", "span 1", "GenAI"),
        ({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}, "tool", "t", "GenAI"),
        ({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}, "agent", "a",
         "GenAI"),
        ({"gen_ai.operation.name": "create_agent"}, "other", "span 1", "GenAI"),
        ({"gen_ai.operation.name": "of tomorrow"}, "other", "span 1", "GenAI"),
        ({"gen_ai.system": "openai", "gen_ai.request.model": "m"}, "model", "m", "GenAI"),
        ({"gen_ai.tool.name": "t"}, "tool", "t", "GenAI"),
        ({"agent_name": "a", "model_name": "m"}, "agent", "a", "GenAI"),
        ({"openinference.span.kind": "LLM", "llm.model_name": "m"}, "model", "m", "OpenInference"),
        ({"openinference.span.kind": "tool", "tool.name": "t"}, "tool", "t", "OpenInference"),
        ({"openinference.span.kind": "RETRIEVER"}, "tool", "span 1", "OpenInference"),
        ({"openinference.span.kind": "RERANKER", "reranker.model_name": "m"}, "model", "m",
         "OpenInference"),
        ({"openinference.span.kind": "AGENT", "agent.name": "a"}, "agent", "a", "OpenInference"),
        ({"openinference.span.kind": "CHAIN"}, "other", "span 1", "OpenInference"),
        ({"openinference.span.kind": "GUARDRAIL"}, "other", "span 1", "OpenInference"),
        ({"http.method": "GET"}, "other", "span 1", ""),
        ({"gen_ai.operation.name": 7, "openinference.span.kind": ["LLM"]}, "other", "span 1", ""),
    ],
)  # fmt: skip
def test_a_span_is_known_by_its_words(
    said: dict[str, Any], kind: str, what: str, convention: str
) -> None:
    found = recognised(claim(attributes=said))

    assert (found.kind, found.what, found.convention) == (kind, what, convention)


@pytest.mark.parametrize(
    "said",
    [
        {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 7,
         "gen_ai.usage.output_tokens": 3},
        {"gen_ai.system": "x", "gen_ai.request.model": "m", "gen_ai.usage.prompt_tokens": 7,
         "gen_ai.usage.completion_tokens": 3},
        {"openinference.span.kind": "LLM", "llm.token_count.prompt": 7,
         "llm.token_count.completion": 3},
    ],
)  # fmt: skip
def test_tokens_are_read_by_every_name(said: dict[str, Any]) -> None:
    found = recognised(claim(attributes=said))

    assert (found.input_tokens, found.output_tokens, found.cost) == (7, 3, None)


def test_only_model_calls_carry_tokens_so_that_sums_are_true() -> None:
    said = {"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 7}

    assert recognised(claim(attributes=said)).input_tokens is None


@pytest.mark.parametrize("value", [-1, True, "7", 2**60, 2**53 - 1, float("nan"), None])
def test_what_is_no_count_is_unknown(value: Any) -> None:
    said = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": value}

    assert recognised(claim(attributes=said)).input_tokens is None


def test_cost_is_what_is_said_or_the_sum_of_its_parts() -> None:
    whole = {"openinference.span.kind": "LLM", "llm.cost.total": 0.5}
    parts = {"openinference.span.kind": "LLM", "llm.cost.prompt": 0.25, "llm.cost.completion": 0.5}

    assert recognised(claim(attributes=whole)).cost == 0.5
    assert recognised(claim(attributes=parts)).cost == 0.75


def test_a_failed_span_says_why_by_its_last_exception() -> None:
    events = [{"name": "exception", "attributes": {"exception.message": "no such city"}}]

    found = recognised(claim(is_error=True, events=events, attributes={"error.type": "Missing"}))

    assert (found.state, found.words, found.code) == ("failed", "no such city", "Missing")


def test_an_end_before_the_beginning_is_no_length_and_says_so() -> None:
    found = recognised(claim(end=NOW - 5))

    assert found.end == found.claim.start
    assert found.words == "It says that it ended before it began."


def test_a_span_without_an_end_runs() -> None:
    assert (recognised(claim(end=0)).state, recognised(claim(end=0)).end) == ("running", None)
