"""A version as an archive, made while it is sent: nothing but the piece at hand is in memory.

tar.zst tells everything that a version holds (the format is POSIX's `pax`, so times have their
nanoseconds and names their bytes). zip is for people's machines: times to two seconds in UTC, and
names must be UTF-8.
"""

import io
import stat
import tarfile
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import zstandard

from studio.core.disks import tree
from studio.core.disks.objects import Objects, Reader
from studio.core.disks.tree import Row, Version, shown
from studio.core.rules.errors import Invalid

Form = Literal["tar.zst", "zip"]
PIECE = 256 * 1024
NANO = 1_000_000_000
EARLIEST, LATEST = 315_532_800, 4_354_819_198  # 1980 to 2107, which is what a zip can tell


@dataclass(frozen=True)
class _Named:
    path: str
    row: Row


def export(objects: Objects, version: Version, form: Form) -> Iterator[bytes]:
    """The archive, a piece at a time; Invalid before the first when it cannot be one."""
    with objects.reading() as reader:
        if form == "zip":
            for named in _walk(reader, "", version.tree):
                _sayable(named)
            yield from _zip(reader, version)
        else:
            yield from _packed(_tar(reader, version))


def _walk(reader: Reader, prefix: str, sha: str) -> Iterator[_Named]:
    """Everything below a folder, each folder before what is in it."""
    for name, row in sorted(reader.rows(sha).items()):
        yield _Named(prefix + name, row)
        if row.kind == tree.FOLDER:
            yield from _walk(reader, f"{prefix}{name}/", row.ref)


def _packed(pieces: Iterator[bytes]) -> Iterator[bytes]:
    packer = zstandard.ZstdCompressor(level=1, write_checksum=True).compressobj()
    for piece in pieces:
        if made := packer.compress(piece):
            yield made
    yield packer.flush()


def _tar(reader: Reader, version: Version) -> Iterator[bytes]:
    top = Row(tree.FOLDER, version.mode, 0, 0, version.tree)
    yield _tar_header(_Named(".", top))
    for named in _walk(reader, "", version.tree):
        yield _tar_header(named)
        if named.row.kind == tree.FILE:
            yield from reader.pieces(named.row.ref)
            yield bytes(-named.row.size % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)


TAR_TYPES = {tree.FILE: tarfile.REGTYPE, tree.FOLDER: tarfile.DIRTYPE, tree.LINK: tarfile.SYMTYPE}


def _tar_header(named: _Named) -> bytes:
    info, row = tarfile.TarInfo(named.path), named.row
    info.type, info.mode = TAR_TYPES[row.kind], row.mode
    info.mtime = row.mtime_ns // NANO
    if row.mtime_ns % NANO:
        info.pax_headers = {"mtime": _seconds(row.mtime_ns)}
    if row.kind == tree.FILE:
        info.size = row.size
    elif row.kind == tree.LINK:
        info.linkname = row.ref
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def _seconds(nanoseconds: int) -> str:
    """A time as a pax record has it: a decimal, whose sign is that of all of it."""
    whole, rest = divmod(abs(nanoseconds), NANO)
    return f"{'-' if nanoseconds < 0 else ''}{whole}.{rest:09}"


def _zip(reader: Reader, version: Version) -> Iterator[bytes]:
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for named in _walk(reader, "", version.tree):
            info, row = _zip_info(named), named.row
            if row.kind == tree.FOLDER:
                archive.writestr(info, b"")
            elif row.kind == tree.LINK:
                archive.writestr(info, row.ref)
            else:
                info.file_size = row.size
                with archive.open(info, "w") as file:
                    for piece in reader.pieces(row.ref):
                        for start in range(0, len(piece), PIECE):
                            file.write(piece[start : start + PIECE])
                            yield sink.taken()
            yield sink.taken()
    yield sink.taken()


ZIP_TYPES = {tree.FILE: stat.S_IFREG, tree.FOLDER: stat.S_IFDIR, tree.LINK: stat.S_IFLNK}


def _zip_info(named: _Named) -> zipfile.ZipInfo:
    row = named.row
    seconds = min(max(row.mtime_ns // NANO, EARLIEST), LATEST)
    name = f"{named.path}/" if row.kind == tree.FOLDER else named.path
    info = zipfile.ZipInfo(name, time.gmtime(seconds)[:6])
    info.create_system = 3  # Unix: the mode is in the upper half
    info.external_attr = (ZIP_TYPES[row.kind] | row.mode) << 16
    if row.kind == tree.FOLDER:
        info.external_attr |= 0x10
    else:
        info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _sayable(named: _Named) -> None:
    """Invalid unless a zip can tell the name, and the target of a link."""
    if "\\" in named.path or not _is_text(named.path):
        raise Invalid(
            f"{shown(named.path)} has a name that a zip archive cannot tell; take tar.zst.",
            code="archive.name",
        )
    if named.row.kind == tree.LINK and not _is_text(named.row.ref):
        raise Invalid(
            f"{shown(named.path)} is a link to a name that a zip archive cannot tell; take"
            " tar.zst.",
            code="archive.name",
        )


def _is_text(text: str) -> bool:
    """Whether all of its bytes were UTF-8."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


class _Sink(io.RawIOBase):
    """Where the zip is written: it holds what was not taken yet, and cannot go back."""

    def __init__(self) -> None:
        super().__init__()
        self._held: list[bytes] = []

    def writable(self) -> bool:
        """It is for writing only."""
        return True

    def write(self, data: "bytes | bytearray | memoryview") -> int:  # type: ignore[override]
        """Hold a piece."""
        self._held.append(bytes(data))
        return len(data)

    def taken(self) -> bytes:
        """What was written since the last time."""
        made = b"".join(self._held)
        self._held.clear()
        return made
