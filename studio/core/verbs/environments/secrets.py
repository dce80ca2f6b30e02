"""Secrets of an environment: set where its manifest declares a slot, and removed. Never shown."""

import sqlalchemy as sa

from studio.core.rules import access, secrets
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.environments import slots
from studio.core.rules.errors import Invalid, NotFound
from studio.core.store import secrets as kept
from studio.core.store.journal import Others
from studio.core.verbs.environments import finding
from studio.core.verbs.parts import Verbs
from studio.core.verbs.secrets import seal


class EnvironmentSecretVerbs(Verbs):
    """What one may do with the secrets of an environment."""

    async def set_environment_secret(
        self, person: Person, environment: str, name: str, value: str
    ) -> int:
        """Seal a value for a declared slot of an environment; the version that it has now.

        Refused (`secret_not_in_manifest`) when there is no such slot, or (`secret_host_taken`) when
        another secret that is set is bound to the same host. A `headers` value is a JSON
        map of header to value.
        """
        access.needs(person, "admin", "set a secret of an environment")
        _check_name(name)
        version = 0

        def rule(conn: sa.Connection) -> Others:
            nonlocal version
            found = finding.environment(conn, environment)
            slots.check_value(slots.slot_named(found.slots, name), value)
            filled = [row.name for row in kept.list_of(conn, found.id)]
            slots.one_for_a_host(found.slots, name, filled)
            version = seal(conn, self.seals, found.id, name, value)
            event = e.SecretSet(owner=found.id, name=name, version=version, by=person.id)
            return [(found.id, [event])]

        await self.journal.commit_others(rule, at=self.clock.now(), actor=person.actor)
        return version

    async def remove_environment_secret(self, person: Person, environment: str, name: str) -> None:
        """Remove the value of a slot; what needs it says so from then on."""
        access.needs(person, "admin", "remove a secret of an environment")

        def rule(conn: sa.Connection) -> Others:
            found = finding.environment(conn, environment)
            row = next((one for one in kept.list_of(conn, found.id) if one.name == name), None)
            if row is None:
                raise NotFound("This environment has no such secret.", code="secret.not_found")
            kept.drop(conn, found.id, name)
            event = e.SecretRemoved(
                owner=found.id, name=name, version=row.version, by=person.id
            )  # fmt: skip
            return [(found.id, [event])]

        await self.journal.commit_others(rule, at=self.clock.now(), actor=person.actor)


def _check_name(name: str) -> None:
    if fault := secrets.name_fault(name):
        raise Invalid(f"The name {fault}", fields={"name": fault}, code="secret.name")
