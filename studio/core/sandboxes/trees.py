"""Everything below a folder, met once, by descriptors: no link is followed, no depth is endless."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

MOST_ENTRIES = 500_000
MOST_DEPTH = 128  # one open descriptor each
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True)
class Entry:
    """One entry of a folder. `path` is from the root, bytes that are no UTF-8 as surrogates.

    `parent` is an open descriptor until the walk goes on.
    """

    path: str
    name: str
    parent: int
    is_folder: bool

    def stat(self) -> os.stat_result:
        """Its own numbers, not those of what it links to. FileNotFoundError: it is gone."""
        return os.stat(self.name, dir_fd=self.parent, follow_symlinks=False)


class Tree:
    """A walk below an open folder; `cut_short` says that it did not meet everything.

    `too_deep` says that there are more folders in each other than it follows.
    """

    def __init__(self, top: int, most: int) -> None:
        self.cut_short = self.too_deep = False
        self._top, self._most, self._met = top, most, 0

    def __iter__(self) -> Iterator[Entry]:
        """Entries of a folder by name, each folder before what is in it."""
        try:
            top = os.open(".", _FOLDER, dir_fd=self._top)
        except PermissionError:
            self.cut_short = True
        else:
            yield from self._below(top, "", 1)

    def _below(self, folder: int, path: str, depth: int) -> Iterator[Entry]:
        """Everything in an open folder, which is closed at the end."""
        try:
            with os.scandir(folder) as listing:
                names = sorted((item.name, item.is_dir(follow_symlinks=False)) for item in listing)
            for name, is_folder in names:
                self._met += 1
                if self._met > self._most:
                    self.cut_short = True
                    return
                yield Entry(path + name, name, folder, is_folder)
                if is_folder and (inner := self._opened(folder, name, depth)) is not None:
                    yield from self._below(inner, f"{path}{name}/", depth + 1)
        finally:
            os.close(folder)

    def _opened(self, folder: int, name: str, depth: int) -> int | None:
        """A folder to look into; None when it is too deep, closed to us, or no longer one."""
        try:
            if depth < MOST_DEPTH:
                return os.open(name, _FOLDER, dir_fd=folder)
            self.too_deep = True
        except OSError:
            self.cut_short = True
        self.cut_short = self.cut_short or self.too_deep
        return None


def tree(top: int, *, most: int = MOST_ENTRIES) -> Tree:
    """Walk what lies below an open folder, `most` entries of it."""
    return Tree(top, most)
