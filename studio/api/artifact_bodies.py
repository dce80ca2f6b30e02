"""What a program may send and ask about artifacts that are folders, and about links."""

from dataclasses import dataclass
from typing import Annotated, Literal

from studio.api.environment_bodies import Path
from studio.api.shapes import Name, Positive, Short, Whole
from studio.core.runtime import LONGEST_MINUTES


@dataclass(frozen=True, kw_only=True)
class ContentQuery:
    """Which version; of a folder which file in it, or as what it is packed."""

    version: Annotated[Positive, "Without it the newest."] | None = None
    path: Annotated[Path, "A file of a folder; without it all of the folder."] = ""
    form: Annotated[Literal["zip", "tar.zst"], "As what a folder is packed."] = "zip"


@dataclass(frozen=True, kw_only=True)
class TreeQuery:
    """Which folder of which version, and from where on."""

    version: Annotated[Positive, "Without it the newest."] | None = None
    path: Path = ""
    after: Annotated[Path, "The `next` of the page before."] = ""
    limit: Annotated[int, Whole(low=1, high=1_000)] = 200


@dataclass(frozen=True, kw_only=True)
class LinesQuery:
    """Which two versions; of a folder which file in it."""

    before: Positive
    after: Positive
    path: Path = ""


@dataclass(frozen=True, kw_only=True)
class KeepQuery:
    """Which folder of a kept disk, with which session, and as what."""

    session: Name
    name: Short
    path: Annotated[Path, "A folder; without it all of the disk."] = ""
    artifact: Annotated[Name, "The folder that gets a version."] | None = None


@dataclass(frozen=True, kw_only=True)
class NewArtifactLink:
    """A link to one version that works for minutes."""

    version: Annotated[Positive, "Without it the newest."] | None = None
    minutes: Annotated[int, Whole(low=1, high=LONGEST_MINUTES)] = LONGEST_MINUTES
