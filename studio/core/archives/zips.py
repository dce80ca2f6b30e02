"""Zip archives: the list of contents held against each entry's own header, then the contents.

What two readers could see differently is refused: overlapping entries, sizes that lie, a list that
is not where the end says, ZIP64. The layout is PKWARE's APPNOTE 6.3.10, sections 4.3 and 4.4.
"""

import calendar
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from studio.core.archives.entries import Bad, Entry, Type

STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
MOST_RATIO = 200  # of a file's size to what it takes in the archive
SMALL = 64 * 1024**2  # bytes that come out, below which the ratio says nothing
END, ENTRY, LARGE_END = b"PK\5\6", b"PK\1\2", b"PK\6\7"
END_BYTES, LARGE_END_BYTES, COMMENT_BYTES = 22, 20, 1 << 16
TAIL = struct.Struct("<4s4H2LH")  # mark, disks, entries here and in all, size, offset, comment
LOCAL = struct.Struct("<4s5H3L2H")  # a header of an entry's own, as in `_Local`
SEALED, DESCRIBED, UTF8 = 0x1, 0x8, 0x800  # flags: encrypted, sizes behind, name in UTF-8
PIECE = 64 * 1024
NANO = 1_000_000_000


class _Local(NamedTuple):
    mark: bytes
    version: int
    flags: int
    method: int
    time: int
    date: int
    crc: int
    packed: int
    size: int
    names: int
    extra: int


@dataclass(frozen=True, kw_only=True)
class Most:
    """How large a list of contents may be, before it is read; `words` say it to people."""

    entries: int
    list_bytes: int
    words: str


class _End(NamedTuple):
    at: int  # where it begins, and how long the archive is
    length: int
    is_large: bool  # something before it says that another one counts
    disk: int
    list_disk: int
    here: int
    told: int  # how many entries there are
    size: int
    offset: int
    comment: int


def list_fault(file: BinaryIO, most: Most) -> str | None:
    """What is wrong with the list as a whole: reading it makes an object an entry.

    What has no end record is left to `zipfile`, which looks for the same one and names the fault.
    """
    end = _end(file)
    if end is None:
        return None
    if end.is_large:
        return "is packed as ZIP64, which is for larger archives than are allowed."
    if end.size > most.list_bytes:
        return f"has a list of {end.size:,} bytes; {most.words} are allowed."
    if end.told > most.entries or end.here != end.told or end.disk or end.list_disk:
        return f"holds {end.told:,} entries; {most.words} are allowed, in one part."
    if end.offset + end.size != end.at or end.at + END_BYTES + end.comment != end.length:
        return "has a list of contents that is not where its end says."
    file.seek(end.offset)
    found = file.read(end.size).count(ENTRY)
    if found > 2 * most.entries:
        return f"holds {found:,} entries; {most.words} are allowed."
    return None


def _end(file: BinaryIO) -> _End | None:
    length = file.seek(0, 2)
    start = max(0, length - COMMENT_BYTES - END_BYTES - LARGE_END_BYTES)
    file.seek(start)
    tail = file.read()
    at = tail.rfind(END)
    if at < 0 or at + END_BYTES > len(tail):
        return None
    is_large = at >= LARGE_END_BYTES and tail.startswith(LARGE_END, at - LARGE_END_BYTES)
    return _End(start + at, length, is_large, *TAIL.unpack_from(tail, at)[1:])


def entries(file: BinaryIO, most: Most) -> Iterator[Entry]:
    """Every entry, in the order of the list; Bad as soon as anything is not as it should be."""
    if wrong := list_fault(file, most):
        raise Bad("", wrong)
    try:
        with zipfile.ZipFile(file) as archive:
            listed, start = archive.infolist(), archive.start_dir
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError,
            OverflowError, struct.error) as wrong_zip:  # fmt: skip
        raise Bad("", f"is not a zip archive that can be read: {wrong_zip}.") from None
    end = _end(file)
    if end is None or end.told != len(listed):
        told = end.told if end else 0
        raise Bad("", f"holds {len(listed):,} entries, and its end tells of {told:,}.")
    if sum(info.file_size for info in listed) > max(SMALL, end.length * MOST_RATIO):
        raise Bad("", f"unpacks to more than {MOST_RATIO} times its size, as a bomb does.")
    _apart(file, listed, start)
    for info in listed:
        yield _entry(file, info)


def name_fault(info: zipfile.ZipInfo) -> str | None:
    """What is wrong with how a name is written."""
    if info.orig_filename != info.filename and "\0" in info.orig_filename:
        return "has a null character in its name."
    if not info.flag_bits & UTF8 and not info.orig_filename.isascii():
        return "has a name that is not marked as UTF-8; pack it with UTF-8 names."
    return None


def packing_fault(info: zipfile.ZipInfo, small: int = SMALL) -> str | None:
    """What is wrong with how an entry is packed; to `small` bytes it may unpack from any size."""
    if info.flag_bits & SEALED:
        return "is encrypted."
    if info.compress_type not in (STORED, DEFLATED):
        return "is packed in a way other than store or deflate."
    if info.file_size > max(small, info.compress_size * MOST_RATIO):
        return f"unpacks to more than {MOST_RATIO} times its size, as a bomb does."
    return None


def kind_fault(info: zipfile.ZipInfo) -> str | None:
    """What is wrong with what an entry says it is; Unix writes that into the upper half."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind and not (stat.S_ISREG(kind) or stat.S_ISDIR(kind) or stat.S_ISLNK(kind)):
        return "is a device or a pipe; only files, folders and links are read."
    if kind and stat.S_ISDIR(kind) != is_folder(info):
        return "says that it is a folder and a file at once."
    if is_folder(info) and info.file_size:
        return "is a folder with contents of its own."
    return None


def is_folder(info: zipfile.ZipInfo) -> bool:
    """A folder's name ends in a slash; their own `is_dir` breaks on a name without letters."""
    return info.filename.endswith("/")


def is_link(info: zipfile.ZipInfo) -> bool:
    """The entry is a symbolic link, whose contents are its target."""
    return stat.S_ISLNK(info.external_attr >> 16)


def _entry(file: BinaryIO, info: zipfile.ZipInfo) -> Entry:
    path = info.filename.removesuffix("/")
    if not path:
        raise Bad(info.orig_filename, "has no name.")
    if wrong := name_fault(info) or kind_fault(info) or packing_fault(info):
        raise Bad(info.orig_filename, wrong)
    mode = stat.S_IMODE(info.external_attr >> 16)
    type_: Type = "folder" if is_folder(info) else "link" if is_link(info) else "file"
    pieces = _pieces(file, info)
    target = ""
    if type_ == "link":
        if info.file_size > 4_096:
            raise Bad(path, "is a link to a path of more than 4,096 bytes.")
        target = b"".join(pieces).decode("utf-8", "surrogateescape")
    return Entry(
        path=path, type=type_, mode=mode or (0o755 if type_ == "folder" else 0o644),
        mtime_ns=_mtime(info), size=info.file_size, target=target, pieces=pieces,
    )  # fmt: skip


def _apart(file: BinaryIO, listed: list[zipfile.ZipInfo], start: int) -> None:
    """Hold each entry against its own header; no two share bytes, and none the list."""
    end, last = start, ""
    for info in sorted(listed, key=lambda info: info.header_offset, reverse=True):
        begins, ends = _span(file, info)
        if ends > end:
            words = f"overlaps {last}." if last else "overlaps the list of contents."
            raise Bad(info.orig_filename, words)
        end, last = begins, info.orig_filename


def _span(file: BinaryIO, info: zipfile.ZipInfo) -> tuple[int, int]:
    """From where to where an entry lies; Bad when its own header tells otherwise."""
    own = _header(file, info)
    same = (
        own.mark == b"PK\3\4"
        and file.read(own.names) == _name_bytes(info)
        and own.method == info.compress_type
        and own.flags == info.flag_bits
    )
    told = (own.crc, own.packed, own.size)
    behind = own.flags & DESCRIBED and not any(told)
    if not same or not (behind or told == (info.CRC, info.compress_size, info.file_size)):
        raise Bad(info.orig_filename, "is told otherwise by its own header than by the list.")
    begins = info.header_offset
    return begins, begins + LOCAL.size + own.names + own.extra + info.compress_size


def _header(file: BinaryIO, info: zipfile.ZipInfo) -> "_Local":
    file.seek(info.header_offset)
    data = file.read(LOCAL.size)
    if len(data) < LOCAL.size:
        raise Bad(info.orig_filename, "lies outside the archive.")
    return _Local(*LOCAL.unpack(data))


def _name_bytes(info: zipfile.ZipInfo) -> bytes:
    return info.orig_filename.encode("utf-8" if info.flag_bits & UTF8 else "cp437")


def _pieces(file: BinaryIO, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """The contents, counted and summed as they come: nothing more, nothing less, nothing else."""
    crc = size = 0
    for piece in _unpacked(file, info):
        size += len(piece)
        crc = zlib.crc32(piece, crc)
        if size > info.file_size:
            raise Bad(info.filename, "is larger than the archive says.")
        yield piece
    if size != info.file_size:
        raise Bad(info.filename, "is smaller than the archive says.")
    if crc != info.CRC:
        raise Bad(info.filename, "is damaged: its sum is wrong.")


def _unpacked(file: BinaryIO, info: zipfile.ZipInfo) -> Iterator[bytes]:
    own = _header(file, info)
    at = info.header_offset + LOCAL.size + own.names + own.extra
    left = info.compress_size
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    while left:
        file.seek(at)  # others may have moved it meanwhile
        data = file.read(min(PIECE, left))
        if not data:
            raise Bad(info.filename, "is cut off: the archive ends in it.")
        at, left = at + len(data), left - len(data)
        yield from (data,) if info.compress_type == STORED else _inflated(inflater, data, info)
    if info.compress_type == DEFLATED and (not inflater.eof or inflater.unused_data):
        raise Bad(info.filename, "is damaged: it does not end where the archive says.")


def _inflated(inflater: "zlib._Decompress", data: bytes, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """What a piece unpacks to, a piece at a time however much that is."""
    try:
        while data and not inflater.eof:
            yield inflater.decompress(data, PIECE)
            data = inflater.unconsumed_tail
    except zlib.error:
        raise Bad(info.filename, "is damaged: it cannot be unpacked.") from None


def _mtime(info: zipfile.ZipInfo) -> int:
    """Time in ns, taken as UTC: a zip archive tells no zone, and two seconds apart."""
    year, month, day, *rest = info.date_time
    return calendar.timegm((year, min(max(month, 1), 12), max(day, 1), *rest)) * NANO
