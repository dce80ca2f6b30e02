"""Trees that agents made: folders in pages, files as text, picture or bytes, lines that differ.

Nothing of them is ever opened on our origin but pictures that cannot hold a script, and those under
a policy of their own.
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from studio.core.reader import ArtifactFile, DiskFile
from studio.core.rules import percent
from studio.core.rules.errors import NotFound
from studio.core.rules.files import GIVEN_BYTES
from studio.web import arguments
from studio.web.arguments import Chars
from studio.web.visit import asked, reader

if TYPE_CHECKING:
    from studio.core.reader import DiskChange, DiskTextDiff

NAMES = 200  # of a folder at once
PATHS = 200  # that differ, at once
TEXT_BYTES = 50 * 1024
HEX_BYTES, HEX_ROW = 4 * 1024, 16
MOST_LINE = 2**53
OCTETS = "application/octet-stream"
LOCKED = "sandbox; default-src 'none'"
KEPT = "private, max-age=86400, immutable"
HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
CHANGES = {"+": "added", "-": "removed", " ": "same"}
File = DiskFile | ArtifactFile


@dataclass(frozen=True, kw_only=True)
class Row:
    """A line of text with its number, or sixteen bytes with their offset; `sides` of bytes."""

    number: str
    chars: Chars
    sides: str = ""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """How a file is shown. `rows` are a window of it; `next` is (byte, line) behind that.

    `is_crlf` says that lines end as on Windows, which the rows do not show.
    """

    kind: Literal["text", "image", "hex"]
    rows: tuple[Row, ...] = ()
    next: tuple[int, int] | None = None
    is_crlf: bool = False


@dataclass(frozen=True, kw_only=True)
class DiffLine:
    """A line of a text diff: `change` is added, removed, same, hunk or note."""

    change: str
    number: str
    chars: Chars


@dataclass(frozen=True, kw_only=True)
class Paths:
    """A window of the paths that differ, from number `start` (0 is the first) on, and the next."""

    rows: tuple["DiskChange", ...]
    start: int
    next: int | None


def paths(request: Request, changes: tuple["DiskChange", ...]) -> Paths:
    """The window of the paths that the query asks for."""
    start = whole(request, "from")
    behind = start + PATHS
    return Paths(
        rows=changes[start:behind], start=start, next=behind if behind < len(changes) else None
    )


def shown(request: Request, file: File) -> Shown:
    """What the query asks to see of a file that was read from its `offset` on."""
    if is_picture(file):
        return Shown(kind="image")
    offset, line = file.offset, max(1, whole(request, "line"))
    as_text = file.look.kind == "text" and not asked(request, "hex")
    data = file.data if as_text else file.data[:HEX_BYTES]
    is_end = offset + len(data) >= file.entry.size
    rows, used, lines = (
        _text_rows(data, line, is_end=is_end) if as_text else _hex_rows(data, offset)
    )
    behind = offset + used
    return Shown(
        kind="text" if as_text else "hex", rows=rows,
        next=(behind, line + lines) if behind < file.entry.size else None,
        is_crlf=as_text and b"\r\n" in data,
    )  # fmt: skip


def content(request: Request, file: File, kind: str, told: dict[str, str]) -> Response:
    """A file's bytes, never opened in the page."""
    headers = {
        **told, "ETag": f'"{file.entry.hash}"', "Content-Security-Policy": LOCKED,
        "Content-Encoding": "identity",
    }  # fmt: skip
    if request.headers.get("if-none-match") == headers["ETag"]:
        headers.pop("Content-Length", None)
        return Response(status_code=304, headers=headers)
    pieces = reader(request).disk_bytes(file.entry)
    return StreamingResponse(pieces, media_type=kind, headers=headers)


def is_picture(file: File) -> bool:
    """It may be looked at in the page."""
    return file.look.kind == "image" and file.entry.size <= GIVEN_BYTES


def above(path: str) -> tuple[tuple[str, str], ...]:
    """The folders that lead to a path, as (name, path), the top one left out."""
    parts = PurePosixPath(path).parts[:-1] if path else ()
    return tuple((name, "/".join(parts[: at + 1])) for at, name in enumerate(parts))


def path_of(request: Request, name: str = "path") -> str:
    """A path of the query with all of its bytes, which the plain query would lose."""
    return percent.asked(request.scope["query_string"], name)


def whole(request: Request, name: str) -> int:
    """A whole number of the query; 0 when it is none."""
    written = asked(request, name)
    found = int(written) if written.isascii() and written.isdecimal() and len(written) < 16 else 0
    return min(found, MOST_LINE)


def version(request: Request, name: str, missing: NotFound) -> int:
    """The number of a version in the query."""
    written = asked(request, name)
    if not written.isascii() or not written.isdecimal() or len(written) > 15:
        raise missing
    return int(written)


def lines(text: "DiskTextDiff") -> tuple[DiffLine, ...]:
    """The lines with the numbers they have in their file, an old one's where it was removed."""
    return tuple(_lines(text.lines))


def _lines(lines: Iterable[str]) -> Iterator[DiffLine]:
    old = new = 0
    for line in lines:
        mark, text = line[:1], arguments.chars(line[1:])
        if mark == "@" and (found := HUNK.match(line)):
            old, new = int(found[1]), int(found[2])
            yield DiffLine(change="hunk", number="", chars=arguments.chars(line))
        elif mark == "\\":
            yield DiffLine(change="note", number="", chars=arguments.chars(line[2:]))
        else:
            number = old if mark == "-" else new
            yield DiffLine(change=CHANGES[mark], number=str(number), chars=text)
            old, new = old + (mark != "+"), new + (mark != "-")


def _text_rows(data: bytes, first: int, *, is_end: bool) -> tuple[tuple[Row, ...], int, int]:
    """The lines of a window, how many bytes they are, and how many lines ended among them.

    A window that is not the end is cut behind its last whole line, or its last whole character.
    """
    end = data.rfind(b"\n") + 1
    used = data if is_end or not end else data[:end]
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(used, final=is_end)
    size = len(used) - len(decoder.getstate()[0])
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    rows = tuple(
        Row(number=str(first + at), chars=arguments.chars(one.removesuffix("\r")))
        for at, one in enumerate(lines)
    )
    return rows, size, text.count("\n")


def _hex_rows(data: bytes, offset: int) -> tuple[tuple[Row, ...], int, int]:
    rows = []
    for at in range(0, len(data), HEX_ROW):
        piece = data[at : at + HEX_ROW]
        plain = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in piece)
        written = f"{piece[:8].hex(' ')}  {piece[8:].hex(' ')}"
        rows.append(
            Row(number=f"{offset + at:08x}", chars=((f"{written:<49}", False, ""),), sides=plain)
        )
    return tuple(rows), len(data), 0
