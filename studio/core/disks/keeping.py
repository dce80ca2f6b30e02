"""Keeping a version: walk the folder, read what changed, write what is new, then the manifest.

Reading, hashing and packing happen on a few threads beside the walk; writing on the walk's own.
"""

import errno
import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from studio.core.disks import cache as caches
from studio.core.disks import reading
from studio.core.disks.cache import Cache, stat_of
from studio.core.disks.limits import Count, Limits
from studio.core.disks.objects import Batch, Objects
from studio.core.disks.planting import Folder, plant
from studio.core.disks.reading import Found, Lost
from studio.core.disks.tree import Row, Version, shown
from studio.core.disks.versions import Versions
from studio.core.disks.walk import FLAGS, Walk
from studio.core.rules.errors import NotFound, Unavailable

THREADS = 2
AHEAD = 6  # portions that are read and not yet written; each is held in memory

Portion = list[tuple[str, Found | Lost]]


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A version that was kept. `new` is false when the very same one was there already.

    `stored` is in bytes, packed, of what was new to the store; `files_read` counts what the cache
    did not know. Paths in `changed_while_kept` did not stand still: a file is as it was read last,
    which may be a mixture. Paths in `stripped` had setuid or setgid, which is never kept.
    """

    digest: str
    version: Version
    new: bool
    stored: int
    files_read: int = 0
    changed_while_kept: tuple[str, ...] = ()
    stripped: tuple[str, ...] = ()


def keep(
    objects: Objects, versions: Versions, folder: Path, path: str, cache: Path | None,
    limits: Limits,
) -> Kept:  # fmt: skip
    """Keep what a folder holds now. For who holds the store's lock, together with others."""
    objects.index.refresh()
    known = caches.load(cache, objects.index)
    fd = _opened(folder, path)
    try:
        with objects.writing() as batch:
            kept = _Keeping(batch, known, Count(limits, "The folder" if path else "The disk"))
            version = kept.version(fd)
    except OSError as wrong:
        raise failed(wrong) from wrong
    finally:
        os.close(fd)
    new = versions.put(version)
    known.save()
    return Kept(
        digest=version.digest, version=version, new=new, stored=batch.stored,
        files_read=kept.files_read, changed_while_kept=tuple(sorted(set(kept.seen.changed))),
        stripped=tuple(sorted(kept.seen.stripped)),
    )  # fmt: skip


def _opened(folder: Path, path: str) -> int:
    """A descriptor of a folder below another, name by name and never through a link."""
    fd = None
    try:
        fd = os.open(folder, FLAGS)
        for name in path.split("/") if path else ():
            if name in ("", ".", ".."):
                raise FileNotFoundError
            inner = os.open(name, FLAGS, dir_fd=fd)
            os.close(fd)
            fd = inner
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        if fd is not None:
            os.close(fd)
        words = f"There is no folder {shown(path) or folder.name} to keep; links are not followed."
        raise NotFound(words, code="disk.missing") from None
    return fd


class _Keeping:
    """The walk of one folder and the threads that read for it."""

    def __init__(self, batch: Batch, cache: Cache, count: Count) -> None:
        self._batch, self._cache = batch, cache
        self._walk = Walk(cache, count, self._hand)
        self._reading: deque[tuple[Folder, Future[Portion]]] = deque()
        self._pool = ThreadPoolExecutor(THREADS, "disk")
        self.seen = self._walk.seen
        self.files_read = 0

    def version(self, fd: int) -> Version:
        """Everything below the folder, with its objects in the batch."""
        try:
            top = self._walk.top(fd)
            while self._reading:
                self._take()
        finally:
            self._pool.shutdown()
            self._forget()
        return plant(top, self._batch, self.seen.skipped)

    def _hand(self, folder: Folder, fd: int, names: list[str]) -> None:
        future = self._pool.submit(reading.portion, fd, names, self._batch)
        self._reading.append((folder, future))
        if len(self._reading) > AHEAD:
            self._take()

    def _take(self) -> None:
        """Write the oldest portion that was read."""
        folder, future = self._reading.popleft()
        for name, found in future.result():
            path = folder.path + name
            if found == "unreadable":
                self.seen.skipped.append((path, "unreadable"))
            elif found == "gone":
                self.seen.changed.append(path)
            else:
                folder.rows[name] = self._row(path, found)

    def _row(self, path: str, found: Found) -> Row:
        self.files_read += 1
        if found.large:
            self._batch.adopt(found.sha, *found.large)
        elif found.small and not self._batch.holds(found.sha):
            self._batch.add(found.sha, *found.small, found.size)
        if found.still:
            self._cache.remember(path, stat_of(found.info), found.sha)
        else:
            self.seen.changed.append(path)
        return self._walk.file_row(path, found.info, found.size, found.sha)

    def _forget(self) -> None:
        """Take away what was read ahead and is not wanted, when something failed."""
        for _, future in self._reading:
            if future.exception() is None:
                for _, found in future.result():
                    if isinstance(found, Found) and found.large:
                        found.large[1].discard()


def failed(wrong: OSError) -> Unavailable:
    """What a system that could not write or read means for a person."""
    if wrong.errno in (errno.ENOSPC, errno.EDQUOT):
        words = "There is no room left for disk versions; free some and keep it again."
    else:
        words = f"The version could not be kept: {wrong.strerror or wrong}. Try again."
    return Unavailable(words, code="disk.failed")
