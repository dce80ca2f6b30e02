"""Artifacts: send a file for a message, keep one with a session, list, read and take them away."""

from typing import Any

from starlette.responses import Response, StreamingResponse

from studio.api import answers as a
from studio.api import artifact_bodies as ab
from studio.api import bodies as b
from studio.api.disks import file_answer, path_of
from studio.api.endpoint import Answer, Ask, Endpoint
from studio.api.errors import HEADERS, Problem
from studio.api.sent import sent
from studio.core.reader import ArtifactView
from studio.core.rules import media, ranges


async def upload(ask: Ask[b.UploadQuery, b.NoBody]) -> Answer:
    """Send a file for a message."""
    async with sent(ask, ask.runtime.limits.upload_bytes) as (name, kind, chunks):
        done = await ask.runtime.upload(ask.person, name=name, media=kind, chunks=chunks)
    found = done.found
    told = a.Upload(id=done.id, name=done.name, media=found.media, size=found.size, hash=found.hash)
    return Answer(value=told, headers={"Location": f"/v1/uploads/{done.id}"})


async def save(ask: Ask[b.ArtifactQuery, b.NoBody]) -> Answer:
    """Keep a file with a session."""
    async with sent(ask, ask.runtime.limits.upload_bytes) as (name, kind, chunks):
        done = await ask.runtime.save_artifact(
            ask.person, ask.part("id"), name=name, media=kind, chunks=chunks,
            artifact_id=ask.query.artifact, key=ask.key,
        )  # fmt: skip
    where = {"Location": f"/v1/artifacts/{done.artifact_id}"}
    return Answer(value=a.take(a.SavedArtifact, done), headers=where)


async def index(ask: Ask[b.PageQuery, b.NoBody]) -> a.Artifacts:
    """A page of a session's artifacts."""
    page = await ask.reader.artifacts(
        ask.person, ask.part("id"), limit=ask.query.limit, cursor=ask.query.cursor
    )
    return a.Artifacts(items=a.take_all(a.Artifact, page.items), next=page.next)


async def show(ask: Ask[b.PageQuery, b.NoBody]) -> a.ArtifactDetail:
    """One artifact and a page of its versions."""
    view = await ask.reader.artifact(
        ask.person, ask.part("id"), limit=ask.query.limit, cursor=ask.query.cursor
    )
    return a.ArtifactDetail(
        artifact=a.take(a.Artifact, view.row),
        versions=a.take_all(a.ArtifactVersion, view.versions),
        next=view.next,
    )


async def download(ask: Ask[ab.ContentQuery, b.NoBody]) -> Response:
    """The bytes of a version, or a range of them; of a folder an archive, or a file in it."""
    view = await ask.reader.artifact(ask.person, ask.part("id"), ask.query.version, limit=1)
    if view.row.kind == "folder":
        return await _of_folder(ask, view)
    shown, asked = view.version, ask.request.headers
    told = {**HEADERS, "Content-Disposition": ranges.disposition(view.row.name)}
    tag = f'"{shown.hash}"'
    if asked.get("if-none-match") == tag:
        return Response(status_code=304, headers={**told, "ETag": tag})
    span = ranges.span(asked.get("range"), shown.size)
    if span is None:
        headers = {"Content-Range": f"bytes */{shown.size}"}
        raise Problem(416, "range.outside", "The range lies behind the end.", headers=headers)
    chunks = ask.reader.file(shown, span.begin, span.end)
    headers = {**told, **ranges.headers(span, shown.size, shown.hash)}
    status = 206 if span.partial else 200
    kind = media.bare(shown.media) or media.UNKNOWN  # once kept as what was declared, whatever
    return StreamingResponse(chunks, status, media_type=kind, headers=headers)


async def _of_folder(ask: Ask[ab.ContentQuery, b.NoBody], view: ArtifactView) -> Response:
    id, number, path = view.row.id, view.version.version, path_of(ask)
    if not path:
        form = ask.query.form
        pieces = await ask.reader.artifact_archive(ask.person, id, number, form)
        told = {**HEADERS, "Content-Disposition": ranges.disposition(f"{view.row.name}.{form}")}
        return StreamingResponse(pieces, media_type=media.UNKNOWN, headers=told)
    return file_answer(ask, await ask.reader.artifact_file(ask.person, id, number, path, most=0))


ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    Endpoint(
        name="upload_file", method="POST", path="/uploads", call=upload, gives=a.Upload,
        status=201, query=b.UploadQuery, takes_file=True, needs=("operator", "send a file"),
        says="Send a file for a message, as it is or as a multipart form with the field `file`.",
    ),
    Endpoint(
        name="save_artifact", method="POST", path="/sessions/{id}/artifacts", call=save,
        gives=a.SavedArtifact, status=201, query=b.ArtifactQuery, takes_file=True, keyed=True,
        needs=("operator", "save an artifact"),
        says="Keep a file with a session: a new artifact, or a new version of one.",
    ),
    Endpoint(
        name="list_artifacts", method="GET", path="/sessions/{id}/artifacts", call=index,
        gives=a.Artifacts, query=b.PageQuery, says="List a session's artifacts.",
    ),
    Endpoint(
        name="show_artifact", method="GET", path="/artifacts/{id}", call=show,
        gives=a.ArtifactDetail, query=b.PageQuery,
        says="Read an artifact with a page of its versions.",
    ),
    Endpoint(
        name="download_artifact", method="GET", path="/artifacts/{id}/content", call=download,
        gives=None, query=ab.ContentQuery, gives_file=True, errors=(416,),
        says="Take the bytes of a version away; Range and If-None-Match are understood. What "
        "was kept with a type that is none comes as application/octet-stream. Of a folder: an "
        "archive, or with `path` one of its files.",
    ),
)  # fmt: skip
