"""Files that a command deleted and holds open: they take room, and no folder names them any more.

Looked for in /proc, among the processes that see this very disk. What is only mapped into memory is
not found; the room that the file system must have left bounds that.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from studio.core.sandboxes import paths
from studio.core.sandboxes.box.plan import MOUNTS

_DELETED = " (deleted)"
_BLOCK = 512  # what st_blocks counts in


def held(disk: Path) -> int:
    """The bytes that such files take up, each counted once."""
    try:
        top = disk.stat()
    except OSError:
        return 0
    found: dict[int, int] = {}
    for process in _processes():
        seen = [f"{disk}/", *_seen(process, (top.st_dev, top.st_ino))]
        for number in _names(f"{process}/fd"):
            path = f"{process}/fd/{number}"
            try:
                told = os.readlink(path)
                if not told.endswith(_DELETED) or not told.startswith(tuple(seen)):
                    continue
                entry = os.stat(path)
            except OSError:
                continue  # closed, or ended, while we look
            if stat.S_ISREG(entry.st_mode) and not entry.st_nlink and entry.st_dev == top.st_dev:
                found[entry.st_ino] = entry.st_blocks * _BLOCK
    return sum(found.values())


def _processes() -> Iterator[str]:
    return (f"/proc/{name}" for name in _names("/proc") if name.isdigit())


def _seen(process: str, disk: tuple[int, int]) -> Iterator[str]:
    """Where a process sees the disk, of the places where sandboxes show one."""
    for place in (paths.ROOT, *MOUNTS):
        try:
            found = os.stat(f"{process}/root{place}")
        except OSError:
            continue
        if (found.st_dev, found.st_ino) == disk:
            yield f"{place}/"


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
