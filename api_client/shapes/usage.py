"""What was used: tokens and cost in groups."""

from typing import TypedDict


class UsageRow(TypedDict):
    """A group, or the sum; with `untold` or `unpriced` attempts it is a lower bound."""

    key: str
    label: str
    provider: str
    attempts: int
    untold: int
    unpriced: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    cost: float | None
    lost: int
    lost_cost: float
    calls: int
    failed: int
    denied: int
    held: int


class LostAttempt(TypedDict):
    """A failed attempt that was, or may have been, billed."""

    effect_id: str
    session_id: str
    agent: str
    provider: str
    model: str
    time: str
    certain: bool
    message: str
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None


class Usage(TypedDict):
    """Tokens and cost of model calls in some days, which are UTC."""

    since: str
    until: str
    by: str
    total: UsageRow
    items: list[UsageRow]
    more: bool
    lost: list[LostAttempt]
