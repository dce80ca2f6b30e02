"""Saved providers without their keys, and looks at something outside."""

from dataclasses import dataclass
from typing import Annotated

from studio.api.shapes import JSON, Time


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A look at something outside that a person asked for."""

    id: str
    kind: str
    target: str
    subject: JSON
    by: str
    state: Annotated[str, "waiting, running, answered, failed or unknown."]
    asked: Time
    started: Time | None
    ended: Time | None
    answer: Annotated[JSON, "What was found; null until then."]
    masked: Annotated[int, "Secrets that were taken out of the answer."]
    code: str
    message: str


@dataclass(frozen=True, kw_only=True)
class SavedProvider:
    """A provider of models. Its key is nowhere to be read."""

    name: str
    kind: Annotated[str, "anthropic, openai, google or chat."]
    base_url: str
    models: tuple[str, ...]
    reads: tuple[str, ...]
    context_window: int | None
    prices: Annotated[dict[str, float], "US dollars for a million tokens."]
    has_key: bool
    key_set: Time | None
    key_by: str
    problem: Annotated[str, "Why its key cannot be opened; empty when it can."]
    by: str
    time: Time
    agents: Annotated[tuple[str, ...], "Agents whose newest version names it."]
    test: Annotated[Probe | None, "The newest test of one of its models; for admins."]


@dataclass(frozen=True, kw_only=True)
class DefaultModel:
    """The model of new sessions whose agent names none."""

    provider: str
    name: str


@dataclass(frozen=True, kw_only=True)
class Models:
    """Every saved provider, and the default."""

    items: tuple[SavedProvider, ...]
    default: DefaultModel | None
