"""Folders as packages: the same rules as for archives, read in place or packed to be sent."""

import io
import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path

from studio.core.packages import archive, names, refusing
from studio.core.rules.errors import Invalid
from studio.core.rules.reading import Faults

PASSED_OVER = frozenset({".git", ".hg", ".svn", "__pycache__", ".DS_Store", ".mypy_cache"})
INSTALLED = frozenset({"node_modules", ".venv", "venv"})  # of a plugin that is run in place
EARLIEST = (1980, 1, 1, 0, 0, 0)


def read(folder: Path, *, in_place: bool = False) -> dict[str, bytes]:
    """The files of a folder by path; Invalid says all that is wrong with it.

    `in_place` leaves out what package managers put there, which is run but not part of it.
    """
    faults = Faults()
    found: dict[str, bytes] = {}
    total = 0
    for path, entry in _walk(folder, in_place=in_place):
        if len(found) >= archive.MOST_FILES:
            faults.add("", f"holds more than {archive.MOST_FILES:,} files.")
            break
        if wrong := names.fault(path) or _fault(entry):
            faults.add(path, wrong)
            continue
        try:
            found[path] = Path(entry.path).read_bytes()
        except OSError as error:
            faults.add(path, f"cannot be read: {error.strerror}.")
            continue
        total += len(found[path])
        if total > archive.MOST_BYTES:
            faults.add("", f"holds more than {archive.MOST_BYTES:,} bytes.")
            break
    for path, wrong in names.clashes(found).items():
        faults.add(path, wrong)
    refusing.check(faults, f"The folder {folder.name or folder}", code="archive.invalid")
    if not found:
        raise Invalid(f"The folder {folder} holds no files.", code="archive.invalid")
    return found


def state(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """What changes when a file of the folder does: each path with its time and size."""
    seen = []
    for count, (path, entry) in enumerate(_walk(folder, in_place=True)):
        if count > archive.MOST_FILES:
            break
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        seen.append((path, found.st_mtime_ns, found.st_size))
    return tuple(seen)


def packed(files: dict[str, bytes]) -> bytes:
    """A zip archive of these files, the same bytes each time."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as zipped:
        for path in sorted(files):
            entry = zipfile.ZipInfo(path, EARLIEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            zipped.writestr(entry, files[path])
    return made.getvalue()


def _walk(folder: Path, *, in_place: bool) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    """Every entry that is not a folder, by path; nothing behind a link is entered."""
    left_out = PASSED_OVER | INSTALLED if in_place else PASSED_OVER
    stack = [("", str(folder))]
    while stack:
        prefix, place = stack.pop()
        try:
            with os.scandir(place) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in listed:
            if entry.name in left_out or entry.name.endswith(".pyc"):
                continue
            path = f"{prefix}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                stack.append((f"{path}/", entry.path))
            else:
                yield path, entry


def _fault(entry: "os.DirEntry[str]") -> str | None:
    if entry.is_symlink():
        return "is a link; a package holds files and folders only."
    if not entry.is_file(follow_symlinks=False):
        return "is a device or a pipe; a package holds files and folders only."
    if entry.stat(follow_symlinks=False).st_size > archive.MOST_FILE_BYTES:
        return f"has more than {archive.MOST_FILE_BYTES:,} bytes."
    return None
