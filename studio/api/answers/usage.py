"""What was used: tokens and cost in groups."""

from dataclasses import dataclass
from typing import Annotated

from studio.api.shapes import Time


@dataclass(frozen=True, kw_only=True)
class UsageRow:
    """A group, or the sum. With `untold` or `unpriced` attempts its tokens or cost are at least."""

    key: Annotated[str, "A day, an agent, provider/model, a plugin (empty: none) or a session."]
    label: str
    provider: Annotated[str, "Of a model; the agent of a session."]
    attempts: int
    untold: Annotated[int, "Attempts that did not say their tokens."]
    unpriced: Annotated[int, "Attempts, or shares of them, without a price."]
    input_tokens: int
    output_tokens: int
    cached_tokens: Annotated[int, "Of the input: read from a cache."]
    cache_write_tokens: Annotated[int, "Of the input: written to a cache."]
    reasoning_tokens: Annotated[int, "Of the output."]
    cost: Annotated[float | None, "US dollars; null when nothing of it is known."]
    lost: Annotated[int, "Attempts that failed and were, or may have been, billed; in the sums."]
    lost_cost: float
    calls: Annotated[int, "Of a plugin."]
    failed: int
    denied: int
    held: int


@dataclass(frozen=True, kw_only=True)
class LostAttempt:
    """A failed attempt that was billed, or one of which nobody knows; null is unknown."""

    effect_id: str
    session_id: str
    agent: str
    provider: str
    model: str
    time: Time
    certain: Annotated[bool, "The provider told of its use."]
    message: str
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens and cost of model calls in some days, which are UTC."""

    since: Annotated[str, "The first day, such as 2026-11-01."]
    until: Annotated[str, "The last day, counted in."]
    by: str
    total: UsageRow
    items: Annotated[tuple[UsageRow, ...], "The dearest first; days in their order."]
    more: Annotated[bool, "There are sessions beyond these."]
    lost: Annotated[tuple[LostAttempt, ...], "The newest 50."]
