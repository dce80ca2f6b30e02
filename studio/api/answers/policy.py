"""The policy, and what another one would have said."""

from dataclasses import dataclass
from typing import Annotated

from studio.api.answers.agents import Version
from studio.api.shapes import JSON, Time


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule, counted from 1, in words; `used` is when it last matched a call."""

    number: int
    effect: str
    words: str
    reason: str | None
    rule: JSON
    used: Time | None


@dataclass(frozen=True, kw_only=True)
class Policy:
    """One version of the policy. Its ETag is the version; version 0 is the empty policy."""

    version: int
    latest: int
    rules: tuple[Rule, ...]
    by: str
    time: Time | None
    note: str
    versions: tuple[Version, ...]


@dataclass(frozen=True, kw_only=True)
class PolicySaved:
    """A rule set was saved and is in force."""

    version: int
    warnings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Change:
    """A recorded call that the new rules would treat otherwise, and the rules that say so."""

    effect_id: str
    session_id: str
    tool: str
    agent: str
    proposed_at: Time
    before: str
    after: str
    rules: Annotated[tuple[str, ...], "Every new rule that matches, in words."]


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What a rule set would have said of the last `total` recorded calls."""

    total: int
    changes: Annotated[int, "How many would be treated otherwise."]
    sentence: str
    items: Annotated[tuple[Change, ...], "The first 200 of those calls."]
    warnings: tuple[str, ...]
