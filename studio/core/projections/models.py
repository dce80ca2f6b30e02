"""Saved providers, for the page of models: what each offers, who uses it. Never a key."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.projections import probes
from studio.core.projections.probes import ProbeView
from studio.core.rules import saved
from studio.core.rules.access import RANK, Person
from studio.core.rules.saved import Saved
from studio.core.store import agents, providers, secrets


@dataclass(frozen=True, kw_only=True)
class ProviderView:
    """A saved provider. `key_set` (ms) is when its key was set; `problem` why it cannot be opened.

    `agents` name it in their newest version; `test` is the newest test of one of its models, for
    admins.
    """

    saved: Saved
    has_key: bool
    key_set: int | None
    key_by: str
    problem: str
    by: str
    time: int
    agents: tuple[str, ...]
    test: ProbeView | None


@dataclass(frozen=True, kw_only=True)
class ModelChoice:
    """A model that a session may be given."""

    provider: str
    name: str
    kind: str

    @property
    def value(self) -> str:
        """Both in one text, as a form sends it."""
        return f"{self.provider}/{self.name}"


@dataclass(frozen=True, kw_only=True)
class ModelsView:
    """All saved providers and the default, {provider, name} or None."""

    providers: tuple[ProviderView, ...]
    default: dict[str, str] | None


def view(conn: sa.Connection, person: Person, keys: frozenset[str] | None, path: str) -> ModelsView:
    """The page of models: five statements. `keys` and `path` are as in `projections.secrets`."""
    tests: dict[str, ProbeView] = {}
    if RANK[person.role] >= RANK["admin"]:
        tests = probes.newest(conn, person, "model")
    sealed = {row.name: row for row in secrets.list_of(conn, saved.OWNER)}
    manifests = [(agent.name, agent.manifest) for agent in agents.list(conn)]
    found = [
        _provider(row, sealed.get(row.saved.name), manifests, tests, keys, path)
        for row in providers.list_all(conn)
    ]
    return ModelsView(providers=tuple(found), default=providers.default(conn))


def choices(conn: sa.Connection) -> list[ModelChoice]:
    """Every model of every saved provider."""
    return [
        ModelChoice(provider=row.saved.name, name=name, kind=row.saved.kind)
        for row in providers.list_all(conn)
        for name in row.saved.models
    ]


def _provider(
    row: providers.ProviderRow, key: secrets.Secret | None, manifests: list[tuple[str, Any]],
    tests: dict[str, ProbeView], keys: frozenset[str] | None, path: str,
) -> ProviderView:  # fmt: skip
    name = row.saved.name
    users = tuple(agent for agent, data in manifests if name in saved.named(data.get("model")))
    problem = ""
    if key is not None and (keys is None or key.key not in keys):
        why = f"key {key.key} is missing in" if keys is not None else "there is no key file"
        problem = f"Its key cannot be opened: {why} {path}."
    return ProviderView(
        saved=row.saved, has_key=key is not None, key_set=key.time if key else None,
        key_by=key.by if key else "", problem=problem, by=row.by, time=row.time, agents=users,
        test=tests.get(name),
    )  # fmt: skip
