"""Looking into a version: a folder in pages, one name, the bytes of a file in windows."""

import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from studio.core.disks import tree
from studio.core.disks.objects import Objects, Reader
from studio.core.disks.tree import Row, Version, shown
from studio.core.rules import media
from studio.core.rules.errors import Invalid, NotFound, Unavailable

MOST_LISTED = 1_000
MOST_WINDOW = 8 * 1024**2
Type = Literal["file", "folder", "link"]
Kind = Literal["text", "image", "binary"]
TYPES: dict[str, Type] = {tree.FILE: "file", tree.FOLDER: "folder", tree.LINK: "link"}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One name of a version. `path` is relative to the top, without a slash at either end.

    `size` is in bytes, for a folder that of all files below. `hash` is the SHA-256 of a file's
    bytes, else empty; `target` is a link's text, else empty. `mtime_ns` is UTC since 1970.
    """

    path: str
    type: Type
    mode: int
    mtime_ns: int
    size: int
    hash: str = ""
    target: str = ""

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A page of a folder, by name. `next` is the name to go on after, None at the end."""

    entries: tuple[Entry, ...]
    total: int
    next: str | None


@dataclass(frozen=True, kw_only=True)
class Window:
    """Bytes of a file from `offset` on; `size` is the whole file's."""

    data: bytes = field(repr=False)
    offset: int
    size: int


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a file is by its bytes: `kind` for how it is shown, `media` for what it is called.

    `image` is one of the kinds that a browser may show, `text` is UTF-8 without a null.
    """

    kind: Kind
    media: str
    size: int


def entry_of(path: str, row: Row) -> Entry:
    """A row with its path."""
    return Entry(
        path=path, type=TYPES[row.kind], mode=row.mode, mtime_ns=row.mtime_ns, size=row.size,
        hash=row.ref if row.kind == tree.FILE else "",
        target=row.ref if row.kind == tree.LINK else "",
    )  # fmt: skip


def listing(
    objects: Objects, version: Version, path: str, *, after: str = "", limit: int = 200
) -> Listing:
    """Names of a folder that come after a name; NotFound, or Invalid when it is no folder."""
    with objects.reading() as reader:
        row = row_of(reader, version, path)
        if row.kind != tree.FOLDER:
            raise Invalid(f"{shown(path)} is no folder.", code="disk.no_folder")
        rows = reader.rows(row.ref)
    names = sorted(rows)
    start = bisect.bisect_right(names, after) if after else 0
    page = names[start : start + max(1, min(limit, MOST_LISTED))]
    prefix = f"{path.strip('/')}/" if path.strip("/") else ""
    last = start + len(page) >= len(names)
    return Listing(
        entries=tuple(entry_of(prefix + name, rows[name]) for name in page), total=len(names),
        next=None if last else page[-1],
    )  # fmt: skip


def entry(objects: Objects, version: Version, path: str) -> Entry:
    """One name of a version; NotFound when it is not in it."""
    with objects.reading() as reader:
        return entry_of(path.strip("/"), row_of(reader, version, path))


def window(objects: Objects, sha: str, offset: int, most: int) -> Window:
    """Bytes of a file. Of a large file only what is passed over is looked at, not the rest."""
    most = min(most, MOST_WINDOW)
    with objects.reading() as reader:
        size = reader.size(sha)
        if offset < 0 or most < 0:
            raise Invalid("A window begins at 0 or later and has a length.", code="disk.window")
        got = bytearray()
        at = 0
        for piece in reader.pieces(sha) if offset < size and most else ():
            got += piece[max(0, offset - at) : max(0, offset + most - at)]
            at += len(piece)
            if at >= offset + most:
                break
        return Window(data=bytes(got), offset=offset, size=size)


def pieces(objects: Objects, sha: str) -> Iterator[bytes]:
    """A whole file, a piece at a time."""
    with objects.reading() as reader:
        yield from reader.pieces(sha)


def check(objects: Objects, version: Version) -> int:
    """Read everything of a version: how many bytes its files have; Unavailable names the file."""
    with objects.reading() as reader:
        return _check(reader, "", version.tree, set())


def _check(reader: Reader, prefix: str, sha: str, seen: set[str]) -> int:
    """The bytes below a folder that were not `seen` yet."""
    size = 0
    for name, row in reader.rows(sha).items():
        if row.kind == tree.LINK or row.ref in seen:
            continue
        seen.add(row.ref)
        if row.kind == tree.FOLDER:
            size += _check(reader, f"{prefix}{name}/", row.ref, seen)
        else:
            size += _length(reader, prefix + name, row.ref)
    return size


def _length(reader: Reader, path: str, sha: str) -> int:
    try:
        return sum(map(len, reader.pieces(sha)))
    except Unavailable as wrong:
        words = f"{shown(path)}: {wrong.message}"
        raise Unavailable(words, code=wrong.code, details={**wrong.details, "path": path}) from None


def look(objects: Objects, sha: str, name: str) -> Look:
    """What a file is, by its first bytes and its name."""
    found = window(objects, sha, 0, media.HEAD_BYTES)
    utf8 = is_text(found.data, whole=found.size <= len(found.data))
    called = media.settled(name, "", found.data, utf8=utf8)
    sniffed = media.sniffed(found.data)
    kind: Kind = "text" if utf8 else "binary"
    if sniffed in media.INLINE_IMAGES:
        kind, called = "image", sniffed
    return Look(kind=kind, media=called, size=found.size)


def is_text(data: bytes, *, whole: bool) -> bool:
    """UTF-8 without a null; of a head, the last letter may be cut."""
    if b"\0" in data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as wrong:
        cut = len(data) - wrong.start < 4 and wrong.reason == "unexpected end of data"
        return cut and not whole
    return True


def row_of(reader: Reader, version: Version, path: str) -> Row:
    """One name of a version, the top too; NotFound when it is not in it."""
    row = Row(tree.FOLDER, version.mode, 0, version.size, version.tree)
    for name in path.strip("/").split("/") if path.strip("/") else ():
        found = reader.rows(row.ref).get(name) if row.kind == tree.FOLDER else None
        if found is None:
            raise NotFound(f"The version has nothing at {shown(path)}.", code="disk.no_entry")
        row = found
    return row
