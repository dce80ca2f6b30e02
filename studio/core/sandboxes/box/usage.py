"""How much lies on a disk, measured while commands run: file systems rarely bound a folder.

Looking costs time that grows with the tree, so we look less often the longer it takes, and not at
all while the whole file system has not lost enough to matter.
"""

import asyncio
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

from studio.core.sandboxes import paths
from studio.core.sandboxes.box.unlinked import held
from studio.core.sandboxes.contract import Limits, SandboxError
from studio.core.sandboxes.gate import whole
from studio.core.sandboxes.trees import MOST_DEPTH, tree

SHORTEST = 0.1  # seconds between two looks
SHARE = 10  # a look may take one part in so many of the time
LONGEST = 5.0  # seconds without a look, when something may have been freed meanwhile
FREE = 512 * 1024**2  # bytes of the file system that a command may not start below
_BLOCK = 512  # what st_blocks counts in
_SLACK = 1024**2


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Bytes that files take up, how many entries there are, and whether folders nest too deeply.

    `held` are those bytes of it that lie in files which are deleted and still open.
    """

    size: int
    entries: int
    is_too_deep: bool = False
    held: int = 0


def measured(root: Path, most: int) -> Usage:
    """Look at a disk, at no more than `most` entries and one."""
    size = entries = 0
    with paths.folder(root) as top:
        walk = tree(top, most=most + 1)
        for entry in walk:
            entries += 1
            try:
                size += entry.stat().st_blocks * _BLOCK
            except FileNotFoundError:
                continue  # deleted while we look
    return Usage(size=size, entries=entries, is_too_deep=walk.too_deep)


def _with_held(root: Path, most: int, before: Usage | None, lost: int) -> Usage:
    """What lies there, and what is deleted and open where room is gone that files do not explain.

    Looking for that goes through all processes, so it is not done each time.
    """
    found = measured(root, most)
    if before is not None and not before.held and lost - (found.size - before.size) <= _SLACK:
        return found
    open_ones = held(root)
    return replace(found, size=found.size + open_ones, held=open_ones)


class Watch:
    """One disk, looked at for all of its commands together."""

    def __init__(self, root: Path, limits: Limits, *, free: int = FREE) -> None:
        self._root, self._limits, self._free = root, limits, free
        self._lock = asyncio.Lock()
        self._last: Usage | None = None
        self._looked = 0.0
        self._room = (0, 0)  # free bytes and inodes when we looked
        self.period = SHORTEST

    @property
    def last(self) -> Usage | None:
        """What was found last."""
        return self._last

    def wrote(self, size: int) -> None:
        """A file was written meanwhile: count it until the next look, also if it replaced one."""
        if self._last is not None:
            self._last = replace(
                self._last, size=self._last.size + size, entries=self._last.entries + 1
            )

    def no_room(self) -> str | None:
        """Why nothing may be started or written now: the file system below is almost full."""
        free, _ = _room(self._root)
        if free >= self._free:
            return None
        return (
            f"The machine has {free / 2**20:,.0f} MiB of disk left, and nothing is started below"
            f" {self._free / 2**20:,.0f} MiB. An operator has to make room."
        )

    async def look(self) -> Usage:
        """What lies on the disk, as of now."""
        async with self._lock:
            before, self._room = self._room[0], _room(self._root)
            lost = before - self._room[0]
            began = time.monotonic()
            self._last = await whole(_with_held, self._root, self._limits.entries, self._last, lost)
            self._looked = time.monotonic()
            self.period = max(SHORTEST, SHARE * (self._looked - began))
            return self._last

    async def over(self, before: Usage | None) -> str | None:
        """Why a command must end, which found the disk as it was `before`; None while it may go on.

        A disk that was too full already may be cleared, and not be filled further.
        """
        free, _ = _room(self._root)
        if free < self._free // 2:
            return "The machine's disk is almost full. An operator has to make room."
        usage = await self._recent()
        if usage.is_too_deep:
            return f"Folders lie in each other more than {MOST_DEPTH} deep. Make fewer levels."
        size, entries = (before.size, before.entries) if before else (0, 0)
        if usage.size > max(self._limits.disk, size + _SLACK):
            most = f"{self._limits.disk / 2**20:,.0f} MiB"
            return f"The disk holds more than its {most}. Delete what is not needed."
        if usage.entries > max(self._limits.entries, entries):
            most = f"{self._limits.entries:,} files, folders and links"
            return f"The disk holds more than its {most}. Delete what is not needed."
        return None

    async def _recent(self) -> Usage:
        """The last look, while nothing can have come to matter since."""
        last, age = self._last, time.monotonic() - self._looked
        if last is None or age > LONGEST:
            return await self.look()
        if age < self.period:
            return last
        lost = [was - now for was, now in zip(self._room, _room(self._root), strict=True)]
        left = (self._limits.disk - last.size, self._limits.entries - last.entries)
        if any(2 * gone > max(0, room) for gone, room in zip(lost, left, strict=True)):
            return await self.look()
        return last


def _room(root: Path) -> tuple[int, int]:
    """Free bytes and inodes of the file system below a folder."""
    try:
        found = os.statvfs(root)
    except OSError as wrong:
        words = f"The disk of this environment is not there: {wrong.strerror}. Tell an operator."
        raise SandboxError("sandbox.unavailable", words) from None
    return found.f_bavail * found.f_frsize, found.f_favail
