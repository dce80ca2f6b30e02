"""Packs: bytes one after the other, appended once and never changed; a table says where each lies.

Small objects share packs; what is larger than `SMALL` is streamed into a pack of its own, so that
nothing large is ever in memory. Compressed with zstd level 1, or raw where that saves nothing.
"""

import hashlib
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, cast

import zstandard

from studio.core.disks import durable
from studio.core.disks.tables import Place

RAW, ZSTD = 0, 1
SMALL = 4 * 1024**2  # bytes of what is held in memory whole
PIECE = 256 * 1024
PACK_BYTES = 512 * 1024**2  # then another pack is begun
WORTH = 0.97  # of the size; what packs no better is kept raw
END = ".pack"
_own = threading.local()  # a compressor is used by one thread at a time


class Damaged(Exception):
    """The bytes that lie there are not those that were kept."""


def packed(data: bytes) -> tuple[int, bytes]:
    """How a small object is kept, and its bytes so."""
    made = _compressor().compress(data) if data else b""
    return (ZSTD, made) if len(made) < WORTH * len(data) else (RAW, data)


def unpacked(data: bytes, place: Place) -> bytes:
    """A small object as it was; Damaged when it does not unpack to its size."""
    if place.packing == ZSTD:
        try:
            if zstandard.frame_content_size(data) != place.size:
                raise Damaged("it says another size")
            data = zstandard.ZstdDecompressor().decompress(data, max_output_size=place.size)
        except zstandard.ZstdError as wrong:
            raise Damaged(str(wrong)) from None
    if len(data) != place.size:
        raise Damaged("it has another size")
    return data


class Pack:
    """A pack being written. Nobody else sees it until a table names it."""

    def __init__(self, folder: Path) -> None:
        self.name = durable.name()
        self.path = folder / f"{self.name}{END}"
        self._file = self.path.open("xb", buffering=1024**2)
        self.size = 0

    def add(self, packing: int, data: bytes, size: int) -> Place:
        """Append a small object."""
        place = Place(self.name, packing, self.size, len(data), size)
        self._file.write(data)
        self.size += len(data)
        return place

    def stream(self, pieces: Iterable[bytes]) -> tuple[str, Place]:
        """Append an object as it comes: its SHA-256 and where it lies."""
        start, size, digest = self.size, 0, hashlib.sha256()
        packer: Any = None
        packing = RAW
        for number, piece in enumerate(pieces):
            if not number:  # the first piece stands for the whole
                packing, _ = packed(piece)
                packer = zstandard.ZstdCompressor(level=1).compressobj()
            digest.update(piece)
            size += len(piece)
            self._append(packer.compress(piece) if packing == ZSTD else piece)
        if packing == ZSTD:
            self._append(packer.flush())
        place = Place(self.name, packing, start, self.size - start, size)
        return digest.hexdigest(), place

    def copy(self, source: int, place: Place) -> Place:
        """Append an object of another pack, as it is packed there."""
        start = self.size
        for piece in _stored(source, place):
            self._append(piece)
        return Place(self.name, place.packing, start, place.stored, place.size)

    def close(self) -> None:
        """Make it durable; its folder is the caller's to sync."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def discard(self) -> None:
        """Take it away; nothing names it."""
        self._file.close()
        self.path.unlink(missing_ok=True)

    def _append(self, data: bytes) -> None:
        self._file.write(data)
        self.size += len(data)


def pieces(fd: int, place: Place) -> Iterator[bytes]:
    """An object as it was, a piece at a time; Damaged when it does not unpack to its size."""
    size = 0
    source = _stored(fd, place)
    try:
        for piece in _decompressed(source) if place.packing == ZSTD else source:
            size += len(piece)
            if size > place.size:
                break
            yield piece
    except zstandard.ZstdError as wrong:
        raise Damaged(str(wrong)) from None
    if size != place.size:
        raise Damaged("it has another size")


def _stored(fd: int, place: Place) -> Iterator[bytes]:
    at, end = place.offset, place.offset + place.stored
    while at < end:
        data = os.pread(fd, min(PIECE, end - at), at)
        if not data:
            raise Damaged("the pack ends before it")
        at += len(data)
        yield data


def _decompressed(source: Iterator[bytes]) -> Iterator[bytes]:
    """Each piece of input gives at most `PIECE` at a time, however well it was packed."""
    file = cast(IO[bytes], _Source(source))
    with zstandard.ZstdDecompressor().stream_reader(file, read_size=PIECE) as reader:
        while piece := reader.read(PIECE):
            yield piece


class _Source:
    """Pieces as a file that can be read; each read gives one piece, which is never larger."""

    def __init__(self, source: Iterator[bytes]) -> None:
        self._source = source

    def read(self, _size: int = -1) -> bytes:
        """The next piece."""
        return next(self._source, b"")


def _compressor() -> zstandard.ZstdCompressor:
    if not hasattr(_own, "compressor"):
        _own.compressor = zstandard.ZstdCompressor(level=1)
    made: zstandard.ZstdCompressor = _own.compressor
    return made
