"""Environment manifests: saved in versions after a plan, removed when nothing is made of them."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from studio.core.rules import access
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.environments import files
from studio.core.rules.environments import manifest as rule_of
from studio.core.rules.environments.manifest import Manifest
from studio.core.rules.errors import Changed, Invalid, NotFound, Refused, TooLarge
from studio.core.store import blobs, environment_manifests, environments
from studio.core.store.environment_manifests import SavedManifest
from studio.core.verbs.environments import finding
from studio.core.verbs.parts import Verbs

MOST_NAMED = 50


@dataclass(frozen=True, kw_only=True)
class ManifestPlan:
    """What saving a manifest does, or would do. `version` is the one it makes, or keeps.

    `current` is the version that it was held against, 0 when there was none. `behind` are
    environments that are made from an earlier version and stay so, at most 50 of `behind_count`.
    """

    name: str
    version: int
    current: int
    creates: bool
    changes: tuple[str, ...]
    warnings: tuple[str, ...]
    behind: tuple[str, ...]
    behind_count: int
    digest: str


class ManifestVerbs(Verbs):
    """What one may do with manifests of environments."""

    async def save_environment_manifest(
        self, person: Person, manifest: Any, *, dry_run: bool = False, expect: int | None = None
    ) -> ManifestPlan:
        """Save a manifest as a new version, or say what saving it would do.

        Invalid with a sentence for each field; Changed when it is not at version `expect`.
        """
        access.needs(person, "admin", "save an environment manifest")
        parsed = rule_of.parse(manifest)
        plan: ManifestPlan | None = None

        def rule(conn: sa.Connection) -> list[e.Event]:
            nonlocal plan
            if faults := finding.file_faults(conn, person, parsed.definition):
                words = "The environment manifest names files that are not here."
                raise Invalid(words, fields=faults, code="manifest.invalid")
            plan = _plan(conn, parsed, expect)
            if not plan.creates:
                return []
            return [
                e.EnvironmentManifestSaved(
                    name=parsed.name, version=plan.version, manifest=dict(parsed.data),
                    digest=parsed.digest, by=person.id,
                )
            ]  # fmt: skip

        if dry_run:
            await self.db.read(rule)
        else:
            at = self.clock.now()
            await self.journal.commit_other("environments", rule, at=at, actor=person.actor)
        assert plan is not None, "the rule was asked"
        return plan

    async def remove_environment_manifest(
        self, person: Person, name: str, *, expect: int | None = None
    ) -> None:
        """Remove every version of a manifest; refused while an environment is made from one."""
        access.needs(person, "admin", "remove an environment manifest")

        def rule(conn: sa.Connection) -> list[e.Event]:
            found = environment_manifests.get(conn, name)
            if found is None:
                raise NotFound("There is no such manifest.", code="manifest.not_found")
            _check_expected(found, name, expect)
            users = [one for one, _ in environments.of_manifest(conn, name)]
            if users:
                named = ", ".join(users[:5]) + (" …" if len(users) > 5 else "")
                raise Refused(
                    f"{name} is in use by {named}. Delete what is made from it first.",
                    code="manifest_in_use", details={"environments": users[:MOST_NAMED]},
                )  # fmt: skip
            return [e.EnvironmentManifestRemoved(name=name, version=found.version, by=person.id)]

        at = self.clock.now()
        await self.journal.commit_other("environments", rule, at=at, actor=person.actor)

    async def keep_environment_file(self, person: Person, data: bytes) -> tuple[str, bool]:
        """Keep bytes for manifests to name by their hash (hex, given back); are they new here?"""
        access.needs(person, "admin", "send a file for environments")
        if len(data) > files.FILE_BYTES:
            raise TooLarge(
                f"The file has {len(data):,} bytes; {files.FILE_BYTES:,} are allowed.",
                code="file.too_large", details={"limit": files.FILE_BYTES},
            )  # fmt: skip
        at = self.clock.now()
        return await self.db.touch(lambda conn: blobs.put(conn, data, at))


def _plan(conn: sa.Connection, parsed: Manifest, expect: int | None) -> ManifestPlan:
    kept = environment_manifests.get(conn, parsed.name)
    _check_expected(kept, parsed.name, expect)
    same = kept is not None and not rule_of.diff(kept.manifest, parsed.data)
    if kept is not None and same:
        version, changes = kept.version, []
    else:
        version = environment_manifests.last(conn, parsed.name) + 1
        changes = rule_of.diff(kept.manifest, parsed.data) if kept else ["new manifest"]
    made = environments.of_manifest(conn, parsed.name)
    behind = [name for name, of in made if of < version]
    return ManifestPlan(
        name=parsed.name, version=version, current=kept.version if kept else 0,
        creates=not same, changes=tuple(changes), warnings=parsed.warnings,
        behind=tuple(behind[:MOST_NAMED]), behind_count=len(behind),
        digest=parsed.digest,
    )  # fmt: skip


def _check_expected(kept: SavedManifest | None, name: str, expect: int | None) -> None:
    current = kept.version if kept is not None else 0
    if expect is None or expect == current:
        return
    details: dict[str, Any] = {"name": name, "version": current, "expected": expect}
    if kept is None:
        words = f"There is no environment manifest {name}; you looked at version {expect}."
        raise Changed(words, code="manifest_changed", details=details)
    looked = f"you looked at version {expect}" if expect else "you looked when there was none"
    time = datetime.fromtimestamp(kept.time / 1000, UTC).isoformat(timespec="seconds")
    raise Changed(
        f"The environment manifest {name} was saved meanwhile: version {kept.version}, by "
        f"{kept.by}; {looked}. Read it again.",
        code="manifest_changed", details={**details, "by": kept.by, "time": time},
    )  # fmt: skip
