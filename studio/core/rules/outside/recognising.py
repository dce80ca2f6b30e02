"""What a span from outside is, by the conventions it follows: OpenTelemetry GenAI, with its older
names, or OpenInference. docs/traces.md has the table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from studio.core.rules.outside.claims import Claim, plain
from studio.core.rules.spans import Kind, State

OPERATIONS: dict[str, Kind] = {  # gen_ai.operation.name
    "chat": "model", "text_completion": "model", "generate_content": "model",
    "embeddings": "model", "execute_tool": "tool", "retrieval": "tool", "invoke_agent": "agent",
    "create_agent": "other", "invoke_workflow": "other",
}  # fmt: skip
OPENINFERENCE: dict[str, Kind] = {  # openinference.span.kind
    "LLM": "model", "EMBEDDING": "model", "RERANKER": "model", "TOOL": "tool",
    "RETRIEVER": "tool", "AGENT": "agent", "CHAIN": "other", "GUARDRAIL": "other",
    "EVALUATOR": "other", "PROMPT": "other", "UNKNOWN": "other",
}  # fmt: skip
MODELS = (
    "gen_ai.request.model", "gen_ai.response.model", "llm.model_name", "embedding.model_name",
    "reranker.model_name",
)  # fmt: skip
PROVIDERS = ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system")
TOOLS = ("gen_ai.tool.name", "tool.name")
AGENTS = ("gen_ai.agent.name", "agent.name", "agent_name", "gen_ai.agent.id")
TALKS = ("gen_ai.conversation.id", "session.id")
READ = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
WRITTEN = (
    "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion",
)  # fmt: skip
CACHED = (
    "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.details.cache_read_tokens",
    "llm.token_count.prompt_details.cache_read",
)  # fmt: skip
REASONED = (
    "gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.details.reasoning_tokens",
    "llm.token_count.completion_details.reasoning",
)  # fmt: skip
COSTS = ("llm.cost.total", "gen_ai.usage.cost", "operation.cost", "studio.cost.usd")
COST_PARTS = ("llm.cost.prompt", "llm.cost.completion")
MOST = 2**40  # tokens; the sum over a trace of any size is a number that a store can hold


@dataclass(slots=True)
class Known:
    """A span as it was recognised. Tokens and cost only of model calls, so that sums are true.

    `what` is the tool, the model, the agent or the span's own name; `convention` says by which
    words it was recognised, "" when by none.
    """

    claim: Claim
    kind: Kind
    what: str
    convention: str
    state: State
    end: int | None
    server: str | None = None
    agent: str = ""
    talk: str = ""
    code: str = ""
    words: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None


def recognised(claim: Claim) -> Known:
    """What this span is."""
    said = claim.attributes
    kind, convention = kind_of(said)
    end, words = claim.end or None, claim.message
    if end is not None and end < claim.start:
        end, words = claim.start, words or "It says that it ended before it began."
    state: State = "failed" if claim.is_error else "running" if end is None else "succeeded"
    known = Known(
        claim=claim, kind=kind, what=_what(claim, kind), convention=convention, state=state,
        end=end, agent=_text(said, AGENTS), talk=_text(said, TALKS),
        code=_text(said, ("error.type",)) if claim.is_error else "", words=plain(words),
    )  # fmt: skip
    if claim.is_error and not known.words:
        known.words = _exception(claim.events)
    if kind == "model":
        known.server = _text(said, PROVIDERS) or None
        known.input_tokens, known.output_tokens = _count(said, READ), _count(said, WRITTEN)
        known.cached_tokens, known.reasoning_tokens = _count(said, CACHED), _count(said, REASONED)
        known.cost = _cost(said)
    return known


def kind_of(said: Mapping[str, Any]) -> tuple[Kind, str]:
    """The kind of a span with these attributes, and the convention that says so."""
    operation = said.get("gen_ai.operation.name")
    if isinstance(operation, str) and operation:
        return OPERATIONS.get(operation, "other"), "GenAI"
    role = said.get("openinference.span.kind")
    if isinstance(role, str) and role:
        return OPENINFERENCE.get(role.upper(), "other"), "OpenInference"
    if "gen_ai.tool.name" in said:
        return "tool", "GenAI"
    if "gen_ai.system" in said or "gen_ai.provider.name" in said:
        return ("model" if any(name in said for name in MODELS) else "other"), "GenAI"
    if "gen_ai.agent.name" in said or ("agent_name" in said and "model_name" in said):
        return "agent", "GenAI"
    return "other", ""


def _what(claim: Claim, kind: Kind) -> str:
    names = {"model": MODELS, "tool": TOOLS, "agent": AGENTS}.get(kind, ())
    return _text(claim.attributes, names) or plain(claim.name, 200)


def _text(said: Mapping[str, Any], names: Sequence[str]) -> str:
    for name in names:
        value = said.get(name)
        if isinstance(value, str) and (found := plain(value, 200)):
            return found
    return ""


def _count(said: Mapping[str, Any], names: Sequence[str]) -> int | None:
    for name in names:
        value = said.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MOST:
            return int(value)
    return None


def _cost(said: Mapping[str, Any]) -> float | None:
    """US dollars, when the span says any."""
    for name in COSTS:
        if (value := _dollars(said.get(name))) is not None:
            return value
    parts = [value for name in COST_PARTS if (value := _dollars(said.get(name))) is not None]
    return sum(parts) if parts else None


def _dollars(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 1e9 else None


def _exception(events: Sequence[Mapping[str, Any]]) -> str:
    """The words of the last exception that a failed span tells."""
    for event in reversed(events):
        message = event.get("attributes", {}).get("exception.message")
        if isinstance(message, str) and message:
            return plain(message)
    return ""
