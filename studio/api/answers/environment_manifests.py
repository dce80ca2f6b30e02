"""Environment manifests, as programs are given them."""

from dataclasses import dataclass
from typing import Annotated

from studio.api.shapes import JSON, Time


@dataclass(frozen=True, kw_only=True)
class EnvironmentManifest:
    """A manifest in the list: its newest version, and how much is made from it."""

    name: str
    version: int
    kind: str
    description: str
    setup: int
    slots: int
    hosts: int
    environments: int
    behind: Annotated[int, "Environments that are made from an earlier version."]
    by: str
    time: Time


@dataclass(frozen=True, kw_only=True)
class EnvironmentManifests:
    """Every manifest, by name."""

    items: tuple[EnvironmentManifest, ...]


@dataclass(frozen=True, kw_only=True)
class MadeFrom:
    """An environment that is made from a version of a manifest."""

    name: str
    version: int


@dataclass(frozen=True, kw_only=True)
class EnvironmentManifestDetail:
    """One version of a manifest. Its ETag is the version."""

    name: str
    version: int
    latest: int
    manifest: dict[str, JSON]
    definition: Annotated[dict[str, JSON], "With every default written out."]
    digest: str
    warnings: tuple[str, ...]
    environments: Annotated[tuple[MadeFrom, ...], "At most 50 of `made`."]
    made: int
    by: str
    time: Time


@dataclass(frozen=True, kw_only=True)
class EnvironmentManifestVersion:
    """A saved version and what it changed."""

    version: int
    by: str
    time: Time
    changes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class EnvironmentManifestVersions:
    """Versions of a manifest, the newest first."""

    items: tuple[EnvironmentManifestVersion, ...]
    latest: int
    next: Annotated[int | None, "Give it as `before` for the versions before these."]


@dataclass(frozen=True, kw_only=True)
class EnvironmentManifestDiff:
    """How two versions of a manifest differ."""

    name: str
    old: int
    new: int
    latest: int
    changes: tuple[str, ...]
    before: dict[str, JSON]
    after: dict[str, JSON]


@dataclass(frozen=True, kw_only=True)
class ManifestPlan:
    """What saving a manifest changed, or would change."""

    name: str
    version: Annotated[int, "The version that is, or would be, the newest."]
    current: Annotated[int, "The version that it was held against; 0: there was none."]
    creates: Annotated[bool, "It makes a new version; false when nothing differs."]
    saved: Annotated[bool, "False for a dry run, and when nothing differs."]
    changes: tuple[str, ...]
    warnings: tuple[str, ...]
    behind: Annotated[tuple[str, ...], "Environments that stay on an earlier version; at most 50."]
    behind_count: int
    digest: str


@dataclass(frozen=True, kw_only=True)
class EnvironmentFile:
    """Bytes that manifests may name by their hash."""

    hash: Annotated[str, "As a manifest names it: sha256:…"]
    size: int
    saved: Annotated[bool, "False when they were here already."]
