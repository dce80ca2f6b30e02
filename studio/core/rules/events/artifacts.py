"""Facts of artifacts and of the links to them."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from studio.core.rules.events.base import Event


@dataclass(frozen=True, kw_only=True)
class ArtifactSaved(Event):
    """A version of an artifact was kept; its bytes lie in the store under `hash`.

    `source` says how: a person's `upload`, saved by the `agent`, or a part of a call's `result`.
    `by` is a person's id, the agent's name or the tool's. `width` and `height` are pixels; they and
    `pages` are 0 when unknown. The message or the outcome that refers to it follows at once.

    With `media` inode/directory it is a folder of `files` files and `size` bytes: `hash` is the
    digest of its tree in the store of disk versions. `skipped` and `moving` are as in `DiskKept`.
    """

    TYPE: ClassVar[str] = "artifact.saved"
    ACTOR: ClassVar[str] = "maker"
    artifact_id: str
    version: int
    name: str
    media: str
    size: int
    hash: str
    source: Literal["upload", "agent", "result"]
    by: str
    turn_id: str | None = None
    effect_id: str | None = None
    width: int = 0
    height: int = 0
    pages: int = 0
    files: int = 0
    skipped: tuple[str, ...] = ()
    moving: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ArtifactLinkMade(Event):
    """A person made a link that gives one version to whoever has it, until `expires` (ms).

    The link itself is nowhere: it is signed, and only its id is kept.
    """

    TYPE: ClassVar[str] = "artifact.link_made"
    ACTOR: ClassVar[str] = "person"
    link_id: str
    artifact_id: str
    version: int
    expires: int
    by: str


@dataclass(frozen=True, kw_only=True)
class ArtifactLinkRevoked(Event):
    """A link to an artifact works no more, before its time."""

    TYPE: ClassVar[str] = "artifact.link_revoked"
    ACTOR: ClassVar[str] = "person"
    link_id: str
    artifact_id: str
    by: str
