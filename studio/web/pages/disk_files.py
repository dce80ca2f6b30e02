"""Looking into a kept version of a disk: folders in pages, files as text, picture or bytes.

What lies on a disk was written by agents: nothing of it is ever opened on our origin but pictures
that cannot hold a script, and those under a policy of their own.
"""

import codecs
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from studio.core.reader import DiskFile, DiskFolder, EnvironmentView
from studio.core.rules import percent, ranges
from studio.core.rules.errors import Invalid, NotFound
from studio.core.rules.files import GIVEN_BYTES
from studio.web import arguments
from studio.web.arguments import Chars
from studio.web.pages.artifacts import KEPT, LOCKED
from studio.web.pages.disks import version_of
from studio.web.render import Frame, frame, page
from studio.web.visit import asked, person, reader

NAMES = 200  # of a folder at once
TEXT_BYTES = 50 * 1024
HEX_BYTES, HEX_ROW = 4 * 1024, 16
MOST_LINE = 2**53
OCTETS = "application/octet-stream"


@dataclass(frozen=True, kw_only=True)
class FolderPage:
    """A page of a folder. `above` are the folders that lead to it, as (name, path)."""

    frame: Frame
    environment: EnvironmentView
    folder: DiskFolder
    above: tuple[tuple[str, str], ...]
    after: str


@dataclass(frozen=True, kw_only=True)
class Row:
    """A line of text with its number, or sixteen bytes with their offset; `sides` of bytes."""

    number: str
    chars: Chars
    sides: str = ""


@dataclass(frozen=True, kw_only=True)
class FilePage:
    """A file. `rows` are a window of it from byte `offset` on; `next` is (byte, line) behind it.

    `is_crlf` says that lines end as on Windows, which the rows do not show.
    """

    frame: Frame
    environment: EnvironmentView
    file: DiskFile
    above: tuple[tuple[str, str], ...]
    shown: Literal["text", "image", "hex"]
    rows: tuple[Row, ...] = ()
    next: tuple[int, int] | None = None
    is_crlf: bool = False


async def show(request: Request) -> Response:
    """GET /environments/{environment}/disk/{version}: a folder, or a file, by its path."""
    path = _path(request).strip("/")
    environment = await reader(request).environment(person(request), _word(request))
    try:
        folder = await reader(request).disk_folder(
            person(request), environment.row.id, version_of(request), path,
            after=_path(request, "after"), limit=NAMES,
        )  # fmt: skip
    except Invalid as no:
        if no.code != "disk.no_folder":
            raise
        return await _file(request, environment, path)
    view = FolderPage(
        frame=await frame(request, _title(path, folder.version.version), nav="environments"),
        environment=environment, folder=folder, above=_above(path),
        after=_path(request, "after"),
    )  # fmt: skip
    return page(request, "environments/disk_folder.html", view)


async def download(request: Request) -> Response:
    """GET /environments/{environment}/disk/{version}/content: a file's bytes, never opened here."""
    found = await _found(request, _path(request))
    told = {
        "Content-Disposition": ranges.disposition(percent.clean(found.entry.name)),
        "Content-Length": str(found.entry.size),
    }
    return _bytes(request, found, OCTETS, told)


async def picture(request: Request) -> Response:
    """GET /environments/{environment}/disk/{version}/picture: a PNG, JPEG, GIF or WebP."""
    found = await _found(request, _path(request))
    if not _is_picture(found):
        raise NotFound("This is no picture that is shown here.", code="disk.no_picture")
    told = {"Content-Disposition": "inline", "Cache-Control": KEPT}
    return _bytes(request, found, found.look.media, told)


async def archive(request: Request) -> Response:
    """GET /environments/{environment}/disk/{version}/archive: all of it, packed as it is sent."""
    number = version_of(request)
    form: Literal["tar.zst", "zip"] = "zip" if asked(request, "form") == "zip" else "tar.zst"
    pieces = await reader(request).disk_archive(person(request), _word(request), number, form)
    told = {
        "Content-Disposition": ranges.disposition(f"disk-v{number}.{form}"),
        "Content-Security-Policy": LOCKED, "Content-Encoding": "identity",
    }  # fmt: skip
    return StreamingResponse(pieces, media_type=OCTETS, headers=told)


async def _file(request: Request, environment: EnvironmentView, path: str) -> Response:
    offset, line = _whole(request, "offset"), max(1, _whole(request, "line"))
    found = await _found(request, path, offset=offset)
    shown: Literal["text", "image", "hex"] = "hex"
    if _is_picture(found):
        shown = "image"
    elif found.look.kind == "text" and not asked(request, "hex"):
        shown = "text"
    data = found.data[:HEX_BYTES] if shown == "hex" else found.data
    rest = found.entry.size - offset - len(data)
    rows, used, lines = (
        _text_rows(data, line, is_end=rest <= 0) if shown == "text" else _hex_rows(data, offset)
    )
    behind = offset + used
    view = FilePage(
        frame=await frame(request, _title(path, found.version.version), nav="environments"),
        environment=environment, file=found, above=_above(path), shown=shown,
        rows=rows if shown != "image" else (),
        next=(behind, line + lines) if shown != "image" and behind < found.entry.size else None,
        is_crlf=shown == "text" and b"\r\n" in data,
    )  # fmt: skip
    return page(request, "environments/disk_file.html", view)


async def _found(request: Request, path: str, *, offset: int = 0) -> DiskFile:
    return await reader(request).disk_file(
        person(request), _word(request), version_of(request), path, offset=offset, most=TEXT_BYTES
    )


def _bytes(request: Request, found: DiskFile, kind: str, told: dict[str, str]) -> Response:
    headers = {
        **told, "ETag": f'"{found.entry.hash}"', "Content-Security-Policy": LOCKED,
        "Content-Encoding": "identity",
    }  # fmt: skip
    if request.headers.get("if-none-match") == headers["ETag"]:
        headers.pop("Content-Length", None)
        return Response(status_code=304, headers=headers)
    return StreamingResponse(reader(request).disk_bytes(found), media_type=kind, headers=headers)


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


def _above(path: str) -> tuple[tuple[str, str], ...]:
    """The folders that lead to a path, as (name, path), the top one left out."""
    parts = PurePosixPath(path).parts[:-1] if path else ()
    return tuple((name, "/".join(parts[: at + 1])) for at, name in enumerate(parts))


def _is_picture(found: DiskFile) -> bool:
    return found.look.kind == "image" and found.entry.size <= GIVEN_BYTES


def _title(path: str, version: int) -> str:
    name = arguments.one_line(path.rpartition("/")[2])
    return f"{name} in version {version}" if path else f"Version {version}"


def _path(request: Request, name: str = "path") -> str:
    """A path of the query with all of its bytes, which the plain query would lose."""
    return percent.asked(request.scope["query_string"], name)


def _whole(request: Request, name: str) -> int:
    written = asked(request, name)
    found = int(written) if written.isascii() and written.isdecimal() and len(written) < 16 else 0
    return min(found, MOST_LINE)


def _word(request: Request) -> str:
    return str(request.path_params["environment"])
