"""A disk: its kept versions, what is asked of it, putting one back after a look at what it changes.

`disk_tab` is what the page of an environment shows of its disk; the rest are pages of their own.
"""

from dataclasses import dataclass

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import (
    DiskDiff,
    DiskVersionRow,
    EnvironmentView,
    OperationRow,
    Page,
)
from studio.core.rules.access import needs
from studio.core.rules.errors import Invalid, NotFound, StudioError
from studio.web import attachments, errors
from studio.web.render import Frame, block, frame, page
from studio.web.visit import asked, may, onward, person, reader, runtime, text, typed

SHOW = "environments/disk.html"
OPERATIONS = 10  # newest, looked through for those in hand


@dataclass(frozen=True, kw_only=True)
class DiskTab:
    """A disk as `environments/_disk.html` shows it; `said` is in hand or came last.

    `cursor` is the page of versions that is shown, "" for the newest.
    """

    environment: EnvironmentView
    versions: Page[DiskVersionRow]
    said: tuple[OperationRow, ...]
    may_act: bool
    may_remove: bool
    cursor: str = ""

    @property
    def url(self) -> str:
        """Where the pages of this disk are."""
        return f"/environments/{self.environment.row.id}/disk"

    @property
    def is_busy(self) -> bool:
        """Something asked of it is not over, so nothing else may be asked."""
        return any(not one.is_over for one in self.said)


@dataclass(frozen=True, kw_only=True)
class DiskPage:
    """The page of a disk. `refusal` is why what was asked was not taken, `note` what was typed."""

    frame: Frame
    disk: DiskTab
    refusal: StudioError | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class RestorePage:
    """What putting a version back would change. `newest` is what it is compared with."""

    frame: Frame
    environment: EnvironmentView
    version: int
    newest: int
    diff: DiskDiff
    may_act: bool
    refusal: StudioError | None = None


async def disk_tab(request: Request, environment: EnvironmentView) -> DiskTab:
    """What the page of an environment shows of its disk."""
    asking, id, cursor = person(request), environment.row.id, asked(request, "cursor")
    said = await reader(request).operations(asking, id, limit=OPERATIONS)
    over = [one for one in said if one.is_over]
    return DiskTab(
        environment=environment,
        versions=await reader(request).disk_versions(asking, id, cursor=cursor or None),
        said=(*(one for one in said if not one.is_over), *over[:1]),
        may_act=may(request, "operator"),
        may_remove=may(request, "admin"),
        cursor=cursor,
    )


async def show(request: Request) -> Response:
    """GET /environments/{environment}/disk."""
    if asked(request, "region") == "disk":
        view = DiskPage(
            frame=Frame(title="", nonce=request.state.nonce),
            disk=await disk_tab(request, await _environment(request)),
        )
        return block(request, SHOW, "disk", view)
    return await _show(request)


async def keep(request: Request) -> Response:
    """POST /environments/{environment}/disk: keep a version."""
    note = text(await typed(request), "note")
    try:
        await runtime(request).keep_disk(person(request), _word(request), note=note)
    except StudioError as refusal:
        return await _show(request, refusal, note=note)
    return _back(request)


async def take_in(request: Request) -> Response:
    """POST /environments/{environment}/disk/import: an archive in the disk's place."""
    needs(person(request), "operator", "import an archive")
    try:
        async with request.form(max_files=1, max_fields=10) as form:
            archive = form.get("archive")
            if not isinstance(archive, UploadFile) or not archive.filename:
                words = "Choose a tar, tar.gz, tar.zst or zip archive."
                raise Invalid(words, code="archive.missing", fields={"archive": words})
            await runtime(request).import_disk(
                person(request), _word(request), name=archive.filename,
                chunks=attachments.chunks(archive),
            )  # fmt: skip
    except StudioError as refusal:
        return await _show(request, refusal)
    return _back(request)


async def remove(request: Request) -> Response:
    """POST /environments/{environment}/disk/{version}/removal."""
    try:
        await runtime(request).remove_disk_version(
            person(request), _word(request), version_of(request)
        )
    except StudioError as refusal:
        return await _show(request, refusal)
    return _back(request)


async def preview(request: Request) -> Response:
    """GET /environments/{environment}/disk/{version}/restore: what it would change."""
    return await _preview(request)


async def restore(request: Request) -> Response:
    """POST /environments/{environment}/disk/{version}/restore: after a look at what it changes."""
    shown = text(await typed(request), "newest")
    newest = (await _environment(request)).row.version
    try:
        if shown != str(newest):
            raise Invalid(
                f"A version was kept since you looked: version {newest}. This is what restoring "
                "would change now.",
                code="disk.newer",
            )
        await runtime(request).restore_disk(person(request), _word(request), version_of(request))
    except StudioError as refusal:
        return await _preview(request, refusal)
    return _back(request)


def version_of(request: Request) -> int:
    """The version that the path names."""
    written = str(request.path_params["version"])
    if not written.isascii() or not written.isdecimal() or len(written) > 15:
        raise NotFound("The disk has no such version.", code="disk.not_found")
    return int(written)


def _word(request: Request) -> str:
    return str(request.path_params["environment"])


async def _environment(request: Request) -> EnvironmentView:
    return await reader(request).environment(person(request), _word(request))


def _back(request: Request) -> Response:
    return onward(request, f"/environments/{_word(request)}/disk")


async def _show(
    request: Request, refusal: StudioError | None = None, *, note: str = ""
) -> Response:
    environment = await _environment(request)
    view = DiskPage(
        frame=await frame(
            request, f"Disk of {environment.row.name}", nav="environments",
            live=f"/live/disk/{environment.row.id}",
        ),
        disk=await disk_tab(request, environment), refusal=refusal, note=note,
    )  # fmt: skip
    return page(request, SHOW, view, status=errors.status(refusal) if refusal else 200)


async def _preview(request: Request, refusal: StudioError | None = None) -> Response:
    environment, number = await _environment(request), version_of(request)
    newest = environment.row.version
    view = RestorePage(
        frame=await frame(request, f"Restore version {number}", nav="environments"),
        environment=environment, version=number, newest=newest,
        diff=await reader(request).disk_diff(person(request), environment.row.id, newest, number),
        may_act=may(request, "operator"), refusal=refusal,
    )  # fmt: skip
    status = errors.status(refusal) if refusal else 200
    return page(request, "environments/disk_restore.html", view, status=status)
