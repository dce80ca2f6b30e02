"""What kept disks hold and how they differ, and what was asked of a disk.

A name on a disk is bytes. `path` and `name` are text to be read, in which a byte that is no UTF-8
is U+FFFD; `raw` is the path percent-encoded, which says exactly what it is and is asked with.
"""

from dataclasses import dataclass
from typing import Annotated

from studio.api.shapes import JSON, Time


@dataclass(frozen=True, kw_only=True)
class DiskEntry:
    """A name of a kept version."""

    path: str
    raw: str
    name: str
    type: Annotated[str, "file, folder or link."]
    mode: Annotated[str, "Octal, such as 0644."]
    time: Annotated[Time, "When it was changed."]
    size: Annotated[int, "Bytes; of a folder those of all files below."]
    hash: Annotated[str, "SHA-256 of a file's bytes, else empty."]
    target: Annotated[str, "Where a link leads, else empty."]


@dataclass(frozen=True, kw_only=True)
class DiskFolder:
    """A page of a folder, by name."""

    version: int
    path: str
    raw: str
    total: Annotated[int, "Names in the whole folder."]
    items: tuple[DiskEntry, ...]
    next: Annotated[str | None, "What `after` takes for the following page, percent-encoded."]


@dataclass(frozen=True, kw_only=True)
class DiskChange:
    """One path that differs, as it was and as it is; null where it was not or is not."""

    path: str
    raw: str
    what: Annotated[str, "added, removed, changed, type, mode or times."]
    before: DiskEntry | None
    after: DiskEntry | None


@dataclass(frozen=True, kw_only=True)
class DiskDiff:
    """How two versions differ, in the order of paths; `counts` are by `what`, over all of them."""

    before: int
    after: int
    counts: dict[str, JSON]
    items: tuple[DiskChange, ...]
    more: Annotated[bool, "There are more than these 2,000."]


@dataclass(frozen=True, kw_only=True)
class DiskTextDiff:
    """How one file differs, line by line."""

    state: Annotated[str, "same, text, binary or too_large."]
    lines: Annotated[tuple[str, ...], "Each begins with a blank, -, +, @ or \\."]
    added: int
    removed: int


@dataclass(frozen=True, kw_only=True)
class OperationAsked:
    """Something was asked of a disk; a worker does it. Look at the operation to see how it went."""

    operation: str


@dataclass(frozen=True, kw_only=True)
class Operation:
    """Something that was asked of a disk. When it failed, nothing changed."""

    id: str
    environment_id: str
    act: Annotated[str, "keep, restore, reset, stop or import."]
    source: Annotated[int | None, "The version that is restored."]
    archive_name: str
    note: str
    by: str
    state: Annotated[str, "waiting, running, done or failed."]
    asked: Time
    started: Time | None
    ended: Time | None
    version: Annotated[int | None, "The version that it made; null when nothing had changed."]
    code: str
    message: Annotated[str, "Why it failed."]


@dataclass(frozen=True, kw_only=True)
class Operations:
    """The newest of what was asked of a disk, the last one first."""

    items: tuple[Operation, ...]
