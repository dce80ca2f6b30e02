"""Traces of agents that run elsewhere, as their senders claim them."""

from typing import TypedDict


class OutsideTrace(TypedDict):
    """A trace that others sent; without its spans."""

    id: str
    name: str
    agent: str
    service: str
    talk: str
    sent_by: str
    state: str
    began: str
    ended: str
    taken: str
    changed: str
    spans: int
    models: int
    tools: int
    errors: int
    input_tokens: int
    output_tokens: int
    cost: float
    cost_known: bool


class OutsideForgotten(TypedDict):
    """How much went of a sender."""

    traces: int
    spans: int
    bytes: int
