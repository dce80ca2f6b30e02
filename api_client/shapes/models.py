"""Saved providers, and looks at something outside."""

from typing import Any, TypedDict


class Probe(TypedDict):
    """A look; `state` is waiting, running, answered, failed or unknown."""

    id: str
    kind: str
    target: str
    subject: Any
    by: str
    state: str
    asked: str
    started: str | None
    ended: str | None
    answer: Any
    masked: int
    code: str
    message: str


class SavedProvider(TypedDict):
    """A provider, without its key."""

    name: str
    kind: str
    base_url: str
    models: list[str]
    reads: list[str]
    context_window: int | None
    prices: dict[str, float]
    has_key: bool
    key_set: str | None
    key_by: str
    problem: str
    by: str
    time: str
    agents: list[str]
    test: Probe | None


class DefaultModel(TypedDict):
    """The model of new sessions whose agent names none."""

    provider: str
    name: str


class Models(TypedDict):
    """Every saved provider, and the default."""

    items: list[SavedProvider]
    default: DefaultModel | None
