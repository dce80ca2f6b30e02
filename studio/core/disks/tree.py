"""What a version is: folders as canonical JSON, each under its SHA-256, and a manifest on top.

A folder is `{name: [type, mode, mtime_ns, size, ref]}` with its names sorted. `type` is `f`, `d` or
`l`; `size` is in bytes, for a folder that of all files below it; `ref` is the SHA-256 of a file's
bytes, that of a folder's own JSON, or a link's target as text. So a folder that did not change is
not written again, and two versions are compared without looking into what they share.

Names and targets are bytes to the system. Here they are text: UTF-8, and a byte that is none is the
lone surrogate U+DC80 to U+DCFF (PEP 383), written `\\udcXX` in the JSON, which is ASCII only.
Owners, extended attributes and ACLs are not kept, and neither is the time of the top folder.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

FILE, FOLDER, LINK = "f", "d", "l"
FORMAT = 1
MODES = 0o1777  # of the bits of a mode, what is kept: never setuid and setgid
Kind = Literal["f", "d", "l"]


class Row(NamedTuple):
    """One name of a folder: type, bits of mode, time in ns, size in bytes, what it refers to."""

    kind: str
    mode: int
    mtime_ns: int
    size: int
    ref: str


Rows = Mapping[str, Row]


@dataclass(frozen=True, kw_only=True)
class Version:
    """The manifest of a version; `digest` is the SHA-256 of its canonical JSON.

    `tree` is the top folder. `size` is the bytes of all files, as they are, not packed. `skipped`
    are the (path, why) of what cannot be kept: `socket`, `fifo`, `device`, `unreadable`.
    """

    mode: int
    tree: str
    files: int
    folders: int
    links: int
    size: int
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def digest(self) -> str:
        """What the version is known by."""
        return sha256(self.encoded())

    def encoded(self) -> bytes:
        """The canonical JSON."""
        return canonical({"format": FORMAT, **asdict(self)})


def sha256(data: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


def canonical(value: Any) -> bytes:
    """JSON with sorted keys, no spaces, ASCII only: one value, one text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def encoded(rows: Rows) -> bytes:
    """A folder's canonical JSON."""
    return canonical(rows)


def decoded(data: bytes) -> dict[str, Row]:
    """The rows of a folder; it was verified by its hash, so it is what `encoded` made."""
    return {name: Row(*row) for name, row in json.loads(data).items()}


def version(data: bytes) -> Version:
    """The manifest in its JSON; ValueError when it is none of this format."""
    value = json.loads(data)
    if not isinstance(value, dict) or value.pop("format", None) != FORMAT:
        raise ValueError("not a manifest of this format")
    skipped = tuple((path, why) for path, why in value.pop("skipped"))
    return Version(**value, skipped=skipped)


def shown(path: str) -> str:
    """A path for people: what cannot be printed becomes a sign, and it is not endless."""
    text = "".join(letter if letter.isprintable() else "�" for letter in path)
    return text if len(text) <= 200 else f"{text[:199]}…"
