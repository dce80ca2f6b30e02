"""Tables: where objects lie, sorted by hash in one file that is mapped and searched by halves.

A table never changes once it has its name. In the file: a mark, how many packs and how many
objects, the names of the packs, the rows, and the SHA-256 of all that, which is checked on opening.
"""

import bisect
import hashlib
import mmap
import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from studio.core.disks import durable

MARK = b"disktab1"
HEAD = struct.Struct(">8sIQ")  # mark, packs, objects
ROW = struct.Struct(">32sIBQQQ")  # hash, number of the pack, packing, offset, bytes there, size
HASH_BYTES = 32


class Place(NamedTuple):
    """Where an object lies: `stored` bytes from `offset` in a pack, `size` bytes unpacked."""

    pack: str
    packing: int
    offset: int
    stored: int
    size: int


class Broken(Exception):
    """The file is no whole table."""


class Table:
    """One table, mapped. Hashes are 32 bytes."""

    def __init__(self, path: Path) -> None:
        """FileNotFoundError when it is gone, Broken when it is damaged."""
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < HEAD.size + HASH_BYTES:
                raise Broken(path.name)
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        mark, packs, self.count = HEAD.unpack_from(self._map)
        self._start = HEAD.size + 8 * packs
        end = self._start + ROW.size * self.count
        whole = mark == MARK and len(self._map) == end + HASH_BYTES
        if not whole or hashlib.sha256(memoryview(self._map)[:end]).digest() != self._map[end:]:
            raise Broken(path.name)
        names = self._map[HEAD.size : self._start]
        self.packs = [names[at : at + 8].hex() for at in range(0, len(names), 8)]

    def find(self, sha: bytes) -> Place | None:
        """Where an object lies, or None."""
        at = bisect.bisect_left(range(self.count), sha, key=self._hash)
        if at == self.count:
            return None
        found, place = self._row(at)
        return place if found == sha else None

    def rows(self) -> Iterator[tuple[bytes, Place]]:
        """Everything in it, by hash."""
        return map(self._row, range(self.count))

    def _hash(self, at: int) -> bytes:
        start = self._start + ROW.size * at
        return self._map[start : start + HASH_BYTES]

    def _row(self, at: int) -> tuple[bytes, Place]:
        sha, pack, *rest = ROW.unpack_from(self._map, self._start + ROW.size * at)
        return sha, Place(self.packs[pack], *rest)


def write(path: Path, places: Mapping[bytes, Place]) -> None:
    """Make a table of these objects, durably."""
    packs = sorted({place.pack for place in places.values()})
    number = {pack: at for at, pack in enumerate(packs)}
    parts = [HEAD.pack(MARK, len(packs), len(places)), *map(bytes.fromhex, packs)]
    parts += [
        ROW.pack(sha, number[place.pack], *place[1:]) for sha, place in sorted(places.items())
    ]
    data = b"".join(parts)
    durable.write(path, data + hashlib.sha256(data).digest())
