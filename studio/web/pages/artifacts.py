"""Artifacts: one with its versions, its bytes to take away, and its picture where it is one."""

import codecs
from dataclasses import dataclass

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from studio.core.reader import ArtifactView, SessionView, VersionView
from studio.core.rules import media, ranges
from studio.core.rules.errors import Invalid, NotFound, StudioError
from studio.core.rules.files import GIVEN_BYTES
from studio.web import attachments, errors
from studio.web.render import Frame, frame, page
from studio.web.visit import asked, person, reader, runtime, typed

PREVIEW_BYTES = 50 * 1024
LOCKED = "sandbox; default-src 'none'"
KEPT = "private, max-age=86400, immutable"


@dataclass(frozen=True, kw_only=True)
class ArtifactPage:
    """An artifact. `text` is its beginning when it is text, `is_cut` when there is more."""

    frame: Frame
    artifact: ArtifactView
    session: SessionView
    text: str | None
    is_cut: bool
    is_picture: bool


async def show(request: Request) -> Response:
    """GET /artifacts/{artifact_id}."""
    found = await _artifact(request)
    shown = found.version
    text = None
    if media.kind(shown.media) == "text":
        data = b"".join([x async for x in reader(request).file(shown, 0, _shown(shown))])
        text = codecs.getincrementaldecoder("utf-8")("replace").decode(data)
    view = ArtifactPage(
        frame=await frame(request, found.row.name, nav="sessions"),
        artifact=found,
        session=await reader(request).session(person(request), found.row.session_id),
        text=text,
        is_cut=shown.size > PREVIEW_BYTES,
        is_picture=_is_picture(shown),
    )
    return page(request, "artifacts/show.html", view)


async def download(request: Request) -> Response:
    """GET /artifacts/{artifact_id}/content: the bytes, never opened in the page."""
    found = await _artifact(request)
    shown = found.version
    told = {
        "Content-Disposition": ranges.disposition(found.row.name),
        "Content-Security-Policy": LOCKED,
        "Content-Encoding": "identity",  # packed on the way it would have no ranges and no length
    }
    return _bytes(request, shown, "application/octet-stream", told)


async def picture(request: Request) -> Response:
    """GET /artifacts/{artifact_id}/picture: a PNG, JPEG, GIF or WebP to be looked at."""
    shown = (await _artifact(request)).version
    if not _is_picture(shown):
        raise NotFound("This is no picture that is shown here.", code="artifact.no_picture")
    told = {
        "Content-Disposition": "inline",
        "Content-Security-Policy": LOCKED,
        "Cache-Control": KEPT,
    }
    return _bytes(request, shown, shown.media, told)


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


async def _artifact(request: Request) -> ArtifactView:
    version = asked(request, "version")
    number = int(version) if version.isascii() and version.isdigit() and len(version) < 10 else None
    return await reader(request).artifact(
        person(request), request.path_params["artifact_id"], number,
        cursor=asked(request, "cursor") or None,
    )  # fmt: skip


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


def _shown(shown: VersionView) -> int:
    return min(shown.size, PREVIEW_BYTES)


def _is_picture(shown: VersionView) -> bool:
    return attachments.is_picture(shown.media) and bool(shown.width) and shown.size <= GIVEN_BYTES
