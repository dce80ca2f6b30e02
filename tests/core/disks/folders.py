"""Folders for tests: made of every kind of thing, and told as values that can be compared."""

import os
import stat
from pathlib import Path
from typing import Any

OLD_NS = 1_600_000_000_123_456_789  # a time long past, with nanoseconds


def make(top: Path) -> Path:
    """A folder with files, modes, links, an empty folder, names that are not UTF-8."""
    top.mkdir()
    (top / "notes.txt").write_text("hello\n")
    (top / "empty").write_bytes(b"")
    (top / "random.bin").write_bytes(os.urandom(70_000))
    (top / "src").mkdir()
    (top / "src" / "run.sh").write_text("#!/bin/sh\necho hi\n")
    (top / "src" / "run.sh").chmod(0o755)
    (top / "src" / "deep" / "er").mkdir(parents=True)
    (top / "src" / "deep" / "same.txt").write_text("hello\n")
    (top / "nothing in it").mkdir(mode=0o700)
    (top / "link").symlink_to("../outside")
    (top / "Case").write_text("upper")
    (top / "case").write_text("lower")
    (top / "naïve \U0001f600").write_text("unicode")
    Path(os.fsdecode(os.fsencode(top) + b"/caf\xe9 \xf0\x9f")).write_text("not UTF-8")
    os.utime(top / "notes.txt", ns=(OLD_NS, OLD_NS))
    os.utime(top / "link", ns=(OLD_NS, OLD_NS), follow_symlinks=False)
    os.utime(top / "src", ns=(OLD_NS, OLD_NS))
    top.chmod(0o750)
    return top


def told(top: Path) -> dict[str, Any]:
    """Everything of a folder that a version keeps, by path; the top's own time is not."""
    found: dict[str, Any] = {".": stat.S_IMODE(top.lstat().st_mode)}
    for folder, folders, files in os.walk(top):
        for name in [*folders, *files]:
            path = Path(folder, name)
            found[str(path.relative_to(top))] = _one(path)
    return found


def _one(path: Path) -> tuple[Any, ...]:
    info = path.lstat()
    if stat.S_ISLNK(info.st_mode):
        return ("link", info.st_mtime_ns, os.readlink(path))
    content = path.read_bytes() if stat.S_ISREG(info.st_mode) else None
    return (stat.S_IFMT(info.st_mode), stat.S_IMODE(info.st_mode), info.st_mtime_ns, content)


def files(root: Path) -> dict[str, int]:
    """Every file of a store with its size, but for the locks: what a change to it would show."""
    return {
        str(path.relative_to(root)): path.stat().st_size
        for path in root.rglob("*")
        if path.is_file() and path.name != "lock"
    }
