"""Files of a disk that lies in a folder of this machine, while an agent's processes change it.

Every function takes the disk's root and paths as an agent writes them, and may wait for the disk:
call it in a thread. All raise SandboxError.
"""

import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from studio.core.sandboxes import paths, patterns
from studio.core.sandboxes.contract import Found, Read, SandboxError, Written
from studio.core.sandboxes.trees import tree

MOST_READ = 1024**3  # of a file, to hash it
MOST_EDITED = 16 * 1024**2
MODE = 0o644
_PIECE = 1024**2


@dataclass(frozen=True, kw_only=True)
class _Fresh:
    """A file of ours beside another. Who may change the folder can put anything at its name."""

    name: str
    file: int

    def is_at(self, name: str, place: paths.Place) -> bool:
        """Whether a name in the folder is this very file."""
        try:
            entry = os.stat(name, dir_fd=place.parent, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(entry, os.fstat(self.file))


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """A file as it was looked at: what tells whether it is still the same."""

    hash: str
    size: int
    stamp: tuple[int, ...]  # device, inode, size, changed (ns)
    mode: int


def read(root: Path, path: str, *, offset: int = 0, most: int = 8 * 1024**2) -> Read:
    """Bytes of a file from `offset` on, with the size and SHA-256 of the whole."""
    kept = bytearray()
    with paths.opened(root, path) as file, paths.refusals(path):
        seen = _seen(file, path, kept, offset, offset + most)
    return Read(data=bytes(kept), offset=offset, size=seen.size, hash=seen.hash, mode=seen.mode)


def write(
    root: Path, path: str, data: bytes, *, known: str | None = None, owner: int | None = None
) -> Written:
    """Write a file whole, by a new one that takes its place; `owner` is the user it belongs to.

    Its mode stays. With `known` None it must not be there; else it must have that SHA-256.
    """
    with paths.found(root, path, make=known is None, owner=owner) as place, paths.refusals(path):
        before = _before(place, path, known)
        with _beside(place, data, before.mode if before else MODE, owner) as fresh:
            if before is None:
                _put_new(place, fresh, path)
            else:
                _put_over(place, fresh, path, before)
    return Written(size=len(data), hash=hashlib.sha256(data).hexdigest(), made=before is None)


def edit(
    root: Path, path: str, old: str, new: str, *, known: str, every: bool = False,
    owner: int | None = None,
) -> Written:  # fmt: skip
    """Replace a text that stands there exactly once, or `every` time."""
    whole = read(root, path, most=MOST_EDITED)
    if whole.hash != known:
        raise _stale(path)
    if whole.size > MOST_EDITED:
        words = f"{path} has {whole.size:,} bytes; {MOST_EDITED:,} can be edited. Use sed."
        raise SandboxError("file.too_large", words)
    try:
        text = whole.data.decode("utf-8")
    except UnicodeDecodeError:
        words = f"{path} is not UTF-8 text, so it cannot be edited as text. Use the shell."
        raise SandboxError("file.binary", words) from None
    times = text.count(old) if old else 0
    if not times:
        words = f"The text to replace does not stand in {path}. Read it again and copy it exactly."
        raise SandboxError("text.missing", words)
    if times > 1 and not every:
        words = f"The text to replace stands {times} times in {path}. Give more of what is around."
        raise SandboxError("text.many", words)
    return write(root, path, text.replace(old, new).encode("utf-8"), known=known, owner=owner)


def glob(root: Path, pattern: str, *, most: int = 1_000) -> Found:
    """Files and links whose path matches, sorted. `**` crosses folders, `*` and `?` do not."""
    matcher = patterns.globbed(pattern)
    with paths.folder(root) as top:
        walk = tree(top)
        hits = sorted(entry.path for entry in walk if not entry.is_folder and matcher(entry.path))
    return Found(
        paths=tuple(map(patterns.shown, hits[:most])), more=len(hits) > most or walk.cut_short
    )


def _seen(file: int, path: str, kept: bytearray, first: int, last: int) -> _Seen:
    """Hash a file to its end, keeping the bytes from `first` to before `last`."""
    entry, digest, size = os.fstat(file), hashlib.sha256(), 0
    while piece := os.read(file, _PIECE):
        digest.update(piece)
        kept += piece[max(0, first - size) : max(0, last - size)]
        size += len(piece)
        if size > MOST_READ or entry.st_size > MOST_READ:
            words = f"{path} has more than {MOST_READ:,} bytes. Use head, tail or split."
            raise SandboxError("file.too_large", words)
    mode = stat.S_IMODE(entry.st_mode) & 0o777
    return _Seen(hash=digest.hexdigest(), size=size, stamp=_stamp(entry), mode=mode)


def _stamp(entry: os.stat_result) -> tuple[int, ...]:
    return entry.st_dev, entry.st_ino, entry.st_size, entry.st_mtime_ns, entry.st_ctime_ns


def _before(place: paths.Place, path: str, known: str | None) -> _Seen | None:
    """The file that a write takes the place of, when it is the one that the writer knows."""
    if place.kind is None:
        if known is not None:
            raise paths.missing(path)
        return None
    if place.kind == stat.S_IFDIR:
        raise SandboxError("path.kind", f"{path} is a folder. Name a file in it.")
    if place.kind != stat.S_IFREG:
        words = f"{path} is a device, pipe or socket, and no file. Choose another name."
        raise SandboxError("path.kind", words)
    if known is None:
        raise _exists(path)
    file = os.open(
        place.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
        dir_fd=place.parent,
    )  # fmt: skip
    try:
        seen = _seen(file, path, bytearray(), 0, 0)
    finally:
        os.close(file)
    if seen.hash != known:
        raise _stale(path)
    return seen


@contextmanager
def _beside(place: paths.Place, data: bytes, mode: int, owner: int | None) -> Iterator[_Fresh]:
    """A new file in the folder of another; its name is gone afterwards."""
    name = f".studio-{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(name, flags, 0o600, dir_fd=place.parent), "wb") as file:
        try:
            file.write(data)
            file.flush()
            if owner is not None:
                os.fchown(file.fileno(), owner, owner)
            os.fchmod(file.fileno(), mode)
            yield _Fresh(name=name, file=file.fileno())
        finally:
            with suppress(FileNotFoundError, IsADirectoryError):  # a folder there is not ours
                os.unlink(name, dir_fd=place.parent)


def _put_new(place: paths.Place, fresh: _Fresh, path: str) -> None:
    """A link is made only where nothing is, so nobody's file is lost to a race.

    It is made from the descriptor (AT_SYMLINK_FOLLOW on it, linkat(2)): at the name there may be
    a link to any file of this machine by now.
    """
    try:
        os.link(f"/proc/self/fd/{fresh.file}", place.name, dst_dir_fd=place.parent)
    except FileExistsError:
        raise _exists(path) from None
    except FileNotFoundError:  # its last name was taken away
        raise _disturbed(path) from None


def _put_over(place: paths.Place, fresh: _Fresh, path: str, before: _Seen) -> None:
    """Nothing renames a descriptor, so what is moved is looked at before and after.

    A rename follows no link: whatever takes the name between is a thing of the disk, and stays one.
    """
    try:
        entry = os.stat(place.name, dir_fd=place.parent, follow_symlinks=False)
    except FileNotFoundError:
        raise _stale(path) from None
    if _stamp(entry) != before.stamp:
        raise _stale(path)
    if not fresh.is_at(fresh.name, place):
        raise _disturbed(path)
    try:
        os.rename(fresh.name, place.name, src_dir_fd=place.parent, dst_dir_fd=place.parent)
    except (FileNotFoundError, NotADirectoryError):
        raise _disturbed(path) from None
    if not fresh.is_at(place.name, place):
        raise _disturbed(path)


def _exists(path: str) -> SandboxError:
    words = f"{path} is there already. Read it first, so that nothing unseen is overwritten."
    return SandboxError("path.exists", words)


def _stale(path: str) -> SandboxError:
    words = f"{path} changed since it was read. Read it again, then make the change."
    return SandboxError("file.stale", words)


def _disturbed(path: str) -> SandboxError:
    words = f"Something on the disk changed {path} while it was written. Read it again."
    return SandboxError("file.stale", words)
