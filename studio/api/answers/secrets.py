"""Secrets, without their values: those are in no answer."""

from dataclasses import dataclass
from typing import Annotated

from studio.api.shapes import Time


@dataclass(frozen=True, kw_only=True)
class Secret:
    """A secret of the studio. Its value is nowhere to be read."""

    name: str
    version: Annotated[int, "0 when agents name it and nobody has set it."]
    by: str
    time: Annotated[Time | None, "When it was set."]
    used: Annotated[Time | None, "When it last went out."]
    used_by: Annotated[str, "The tool that used it last."]
    effect_id: Annotated[str | None, "The call that used it last."]
    agents: Annotated[tuple[str, ...], "Agents whose newest version names it."]
    problem: Annotated[str, "Why it cannot be opened; empty when it can."]


@dataclass(frozen=True, kw_only=True)
class Secrets:
    """Every secret, by name."""

    items: tuple[Secret, ...]


@dataclass(frozen=True, kw_only=True)
class SecretSet:
    """A secret has a value now."""

    name: str
    version: int


@dataclass(frozen=True, kw_only=True)
class SecretsRotated:
    """Every secret is sealed under a new key; the values are the same."""

    count: int
