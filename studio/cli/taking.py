"""Bytes that are taken away into a file: where it goes, and how it is whole or not there."""

import secrets
from collections.abc import Iterable
from pathlib import Path

from studio.cli.command import argument
from studio.core.rules import files
from studio.core.rules.errors import Refused

TO = argument("--to", metavar="PATH", help="a file or folder; without it here, under its own name")
FORCE = argument("--force", action="store_true", help="write over a file that is there")


def place(given: str | None, name: str, *, force: bool) -> Path:
    """Where the bytes go: the name comes from elsewhere, so its last part alone is taken.

    Refused when something is there, unless `force`.
    """
    own = files.clean_name(name)
    found = Path(own) if given is None else Path(given)
    found = found / own if given is not None and found.is_dir() else found
    if found.exists() and not force:
        raise Refused(
            f"{found} is there already, and nothing was written. Choose another place with "
            "--to, or add --force.",
            code="file.exists",
        )
    return found


def write(place: Path, chunks: Iterable[bytes]) -> int:
    """Write beside the place, and put the file there when it is whole; how many bytes it has."""
    draft = place.with_name(f".{place.name[:80]}.{secrets.token_hex(8)}")
    size = 0
    try:
        with draft.open("xb") as file:
            for chunk in chunks:
                size += file.write(chunk)
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)
    return size
