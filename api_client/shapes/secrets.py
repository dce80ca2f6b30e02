"""Secrets, without their values."""

from typing import TypedDict


class Secret(TypedDict):
    """A secret; `version` is 0 when agents name it and nobody has set it."""

    name: str
    version: int
    by: str
    time: str | None
    used: str | None
    used_by: str
    effect_id: str | None
    agents: list[str]
    problem: str


class Secrets(TypedDict):
    """Every secret, by name."""

    items: list[Secret]


class SecretSet(TypedDict):
    """A secret has a value now."""

    name: str
    version: int


class SecretsRotated(TypedDict):
    """How many secrets are sealed under the new key."""

    count: int
