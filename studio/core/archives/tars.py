"""Tar archives, as POSIX.1-2017 (`pax`, "ustar Interchange Format") and GNU tar write them.

Every header's sum is checked, numbers must be numbers, and both blocks of zeros at the end must be
there with nothing but zeros behind. Sparse files, devices and pipes are refused.
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

from studio.core.archives.entries import Bad, Entry, Type

BLOCK = 512
PIECE = 256 * 1024
MOST_EXTRA = 128 * 1024  # bytes of a header that only says more about the next one
MOST_EXTRAS = 8  # of those for one entry
NANO = 1_000_000_000
TYPES: Mapping[bytes, Type] = {
    b"0": "file", b"\0": "file", b"5": "folder", b"2": "link", b"1": "twin",
}  # fmt: skip
REFUSED: Mapping[bytes, str] = {
    b"3": "is a device or a pipe.", b"4": "is a device or a pipe.", b"6": "is a device or a pipe.",
    b"S": "is a sparse file, which is not read here; pack it whole.",
}  # fmt: skip
Extra = dict[str, str]


class Source(Protocol):
    """Bytes that come one after the other; fewer than asked for only at the end."""

    def read(self, size: int) -> bytes:
        """The next bytes."""


def entries(source: Source) -> Iterator[Entry]:
    """Every entry; Bad as soon as anything is not as it should be, at the latest at the end."""
    shared: Extra = {}
    while (block := _block(source, "")) != bytes(BLOCK):
        own: Extra = {}
        for _ in range(MOST_EXTRAS):
            kind = block[156:157]
            if kind not in b"xgLK":
                break
            _extra(source, block, kind, shared if kind == b"g" else own)
            block = _block(source, "")
        else:
            raise Bad("", f"says more than {MOST_EXTRAS} times more about one entry.")
        entry, size = _entry(source, block, {**shared, **own})
        yield entry
        for _ in entry.pieces:
            pass  # what nobody wanted
        _padding(source, size, entry.path)
    _end(source)


def _entry(source: Source, block: bytes, extra: Extra) -> tuple[Entry, int]:
    path = _path(extra["path"] if "path" in extra else _name(block))
    _sum(block, path)
    kind = block[156:157]
    if any(key.startswith("GNU.sparse.") for key in extra):
        kind = b"S"
    if kind in REFUSED:
        raise Bad(path, REFUSED[kind])
    if kind not in TYPES:
        raise Bad(path, f"is of a kind that is not known: {kind!r}.")
    size = _pax_size(extra, path) if "size" in extra else _number(block[124:136], path)
    type_ = TYPES[kind]
    if type_ == "file" and path.endswith("/"):
        type_ = "folder"  # as old archives say it
    if type_ != "file" and size:
        raise Bad(path, "has contents, and is no file.")
    target = extra["linkpath"] if "linkpath" in extra else _text(block[157:257])
    entry = Entry(
        path=path[:-1] if type_ == "folder" and path[1:].endswith("/") else path, type=type_,
        mode=_number(block[100:108], path), mtime_ns=_mtime(block, extra, path), size=size,
        target=_path(target) if type_ == "twin" else target,
        pieces=_pieces(source, size, path),
    )  # fmt: skip
    return entry, size


def _extra(source: Source, block: bytes, kind: bytes, into: Extra) -> None:
    """What a header says about the next entry, or about all that follow."""
    _sum(block, "")
    size = _number(block[124:136], "")
    if size > MOST_EXTRA:
        raise Bad("", f"has a header of {size:,} bytes; {MOST_EXTRA:,} are allowed.")
    data = b"".join(_pieces(source, size, ""))
    _padding(source, size, "")
    if kind == b"L":
        into["path"] = _long(data)
    elif kind == b"K":
        into["linkpath"] = _long(data)
    else:
        into.update(_records(data))


def _records(data: bytes) -> Extra:
    """Records of `length key=value` and a line feed; the length counts all of that."""
    found: Extra = {}
    while data:
        digits, space, _ = data.partition(b" ")
        length = int(digits) if digits.isdigit() and len(digits) < 8 else 0
        record, data = data[len(digits) + 1 : length], data[length:]
        key, equals, value = record[:-1].partition(b"=")
        whole = len(digits) + 1 + len(record) == length
        if not space or not equals or not whole or record[-1:] != b"\n":
            raise Bad("", "has a header whose records cannot be read.")
        found[_decoded(key)] = _decoded(value)
    return found


def _name(block: bytes) -> str:
    """A name, which in archives of POSIX may have its first part elsewhere."""
    name, prefix = _text(block[:100]), _text(block[345:500])
    is_posix = block[257:263] == b"ustar\0"
    return f"{prefix}/{name}" if is_posix and prefix else name


def _path(name: str) -> str:
    """A name as a path: `./` in front is how archivers say that it lies at the top."""
    return "" if name in (".", "./") else name.removeprefix("./")


def _sum(block: bytes, path: str) -> None:
    """The header's sum, with its own field counted as blanks."""
    told = _number(block[148:156], path)
    if told != sum(block[:148]) + sum(block[156:]) + 8 * 32:
        raise Bad(path, "has a damaged header: its sum is wrong.")


def _number(field: bytes, path: str) -> int:
    """Octal digits ended by a null or a blank, or GNU's binary with the first bit set."""
    if field[0] == 0x80:
        number = int.from_bytes(field[1:], "big")
        if number < 2**63:
            return number
    digits = field.split(b"\0", 1)[0].strip(b" ")
    if not digits:
        return 0
    if not digits.isdigit() or b"8" in digits or b"9" in digits:
        raise Bad(path, "has a header with a number that is none.")
    return int(digits, 8)


def _pax_size(extra: Extra, path: str) -> int:
    digits = extra["size"]
    if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        raise Bad(path, "has a header with a number that is none.")
    return int(digits)


def _mtime(block: bytes, extra: Extra, path: str) -> int:
    """Time in ns; records tell it with a fraction. What no machine can hold is refused."""
    if "mtime" not in extra:
        return min(_number(block[136:148], path), 2**33) * NANO
    whole, _, fraction = extra["mtime"].partition(".")
    sign = -1 if whole.startswith("-") else 1
    digits = whole.removeprefix("-") + fraction
    if not (digits.isascii() and digits.isdigit() and len(whole) < 13):
        raise Bad(path, "has a header with a time that is none.")
    nanos = int(whole.removeprefix("-") or 0) * NANO + int(f"{fraction:0<9}"[:9])
    return sign * min(nanos, 2**33 * NANO)


def _pieces(source: Source, size: int, path: str) -> Iterator[bytes]:
    while size:
        piece = source.read(min(size, PIECE))
        if not piece:
            raise Bad(path, "is cut off: the archive ends in it.")
        size -= len(piece)
        yield piece


def _padding(source: Source, size: int, path: str) -> None:
    """Contents are filled up to whole blocks."""
    left = -size % BLOCK
    if left and len(source.read(left)) != left:
        raise Bad(path, "is cut off: the archive ends in it.")


def _block(source: Source, path: str) -> bytes:
    block = source.read(BLOCK)
    if len(block) != BLOCK:
        raise Bad(path, "ends before its end: it is cut off.")
    return block


def _end(source: Source) -> None:
    if source.read(BLOCK) != bytes(BLOCK):
        raise Bad("", "ends before its end: it is cut off.")
    while piece := source.read(PIECE):
        if any(piece):
            raise Bad("", "has something behind its end.")


def _text(field: bytes) -> str:
    return _decoded(field.split(b"\0", 1)[0])


def _long(data: bytes) -> str:
    """GNU's long names end in one null, which is not part of them."""
    return _decoded(data.removesuffix(b"\0"))


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
