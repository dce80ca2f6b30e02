"""The policy: one version of its rules in words, and when each last spoke."""

import json
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.projections.agents import VersionRow
from studio.core.rules import policy as rules
from studio.core.rules.errors import NotFound
from studio.core.rules.policy import Policy
from studio.core.store import policies, tables
from studio.core.store.policies import Saved

LOOKED_AT = 1000  # newest calls that are asked which rules they met


@dataclass(frozen=True, kw_only=True)
class RuleRow:
    """One rule, counted from 1, in words.

    `used` is when a call last met it in this version (ms), among the newest 1,000 calls, or None.
    """

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


def view(conn: sa.Connection, version: int | None) -> PolicyView:
    """One version, without `version` the one in force: three statements."""
    saved = policies.versions(conn)
    latest = saved[0].version if saved else 0
    wanted = latest if version is None else version
    parsed = policies.at(conn, wanted)
    if parsed is None:
        raise NotFound("There is no such version of the policy.", code="policy.not_found")
    mine = next((item for item in saved if item.version == wanted), None)
    return PolicyView(
        version=wanted, latest=latest, rules=_rows(conn, parsed, mine),
        json=mine.rules if mine else [], by=mine.by if mine else "",
        time=mine.time if mine else None, note=mine.note if mine else "",
        versions=tuple(
            VersionRow(version=item.version, by=item.by, time=item.time, note=item.note)
            for item in saved
        ),
    )  # fmt: skip


def _rows(conn: sa.Connection, parsed: Policy, saved: Saved | None) -> tuple[RuleRow, ...]:
    if saved is None:
        return ()
    used = _used(conn, parsed.version)
    return tuple(
        RuleRow(
            number=rule.number, effect=rule.effect, words=rules.words(rule), reason=rule.reason,
            rule=made, used=used.get(rule.number),
        )
        for rule, made in zip(parsed.rules, saved.rules, strict=True)
    )  # fmt: skip


def _used(conn: sa.Connection, version: int) -> dict[int, int]:
    """When each rule of a version last matched, by number."""
    f = tables.effects.c
    query = sa.select(f.proposed_at, f.ruling).where(f.kind != "model")
    found: dict[int, int] = {}
    for at, made in conn.execute(query.order_by(f.proposed_at.desc()).limit(LOOKED_AT)):
        ruling = json.loads(made)
        if ruling["policy_version"] == version:
            for rule in ruling["rules"]:
                found.setdefault(rule["number"], at)
    return found
