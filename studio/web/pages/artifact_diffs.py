"""How two versions of an artifact differ: the paths of a folder, or one file line by line."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import ArtifactDiff, ArtifactView, SessionView
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
    session: SessionView
    diff: ArtifactDiff
    paths: trees.Paths


@dataclass(frozen=True, kw_only=True)
class TextPage:
    """One file of two versions, line by line; `path` is empty when the artifact is the file."""

    frame: Frame
    session: SessionView
    artifact: ArtifactView
    before: int
    after: int
    path: str
    text: "DiskTextDiff"
    lines: tuple[trees.DiffLine, ...]


async def show(request: Request) -> Response:
    """GET /artifacts/{artifact_id}/diff: `before`, `after`, and of a folder a `path` or none."""
    asking, id = person(request), request.path_params["artifact_id"]
    missing = NotFound("The artifact has no such version.", code="artifact.not_found")
    before, after = (trees.version(request, name, missing) for name in ("before", "after"))
    found = await reader(request).artifact(asking, id, before, limit=1)
    path = trees.path_of(request)
    if path or found.row.kind == "file":
        return await _text(request, found, before, after, path)
    diff = await reader(request).artifact_diff(asking, id, before, after)
    view = DiffPage(
        frame=await frame(request, f"Versions {before} and {after}", nav="sessions"),
        session=await reader(request).session(asking, found.row.session_id), diff=diff,
        paths=trees.paths(request, diff.changes),
    )  # fmt: skip
    return page(request, "artifacts/diff.html", view)


async def _text(
    request: Request, found: ArtifactView, before: int, after: int, path: str
) -> Response:
    asking = person(request)
    text = await reader(request).artifact_text_diff(asking, found.row.id, before, after, path)
    name = arguments.one_line((path or found.row.name).rpartition("/")[2])
    view = TextPage(
        frame=await frame(request, f"{name} in versions {before} and {after}", nav="sessions"),
        session=await reader(request).session(asking, found.row.session_id), artifact=found,
        before=before, after=after, path=path, text=text, lines=trees.lines(text),
    )  # fmt: skip
    return page(request, "artifacts/text.html", view)
