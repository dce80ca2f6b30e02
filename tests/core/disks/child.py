"""A process that uses a store until it is killed: it keeps, restores, takes in and collects.

It has a book beside the store with the versions that are to stay, as an installation has rows:
written after a keep has answered, and shortened before a collection begins.
"""

import itertools
import os
import sys
from pathlib import Path

from studio.core import faults
from studio.core.disks.disks import Disks
from tests.core.disks import folders

STAY = 4  # versions


def main(top: Path, start: int, armed: str) -> None:
    """Work below a folder from a step on, for ever."""
    work, archive = top / "work", top / "archive"
    if not work.exists():
        folders.make(work)
        (work / "large").write_bytes(os.urandom(4_500_000))
        for path in list(work.iterdir()):  # archives are made to travel
            if not path.name.isprintable() or path.name in ("Case", "link"):
                path.unlink()
    faults.arm_from(armed)
    disks = Disks(top / "store")
    for step in itertools.count(start):
        change(work, step)
        digest = disks.keep(work, cache=top / "cache").digest
        write(top, [*book(top), digest])
        disks.restore(digest, top / "again", replace=True)
        archive.write_bytes(b"".join(disks.export(digest, ("tar.zst", "zip")[step % 2])))
        write(top, [*book(top), disks.take_in(archive).digest])
        if step % 2:
            write(top, book(top)[-STAY:])
            disks.collect(book(top), grace=0)
        sys.stdout.write(f"{step}\n")
        sys.stdout.flush()


def change(work: Path, step: int) -> None:
    """Something goes, something comes, something is another."""
    (work / f"new-{step}").write_bytes(os.urandom(50_000))
    (work / f"new-{step - 3}").unlink(missing_ok=True)
    (work / "notes.txt").write_text(f"step {step}\n")


def book(top: Path) -> list[str]:
    """The versions that are to stay."""
    path = top / "book"
    return path.read_text().split() if path.exists() else []


def write(top: Path, digests: list[str]) -> None:
    """Write the book, and beside it every version that ever was in it."""
    with (top / "ever").open("a") as file:
        file.write(f"{digests[-1]}\n")
    (top / "book.new").write_text("\n".join(digests))
    (top / "book.new").rename(top / "book")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
