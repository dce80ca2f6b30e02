"""Writing so that it is there after a crash: whole or not at all, and never a torn file."""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from studio.core import faults

PART = ".part"  # how names end that are not yet what they will be


def name() -> str:
    """A name that nothing else has: 16 hex digits."""
    return secrets.token_hex(8)


def write(path: Path, data: bytes) -> None:
    """Put a file in place of what was there; on return it survives a loss of power."""
    part = path.with_name(f"{path.name}.{name()}{PART}")
    try:
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        faults.fault("disk.before_rename")
        part.rename(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable: those that came and those that went."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def locked(path: Path, *, alone: bool) -> Iterator[None]:
    """Hold a lock between processes and threads; the kernel lets go when the holder dies."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
    finally:
        os.close(fd)
