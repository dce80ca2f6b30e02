"""Models: providers saved with their keys, removed, tried; the model of agents that name none."""

from typing import Any

import sqlalchemy as sa

from studio.core.rules import access, saved
from studio.core.rules import events as e
from studio.core.rules import secrets as secrets_rule
from studio.core.rules.access import Person
from studio.core.rules.errors import Invalid, NotFound, Refused
from studio.core.store import agents, providers, secrets
from studio.core.verbs.probes import ProbeVerbs
from studio.core.verbs.secrets import seal


class ModelVerbs(ProbeVerbs):
    """What one may do with saved providers."""

    async def save_provider(self, person: Person, value: Any, key: str | None = None) -> None:
        """Save a provider under its name. `key` replaces its key; None keeps it, "" takes it away.

        The key is sealed and never given back. Invalid (`provider.key_moved`) when it is to be kept
        for another kind or address than it was given for.
        """
        access.needs(person, "admin", "save a provider")
        given = saved.parse(value)
        if key:
            _check_key(key)

        def rule(conn: sa.Connection) -> list[e.Event]:
            before = providers.get(conn, given.name)
            version = before.key_version if before is not None else None
            facts: list[e.Event] = []
            if key:
                version = seal(conn, self.seals, saved.OWNER, given.name, key)
                facts.append(
                    e.SecretSet(
                        owner=saved.OWNER, name=given.name, version=version, by=person.id
                    )
                )  # fmt: skip
            elif key is None and before is not None and version is not None:
                _check_place(before.saved, given)
            elif version is not None:
                facts.append(_dropped(conn, given.name, version, person))
                version = None
            return [
                *facts,
                e.ProviderSaved(
                    name=given.name, provider=given.data, key_version=version, by=person.id
                ),
            ]  # fmt: skip

        await self.journal.commit_other("models", rule, at=self.clock.now(), actor=person.actor)

    async def remove_provider(self, person: Person, name: str) -> None:
        """Remove a saved provider with its key; refused while an agent or the default needs it."""
        access.needs(person, "admin", "remove a provider")

        def rule(conn: sa.Connection) -> list[e.Event]:
            found = _found(conn, name)
            users = users_of(conn, name)
            if users:
                raise Refused(
                    f"{name} is used by the newest version of {', '.join(users)}. Give "
                    f"{'it' if len(users) == 1 else 'them'} another model first.",
                    code="provider.used", details={"agents": list(users)},
                )  # fmt: skip
            if (providers.default(conn) or {}).get("provider") == name:
                raise Refused(
                    f"{name} has the default model. Choose another default, or none, first.",
                    code="provider.is_default",
                )
            version = found.key_version
            gone = [] if version is None else [_dropped(conn, name, version, person)]
            return [*gone, e.ProviderRemoved(name=name, by=person.id)]

        await self.journal.commit_other("models", rule, at=self.clock.now(), actor=person.actor)

    async def choose_default_model(self, person: Person, provider: str, model: str = "") -> None:
        """Say which model new sessions of agents get that name none; "" for none."""
        access.needs(person, "admin", "choose the default model")

        def rule(conn: sa.Connection) -> list[e.Event]:
            chosen = offered(conn, provider, model) if provider else {"provider": "", "name": ""}
            return [
                e.DefaultModelChosen(
                    provider=chosen["provider"], model=chosen["name"], by=person.id
                )
            ]

        await self.journal.commit_other("models", rule, at=self.clock.now(), actor=person.actor)

    async def test_model(self, person: Person, provider: str, model: str = "") -> str:
        """Have a worker ask a model of a saved provider something short; the id of the probe."""
        access.needs(person, "admin", "test a model")
        chosen = await self.db.read(lambda conn: offered(conn, provider, model))
        return await self.ask_probe(person, "model", provider, chosen)


def offered(conn: sa.Connection, provider: str, model: str) -> dict[str, str]:
    """The model as {provider, name}, without a name the first; Invalid when it is not offered."""
    if provider == "scripted":
        return {"provider": "scripted", "name": model or "scripted"}
    found = _found(conn, provider)
    if model and model not in found.saved.models:
        raise Invalid(
            f"{provider} does not offer {model}. It offers: {', '.join(found.saved.models)}.",
            fields={"model": "is not a model of this provider."}, code="model.not_offered",
        )  # fmt: skip
    return {"provider": provider, "name": model or found.saved.models[0]}


def users_of(conn: sa.Connection, name: str) -> tuple[str, ...]:
    """The agents whose newest version names this provider."""
    return tuple(
        agent.name
        for agent in agents.list(conn)
        if name in saved.named(agent.manifest.get("model"))
    )


def _found(conn: sa.Connection, name: str) -> providers.ProviderRow:
    found = providers.get(conn, name)
    if found is None:
        raise NotFound("There is no such provider saved here.", code="provider.not_found")
    return found


def _dropped(conn: sa.Connection, name: str, version: int, person: Person) -> e.SecretRemoved:
    secrets.drop(conn, saved.OWNER, name)
    return e.SecretRemoved(owner=saved.OWNER, name=name, version=version, by=person.id)


def _check_place(before: saved.Saved, given: saved.Saved) -> None:
    """A key goes only where it was given for: whoever changes that gives it again."""
    if (before.kind, before.base_url) != (given.kind, given.base_url):
        words = "The key was given for another address. Give it again, or take it away."
        raise Invalid(words, fields={"key": words}, code="provider.key_moved")


def _check_key(key: str) -> None:
    """A key is sent as a header, and masked by its value."""
    try:
        secrets_rule.check("KEY", key)
    except Invalid as wrong:
        words = next(iter(wrong.fields.values()))
        raise Invalid(f"The key {words}", fields={"key": words}, code="provider.key") from None
    if not key.isascii() or any(ord(letter) <= 32 or ord(letter) == 127 for letter in key):
        words = "has characters that no key has: spaces, line breaks or letters beyond ASCII."
        raise Invalid(f"The key {words}", fields={"key": words}, code="provider.key")
