"""Where a path leads, on a disk whose folders and links an agent's processes change meanwhile.

Nothing is looked up twice by name: a path is followed by open descriptors. The kernel does it where
it can (`openat2` with RESOLVE_BENEATH, openat2(2)); for the rest we walk link by link, which also
tells in words what is wrong, and knows that `/work` is the disk itself.
"""

import ctypes
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from studio.core.sandboxes.contract import SandboxError

ROOT = "/work"  # what the disk's root is called by commands
MOST_LINKS = 40  # as the kernel follows at most
LONGEST, LONGEST_NAME = 4_096, 255  # bytes
_PLACE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_QUIET = os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  # a pipe or a terminal never holds us
_OPENAT2 = 437  # the same number on every architecture
_BENEATH, _NO_MAGIC_LINKS = 0x08, 0x02
_libc = ctypes.CDLL(None, use_errno=True)


class _How(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a path ends. `parent` is open; `name` is a plain name in it, or "" for the root.

    `kind` is None where nothing is yet, else the type bits of its mode (stat.S_IFREG…).
    """

    parent: int
    name: str
    kind: int | None


def parts(path: str) -> list[str]:
    """The names of a path from the disk's root on; SandboxError when it cannot be one.

    `..` stays in: where it leads depends on links.
    """
    try:
        raw = path.encode("utf-8")
    except UnicodeEncodeError:
        raise SandboxError("path.name", "The path is not UTF-8. Name the file otherwise.") from None
    if not path or "\0" in path:
        raise SandboxError("path.name", "The path is empty or holds a null character.")
    names = [name for name in path.split("/") if name not in {"", "."}]
    if len(raw) > LONGEST or any(len(os.fsencode(name)) > LONGEST_NAME for name in names):
        words = f"A path has at most {LONGEST:,} bytes, and a name in it {LONGEST_NAME}."
        raise SandboxError("path.name", words)
    if path.startswith("/"):
        if not names or names[0] != ROOT[1:]:
            raise outside(path)
        return names[1:]
    return names


@contextmanager
def opened(root: Path, path: str) -> Iterator[int]:
    """A descriptor to read a regular file by, links within the disk followed.

    Raises SandboxError: `path.outside`, `path.missing`, `path.kind`, `path.denied`, `path.name`.
    """
    names = parts(path)
    with folder(root) as top:
        file = _by_kernel(top, "/".join(names))
    if file is None:
        with found(root, path) as place:
            file = _reopened(place, path)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise _no_file(path, os.fstat(file).st_mode)
        yield file
    finally:
        os.close(file)


@contextmanager
def found(
    root: Path, path: str, *, make: bool = False, owner: int | None = None
) -> Iterator[Place]:
    """The place at the end of a path, links within the disk followed.

    `make` makes the folders that lead there, and gives them to the user id `owner`.
    """
    with folder(root) as top:
        walk = _Walk(top=top, todo=parts(path)[::-1], path=path, make=make, owner=owner)
        yield from walk.place()


def outside(path: str) -> SandboxError:
    """The refusal of a path that leaves the disk."""
    words = f"{path} leads out of the disk. Use a path below {ROOT}, or one relative to it."
    return SandboxError("path.outside", words)


def missing(path: str) -> SandboxError:
    """The refusal of a path at whose end nothing is."""
    return SandboxError("path.missing", f"There is no {path}. List the folder to see what is.")


@contextmanager
def refusals(path: str) -> Iterator[None]:
    """What the system answers about a path, in the words of the contract."""
    try:
        yield
    except FileNotFoundError:
        raise missing(path) from None
    except PermissionError:
        words = f"The mode of {path}, or of a folder above it, forbids this. Change it with chmod."
        raise SandboxError("path.denied", words) from None
    except OSError as wrong:
        if wrong.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            words = "The disk is full. Delete something, then try again."
            raise SandboxError("disk.full", words) from None
        if wrong.errno == errno.ENAMETOOLONG:
            raise SandboxError("path.name", f"The name {path[:80]}… is too long.") from None
        raise SandboxError("path.kind", f"{path} cannot be used: {wrong.strerror}.") from None


@contextmanager
def folder(root: Path) -> Iterator[int]:
    """A descriptor of the disk's root."""
    try:
        top = os.open(root, _FOLDER)
    except OSError as wrong:
        words = f"The disk of this environment is not there: {wrong.strerror}. Tell an operator."
        raise SandboxError("sandbox.unavailable", words) from None
    try:
        yield top
    finally:
        os.close(top)


def _by_kernel(top: int, path: str) -> int | None:
    """A descriptor to read by, or None where the kernel refuses: the walk then says why."""
    how = _How(os.O_RDONLY | _QUIET, 0, _BENEATH | _NO_MAGIC_LINKS)
    file = _libc.syscall(
        _OPENAT2, top, os.fsencode(path or "."), ctypes.byref(how), ctypes.sizeof(how)
    )
    return file if file >= 0 else None


def _reopened(place: Place, path: str) -> int:
    if place.kind is None:
        raise missing(path)
    if place.kind != stat.S_IFREG:
        raise _no_file(path, place.kind)
    with refusals(path):
        flags = os.O_RDONLY | os.O_NOFOLLOW | _QUIET
        return os.open(place.name, flags, dir_fd=place.parent)


def _no_file(path: str, mode: int) -> SandboxError:
    if stat.S_ISDIR(mode):
        return SandboxError("path.kind", f"{path} is a folder. Name a file in it.")
    return SandboxError("path.kind", f"{path} is a device, pipe or socket, and no file.")


@dataclass(kw_only=True)
class _Walk:
    """A path being followed: `above` are the folders from the root down to where we stand."""

    top: int
    todo: list[str]  # names still to follow, the next one last
    path: str
    make: bool
    owner: int | None
    above: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # what `above` are called, the root left out
    links: int = 0
    floor: int = 1 << 30  # a name is a link's own while more than this many stand behind it

    def place(self) -> Iterator[Place]:
        """Follow everything there is to follow; descriptors are open until it goes on."""
        try:
            with refusals(self.path):
                place = self._end()
            yield place
        finally:
            self._close()

    def _end(self) -> Place:
        while self.todo:
            name = self.todo.pop()
            if name in {"", "."}:
                continue
            elif name == "..":
                self._up()
            elif (place := self._down(name)) is not None:
                return place
        *_, parent = self.top, *self.above[:-1]
        return Place(parent=parent, name=self.names[-1] if self.names else "", kind=stat.S_IFDIR)

    def _close(self) -> None:
        while self.above:
            os.close(self.above.pop())

    @property
    def _here(self) -> int:
        return self.above[-1] if self.above else self.top

    def _up(self) -> None:
        if not self.above:
            raise outside(self.path)
        os.close(self.above.pop())
        self.names.pop()

    def _down(self, name: str) -> Place | None:
        """One name further; the place when the path ends there and it is no folder."""
        try:
            entry = os.open(name, _PLACE, dir_fd=self._here)
        except FileNotFoundError:
            return self._not_there(name)
        kind = stat.S_IFMT(os.fstat(entry).st_mode)
        if kind == stat.S_IFDIR:
            self.above.append(entry)
            self.names.append(name)
            return None
        try:
            if kind == stat.S_IFLNK:
                self._follow(os.fsdecode(os.readlink(b"", dir_fd=entry)))
                return None
        finally:
            os.close(entry)
        if self.todo:
            words = f"{name} in {self.path} is a file, so nothing lies below it."
            raise SandboxError("path.kind", words)
        return Place(parent=self._here, name=name, kind=kind)

    def _follow(self, target: str) -> None:
        self.links += 1
        if self.links > MOST_LINKS:
            raise SandboxError("path.kind", f"{self.path} is a link that leads to itself.")
        names = target.split("/")
        if target.startswith("/"):
            if len(names) < 2 or names[1] != ROOT[1:]:
                raise outside(self.path)
            self._close()
            self.names.clear()
            names = names[2:]
        self.floor = min(self.floor, len(self.todo))
        self.todo += reversed(names)

    def _not_there(self, name: str) -> Place | None:
        if len(self.todo) >= self.floor:
            words = f"{self.path} is a link to something that is not there. Name its target."
            raise SandboxError("path.missing", words)
        if not any(rest not in {"", "."} for rest in self.todo):
            return Place(parent=self._here, name=name, kind=None)
        if not self.make:
            raise missing(self.path)
        with suppress(FileExistsError):  # made by someone else meanwhile: it is looked at again
            os.mkdir(name, 0o755, dir_fd=self._here)
            if self.owner is not None:
                os.chown(name, self.owner, self.owner, dir_fd=self._here, follow_symlinks=False)
        self.todo.append(name)
        return None
