"""Disks: keep, restore, reset, stop, import; look into versions, compare them, take them away.

What changes a disk as a whole is an operation: asked for here, done by a worker, looked at by id.
"""

from typing import TYPE_CHECKING, Any

from starlette.responses import Response, StreamingResponse

from studio.api import answers as a
from studio.api import bodies as b
from studio.api import environment_bodies as eb
from studio.api.endpoint import Answer, Ask, Endpoint, Link
from studio.api.errors import HEADERS
from studio.api.sent import sent
from studio.api.shapes import Time
from studio.core.reader import ArtifactDiff, ArtifactFile, DiskDiff, DiskFile
from studio.core.rules import percent, ranges
from studio.core.rules.errors import NotFound
from studio.core.runtime import ARCHIVE_BYTES

if TYPE_CHECKING:
    from studio.core.reader import DiskChange, DiskEntry, DiskListing

OCTETS = "application/octet-stream"


async def keep(ask: Ask[b.NoQuery, eb.NewDiskVersion]) -> Answer:
    """Keep a version, once no command runs."""
    return _asked(await ask.runtime.keep_disk(ask.person, ask.part("id"), note=ask.body.note))


async def restore(ask: Ask[b.NoQuery, eb.NewRestore]) -> Answer:
    """Put a version in the disk's place."""
    return _asked(await ask.runtime.restore_disk(ask.person, ask.part("id"), ask.body.version))


async def reset(ask: Ask[b.NoQuery, b.NoBody]) -> Answer:
    """Empty the disk, after keeping it."""
    return _asked(await ask.runtime.reset_environment(ask.person, ask.part("id")))


async def start(ask: Ask[b.NoQuery, b.NoBody]) -> Answer:
    """Have it ready before a turn needs it."""
    return _asked(await ask.runtime.start_environment(ask.person, ask.part("id")))


async def stop(ask: Ask[b.NoQuery, b.NoBody]) -> Answer:
    """End whatever runs in it."""
    return _asked(await ask.runtime.stop_environment(ask.person, ask.part("id")))


async def take_in(ask: Ask[eb.ImportQuery, b.NoBody]) -> Answer:
    """Put what an archive holds in the disk's place."""
    async with sent(ask, ARCHIVE_BYTES) as (name, _, chunks):
        return _asked(
            await ask.runtime.import_disk(ask.person, ask.part("id"), name=name, chunks=chunks)
        )


async def operations(ask: Ask[eb.OperationsQuery, b.NoBody]) -> a.Operations:
    """The newest of what was asked."""
    rows = await ask.reader.operations(ask.person, ask.part("id"), limit=ask.query.limit)
    return a.Operations(items=a.take_all(a.Operation, rows))


async def operation(ask: Ask[b.NoQuery, b.NoBody]) -> a.Operation:
    """How one of them stands."""
    found = await ask.reader.operation(ask.person, ask.part("id"))
    return a.take(a.Operation, found)


async def files(ask: Ask[eb.FilesQuery, b.NoBody]) -> a.DiskFolder:
    """A page of a folder of a version."""
    path = path_of(ask)
    found = await ask.reader.disk_folder(
        ask.person, ask.part("id"), version_of(ask), path, after=path_of(ask, "after"),
        limit=ask.query.limit,
    )  # fmt: skip
    return folder_answer(found.version.version, found.path, found.listing)


async def content(ask: Ask[eb.PathQuery, b.NoBody]) -> Response:
    """The bytes of a file, never to be opened in place."""
    found = await ask.reader.disk_file(
        ask.person, ask.part("id"), version_of(ask), path_of(ask), most=0
    )
    return file_answer(ask, found)


async def archive(ask: Ask[eb.ArchiveQuery, b.NoBody]) -> Response:
    """A version as an archive, packed while it is sent."""
    number, form = version_of(ask), ask.query.form
    pieces = await ask.reader.disk_archive(ask.person, ask.part("id"), number, form)
    name = f"disk-v{number}.{form}"
    told = {**HEADERS, "Content-Disposition": ranges.disposition(name)}
    return StreamingResponse(pieces, media_type=OCTETS, headers=told)


async def diff(ask: Ask[eb.DiffQuery, b.NoBody]) -> a.DiskDiff:
    """How two versions differ."""
    q = ask.query
    found = await ask.reader.disk_diff(ask.person, ask.part("id"), q.before, q.after)
    return diff_answer(q.before, q.after, found)


async def text_diff(ask: Ask[eb.TextDiffQuery, b.NoBody]) -> a.DiskTextDiff:
    """How one file differs between two versions."""
    q = ask.query
    found = await ask.reader.disk_text_diff(
        ask.person, ask.part("id"), q.before, q.after, path_of(ask)
    )
    return a.take(a.DiskTextDiff, found)


def folder_answer(version: int, path: str, listing: "DiskListing") -> a.DiskFolder:
    """A page of a folder of a tree."""
    after = listing.next
    return a.DiskFolder(
        version=version, path=percent.clean(path), raw=percent.written(path), total=listing.total,
        items=tuple(entry(one) for one in listing.entries),
        next=percent.written(after) if after is not None else None,
    )  # fmt: skip


def diff_answer(before: int, after: int, found: DiskDiff | ArtifactDiff) -> a.DiskDiff:
    """How two trees differ."""
    return a.DiskDiff(
        before=before, after=after, counts=dict(found.counts), more=found.more,
        items=tuple(change(one) for one in found.changes),
    )  # fmt: skip


def file_answer(ask: Ask[Any, Any], found: DiskFile | ArtifactFile) -> Response:
    """A file of a tree."""
    tag = f'"{found.entry.hash}"'
    told = {
        **HEADERS, "ETag": tag,
        "Content-Disposition": ranges.disposition(percent.clean(found.entry.name)),
    }  # fmt: skip
    if ask.request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=told)
    told["Content-Length"] = str(found.entry.size)
    return StreamingResponse(ask.reader.disk_bytes(found.entry), media_type=OCTETS, headers=told)


def version_of(ask: Ask[Any, Any]) -> int:
    """The version that the path names."""
    text = ask.part("version")
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise NotFound("The disk has no such version.", code="disk.not_found")
    return int(text)


def _asked(operation_id: str) -> Answer:
    where = {"Location": f"/v1/operations/{operation_id}"}
    return Answer(value=a.OperationAsked(operation=operation_id), headers=where)


def path_of(ask: Ask[Any, Any], name: str = "path") -> str:
    """A path of the query with all of its bytes, which the plain query would lose."""
    return percent.asked(ask.request.scope["query_string"], name)


def entry(one: "DiskEntry") -> a.DiskEntry:
    """A name of a tree, as programs are given it."""
    return a.DiskEntry(
        path=percent.clean(one.path), raw=percent.written(one.path), name=percent.clean(one.name),
        type=one.type, mode=f"{one.mode:04o}", time=Time(one.mtime_ns // 1_000_000), size=one.size,
        hash=one.hash, target=percent.clean(one.target),
    )  # fmt: skip


def change(one: "DiskChange") -> a.DiskChange:
    """A path that differs, as programs are given it."""
    return a.DiskChange(
        path=percent.clean(one.path), raw=percent.written(one.path), what=one.what,
        before=entry(one.before) if one.before else None,
        after=entry(one.after) if one.after else None,
    )  # fmt: skip


OPERATION = (Link(to="show_operation", part="id", value="$response.body#/operation"),)
CHANGES: dict[str, Any] = {"gives": a.OperationAsked, "status": 202, "links": OPERATION}
ENVIRONMENT = "/environments/{id}"
VERSION = f"{ENVIRONMENT}/versions/{{version}}"

ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    Endpoint(
        name="keep_disk_version", method="POST", path=f"{ENVIRONMENT}/versions", call=keep,
        body=eb.NewDiskVersion, body_required=False, errors=(409,), **CHANGES,
        says="Keep a version of the disk, once no command runs.",
    ),
    Endpoint(
        name="restore_disk_version", method="POST", path=f"{ENVIRONMENT}/restore", call=restore,
        body=eb.NewRestore, errors=(409,), **CHANGES,
        says="Put a version in the disk's place; what is there now is kept first.",
    ),
    Endpoint(
        name="reset_environment", method="POST", path=f"{ENVIRONMENT}/reset", call=reset,
        errors=(409,), **CHANGES, says="Empty the disk, after keeping it.",
    ),
    Endpoint(
        name="start_environment", method="POST", path=f"{ENVIRONMENT}/start", call=start,
        errors=(409,), **CHANGES,
        says="Set an environment up and start it, before a turn needs it.",
    ),
    Endpoint(
        name="stop_environment", method="POST", path=f"{ENVIRONMENT}/stop", call=stop,
        errors=(409,), **CHANGES, says="End whatever runs in an environment; the disk stays.",
    ),
    Endpoint(
        name="import_disk", method="POST", path=f"{ENVIRONMENT}/import", call=take_in,
        query=eb.ImportQuery, takes_file=True, needs=("operator", "import an archive"),
        errors=(409,), **CHANGES,
        says="Put what a tar, tar.gz, tar.zst or zip archive holds in the disk's place.",
    ),
    Endpoint(
        name="list_operations", method="GET", path=f"{ENVIRONMENT}/operations", call=operations,
        gives=a.Operations, query=eb.OperationsQuery,
        says="List what was asked of a disk, the last one first.",
    ),
    Endpoint(
        name="show_operation", method="GET", path="/operations/{id}", call=operation,
        gives=a.Operation, says="See how something that was asked of a disk stands.",
    ),
    Endpoint(
        name="list_disk_files", method="GET", path=f"{VERSION}/files", call=files,
        gives=a.DiskFolder, query=eb.FilesQuery, says="List a folder of a kept version.",
    ),
    Endpoint(
        name="download_disk_file", method="GET", path=f"{VERSION}/content", call=content,
        gives=None, query=eb.PathQuery, gives_file=True,
        says="Take the bytes of a file of a kept version away.",
    ),
    Endpoint(
        name="download_disk_version", method="GET", path=f"{VERSION}/archive", call=archive,
        gives=None, query=eb.ArchiveQuery, gives_file=True,
        says="Take a kept version away as an archive.",
    ),
    Endpoint(
        name="diff_disk_versions", method="GET", path=f"{ENVIRONMENT}/diff", call=diff,
        gives=a.DiskDiff, query=eb.DiffQuery, says="Compare two kept versions.",
    ),
    Endpoint(
        name="diff_disk_file", method="GET", path=f"{ENVIRONMENT}/diff/text", call=text_diff,
        gives=a.DiskTextDiff, query=eb.TextDiffQuery,
        says="Compare one file of two kept versions, line by line.",
    ),
)  # fmt: skip
