"""Traces from outside, as programs are given them."""

from dataclasses import dataclass
from typing import Annotated

from studio.api.shapes import Time


@dataclass(frozen=True, kw_only=True)
class OutsideTrace:
    """A trace that others sent. Everything but `sent_by`, `taken` and `changed` is their claim."""

    id: Annotated[str, "32 hex characters."]
    name: Annotated[str, "Of the root span, or of the first that came."]
    agent: str
    service: str
    talk: Annotated[str, "What the sender calls the conversation."]
    sent_by: Annotated[str, "The first sender."]
    state: Annotated[str, "completed, failed, or incomplete while no ended root came."]
    began: Time
    ended: Time
    taken: Annotated[Time, "When its first span came."]
    changed: Annotated[Time, "When its last span came."]
    spans: int
    models: Annotated[int, "Model calls."]
    tools: Annotated[int, "Tool calls."]
    errors: Annotated[int, "Spans with the status error."]
    input_tokens: int
    output_tokens: int
    cost: Annotated[float, "US dollars, of the model calls that said it."]
    cost_known: bool


@dataclass(frozen=True, kw_only=True)
class OutsideForgotten:
    """What went of a sender: its traces whole, with every span of them, and their bytes."""

    traces: int
    spans: int
    bytes: int


@dataclass(frozen=True, kw_only=True)
class OutsideTraces:
    """A page of traces from outside, the newest first. One that is filtered may have few or none
    while `next` goes on: it looked at the newest alone."""

    items: tuple[OutsideTrace, ...]
    next: str | None
