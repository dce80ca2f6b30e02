"""Environment manifests: their list, one version, what each version changed, any two compared."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.rules.environments import manifest as rule_of
from studio.core.rules.errors import NotFound
from studio.core.store import environment_manifests as kept
from studio.core.store import environments, tables
from studio.core.store.environment_manifests import SavedManifest

VERSIONS_SHOWN = 50
ENVIRONMENTS_SHOWN = 50

n = tables.environments.c


@dataclass(frozen=True, kw_only=True)
class ManifestRow:
    """A manifest in the list: its newest version. `environments` are made from it, of any version.

    `behind` counts those of them that are made from an earlier one.
    """

    name: str
    version: int
    kind: str
    description: str
    setup: int
    slots: int
    hosts: int
    environments: int
    behind: int
    by: str
    time: int


@dataclass(frozen=True, kw_only=True)
class ManifestView:
    """One version. `manifest` is as written, `definition` with every default written out.

    `environments` are (name, version) of those made from it, at most 50 of `made`.
    """

    name: str
    version: int
    latest: int
    manifest: dict[str, Any]
    definition: dict[str, Any]
    digest: str
    warnings: tuple[str, ...]
    environments: tuple[tuple[str, int], ...]
    made: int
    by: str
    time: int


@dataclass(frozen=True, kw_only=True)
class ManifestVersion:
    """A saved version and what it changed, in lines."""

    version: int
    by: str
    time: int
    changes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ManifestVersions:
    """Versions, newest first. `next` goes as `before` for those before these."""

    versions: tuple[ManifestVersion, ...]
    latest: int
    next: int | None


@dataclass(frozen=True, kw_only=True)
class ManifestDiff:
    """How two versions differ: lines, and both as they were written."""

    name: str
    old: int
    new: int
    latest: int
    changes: tuple[str, ...]
    before: dict[str, Any]
    after: dict[str, Any]


def rows(conn: sa.Connection) -> list[ManifestRow]:
    """The newest version of every manifest, by name: two statements."""
    query = (
        sa.select(n.manifest, n.manifest_version, sa.func.count())
        .where(n.deleted.is_(None), n.manifest.is_not(None))
        .group_by(n.manifest, n.manifest_version)
    )
    made: dict[str, dict[int, int]] = {}
    for name, version, count in conn.execute(query):
        made.setdefault(name, {})[version] = count
    return [_row(saved, made.get(saved.name, {})) for saved in kept.list_all(conn)]


def view(conn: sa.Connection, name: str, version: int | None) -> ManifestView:
    """One version, the newest without `version`: three statements."""
    latest = _found(kept.get(conn, name))
    saved = latest if version is None else _found(kept.get(conn, name, version))
    parsed = rule_of.parse(saved.manifest)
    made = environments.of_manifest(conn, name)
    return ManifestView(
        name=name, version=saved.version, latest=latest.version, manifest=saved.manifest,
        definition=dict(parsed.definition), digest=saved.digest, warnings=parsed.warnings,
        environments=made[:ENVIRONMENTS_SHOWN], made=len(made), by=saved.by, time=saved.time,
    )  # fmt: skip


def versions(conn: sa.Connection, name: str, before: int | None) -> ManifestVersions:
    """The versions below `before`, newest first, and what each changed: two statements."""
    latest = _found(kept.get(conn, name))
    top = latest.version + 1 if before is None else before
    found = kept.window(conn, name, before=top, limit=VERSIONS_SHOWN + 1)
    made = []
    for index, saved in enumerate(found[:VERSIONS_SHOWN]):
        older = found[index + 1].manifest if index + 1 < len(found) else None
        changes = rule_of.diff(older, saved.manifest) if older is not None else ["new manifest"]
        made.append(
            ManifestVersion(
                version=saved.version, by=saved.by, time=saved.time, changes=tuple(changes)
            )
        )
    following = made[-1].version if len(found) > VERSIONS_SHOWN else None
    return ManifestVersions(versions=tuple(made), latest=latest.version, next=following)


def diff(conn: sa.Connection, name: str, old: int, new: int) -> ManifestDiff:
    """How two versions differ: three statements."""
    latest = _found(kept.get(conn, name))
    first, second = _found(kept.get(conn, name, old)), _found(kept.get(conn, name, new))
    return ManifestDiff(
        name=name, old=old, new=new, latest=latest.version, before=first.manifest,
        after=second.manifest, changes=tuple(rule_of.diff(first.manifest, second.manifest)),
    )  # fmt: skip


def _row(saved: SavedManifest, made: dict[int, int]) -> ManifestRow:
    data = saved.manifest
    return ManifestRow(
        name=saved.name, version=saved.version, kind=data.get("kind", "sandbox"),
        description=data.get("description", ""), setup=len(data.get("setup", ())),
        slots=len(data.get("secrets", ())),
        hosts=len(data.get("network", {}).get("allow", ())), environments=sum(made.values()),
        behind=sum(count for version, count in made.items() if version < saved.version),
        by=saved.by, time=saved.time,
    )  # fmt: skip


def _found(saved: SavedManifest | None) -> SavedManifest:
    if saved is None:
        words = "There is no such environment manifest, or no such version of it."
        raise NotFound(words, code="manifest.not_found")
    return saved
