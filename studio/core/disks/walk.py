"""A folder, walked by descriptors: what is in it, what the cache knows, and what has to be read.

Nothing is followed: each folder is opened inside the one above it, and refused when a link stands
there now. Files that have to be read are handed on in portions and come back as rows.
"""

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field

from studio.core.disks import tree
from studio.core.disks.cache import Cache, stat_of
from studio.core.disks.limits import Count
from studio.core.disks.packs import SMALL
from studio.core.disks.planting import Folder
from studio.core.disks.tree import Row

PORTION_FILES, PORTION_BYTES = 64, SMALL
FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
KINDS = {
    stat.S_IFSOCK: "socket", stat.S_IFIFO: "fifo", stat.S_IFBLK: "device", stat.S_IFCHR: "device",
}  # fmt: skip


@dataclass(kw_only=True)
class Seen:
    """What a walk has to tell beside the tree, each by path."""

    skipped: list[tuple[str, str]] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    stripped: list[str] = field(default_factory=list)


# Take files of a folder to be read: the folder, a descriptor to be closed, and their names.
Hand = Callable[[Folder, int, list[str]], None]


class Walk:
    """One walk. `hand` may refuse by raising; it owns the descriptor it is given."""

    def __init__(self, cache: Cache, count: Count, hand: Hand) -> None:
        self._cache, self._count, self._hand = cache, count, hand
        self.seen = Seen()

    def top(self, fd: int) -> Folder:
        """Everything below a folder that is open."""
        return self._folder(fd, "", os.fstat(fd), 0)

    def _folder(self, fd: int, path: str, info: os.stat_result, depth: int) -> Folder:
        self._count.depth(path, depth)
        folder = Folder(path=path, mode=self._mode(path, info), mtime_ns=info.st_mtime_ns)
        with os.scandir(fd) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
        wanted: list[tuple[str, int]] = []
        for entry in listed:
            try:
                self._entry(fd, folder, entry, wanted, depth)
            except FileNotFoundError:
                self.seen.changed.append(path + entry.name)
            except PermissionError:  # a folder that may be listed and not entered
                self.seen.skipped.append((path + entry.name, "unreadable"))
        self._read(fd, folder, wanted)
        if os.fstat(fd).st_mtime_ns != info.st_mtime_ns:
            self.seen.changed.append(path.rstrip("/") or ".")
        return folder

    def _entry(
        self, fd: int, folder: Folder, entry: "os.DirEntry[str]", wanted: list[tuple[str, int]],
        depth: int,
    ) -> None:  # fmt: skip
        info = entry.stat(follow_symlinks=False)
        name, path, kind = entry.name, folder.path + entry.name, stat.S_IFMT(info.st_mode)
        if kind == stat.S_IFREG:
            self._count.add(path, info.st_size)
            known = stat_of(info)
            if sha := self._cache.hash_of(path, known):
                folder.rows[name] = self.file_row(path, info, info.st_size, sha)
            else:
                wanted.append((name, info.st_size))
        elif kind == stat.S_IFDIR:
            self._count.add(path)
            self._below(fd, folder, name, depth)
        elif kind == stat.S_IFLNK:
            self._count.add(path)
            self._link(fd, folder, name, info)
        else:
            self.seen.skipped.append((path, KINDS.get(kind, "device")))

    def _link(self, fd: int, folder: Folder, name: str, info: os.stat_result) -> None:
        try:
            target = os.readlink(name, dir_fd=fd)
        except OSError as wrong:
            if wrong.errno != errno.EINVAL:
                raise
            self.seen.changed.append(folder.path + name)  # it is no link any more
            return
        size = len(os.fsencode(target))
        folder.rows[name] = Row(tree.LINK, 0o777, info.st_mtime_ns, size, target)

    def _below(self, fd: int, folder: Folder, name: str, depth: int) -> None:
        path = folder.path + name
        try:
            inner = os.open(name, FLAGS, dir_fd=fd)
        except NotADirectoryError:  # also said of a link
            self.seen.changed.append(path)
            return
        try:
            folder.folders[name] = self._folder(inner, f"{path}/", os.fstat(inner), depth + 1)
        finally:
            os.close(inner)

    def _read(self, fd: int, folder: Folder, wanted: list[tuple[str, int]]) -> None:
        """Hand on what has to be read, in portions."""
        names: list[str] = []
        size = 0
        for name, one in wanted:
            if names and (len(names) >= PORTION_FILES or size + one > PORTION_BYTES):
                self._hand(folder, os.dup(fd), names)
                names, size = [], 0
            names.append(name)
            size += one
        if names:
            self._hand(folder, os.dup(fd), names)

    def file_row(self, path: str, info: os.stat_result, size: int, sha: str) -> Row:
        """The row of a file."""
        return Row(tree.FILE, self._mode(path, info), info.st_mtime_ns, size, sha)

    def _mode(self, path: str, info: os.stat_result) -> int:
        if info.st_mode & (stat.S_ISUID | stat.S_ISGID):
            self.seen.stripped.append(path.rstrip("/") or ".")
        return info.st_mode & tree.MODES
