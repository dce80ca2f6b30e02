"""Removing a folder that others filled: of any modes and any depth, and never through a link."""

import os
from pathlib import Path

from studio.core.disks import durable

PATH = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def remove(folder: Path) -> None:
    """Remove a folder with all that is in it, or whatever stands there; nothing is no fault."""
    try:
        top = _opened(folder)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        folder.unlink()
        return
    try:
        while inner := _emptied(top, top):
            for name in inner:
                fd = _opened(name, top)
                try:
                    _emptied(fd, top)
                finally:
                    os.close(fd)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    folder.rmdir()


def _emptied(fd: int, top: int) -> list[str]:
    """Unlink what is in a folder; folders in it are moved to the top, and their names there told.

    So no path grows with the depth, and neither does the number of open descriptors.
    """
    with os.scandir(fd) as entries:
        listed = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    inner = []
    for name, is_folder in listed:
        if not is_folder:
            os.unlink(name, dir_fd=fd)
        elif fd == top:
            inner.append(name)
        else:
            os.close(_opened(name, fd))  # it must be writable to be moved
            os.rename(name, durable.name(), src_dir_fd=fd, dst_dir_fd=top)
    return inner


def _opened(name: str | Path, within: int | None = None) -> int:
    """Open a folder, having made it readable and writable for its owner."""
    held = os.open(name, PATH, dir_fd=within)
    try:
        here = f"/proc/self/fd/{held}"
        os.chmod(here, 0o700)
        return os.open(here, OPEN)
    finally:
        os.close(held)
