"""Reading files that may change while they are read: again, until one stood still, or saying so.

Everything is opened relative to its folder's descriptor and never through a link, so whoever moves
things about meanwhile cannot lead the reader elsewhere.
"""

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from studio.core.disks import packs, tree
from studio.core.disks.cache import stat_of
from studio.core.disks.objects import Batch
from studio.core.disks.packs import Pack
from studio.core.disks.tables import Place

TRIES = 3
Lost = Literal["gone", "unreadable"]
GONE = {errno.ENOENT, errno.ELOOP, errno.ENXIO, errno.EISDIR}  # also: a link, a socket, a folder
FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, kw_only=True)
class Found:
    """A file as it was read: its stat of then, its hash, and whether it stood still meanwhile.

    One of `small` (packing and bytes) and `large` (its own pack) is there, unless the store has it.
    """

    info: os.stat_result
    sha: str
    size: int
    still: bool
    small: tuple[int, bytes] | None = None
    large: tuple[Place, Pack] | None = None


def portion(folder: int, names: list[str], batch: Batch) -> list[tuple[str, Found | Lost]]:
    """Read files of a folder, whose descriptor is closed then."""
    try:
        return [(name, _read(folder, name, batch)) for name in names]
    finally:
        os.close(folder)


def _read(folder: int, name: str, batch: Batch) -> Found | Lost:
    for left in reversed(range(TRIES)):
        try:
            fd = os.open(name, FLAGS, dir_fd=folder)
        except PermissionError:
            return "unreadable"
        except OSError as wrong:
            if wrong.errno in GONE:
                return "gone"
            raise
        try:
            before = os.fstat(fd)
            if not stat.S_ISREG(before.st_mode):
                return "gone"
            found = _once(fd, before, batch)
            if found.still or not left:
                return found
            if found.large:
                found.large[1].discard()
        finally:
            os.close(fd)
    raise AssertionError("the last try answers")


def _once(fd: int, before: os.stat_result, batch: Batch) -> Found:
    if before.st_size > packs.SMALL:
        return _large(fd, before, batch)
    data = b"".join(_pieces(fd, before.st_size))
    still = len(data) == before.st_size and stat_of(before) == stat_of(os.fstat(fd))
    sha = tree.sha256(data)
    small = None if batch.holds(sha) else packs.packed(data)
    return Found(info=before, sha=sha, size=len(data), still=still, small=small)


def _large(fd: int, before: os.stat_result, batch: Batch) -> Found:
    pack = batch.new_pack()
    try:
        sha, place = pack.stream(_pieces(fd, before.st_size))
    except BaseException:
        pack.discard()
        raise
    still = place.size == before.st_size and stat_of(before) == stat_of(os.fstat(fd))
    return Found(info=before, sha=sha, size=place.size, still=still, large=(place, pack))


def _pieces(fd: int, size: int) -> Iterator[bytes]:
    """The first `size` bytes: what grows for ever is not read for ever."""
    while size and (piece := os.read(fd, min(size, packs.PIECE))):
        size -= len(piece)
        yield piece
