"""Secrets, for the admin's page: who set which, what used it last, who names it. Never a value."""

from dataclasses import dataclass

import sqlalchemy as sa

from studio.core.rules import secrets as rule_of
from studio.core.rules.access import Person, needs
from studio.core.store import agents, listings, secrets


@dataclass(frozen=True, kw_only=True)
class SecretRow:
    """A secret of the studio. `agents` name it in their newest version; times are ms or None.

    `version` is 0 and `by` empty for one that agents name and nobody has set. `problem` is a
    sentence when its value cannot be opened.
    """

    name: str
    version: int = 0
    by: str = ""
    time: int | None = None
    used: int | None = None
    used_by: str = ""
    effect_id: str | None = None
    agents: tuple[str, ...] = ()
    problem: str = ""


def rows(
    conn: sa.Connection, person: Person, keys: frozenset[str] | None, path: str
) -> list[SecretRow]:
    """Every secret of the studio by name, and those that agents name and that are not set.

    `keys` are the ids of the keys in the key file at `path`, None when there is no such file. Three
    statements.
    """
    needs(person, "admin", "see the secrets")
    users = _users(conn)
    found = [
        SecretRow(
            name=row.name, version=row.version, by=row.by, time=row.time, used=row.used,
            used_by=row.used_by, effect_id=row.effect_id, agents=users.pop(row.name, ()),
            problem=problem_of(row.key, keys, path),
        )
        for row in secrets.list_of(conn, rule_of.STUDIO)
    ]  # fmt: skip
    missing = [SecretRow(name=name, agents=names) for name, names in users.items()]
    return sorted([*found, *missing], key=lambda row: row.name)


def _users(conn: sa.Connection) -> dict[str, tuple[str, ...]]:
    """The agents whose newest version names each secret, itself or by a plugin's server."""
    users: dict[str, list[str]] = {}
    listed = listings.all(conn)
    for agent in agents.list(conn):
        tools = listed.get((agent.name, agent.version), ())
        by_tools = [str(name) for tool in tools for name in tool.get("secrets", ())]
        for name in dict.fromkeys([*rule_of.named(agent.manifest), *by_tools]):
            users.setdefault(name, []).append(agent.name)
    return {name: tuple(names) for name, names in users.items()}


def problem_of(key: str, keys: frozenset[str] | None, path: str) -> str:
    """Why a value that is sealed under this key cannot be opened; "" when it can."""
    if keys is None:
        return f"It cannot be opened: there is no key file {path}."
    return "" if key in keys else f"It cannot be opened: key {key} is missing in {path}."
