"""What a program may send about environments: the bodies and the queries, each a shape."""

from dataclasses import dataclass
from typing import Annotated, Literal

from studio.api.bodies import Cursor, Limit
from studio.api.shapes import JSON, Count, Name, Natural, Positive, Short, Text, Whole

Labels = Annotated[dict[str, JSON], "At most 64: key to text, without commas."]
ONE_LABEL = r"[A-Za-z0-9][A-Za-z0-9._/-]{0,63}=[^\u0000\n\r\t,]*"
LABELS = rf"^({ONE_LABEL}(,{ONE_LABEL})*)?$"
ManifestName = Annotated[str, Text(low=1, high=80), "name, or name@version."]


@dataclass(frozen=True, kw_only=True)
class EnvironmentsQuery:
    """Which environments; without `state` those that are not deleted."""

    labels: Annotated[str, Text(high=2_000, pattern=LABELS), "All of these: a=x,b=y."] = ""
    state: Literal["", "made", "running", "stopped", "lost", "deleted"] = ""
    kind: Literal["", "none", "sandbox", "container", "remote"] = ""
    name: Annotated[Short, "The beginning of the name."] = ""
    manifest: Short = ""
    limit: Limit = 50
    cursor: Cursor | None = None


@dataclass(frozen=True, kw_only=True)
class NewEnvironment:
    """An environment to make, or to find again: from a manifest, or (admins) from a definition."""

    name: Name
    manifest: ManifestName | None = None
    definition: (
        Annotated[JSON, "As a manifest without name; /v1/schemas/environment.json."] | None
    ) = None
    labels: Labels | None = None
    owner: Annotated[Short, "Whose alone it is; without it everybody's."] | None = None


@dataclass(frozen=True, kw_only=True)
class NewLabels:
    """Labels in place of all there are."""

    labels: Labels


@dataclass(frozen=True, kw_only=True)
class NewOwner:
    """Whose alone the environment is; empty: everybody's."""

    owner: Short


@dataclass(frozen=True, kw_only=True)
class NewFork:
    """A new environment from this one, which keeps everything."""

    name: Name
    manifest: Annotated[ManifestName, "Without it the definition is the same."] | None = None
    version: Annotated[Natural, "Of the disk; 0: an empty one; without it the newest."] | None = (
        None
    )
    secrets: (
        Annotated[list[Name], Count(high=100), "Those to copy; the others are left behind."] | None
    ) = None
    labels: Annotated[Labels, "Without it those of the source."] | None = None
    owner: Short | None = None
    wider: Annotated[bool, "Copied secrets may reach more than at the source."] = False


@dataclass(frozen=True, kw_only=True)
class NewEnvironmentSecret:
    """A value for a slot; no answer ever holds it. Of headers a JSON map, written as text."""

    value: Annotated[str, Text(low=8, high=65_536, lines=True)]


@dataclass(frozen=True, kw_only=True)
class DiskVersionsQuery:
    """Which versions of the disk, the newest first."""

    removed: Annotated[bool, "Also those that were removed."] = False
    limit: Limit = 50
    cursor: Cursor | None = None


Path = Annotated[str, Text(high=12_288, lines=True), "Percent-encoded, whatever bytes it has."]


@dataclass(frozen=True, kw_only=True)
class NewDiskVersion:
    """What to say of a version that is kept."""

    note: Annotated[str, Text(high=4_000, lines=True)] = ""


@dataclass(frozen=True, kw_only=True)
class NewRestore:
    """Which version the disk is to be as."""

    version: Positive


@dataclass(frozen=True, kw_only=True)
class ImportQuery:
    """What the archive is called."""

    name: Short = ""


@dataclass(frozen=True, kw_only=True)
class FilesQuery:
    """Which folder of a version, and from where on."""

    path: Path = ""
    after: Annotated[Path, "The `next` of the page before."] = ""
    limit: Annotated[int, Whole(low=1, high=1_000)] = 200


@dataclass(frozen=True, kw_only=True)
class PathQuery:
    """Which file of a version."""

    path: Path


@dataclass(frozen=True, kw_only=True)
class DiffQuery:
    """Which two versions."""

    before: Positive
    after: Positive


@dataclass(frozen=True, kw_only=True)
class TextDiffQuery:
    """Which file of which two versions."""

    before: Positive
    after: Positive
    path: Path


@dataclass(frozen=True, kw_only=True)
class ArchiveQuery:
    """As what a version is packed."""

    form: Literal["tar.zst", "zip"] = "tar.zst"


@dataclass(frozen=True, kw_only=True)
class OperationsQuery:
    """How many of the newest."""

    limit: Annotated[int, Whole(low=1, high=100)] = 20


@dataclass(frozen=True, kw_only=True)
class EgressQuery:
    """Which connections, the newest first."""

    outcome: Literal["", "allowed", "refused", "failed"] = ""
    limit: Limit = 50
    cursor: Cursor | None = None


@dataclass(frozen=True, kw_only=True)
class ManifestQuery:
    """Which version of the manifest; without it the newest."""

    version: Positive | None = None
