"""Restoring a version: into a folder beside the target, verified, and then a rename.

Whatever fails, the target is as it was. A part that a crash left is locked by nobody, and goes
with the next restore to the same place. Files are not made durable one by one: a disk that a loss
of power tore is restored again from its version.
"""

import ctypes
import fcntl
import os
from contextlib import suppress
from pathlib import Path

from studio.core import faults
from studio.core.disks import durable, packs, tree
from studio.core.disks.objects import Objects, Reader
from studio.core.disks.removing import remove
from studio.core.disks.tree import Row, Version, shown
from studio.core.rules.errors import NotFound, Refused, Unavailable

Owner = tuple[int, int]  # user and group id
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
HOLE = bytes(packs.PIECE)
EXCHANGE, HERE = 2, -100  # RENAME_EXCHANGE and AT_FDCWD of renameat2(2)


def restore(
    objects: Objects, version: Version, into: Path, *, owner: Owner | None = None,
    replace: bool = False,
) -> None:  # fmt: skip
    """Make `into` what the version is. With `replace` it may be there, and what it was goes.

    Raises Refused when it is there, Unavailable naming the file whose bytes are damaged.
    """
    if not replace and os.path.lexists(into):
        raise Refused(
            f"There is something at {into.name} already; restore into a new folder.",
            code="disk.exists",
        )
    if not into.parent.is_dir():
        raise NotFound(f"There is no folder to restore {into.name} into.", code="disk.missing")
    _tidy(into)
    part = into.with_name(f".{into.name}.{durable.name()}{durable.PART}")
    part.mkdir(0o700)
    fd = os.open(part, FOLDER)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        with objects.reading() as reader:
            _Restoring(reader, owner).top(fd, version)
        _into_place(part, into)
    except OSError as wrong:
        raise Unavailable(
            f"The version could not be restored: {wrong.strerror or wrong}. Nothing was changed.",
            code="disk.failed",
        ) from wrong
    finally:
        remove(part)
        os.close(fd)


class _Restoring:
    """Writes folders by their descriptors."""

    def __init__(self, reader: Reader, owner: Owner | None) -> None:
        self._reader, self._owner = reader, owner

    def top(self, fd: int, version: Version) -> None:
        """Fill the top folder and give it its mode."""
        self._fill(fd, "", version.tree)
        if self._owner:
            os.fchown(fd, *self._owner)
        os.fchmod(fd, version.mode)

    def _fill(self, fd: int, path: str, sha: str) -> None:
        for name, row in self._rows(path, sha).items():
            if row.kind == tree.FOLDER:
                self._folder(fd, path, name, row)
            elif row.kind == tree.FILE:
                faults.fault("disk.mid_restore")
                self._file(fd, path + name, name, row)
            else:
                os.symlink(row.ref, name, dir_fd=fd)
                if self._owner:
                    os.chown(name, *self._owner, dir_fd=fd, follow_symlinks=False)
                times = (row.mtime_ns, row.mtime_ns)
                os.utime(name, ns=times, dir_fd=fd, follow_symlinks=False)

    def _folder(self, fd: int, path: str, name: str, row: Row) -> None:
        os.mkdir(name, 0o700, dir_fd=fd)
        inner = os.open(name, FOLDER, dir_fd=fd)
        try:
            self._fill(inner, f"{path}{name}/", row.ref)
            self._finish(inner, row)
        finally:
            os.close(inner)

    def _file(self, fd: int, path: str, name: str, row: Row) -> None:
        file = os.open(name, NEW, 0o600, dir_fd=fd)
        try:
            try:
                for piece in self._reader.pieces(row.ref):
                    _write(file, piece)
            except Unavailable as wrong:
                raise _named(path, wrong) from None
            os.ftruncate(file, row.size)
            self._finish(file, row)
        finally:
            os.close(file)

    def _finish(self, fd: int, row: Row) -> None:
        """Owner, mode and time, in the order in which none undoes another."""
        if self._owner:
            os.fchown(fd, *self._owner)
        os.fchmod(fd, row.mode)
        os.utime(fd, ns=(row.mtime_ns, row.mtime_ns))

    def _rows(self, path: str, sha: str) -> dict[str, Row]:
        try:
            return self._reader.rows(sha)
        except Unavailable as wrong:
            raise _named(path or "the top folder", wrong) from None


def _write(fd: int, piece: bytes) -> None:
    """All of a piece; one of zeros is left out, so a file with holes has them again."""
    if len(piece) == len(HOLE) and piece == HOLE:
        os.lseek(fd, len(piece), os.SEEK_CUR)
        return
    while piece:
        piece = piece[os.write(fd, piece) :]


def _named(path: str, wrong: Unavailable) -> Unavailable:
    words = f"{shown(path)} cannot be restored. {wrong.message}"
    return Unavailable(words, code=wrong.code, details={**wrong.details, "path": path})


def _into_place(part: Path, into: Path) -> None:
    """The part becomes the target; what the target was becomes the part, and is removed."""
    if os.path.lexists(into):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.renameat2(HERE, os.fsencode(part), HERE, os.fsencode(into), EXCHANGE):
            raise OSError(ctypes.get_errno(), "the folders cannot be exchanged here")
    else:
        part.rename(into)
    durable.sync_folder(into.parent)


def _tidy(into: Path) -> None:
    """Remove parts of restores to this place that died."""
    for part in into.parent.glob(f".{_plain(into.name)}.*{durable.PART}"):
        with suppress(FileNotFoundError):
            fd = os.open(part, FOLDER)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove(part)
            except BlockingIOError:
                continue  # another restore is at work in it
            finally:
                os.close(fd)


def _plain(name: str) -> str:
    """A name in which no letter means something to `glob`."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
