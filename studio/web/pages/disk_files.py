"""Looking into a kept version of a disk: folders in pages, files as text, picture or bytes."""

from dataclasses import dataclass
from typing import Literal

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from studio.core.reader import DiskFile, DiskFolder, EnvironmentView, SessionRow
from studio.core.rules import percent, ranges
from studio.core.rules.errors import Invalid, NotFound, Refused, StudioError, TooLarge
from studio.web import arguments, errors, trees
from studio.web.pages.disks import version_of
from studio.web.render import Frame, frame, page
from studio.web.visit import asked, may, onward, person, reader, runtime, text, typed

SESSIONS = 50  # newest, that a folder can be kept with


@dataclass(frozen=True, kw_only=True)
class FolderPage:
    """A page of a folder. `above` are the folders that lead to it, as (name, path).

    `sessions` are those that it can be kept with as an artifact, `chosen` and `name` what was
    typed, `refusal` why it was not kept.
    """

    frame: Frame
    environment: EnvironmentView
    folder: DiskFolder
    above: tuple[tuple[str, str], ...]
    after: str
    sessions: tuple[SessionRow, ...] = ()
    chosen: str = ""
    name: str = ""
    refusal: StudioError | None = None

    @property
    def session_options(self) -> tuple[tuple[str, str], ...]:
        """What the form offers."""
        return tuple((row.id, arguments.one_line(row.title)) for row in self.sessions)


@dataclass(frozen=True, kw_only=True)
class FilePage:
    """A file, and the window of it that is shown."""

    frame: Frame
    environment: EnvironmentView
    file: DiskFile
    above: tuple[tuple[str, str], ...]
    shown: trees.Shown


async def show(request: Request) -> Response:
    """GET /environments/{environment}/disk/{version}: a folder, or a file, by its path."""
    path = trees.path_of(request).strip("/")
    environment = await reader(request).environment(person(request), _word(request))
    try:
        return await _folder(request, environment, path)
    except Invalid as no:
        if no.code != "disk.no_folder":
            raise
        return await _file(request, environment, path)


async def keep(request: Request) -> Response:
    """POST /environments/{environment}/disk/{version}/artifact?path=: keep a folder as one."""
    form, path = await typed(request), trees.path_of(request).strip("/")
    session_id, name = text(form, "session"), text(form, "name").strip()
    environment = await reader(request).environment(person(request), _word(request))
    try:
        done = await runtime(request).keep_folder(
            person(request), session_id, environment=environment.row.id,
            version=version_of(request), path=path, name=name,
        )  # fmt: skip
    except (Invalid, Refused, TooLarge) as refusal:
        return await _folder(
            request, environment, path, chosen=session_id, name=name, refusal=refusal
        )
    return onward(request, f"/artifacts/{done.artifact_id}?version={done.version}")


async def download(request: Request) -> Response:
    """GET /environments/{environment}/disk/{version}/content: a file's bytes, never opened here."""
    found = await _found(request, trees.path_of(request))
    told = {
        "Content-Disposition": ranges.disposition(percent.clean(found.entry.name)),
        "Content-Length": str(found.entry.size),
    }
    return trees.content(request, found, trees.OCTETS, told)


async def picture(request: Request) -> Response:
    """GET /environments/{environment}/disk/{version}/picture: a PNG, JPEG, GIF or WebP."""
    found = await _found(request, trees.path_of(request))
    if not trees.is_picture(found):
        raise NotFound("This is no picture that is shown here.", code="disk.no_picture")
    told = {"Content-Disposition": "inline", "Cache-Control": trees.KEPT}
    return trees.content(request, found, found.look.media, told)


async def archive(request: Request) -> Response:
    """GET /environments/{environment}/disk/{version}/archive: all of it, packed as it is sent."""
    number = version_of(request)
    form: Literal["tar.zst", "zip"] = "zip" if asked(request, "form") == "zip" else "tar.zst"
    pieces = await reader(request).disk_archive(person(request), _word(request), number, form)
    told = {
        "Content-Disposition": ranges.disposition(f"disk-v{number}.{form}"),
        "Content-Security-Policy": trees.LOCKED, "Content-Encoding": "identity",
    }  # fmt: skip
    return StreamingResponse(pieces, media_type=trees.OCTETS, headers=told)


async def _folder(
    request: Request, environment: EnvironmentView, path: str, *, chosen: str = "",
    name: str | None = None, refusal: StudioError | None = None,
) -> Response:  # fmt: skip
    asking, after = person(request), trees.path_of(request, "after")
    folder = await reader(request).disk_folder(
        asking, environment.row.id, version_of(request), path, after=after, limit=trees.NAMES
    )
    found = await reader(request).sessions(asking, environment=environment.row.id, limit=SESSIONS)
    named = name if name is not None else arguments.one_line(path.rpartition("/")[2])
    view = FolderPage(
        frame=await frame(request, _title(path, folder.version.version), nav="environments"),
        environment=environment, folder=folder, above=trees.above(path), after=after,
        sessions=tuple(found.items) if may(request, "operator") else (),
        chosen=chosen, name=named or environment.row.name, refusal=refusal,
    )  # fmt: skip
    status = errors.status(refusal) if refusal else 200
    return page(request, "environments/disk_folder.html", view, status=status)


async def _file(request: Request, environment: EnvironmentView, path: str) -> Response:
    found = await _found(request, path, offset=trees.whole(request, "offset"))
    view = FilePage(
        frame=await frame(request, _title(path, found.version.version), nav="environments"),
        environment=environment, file=found, above=trees.above(path),
        shown=trees.shown(request, found),
    )  # fmt: skip
    return page(request, "environments/disk_file.html", view)


async def _found(request: Request, path: str, *, offset: int = 0) -> DiskFile:
    return await reader(request).disk_file(
        person(request), _word(request), version_of(request), path, offset=offset,
        most=trees.TEXT_BYTES,
    )  # fmt: skip


def _title(path: str, version: int) -> str:
    name = arguments.one_line(path.rpartition("/")[2])
    return f"{name} in version {version}" if path else f"Version {version}"


def _word(request: Request) -> str:
    return str(request.path_params["environment"])
