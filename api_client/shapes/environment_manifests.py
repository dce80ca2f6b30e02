"""Environment manifests."""

from typing import Any, TypedDict


class EnvironmentManifest(TypedDict):
    """A manifest in the list: its newest version, and how much is made from it."""

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
    time: str


class EnvironmentManifests(TypedDict):
    """Every manifest, by name."""

    items: list[EnvironmentManifest]


class MadeFrom(TypedDict):
    """An environment that is made from a version of a manifest."""

    name: str
    version: int


class EnvironmentManifestDetail(TypedDict):
    """One version of a manifest. Its ETag is the version."""

    name: str
    version: int
    latest: int
    manifest: dict[str, Any]
    definition: dict[str, Any]
    digest: str
    warnings: list[str]
    environments: list[MadeFrom]
    made: int
    by: str
    time: str


class EnvironmentManifestVersion(TypedDict):
    """A saved version and what it changed."""

    version: int
    by: str
    time: str
    changes: list[str]


class EnvironmentManifestVersions(TypedDict):
    """Versions of a manifest, the newest first."""

    items: list[EnvironmentManifestVersion]
    latest: int
    next: int | None


class EnvironmentManifestDiff(TypedDict):
    """How two versions of a manifest differ."""

    name: str
    old: int
    new: int
    latest: int
    changes: list[str]
    before: dict[str, Any]
    after: dict[str, Any]


class ManifestPlan(TypedDict):
    """What saving a manifest changed, or would change."""

    name: str
    version: int
    current: int
    creates: bool
    saved: bool
    changes: list[str]
    warnings: list[str]
    behind: list[str]
    behind_count: int
    digest: str


class EnvironmentFile(TypedDict):
    """Bytes that manifests may name by their hash."""

    hash: str
    size: int
    saved: bool
