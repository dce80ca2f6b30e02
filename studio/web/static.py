"""The files beside the pages: found, hashed, packed.

A URL carries the hash of its file (`?v=`), so a browser may keep the answer for good and never sees
an old one. What packs well is sent with gzip; only these files are, for nothing secret is in them.
"""

import gzip
import hashlib
import mimetypes
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

PACKAGE = Path(__file__).resolve().parent.parent
FOR_GOOD = "public, max-age=31536000, immutable"
A_WHILE = "public, max-age=300"
PACKED = ("text/", "image/svg", "application/json")
TYPES = {".js": "text/javascript", ".woff2": "font/woff2", ".svg": "image/svg+xml"}
STYLES = "css/studio.css"
FONT = "/static/fonts/inter-latin-wght-normal.woff2"  # to the letter as the styles ask for it
SCRIPTS = "js/bundle.js"
OWN = "studio.js"  # it says when the others begin
VENDORED = ("htmx", "hx-csp", "hx-sse")  # hx-csp stands before anything that it must guard
# In brackets a function is compiled before it is called, while the page is still read.
LATER = (b'addEventListener("studio:begin", (() => {', b"window.htmx = htmx;\n}), { once: true });")

Dated = tuple[tuple[Path, int], ...]


def folder(name: str) -> Path:
    """`templates` or `static`: inside the installed package, or beside it in a checkout."""
    inside = PACKAGE / name
    return inside if inside.is_dir() else PACKAGE.parent / name


@dataclass(frozen=True, kw_only=True)
class File:
    """One file as it is sent."""

    data: bytes
    packed: bytes
    media: str
    hash: str


def href(path: str) -> str:
    """The URL of a static file; a name that is not there stays as it is and answers 404.

    Every page asks for some, so the disk is looked at once a second.
    """
    return _href(path, int(time.monotonic()))


@lru_cache(maxsize=256)
def _href(path: str, _second: int) -> str:
    found = find(path)
    return f"/static/{path}?v={found.hash}" if found else f"/static/{path}"


def find(path: str) -> File | None:
    """The file of that name below `static`, read again when it changed on disk."""
    if path == STYLES:
        return _styles(_sheets())
    if path == SCRIPTS:
        return _scripts(_own(), _vendored())
    if "\0" in path:
        return None
    root = folder("static")
    target = (root / path).resolve()
    if not target.is_relative_to(root) or not target.is_file():
        return None
    return _read(target, target.stat().st_mtime_ns)


async def serve(request: Request) -> Response:
    """GET /static/{path}."""
    found = find(request.path_params["path"])
    if found is None:
        raise HTTPException(404)
    headers = {
        "ETag": f'"{found.hash}"',
        "Cache-Control": FOR_GOOD if _is_pinned(request.query_params, found) else A_WHILE,
        "Vary": "Accept-Encoding",
    }
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    data = found.data
    if found.packed and "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        data = found.packed
    return Response(data, media_type=found.media, headers=headers)


async def favicon(request: Request) -> Response:
    """GET /favicon.ico, for browsers that do not read the page's own link."""
    return RedirectResponse(href("img/studio.svg"), 308)


def _is_pinned(query: QueryParams, found: File) -> bool:
    return query.get("v") == found.hash


@lru_cache(maxsize=256)
def _read(path: Path, _changed: int) -> File:
    media = TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0]
    return _file(path.read_bytes(), media or "application/octet-stream")


def _sheets() -> Dated:
    """Every sheet of styles, the one that declares the layers first."""
    paths = folder("static").glob("css/*.css")
    return _dated(*sorted(paths, key=lambda path: (path.stem != "tokens", path)))


def _own() -> Dated:
    return _dated(folder("static") / "js" / OWN)


def _vendored() -> Dated:
    """What others wrote, in the order in which it must run."""
    files = (folder("static") / "js" / "vendor").glob
    return _dated(*(path for name in VENDORED for path in files(f"{name}-[0-9]*.min.js")))


def _dated(*paths: Path) -> Dated:
    return tuple((path, path.stat().st_mtime_ns) for path in paths)


@lru_cache(maxsize=2)
def _styles(files: Dated) -> File:
    """Several files as one answer: one request in place of one a file."""
    return _file(_joined(files), "text/css")


@lru_cache(maxsize=2)
def _scripts(own: Dated, vendored: Dated) -> File:
    """The same of what every page runs; what others wrote runs once the first frame is there."""
    first, last = LATER
    return _file(b"\n".join((_joined(own), first, _joined(vendored), last)), "text/javascript")


def _joined(files: Dated) -> bytes:
    return b"\n".join(path.read_bytes() for path, _changed in files)


def _file(data: bytes, media: str) -> File:
    packs = media.startswith(PACKED) and len(data) > 512
    return File(
        data=data,
        packed=gzip.compress(data, 9, mtime=0) if packs else b"",
        media=media,
        hash=hashlib.sha256(data).hexdigest()[:16],
    )
