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
    """A file or a folder that was kept, as its newest version is."""

    id: str
    session_id: str
    name: str
    kind: Annotated[str, "file or folder."]
    source: Annotated[str, "upload, agent or result."]
    media: str
    size: Annotated[int, "Bytes; of a folder those of all its files."]
    files: Annotated[int, "In a folder."]
    hash: Annotated[str, "SHA-256 in hex; of a folder, of its tree."]
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
    files: int
    skipped: Annotated[int, "Names of a folder that could not be kept."]
    moving: Annotated[int, "Files of a folder that changed while they were kept."]
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
    """A version was kept; or, of a folder, was there already."""

    session_id: str
    artifact_id: str
    version: int
    name: str
    media: str
    size: int
    files: int
    hash: str


@dataclass(frozen=True, kw_only=True)
class MadeArtifactLink:
    """A link that was made; it is nowhere else."""

    id: str
    artifact_id: str
    version: int
    path: Annotated[str, "The link, at the address of this studio."]
    expires: Time


@dataclass(frozen=True, kw_only=True)
class ArtifactLink:
    """A link as it stands; what it is cannot be read anywhere."""

    id: str
    version: int
    by: str
    made: Time
    expires: Time
    revoked: Time | None
    revoked_by: str | None
    uses: int
    last: Annotated[Time | None, "When it was last used."]
    state: Annotated[str, "open, revoked or over."]


@dataclass(frozen=True, kw_only=True)
class ArtifactLinks:
    """The links to an artifact that were made last, the newest first."""

    items: tuple[ArtifactLink, ...]
