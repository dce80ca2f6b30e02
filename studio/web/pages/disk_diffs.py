"""How two kept versions of a disk differ: the list of paths, and one file line by line."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import DiskDiff, EnvironmentView
from studio.core.rules import percent
from studio.core.rules.errors import NotFound
from studio.web import arguments
from studio.web.arguments import Chars
from studio.web.render import Frame, frame, page
from studio.web.visit import asked, person, reader

if TYPE_CHECKING:
    from studio.core.reader import DiskChange, DiskTextDiff

PATHS = 200  # that are shown at once
HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
CHANGES = {"+": "added", "-": "removed", " ": "same"}


@dataclass(frozen=True, kw_only=True)
class DiffPage:
    """A window of the paths that differ, from number `start` (0 is the first) on."""

    frame: Frame
    environment: EnvironmentView
    diff: DiskDiff
    rows: tuple["DiskChange", ...]
    start: int

    @property
    def next(self) -> int | None:
        """Where the next window begins."""
        behind = self.start + PATHS
        return behind if behind < len(self.diff.changes) else None


@dataclass(frozen=True, kw_only=True)
class DiffLine:
    """A line of a text diff: `change` is added, removed, same, hunk or note."""

    change: str
    number: str
    chars: Chars


@dataclass(frozen=True, kw_only=True)
class TextPage:
    """One file of two versions, line by line."""

    frame: Frame
    environment: EnvironmentView
    before: int
    after: int
    path: str
    text: "DiskTextDiff"
    lines: tuple[DiffLine, ...]


async def show(request: Request) -> Response:
    """GET /environments/{environment}/disk/diff: `before`, `after`, and a `path` or none."""
    environment = await reader(request).environment(
        person(request), request.path_params["environment"]
    )
    before, after = _number(request, "before"), _number(request, "after")
    if path := percent.asked(request.scope["query_string"], "path"):
        return await _text(request, environment, before, after, path)
    found = await reader(request).disk_diff(person(request), environment.row.id, before, after)
    start = _from(request)
    view = DiffPage(
        frame=await frame(request, f"Versions {before} and {after}", nav="environments"),
        environment=environment, diff=found, start=start,
        rows=found.changes[start : start + PATHS],
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
        before=before, after=after, path=path, text=found, lines=tuple(_lines(found.lines)),
    )  # fmt: skip
    return page(request, "environments/disk_text.html", view)


def _lines(lines: Iterable[str]) -> Iterator[DiffLine]:
    """The lines with the numbers they have in their file, an old one's where it was removed."""
    old = new = 0
    for line in lines:
        mark, text = line[:1], arguments.chars(line[1:])
        if mark == "@" and (found := HUNK.match(line)):
            old, new = int(found[1]), int(found[2])
            yield DiffLine(change="hunk", number="", chars=arguments.chars(line))
        elif mark == "\\":
            yield DiffLine(change="note", number="", chars=arguments.chars(line[2:]))
        else:
            number = old if mark == "-" else new
            yield DiffLine(change=CHANGES[mark], number=str(number), chars=text)
            old, new = old + (mark != "+"), new + (mark != "-")


def _number(request: Request, name: str) -> int:
    written = asked(request, name)
    if not written.isascii() or not written.isdecimal() or len(written) > 15:
        raise NotFound("The disk has no such version.", code="disk.not_found")
    return int(written)


def _from(request: Request) -> int:
    written = asked(request, "from")
    return int(written) if written.isascii() and written.isdecimal() and len(written) < 7 else 0
