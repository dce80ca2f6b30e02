"""Calls about environment manifests, and about bytes for them to name by their hash."""

from collections.abc import Mapping

from api_client.call import Call, Json, get, part, tag, texts
from api_client.shapes import (
    EnvironmentFile,
    EnvironmentManifestDetail,
    EnvironmentManifestDiff,
    EnvironmentManifests,
    EnvironmentManifestVersions,
    ManifestPlan,
)

OCTETS = "application/octet-stream"


def index() -> Call[EnvironmentManifests]:
    """Every environment manifest."""
    return get("/v1/environment-manifests")


def show(name: str, *, version: int | None = None) -> Call[EnvironmentManifestDetail]:
    """One version of a manifest, without `version` its newest."""
    return get(_path(name), version=version)


def versions(name: str, *, before: int | None = None) -> Call[EnvironmentManifestVersions]:
    """The versions of a manifest and what each changed, the newest first, 50 at a time."""
    return get(f"{_path(name)}/versions", before=before)


def diff(
    name: str, *, old: int | None = None, new: int | None = None
) -> Call[EnvironmentManifestDiff]:
    """How two versions differ; without them the newest and the one before it."""
    return get(f"{_path(name)}/diff", old=old, new=new)


def save(
    name: str, manifest: Mapping[str, Json], *, dry_run: bool = False, version: int | None = None
) -> Call[ManifestPlan]:
    """Save a manifest, or plan to. `version` is the one you looked at (0: there is none yet)."""
    return Call(
        method="PUT", path=_path(name), body=dict(manifest),
        query=texts({"dryRun": dry_run or None}), headers=_match(version),
    )  # fmt: skip


def remove(name: str, *, version: int | None = None) -> Call[None]:
    """Remove a manifest that nothing is made from."""
    return Call(method="DELETE", path=_path(name), headers=_match(version))


def keep_file(data: bytes) -> Call[EnvironmentFile]:
    """Send bytes that manifests may name by their `hash`; the same bytes again are nothing new."""
    return Call(method="POST", path="/v1/environment-files", content=data, media=OCTETS)


def _path(name: str) -> str:
    return f"/v1/environment-manifests/{part(name)}"


def _match(version: int | None) -> dict[str, str]:
    return {} if version is None else {"If-Match": tag(version)}
