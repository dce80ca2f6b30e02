"""Environments: made or found again, labelled, given to somebody, deleted; old versions removed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.rules import access
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.environments import guards, names, records
from studio.core.rules.environments import manifest as manifests
from studio.core.rules.environments.environment import Environment
from studio.core.rules.environments.manifest import Manifest
from studio.core.rules.errors import Denied, Invalid
from studio.core.store import environments, policies
from studio.core.store.journal import Others
from studio.core.verbs.environments import finding
from studio.core.verbs.parts import Verbs


@dataclass(frozen=True, kw_only=True)
class Made:
    """An environment that was made, or that was there already with the same values."""

    id: str
    name: str
    made: bool
    manifest: str | None
    manifest_version: int | None
    warnings: tuple[str, ...] = ()


class LifeVerbs(Verbs):
    """What one may do with environments."""

    async def make_environment(
        self, person: Person, name: str, *, manifest: str | None = None, definition: Any = None,
        labels: Mapping[str, Any] | None = None, owner: str | None = None,
    ) -> Made:  # fmt: skip
        """Make an environment, or find the one that is there with the same values.

        From a `manifest` (`name`, its newest version, or `name@3`), or from a `definition` written
        inline, which is an admin's to give as saving a manifest is. One that is there already
        stays on its version when none is named. Refused (`environment_immutable`) with the fields
        that differ. `owner` None is everybody; only an admin names somebody else, or gives labels
        that a rule of the policy asks about.
        """
        access.needs(person, "operator", "make an environment")
        names.check_name(name)
        inline = _inline(person, manifest, definition)
        checked = names.check_labels(labels) if labels is not None else None
        check_owner(person, owner)
        new, made = self.clock.new_id("env"), dict[str, Any]()

        def rule(conn: sa.Connection) -> Others:
            found = environments.find(conn, name)
            if found is not None:
                _again(conn, found, manifest, inline, checked, owner)
                made.update(_made(found, is_new=False))
                return []
            guards.check_change(person, policies.current(conn), {}, checked or {})
            fields, warnings = _fields(conn, person, name, manifest, inline)
            event = e.EnvironmentMade(
                **fields, labels=checked or {}, owner=owner or "", by=person.id
            )
            made.update(
                id=new, name=name, made=True, manifest=event.manifest,
                manifest_version=event.manifest_version, warnings=warnings,
            )  # fmt: skip
            return [(new, [event])]

        await self.journal.commit_others(rule, at=self.clock.now(), actor=person.actor)
        return Made(**made)

    async def label_environment(
        self, person: Person, environment: str, labels: Mapping[str, Any]
    ) -> None:
        """Give an environment these labels in place of all it has.

        Denied (`denied.label_of_policy`) to an operator where a rule of the policy asks about one
        that would come or go.
        """
        access.needs(person, "operator", "label an environment")
        checked = names.check_labels(labels)

        def rule(conn: sa.Connection, it: Environment) -> list[e.Event]:
            guards.check_change(person, policies.current(conn), it.labels, checked)
            return records.label(it, checked, person)

        await self._change(person, environment, rule)

    async def give_environment(self, person: Person, environment: str, owner: str) -> None:
        """Make an environment one person's alone to use, or (with "") everybody's."""
        access.needs(person, "operator", "change the owner of an environment")
        check_owner(person, owner)
        await self._change(person, environment, lambda _, it: records.give(it, owner, person))

    async def delete_environment(self, person: Person, environment: str) -> None:
        """Delete an environment with its disk and secrets; refused while a turn works in it."""
        access.needs(person, "admin", "delete an environment")
        await self._change(
            person, environment, lambda conn, it: environments.ended(conn, it, person)
        )

    async def remove_disk_version(self, person: Person, environment: str, version: int) -> None:
        """Remove a kept version that is not the newest and that no turn in hand began on."""
        access.needs(person, "admin", "remove a disk version")

        def rule(conn: sa.Connection, it: Environment) -> list[e.Event]:
            return records.remove_version(
                it, version, there=environments.versions(conn, it.id),
                referred=environments.bases(conn, it.id), by=person,
            )  # fmt: skip

        await self._change(person, environment, rule)

    async def _change(self, person: Person, word: str, rule: Any) -> None:
        """Ask the rule of the environment with this id or name, and record what it says."""

        def others(conn: sa.Connection) -> Others:
            found = finding.environment(conn, word)
            return [(found.id, rule(conn, found))]

        await self.journal.commit_others(others, at=self.clock.now(), actor=person.actor)


def _inline(person: Person, manifest: str | None, definition: Any) -> Manifest | None:
    """The definition that was written inline, checked; None when a manifest is named."""
    if (manifest is None) == (definition is None):
        words = "Name a manifest, or write a definition: exactly one of the two."
        raise Invalid(words, fields={"manifest": words}, code="environment.manifest")
    if definition is None:
        return None
    access.needs(person, "admin", "make an environment from a definition that is not saved")
    return manifests.parse(definition, is_named=False)


def check_owner(person: Person, owner: str | None) -> None:
    if owner in (None, "", person.id) or person.role == "admin":
        return
    raise Denied(
        "Only an admin gives an environment to somebody else; you may take it yourself or leave it "
        "to everybody.",
        code="denied.admin_only",
    )


def _again(
    conn: sa.Connection, found: Environment, manifest: str | None, inline: Manifest | None,
    labels: Mapping[str, str] | None, owner: str | None,
) -> None:  # fmt: skip
    """Refuse unless what is there has the values that are asked for."""
    name, version = names.reference(manifest) if manifest is not None else (None, None)
    if manifest is not None and name != found.manifest:
        finding.saved(conn, manifest)
    records.same_again(
        found, manifest=name, version=version, labels=labels, owner=owner,
        definition=inline.definition if inline is not None else None,
    )  # fmt: skip


def _made(found: Environment, *, is_new: bool) -> dict[str, Any]:
    return {
        "id": found.id, "name": found.name, "made": is_new, "manifest": found.manifest,
        "manifest_version": found.manifest_version,
    }  # fmt: skip


def _fields(
    conn: sa.Connection, person: Person, name: str, manifest: str | None, inline: Manifest | None
) -> tuple[dict[str, Any], Sequence[str]]:
    """The fields of the new environment's first fact that come from its definition; warnings."""
    version: int | None = None
    if manifest is not None:
        kept, parsed = finding.saved(conn, manifest)
        manifest, version = kept.name, kept.version
    else:
        assert inline is not None, "one of the two is given"
        parsed = inline
        if faults := finding.file_faults(conn, person, parsed.definition):
            words = "The definition names files that are not here."
            raise Invalid(words, fields=faults, code="manifest.invalid")
    fields = {
        "name": name, "kind": parsed.kind, "manifest": manifest, "manifest_version": version,
        "definition": dict(parsed.definition), "digest": parsed.digest,
    }  # fmt: skip
    return fields, parsed.warnings
