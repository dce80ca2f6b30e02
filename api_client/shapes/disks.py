"""What kept disks hold and how they differ, and what was asked of a disk.

`path` and `name` are to be read; `raw` is the path percent-encoded, which says exactly what it is.
"""

from typing import TypedDict


class DiskEntry(TypedDict):
    """A name of a kept version: `type` is file, folder or link."""

    path: str
    raw: str
    name: str
    type: str
    mode: str
    time: str
    size: int
    hash: str
    target: str


class DiskFolder(TypedDict):
    """A page of a folder, by name."""

    version: int
    path: str
    raw: str
    total: int
    items: list[DiskEntry]
    next: str | None


class DiskChange(TypedDict):
    """One path that differs: added, removed, changed, type, mode or times."""

    path: str
    raw: str
    what: str
    before: DiskEntry | None
    after: DiskEntry | None


class DiskDiff(TypedDict):
    """How two versions differ, at most 2,000 paths; `counts` are over all of them."""

    before: int
    after: int
    counts: dict[str, int]
    items: list[DiskChange]
    more: bool


class DiskTextDiff(TypedDict):
    """How one file differs: `state` is same, text, binary or too_large."""

    state: str
    lines: list[str]
    added: int
    removed: int


class OperationAsked(TypedDict):
    """What was asked of a disk, by id; a worker does it."""

    operation: str


class Operation(TypedDict):
    """Something that was asked of a disk: `state` is waiting, running, done or failed."""

    id: str
    environment_id: str
    act: str
    source: int | None
    archive_name: str
    note: str
    by: str
    state: str
    asked: str
    started: str | None
    ended: str | None
    version: int | None
    code: str
    message: str


class Operations(TypedDict):
    """The newest of what was asked of a disk, the last one first."""

    items: list[Operation]
