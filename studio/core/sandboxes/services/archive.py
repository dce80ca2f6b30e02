"""A whole disk as a tar archive (POSIX.1-2001, pax), on its way to a service and back.

Modes, times to the nanosecond, links and empty folders are kept. An archive that would write beside
its folder, through a link, or something that is no file, folder or link, is refused.
"""

import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from studio.core.sandboxes.contract import SandboxError

MOST_ENTRIES = 500_000


def pack(folder: Path, archive: IO[bytes]) -> None:
    """Write everything below a folder into an archive, each folder before what is in it."""
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as made:
        for path in _below(folder):
            entry = os.lstat(path)
            if not (stat.S_ISREG(entry.st_mode) or stat.S_ISDIR(entry.st_mode)
                    or stat.S_ISLNK(entry.st_mode)):  # fmt: skip
                continue  # a pipe or a socket is of its processes, which are not taken along
            member = made.gettarinfo(str(path), str(path.relative_to(folder)))
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.pax_headers = {"mtime": _seconds(entry.st_mtime_ns)}
            if member.isreg():
                with path.open("rb") as file:
                    made.addfile(member, file)
            else:
                made.addfile(member)


def unpack(archive: IO[bytes], folder: Path, most: int) -> None:
    """Write an archive into an empty folder; at most `most` bytes of files.

    SandboxError `disk.full` when there are more, `sandbox.unavailable` when it is a bad one.
    """
    try:
        with tarfile.open(fileobj=archive, mode="r|") as found:
            times = _members(found, folder, most)
        for path, time in reversed(times.items()):
            os.utime(path, ns=(time, time), follow_symlinks=False)
    except (tarfile.TarError, OverflowError, ValueError) as wrong:
        raise _bad(f"a fault ({wrong})") from None
    except OSError as wrong:
        raise _bad(f"an entry that cannot be written ({wrong.strerror})") from None


def _members(found: tarfile.TarFile, folder: Path, most: int) -> dict[Path, int]:
    """Write every member; the time that each is to have when all are there, in nanoseconds."""
    times, left = dict[Path, int](), most
    for count, member in enumerate(found):
        if count >= MOST_ENTRIES:
            raise _bad(f"more than {MOST_ENTRIES:,} entries")
        if member.size < 0:
            raise _bad(f"{member.name[:200]!r}, whose size is less than nothing")
        left -= member.size if member.isreg() else 0
        if left < 0:
            words = f"The disk holds more than {most:,} bytes, its limit. Delete something."
            raise SandboxError("disk.full", words)
        path = _place(folder, member.name)
        _put(found, member, path, folder)
        times[path] = _nanoseconds(member)
    return times


def _put(found: tarfile.TarFile, member: tarfile.TarInfo, path: Path, folder: Path) -> None:
    mode = member.mode & 0o777
    if member.isdir():
        path.mkdir(exist_ok=path == folder)
        path.chmod(mode | 0o700)
    elif member.isreg():
        source = found.extractfile(member)
        assert source is not None, "a regular file has bytes"
        with path.open("xb") as file:
            while piece := source.read(1024**2):
                file.write(piece)
        path.chmod(mode)
    elif member.issym():
        path.symlink_to(member.linkname)
    elif member.islnk():
        os.link(_place(folder, member.linkname), path, follow_symlinks=False)
    else:
        raise _bad(f"{member.name[:200]!r}, which is no file, folder or link")


def _place(folder: Path, name: str) -> Path:
    """Where a member lies. No folder above it may be a link."""
    parts = PurePosixPath(name).parts
    if name.startswith("/") or ".." in parts or "\0" in name:
        raise _bad(f"{name[:200]!r}, which leads out of it")
    path = folder
    for part in parts[:-1]:
        path /= part
        if not stat.S_ISDIR(_mode(path)):
            raise _bad(f"{name[:200]!r}, which is not in a folder of it")
    return folder.joinpath(*parts)


def _mode(path: Path) -> int:
    try:
        return os.lstat(path).st_mode
    except FileNotFoundError:
        return 0


def _below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _below(path)


def _seconds(nanoseconds: int) -> str:
    """A time as a pax record has it: a decimal, whose sign is that of all of it."""
    whole, rest = divmod(abs(nanoseconds), 10**9)
    return f"{'-' if nanoseconds < 0 else ''}{whole}.{rest:09d}"


def _nanoseconds(member: tarfile.TarInfo) -> int:
    """The time of a member, exact where the archive tells it so."""
    whole, _, part = member.pax_headers.get("mtime", str(int(member.mtime))).partition(".")
    try:
        sign = -1 if whole.startswith("-") else 1
        return sign * (abs(int(whole)) * 10**9 + int(part[:9].ljust(9, "0")))
    except ValueError:
        raise _bad("a time that cannot be read") from None


def _bad(what: str) -> SandboxError:
    words = f"The service sent a disk that cannot be unpacked; it has {what}. Tell an operator."
    return SandboxError("sandbox.unavailable", words)
