"""The policy: one version of its rules in words, and when each last spoke."""

from dataclasses import dataclass
from typing import Any

from studio.core.projections.agents import VersionRow


@dataclass(frozen=True, kw_only=True)
class RuleRow:
    """One rule, counted from 1, in words; `used` is when it last matched a call (ms) or None."""

    number: int
    effect: str
    words: str
    reason: str | None
    rule: Any
    used: int | None


@dataclass(frozen=True, kw_only=True)
class PolicyView:
    """One version of the policy. `json` is the rules as saved. Version 0 is the empty policy."""

    version: int
    latest: int
    rules: tuple[RuleRow, ...]
    json: list[Any]
    by: str
    time: int | None
    note: str
    versions: tuple[VersionRow, ...]
