"""Artifacts and uploads, as programs are given them."""

from dataclasses import dataclass
from typing import Annotated

from studio.api.shapes import Time


@dataclass(frozen=True, kw_only=True)
class Upload:
    """A file that a message may carry within a day, as a part with its `id` as `uploadId`."""

    id: str
    name: str
    media: str
    size: int
    hash: Annotated[str, "SHA-256 in hex."]


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """A file that was kept, as its newest version is."""

    id: str
    session_id: str
    name: str
    source: Annotated[str, "upload, agent or result."]
    media: str
    size: int
    hash: Annotated[str, "SHA-256 in hex."]
    latest: Annotated[int, "The newest version."]
    by: str
    turn_id: str | None
    effect_id: str | None
    made: Time
    saved: Time


@dataclass(frozen=True, kw_only=True)
class ArtifactVersion:
    """One version; its bytes never change."""

    version: int
    media: str
    size: int
    hash: str
    source: str
    by: str
    turn_id: str | None
    effect_id: str | None
    width: int
    height: int
    pages: int
    time: Time


@dataclass(frozen=True, kw_only=True)
class ArtifactDetail:
    """An artifact with a page of its versions, the newest first."""

    artifact: Artifact
    versions: tuple[ArtifactVersion, ...]
    next: str | None


@dataclass(frozen=True, kw_only=True)
class Artifacts:
    """A page of artifacts, the one made last first."""

    items: tuple[Artifact, ...]
    next: str | None


@dataclass(frozen=True, kw_only=True)
class SavedArtifact:
    """A version was kept."""

    session_id: str
    artifact_id: str
    version: int
    name: str
    media: str
    size: int
    hash: str
