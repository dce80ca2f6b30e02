"""Where studios that run now say where they are: a file each in the data folder, locked meanwhile.

The kernel lets go of the lock of a process that dies, so a file that nobody holds is an old one.
"""

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

FOLDER = "serving"


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where people and programs reach a studio, and by which address this machine does."""

    url: str
    own_url: str


@contextmanager
def told(data: Path, place: Place) -> Iterator[None]:
    """Say where this process answers, for as long as the block lasts."""
    folder = data / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{secrets.token_hex(8)}.json"  # two containers may have the same process id
    draft = path.with_suffix(".draft")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        json.dump(asdict(place), file)
        file.flush()
        draft.rename(path)  # nobody sees it before it is locked
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def found(data: Path) -> Place | None:
    """Where the studio of this data folder answers; of several, the one that came last."""
    files = sorted((data / FOLDER).glob("*.json"), key=_age)
    return next((place for path in files if (place := _read(path)) is not None), None)


def _age(path: Path) -> float:
    try:
        return -path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _read(path: Path) -> Place | None:
    """What the file says while its process lives; the file of a dead one is taken away."""
    with suppress(FileNotFoundError), open(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return Place(**json.load(file))
        path.unlink(missing_ok=True)
    return None
