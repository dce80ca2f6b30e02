"""The policy, and what another one would have said."""

from typing import Any, TypedDict

from api_client.shapes.agents import Version


class Rule(TypedDict):
    """One rule of the policy, in words."""

    number: int
    effect: str
    words: str
    reason: str | None
    rule: Any
    used: str | None


class Policy(TypedDict):
    """One version of the policy."""

    version: int
    latest: int
    rules: list[Rule]
    by: str
    time: str | None
    note: str
    versions: list[Version]


class PolicySaved(TypedDict):
    """A rule set is in force."""

    version: int
    warnings: list[str]


class Change(TypedDict):
    """A recorded call that the new rules would treat otherwise."""

    effect_id: str
    session_id: str
    tool: str
    agent: str
    proposed_at: str
    before: str
    after: str
    rules: list[str]


class Tried(TypedDict):
    """What a rule set would have said of recorded calls."""

    total: int
    changes: int
    sentence: str
    items: list[Change]
    warnings: list[str]
