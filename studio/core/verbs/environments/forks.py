"""Forks: a new environment from a manifest version and a disk version, planned before it is made.

No bytes move: the new disk begins with the same digest. A secret is copied only where a person
chose it and the target declares the very same place for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from studio.core.rules import access
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.environments import forks, guards, names, reach, records
from studio.core.rules.environments.environment import Environment
from studio.core.rules.environments.forks import Target
from studio.core.rules.errors import NotFound, Refused, Unavailable
from studio.core.sealing import CannotOpen, KeyFile, Place, Sealed
from studio.core.store import environments, policies, secrets
from studio.core.store.journal import Others
from studio.core.verbs.environments import finding
from studio.core.verbs.environments.life import check_owner
from studio.core.verbs.parts import Verbs
from studio.core.verbs.secrets import seal


@dataclass(frozen=True, kw_only=True)
class ForkPlan:
    """What a fork makes, or would make. `version` is the source's, None for an empty disk.

    `copied`, `left` and `missing` are names of secrets: those that come along, those of the source
    that do not, and those that the target needs and will not have. `widened` says of a copied one
    what it could reach there and cannot at the source. `changes` compare definitions. `id` is None
    for a dry run.
    """

    id: str | None
    name: str
    source: str
    source_name: str
    manifest: str | None
    manifest_version: int | None
    kind: str
    version: int | None
    files: int
    bytes: int
    copied: tuple[str, ...]
    left: tuple[str, ...]
    missing: tuple[str, ...]
    widened: Mapping[str, tuple[str, ...]]
    labels: Mapping[str, str]
    owner: str
    changes: tuple[str, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What a person asked of a fork. `version` None is the newest, 0 an empty disk."""

    source: str
    name: str
    manifest: str | None
    version: int | None
    secrets: Sequence[str]
    labels: Mapping[str, str] | None
    owner: str


class ForkVerbs(Verbs):
    """What one may do to begin anew from an environment."""

    async def fork_environment(
        self, person: Person, source: str, name: str, *, manifest: str | None = None,
        version: int | None = None, secrets: Sequence[str] = (),
        labels: Mapping[str, Any] | None = None, owner: str | None = None, wider: bool = False,
        dry_run: bool = False,
    ) -> ForkPlan:  # fmt: skip
        """Make an environment from another, which keeps everything; or say what that would do.

        Without `manifest` it has the same definition. `version` is of the source's disk: None for
        the newest, 0 for an empty one. `secrets` are those to copy: each must be set, and declared
        by the target with the same type and binding. Refused while a turn works in the source.
        Refused (`fork.wider`) where a copied secret could reach more than at the source, unless
        `wider` says that this is meant. Denied to an operator where `labels` differ in one that a
        rule of the policy asks about.
        """
        access.needs(person, "operator", "fork an environment")
        names.check_name(name)
        checked = names.check_labels(labels) if labels is not None else None
        check_owner(person, owner)
        asked = _Asked(
            source=source, name=name, manifest=manifest, version=version, secrets=tuple(secrets),
            labels=checked, owner=owner or "",
        )  # fmt: skip
        new, plan = self.clock.new_id("env"), list[ForkPlan]()

        def rule(conn: sa.Connection) -> Others:
            found = finding.environment(conn, source)
            records.guarded(person, found)
            if checked is not None:
                guards.check_change(person, policies.current(conn), found.labels, checked)
            planned, target = _plan(conn, found, asked)
            plan[:] = [planned]
            if dry_run:
                return []
            forks.meant(planned.widened, wider=wider)
            records.idle(found, environments.busy(conn, found.id, person), "fork it")
            plan[:] = [replace(planned, id=new)]
            return _made(conn, self.seals, found, target, planned, new, person)

        if dry_run:
            await self.db.read(rule)
        else:
            await self.journal.commit_others(rule, at=self.clock.now(), actor=person.actor)
        return plan[0]


def _plan(conn: sa.Connection, source: Environment, asked: _Asked) -> tuple[ForkPlan, Target]:
    if environments.find(conn, asked.name) is not None:
        raise Refused(
            f"There is an environment {asked.name} already. Choose another name.",
            code="environment.exists",
        )
    target = _target(conn, source, asked.manifest)
    disk = _disk(conn, source, target, asked.version)
    filled = [row.name for row in secrets.list_of(conn, source.id)]
    taken = forks.secrets(source, target, filled, asked.secrets)
    plan = ForkPlan(
        id=None, name=asked.name, source=source.id, source_name=source.name,
        manifest=target.manifest, manifest_version=target.manifest_version, kind=target.kind,
        version=disk.version if disk is not None else None,
        files=disk.files if disk is not None else 0, bytes=disk.bytes if disk is not None else 0,
        copied=taken.copied, left=taken.left, missing=taken.missing, owner=asked.owner,
        widened=reach.widened(
            source.definition, source.kind, target.definition, target.kind, taken.copied
        ),
        labels=asked.labels if asked.labels is not None else dict(source.labels),
        changes=forks.changes(source, target), warnings=target.warnings,
    )  # fmt: skip
    return plan, target


def _target(conn: sa.Connection, source: Environment, manifest: str | None) -> Target:
    if manifest is None:
        return forks.same_as(source)
    kept, parsed = finding.saved(conn, manifest)
    return Target(
        kind=parsed.kind, manifest=kept.name, manifest_version=kept.version,
        definition=parsed.definition, digest=parsed.digest, warnings=parsed.warnings,
    )  # fmt: skip


def _disk(
    conn: sa.Connection, source: Environment, target: Target, version: int | None
) -> environments.DiskVersion | None:
    """The version of the source's disk that the fork begins with."""
    number = forks.disk(source, target, version)
    if number is None:
        return None
    found = environments.version(conn, source.id, number)
    if found is None:
        raise NotFound(f"The disk of {source.name} has no version {number}.", code="disk.not_found")
    return found


def _made(
    conn: sa.Connection, seals: KeyFile | None, source: Environment, target: Target,
    plan: ForkPlan, new: str, person: Person,
) -> Others:  # fmt: skip
    """The facts of the fork, in both journals, with its secrets sealed anew."""
    facts: list[e.Event] = [
        e.EnvironmentMade(
            name=plan.name, kind=target.kind, manifest=target.manifest,
            manifest_version=target.manifest_version, definition=dict(target.definition),
            digest=target.digest, labels=dict(plan.labels), owner=plan.owner, by=person.id,
            forked_from=e.ForkedFrom(
                environment_id=source.id, name=source.name, version=plan.version
            ),
        )
    ]  # fmt: skip
    for name in plan.copied:
        version = seal(conn, seals, new, name, _opened(conn, seals, source.id, name))
        facts.append(e.SecretSet(owner=new, name=name, version=version, by=person.id))
    if plan.version is not None:
        kept = environments.version(conn, source.id, plan.version)
        assert kept is not None, "the plan found it in this transaction"
        facts.append(forks.first_version(source, kept.digest, kept.files, kept.folders, kept.bytes,
                                         plan.version, person.id))  # fmt: skip
    forked = e.EnvironmentForked(into=new, name=plan.name, version=plan.version, by=person.id)
    return [(new, facts), (source.id, [forked])]


def _opened(conn: sa.Connection, seals: KeyFile | None, owner: str, name: str) -> str:
    """The value of a secret, to be sealed for its new owner in the same transaction."""
    row = secrets.sealed(conn, owner, name)
    ring = seals.ring() if seals is not None else None
    if row is None or ring is None:
        raise Unavailable(f"The secret {name} cannot be opened here.", code="keys.missing")
    place = Place(owner=owner, name=name, version=row.version)
    try:
        value = ring.open(place, Sealed(key=row.key, wrapped=row.wrapped, value=row.value))
    except CannotOpen as wrong:
        raise Unavailable(
            f"The secret {name} cannot be copied: {wrong}.", code="keys.broken_secret"
        ) from None
    return value.decode("utf-8")
