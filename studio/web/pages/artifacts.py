"""Artifacts: one with its versions, its bytes to take away, its picture, its links to others.

A folder is looked into here as well: with a `path`, one of its folders or files.
"""

import codecs
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from studio.core.reader import (
    ArtifactFile,
    ArtifactFolder,
    ArtifactView,
    LinkRow,
    SessionView,
    VersionView,
)
from studio.core.rules import media, percent, ranges
from studio.core.rules.errors import Invalid, NotFound, StudioError
from studio.core.rules.files import GIVEN_BYTES
from studio.core.runtime import LONGEST_MINUTES
from studio.web import attachments, errors, trees
from studio.web.render import Frame, block, frame, page
from studio.web.trees import KEPT, LOCKED
from studio.web.visit import asked, is_swap, may, onward, person, reader, runtime, text, typed

SHOW = "artifacts/show.html"
PREVIEW_BYTES = 50 * 1024
MINUTES = (
    ("1", "1 minute"), *((str(n), f"{n} minutes") for n in (2, 5, 10, LONGEST_MINUTES)),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Inside:
    """What is seen of a folder: a page of one in it, or a file; `above` leads there."""

    folder: ArtifactFolder | None = None
    file: ArtifactFile | None = None
    shown: trees.Shown | None = None
    above: tuple[tuple[str, str], ...] = ()
    after: str = ""


@dataclass(frozen=True, kw_only=True)
class ArtifactPage:
    """An artifact. `text` is a file's beginning when it is text, `is_cut` when there is more.

    `here` is the address of what is shown, with `made` that of a link that was made just now, which
    is shown this once.
    """

    frame: Frame
    here: str
    artifact: ArtifactView
    session: SessionView
    links: tuple[LinkRow, ...]
    may_link: bool
    minutes: tuple[tuple[str, str], ...] = MINUTES
    chosen: str = str(LONGEST_MINUTES)
    made: str = ""
    refusal: StudioError | None = None
    text: str | None = None
    is_cut: bool = False
    is_picture: bool = False
    inside: Inside | None = None


async def show(request: Request) -> Response:
    """GET /artifacts/{artifact_id}, with `version` and, of a folder, `path`.

    `?region=all` gives what changes alone.
    """
    return await _show(request, asked(request, "version"))


async def download(request: Request) -> Response:
    """GET /artifacts/{artifact_id}/content: the bytes, never opened in the page.

    Of a folder: an archive, or with a `path` one of its files.
    """
    found = await _artifact(request)
    shown = found.version
    if found.row.kind == "folder":
        return await _download_of_folder(request, found)
    told = {
        "Content-Disposition": ranges.disposition(found.row.name),
        "Content-Security-Policy": LOCKED,
        "Content-Encoding": "identity",  # packed on the way it would have no ranges and no length
    }
    return _bytes(request, shown, trees.OCTETS, told)


async def picture(request: Request) -> Response:
    """GET /artifacts/{artifact_id}/picture: a PNG, JPEG, GIF or WebP to be looked at."""
    found = await _artifact(request)
    shown = found.version
    told = {"Content-Disposition": "inline", "Cache-Control": KEPT}
    if found.row.kind == "folder":
        file = await _file(request, found)
        if trees.is_picture(file):
            return trees.content(request, file, file.look.media, told)
    elif _is_picture(shown):
        return _bytes(request, shown, shown.media, {**told, "Content-Security-Policy": LOCKED})
    raise NotFound("This is no picture that is shown here.", code="artifact.no_picture")


async def link(request: Request) -> Response:
    """POST /artifacts/{artifact_id}/links: answered by the page itself, which shows it once."""
    form = await typed(request)
    version, minutes = text(form, "version"), text(form, "minutes")
    try:
        made = await runtime(request).make_link(
            person(request), _id(request), version=_number(version),
            minutes=_number(minutes) or 0,
        )  # fmt: skip
    except Invalid as refusal:
        return await _show(request, version, refusal=refusal)
    url = request.app.state.settings.url
    return await _show(request, version, made=f"{url}/links/{made.token}")


async def revoke(request: Request) -> Response:
    """POST /artifacts/{artifact_id}/links/{link_id}/revocation."""
    await runtime(request).revoke_link(
        person(request), _id(request), request.path_params["link_id"]
    )
    return onward(request, f"/artifacts/{_id(request)}#links-title")


async def take(request: Request) -> Response:
    """POST /uploads: one file for a message that is being written; a script asks."""
    try:
        item = (await typed(request)).get("file")
        if not isinstance(item, UploadFile):
            raise Invalid("There is no file in this request.", code="file.missing")
        done = await attachments.take(request, item)
    except StudioError as refusal:
        return JSONResponse({"message": refusal.message}, errors.status(refusal))
    return JSONResponse(
        {"id": done.id, "name": done.name, "media": done.found.media, "size": done.found.size}, 201
    )


async def drop(request: Request) -> Response:
    """POST /uploads/{upload_id}/removal."""
    await runtime(request).drop_upload(person(request), request.path_params["upload_id"])
    return Response(status_code=204)


async def _show(
    request: Request, version: str, *, made: str = "", refusal: StudioError | None = None
) -> Response:
    found, asking = await _artifact(request, version), person(request)
    is_folder = found.row.kind == "folder"
    beginning = None if is_folder else await _beginning(request, found.version)
    live = f"/live/artifact/{found.row.id}"
    view = ArtifactPage(
        frame=await frame(request, found.row.name, nav="sessions", live=live),
        here=_here(request, version),
        artifact=found,
        session=await reader(request).session(asking, found.row.session_id),
        links=await reader(request).artifact_links(asking, found.row.id),
        may_link=may(request, "operator"),
        made=made, refusal=refusal,
        text=beginning,
        is_cut=beginning is not None and found.version.size > PREVIEW_BYTES,
        is_picture=_is_picture(found.version),
        inside=await _inside(request, found) if is_folder else None,
    )  # fmt: skip
    if is_swap(request) and asked(request, "region") == "all":
        return block(request, SHOW, "all", view)
    return page(request, SHOW, view, status=errors.status(refusal) if refusal else 200)


def _here(request: Request, version: str) -> str:
    """The address of what is shown, also where a form answered; a part of it is asked for there."""
    query = request.url.query if request.method == "GET" else urlencode({"version": version})
    kept = "&".join(part for part in query.split("&") if not part.startswith("region="))
    return f"/artifacts/{_id(request)}?{kept}"


async def _beginning(request: Request, shown: VersionView) -> str | None:
    """The first of a text, None of what is none."""
    if media.kind(shown.media) != "text":
        return None
    pieces = reader(request).file(shown, 0, min(shown.size, PREVIEW_BYTES))
    data = b"".join([piece async for piece in pieces])
    return codecs.getincrementaldecoder("utf-8")("replace").decode(data)


async def _inside(request: Request, found: ArtifactView) -> Inside:
    """What the path leads to: a folder, or a file."""
    path, after = trees.path_of(request).strip("/"), trees.path_of(request, "after")
    try:
        folder = await reader(request).artifact_folder(
            person(request), found.row.id, found.version.version, path, after=after,
            limit=trees.NAMES,
        )  # fmt: skip
    except Invalid as no:
        if no.code != "disk.no_folder":
            raise
        file = await _file(request, found, offset=trees.whole(request, "offset"))
        return Inside(file=file, shown=trees.shown(request, file), above=trees.above(path))
    return Inside(folder=folder, above=trees.above(path), after=after)


async def _file(request: Request, found: ArtifactView, *, offset: int = 0) -> ArtifactFile:
    return await reader(request).artifact_file(
        person(request), found.row.id, found.version.version, trees.path_of(request),
        offset=offset, most=trees.TEXT_BYTES,
    )  # fmt: skip


async def _download_of_folder(request: Request, found: ArtifactView) -> Response:
    if trees.path_of(request):
        file = await _file(request, found)
        told = {
            "Content-Disposition": ranges.disposition(percent.clean(file.entry.name)),
            "Content-Length": str(file.entry.size),
        }
        return trees.content(request, file, trees.OCTETS, told)
    form: Literal["tar.zst", "zip"] = "tar.zst" if asked(request, "form") == "tar.zst" else "zip"
    pieces = await reader(request).artifact_archive(
        person(request), found.row.id, found.version.version, form
    )
    told = {
        "Content-Disposition": ranges.disposition(f"{found.row.name}.{form}"),
        "Content-Security-Policy": LOCKED, "Content-Encoding": "identity",
    }  # fmt: skip
    return StreamingResponse(pieces, media_type=trees.OCTETS, headers=told)


async def _artifact(request: Request, version: str | None = None) -> ArtifactView:
    wanted = asked(request, "version") if version is None else version
    return await reader(request).artifact(
        person(request), _id(request), _number(wanted), cursor=asked(request, "cursor") or None
    )


def _id(request: Request) -> str:
    return str(request.path_params["artifact_id"])


def _number(written: str) -> int | None:
    return int(written) if written.isascii() and written.isdigit() and len(written) < 10 else None


def _bytes(request: Request, shown: VersionView, kind: str, told: dict[str, str]) -> Response:
    if request.headers.get("if-none-match") == f'"{shown.hash}"':
        return Response(status_code=304, headers={"ETag": f'"{shown.hash}"', **told})
    span = ranges.span(request.headers.get("range"), shown.size)
    if span is None:
        return Response(status_code=416, headers={"Content-Range": f"bytes */{shown.size}"})
    headers = {**told, **ranges.headers(span, shown.size, shown.hash)}
    chunks = reader(request).file(shown, span.begin, span.end)
    status = 206 if span.partial else 200
    return StreamingResponse(chunks, status, media_type=kind, headers=headers)


def _is_picture(shown: VersionView) -> bool:
    return attachments.is_picture(shown.media) and bool(shown.width) and shown.size <= GIVEN_BYTES
