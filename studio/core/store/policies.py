"""The policy, in versions. Written as facts, by `Journal.commit_other`."""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from studio.core.rules import policy
from studio.core.rules.events import Event, PolicySaved
from studio.core.rules.policy import Policy
from studio.core.store import raw

COLUMNS = "version, rules, by, note, time"
NEWEST = f"SELECT {COLUMNS} FROM policies ORDER BY version DESC LIMIT 1"  # noqa: S608
ONE = f"SELECT {COLUMNS} FROM policies WHERE version = ?"  # noqa: S608
ALL = f"SELECT {COLUMNS} FROM policies ORDER BY version DESC"  # noqa: S608


@dataclass(frozen=True, kw_only=True)
class Saved:
    """One version as it was saved; `rules` is its JSON."""

    version: int
    rules: Any
    by: str
    note: str
    time: int


def save(conn: sa.Connection, *, rules: Any, by: str, note: str = "") -> list[Event]:
    """The rule for `commit_other("policy", …)`: the next version."""
    row = raw.one(conn, NEWEST)
    version = row[0] + 1 if row is not None else 1
    return [PolicySaved(version=version, rules=rules, by=by, note=note)]


def current(conn: sa.Connection) -> Policy:
    """The policy that speaks now; version 0 without a rule while none was saved."""
    row = raw.one(conn, NEWEST)
    return Policy() if row is None else _policy(row[0], row[1])


def at(conn: sa.Connection, version: int) -> Policy | None:
    """The policy as it was in a version."""
    if version == 0:
        return Policy()
    row = raw.one(conn, ONE, (version,))
    return None if row is None else _policy(row[0], row[1])


def versions(conn: sa.Connection) -> tuple[Saved, ...]:
    """All versions, newest first."""
    return tuple(
        Saved(version=version, rules=json.loads(rules), by=by, note=note, time=time)
        for version, rules, by, note, time in raw.every(conn, ALL)
    )


@lru_cache(maxsize=64)
def _policy(version: int, rules: str) -> Policy:
    return Policy(version=version, rules=policy.parse(json.loads(rules))[0])
