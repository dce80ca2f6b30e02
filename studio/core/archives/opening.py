"""Telling archives apart by their first bytes, and unpacking what is around a tar, bounded."""

import zlib
from collections.abc import Iterator
from typing import BinaryIO

import zstandard

from studio.core.archives import tars, zips
from studio.core.archives.entries import Bad, Entry

PIECE = 256 * 1024
MOST_RATIO = 200  # of what comes out to what went in
SMALL = 64 * 1024**2  # bytes that come out, below which the ratio says nothing
WINDOW = 1 << 27  # bytes that a zstd archive may ask to be held in memory, as `zstd` itself allows
ZIP_LIST_BYTES = 64 * 1024**2
GZIP, ZSTD, ZIPS = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", (b"PK\3\4", b"PK\5\6")


def entries(file: BinaryIO, most: int) -> Iterator[Entry]:
    """Every entry of a tar, tar.gz, tar.zst or zip archive, of `most` at the most; or Bad.

    `file` can be moved about in. Nothing that was taken may be kept when Bad is raised.
    """
    file.seek(0)
    head = file.read(tars.BLOCK)
    file.seek(0)
    if head.startswith(ZIPS):
        bounds = zips.Most(entries=most, list_bytes=ZIP_LIST_BYTES, words=f"{most:,} entries")
        yield from zips.entries(file, bounds)
    elif head.startswith(GZIP):
        yield from tars.entries(_Unpacking(_gunzipped(file)))
    elif head.startswith(ZSTD):
        yield from tars.entries(_Unpacking(_unzstd(file)))
    elif head[257:262] == b"ustar":
        yield from tars.entries(file)
    else:
        raise Bad("", "is no archive that is read here: tar, tar.gz, tar.zst and zip are.")


Pieces = Iterator[tuple[int, bytes]]  # how many bytes went in so far, and what came out


class _Unpacking:
    """What comes out as a source of bytes, and no bomb."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._held = bytearray()
        self._out = 0

    def read(self, size: int) -> bytes:
        """The next bytes; fewer only at the end."""
        while len(self._held) < size:
            into, piece = next(self._pieces, (0, b""))
            if not piece:
                break
            self._held += piece
            self._out += len(piece)
            if self._out > max(SMALL, into * MOST_RATIO):
                raise Bad("", f"unpacks to more than {MOST_RATIO} times its size, as a bomb does.")
        found = bytes(self._held[:size])
        del self._held[:size]
        return found


def _gunzipped(file: BinaryIO) -> Pieces:
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        while not unpacker.eof:
            data = unpacker.unconsumed_tail or file.read(PIECE)
            if not data:
                raise Bad("", "ends before its end: it is cut off.")
            if piece := unpacker.decompress(data, PIECE):
                yield file.tell(), piece
    except zlib.error:
        raise Bad("", "is damaged: it cannot be unpacked.") from None
    if unpacker.unused_data or file.read(1):
        raise Bad("", "has something behind its end.")


def _unzstd(file: BinaryIO) -> Pieces:
    unpacker = zstandard.ZstdDecompressor(max_window_size=WINDOW)
    try:
        with unpacker.stream_reader(file, PIECE, read_across_frames=True, closefd=False) as reader:
            while piece := reader.read(PIECE):
                yield file.tell(), piece
    except zstandard.ZstdError:
        raise Bad("", "is damaged: it cannot be unpacked.") from None
