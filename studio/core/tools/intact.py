"""Whether the unpacked files of a package are still those that were installed."""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from studio.core.rules.plugins import File


@dataclass(frozen=True, kw_only=True)
class Unpacked:
    """The files that `folder` holds and no others; `of` is what brought them, in words."""

    folder: Path
    files: tuple[File, ...]
    of: str

    def refusal(self) -> str:
        """Why nothing of it is to be started; empty when every file is as it was installed.

        Every byte is read and hashed: a time of change can be set back, a hash cannot.
        """
        found = difference(self.folder, self.files)
        if not found:
            return ""
        return (
            f"Nothing of {self.of} is started: {found} since it was unpacked. Find out who did "
            "that; a restarted worker unpacks it anew."
        )


def difference(place: Path, files: Sequence[File]) -> str:
    """What differs in a folder from these files, by the first path; empty when nothing does."""
    if not place.is_dir() or place.is_symlink():
        return "its folder is gone or was replaced"
    there = {
        str(Path(root, name).relative_to(place))
        for root, folders, names in os.walk(place)
        for name in (*names, *(one for one in folders if Path(root, one).is_symlink()))
    }
    known = {file.path: file for file in files}
    for path in sorted(there | known.keys()):
        if path not in there:
            return f"its file {path} was taken away"
        if path not in known:
            return f"the file {path} was added to it"
        if not _is(place / path, known[path]):
            return f"its file {path} was changed"
    return ""


def _is(path: Path, file: File) -> bool:
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_size != file.size:
            return False
        return sha256(path.read_bytes()).hexdigest() == file.hash
    except OSError:
        return False
