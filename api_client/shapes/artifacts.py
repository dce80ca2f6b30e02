"""Artifacts and uploads."""

from typing import TypedDict


class FileRef(TypedDict):
    """One version of an artifact, as a message or a call refers to it."""

    artifact_id: str
    version: int
    name: str
    media: str
    size: int
    hash: str


class Upload(TypedDict):
    """A file that a message may carry within a day."""

    id: str
    name: str
    media: str
    size: int
    hash: str


class Artifact(TypedDict):
    """A file or a folder (`kind`) that was kept, as its newest version is."""

    id: str
    session_id: str
    name: str
    kind: str
    source: str
    media: str
    size: int
    files: int
    hash: str
    latest: int
    by: str
    turn_id: str | None
    effect_id: str | None
    made: str
    saved: str


class ArtifactVersion(TypedDict):
    """One version."""

    version: int
    media: str
    size: int
    files: int
    skipped: int
    moving: int
    hash: str
    source: str
    by: str
    turn_id: str | None
    effect_id: str | None
    width: int
    height: int
    pages: int
    time: str


class ArtifactDetail(TypedDict):
    """An artifact with its versions, the newest first."""

    artifact: Artifact
    versions: list[ArtifactVersion]
    next: str | None


class Artifacts(TypedDict):
    """A page of artifacts."""

    items: list[Artifact]
    next: str | None


class SavedArtifact(TypedDict):
    """A version was kept."""

    session_id: str
    artifact_id: str
    version: int
    name: str
    media: str
    size: int
    files: int
    hash: str


class MadeArtifactLink(TypedDict):
    """A link that was made; `path` is the link, at the studio's address, and is shown this once."""

    id: str
    artifact_id: str
    version: int
    path: str
    expires: str


class ArtifactLink(TypedDict):
    """A link as it stands: `state` is open, revoked or over."""

    id: str
    version: int
    by: str
    made: str
    expires: str
    revoked: str | None
    revoked_by: str | None
    uses: int
    last: str | None
    state: str


class ArtifactLinks(TypedDict):
    """The newest links to an artifact."""

    items: list[ArtifactLink]
