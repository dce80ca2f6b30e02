"""How two kept versions of a disk differ: the list of paths, and one file line by line."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import DiskDiff, EnvironmentView
from studio.core.rules.errors import NotFound
from studio.web import arguments, trees
from studio.web.render import Frame, frame, page
from studio.web.visit import person, reader

if TYPE_CHECKING:
    from studio.core.reader import DiskTextDiff


@dataclass(frozen=True, kw_only=True)
class DiffPage:
    """The paths that differ, a window of them."""

    frame: Frame
    environment: EnvironmentView
    diff: DiskDiff
    paths: trees.Paths


@dataclass(frozen=True, kw_only=True)
class TextPage:
    """One file of two versions, line by line."""

    frame: Frame
    environment: EnvironmentView
    before: int
    after: int
    path: str
    text: "DiskTextDiff"
    lines: tuple[trees.DiffLine, ...]


async def show(request: Request) -> Response:
    """GET /environments/{environment}/disk/diff: `before`, `after`, and a `path` or none."""
    environment = await reader(request).environment(
        person(request), request.path_params["environment"]
    )
    before, after = _number(request, "before"), _number(request, "after")
    if path := trees.path_of(request):
        return await _text(request, environment, before, after, path)
    found = await reader(request).disk_diff(person(request), environment.row.id, before, after)
    view = DiffPage(
        frame=await frame(request, f"Versions {before} and {after}", nav="environments"),
        environment=environment, diff=found, paths=trees.paths(request, found.changes),
    )  # fmt: skip
    return page(request, "environments/disk_diff.html", view)


async def _text(
    request: Request, environment: EnvironmentView, before: int, after: int, path: str
) -> Response:
    found = await reader(request).disk_text_diff(
        person(request), environment.row.id, before, after, path
    )
    title = f"{arguments.one_line(path.rpartition('/')[2])} in versions {before} and {after}"
    view = TextPage(
        frame=await frame(request, title, nav="environments"), environment=environment,
        before=before, after=after, path=path, text=found, lines=trees.lines(found),
    )  # fmt: skip
    return page(request, "environments/disk_text.html", view)


def _number(request: Request, name: str) -> int:
    missing = NotFound("The disk has no such version.", code="disk.not_found")
    return trees.version(request, name, missing)
