"""All turns of a session on one axis."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from studio.core.projections.overviews import Overview
from studio.web import overview
from studio.web.overview import Row
from studio.web.render import Frame, block, frame, page
from studio.web.visit import asked, person, reader
from studio.web.waterfall import Part, Stretch

SHOW = "sessions/trace.html"


@dataclass(frozen=True, kw_only=True)
class OverviewPage:
    """The page. `before` is the window that the URL asks for, "" for the newest."""

    frame: Frame
    found: Overview
    axis: tuple[Stretch, ...]
    rows: tuple[Row, ...]
    parts: tuple[Part, ...]
    before: str

    @property
    def url(self) -> str:
        """The page's own address."""
        return f"/sessions/{self.found.session_id}/trace"

    @property
    def folded(self) -> tuple[int, ...]:
        """How long each folded stretch is, in ms."""
        return tuple(one.end - one.start for one in self.axis if one.is_folded)


async def show(request: Request) -> Response:
    """GET /sessions/{session_id}/trace."""
    word = asked(request, "before")
    before = word if word.isascii() and word.isdigit() and len(word) < 16 else ""
    position = await reader(request).position()
    found = await reader(request).overview(
        person(request), request.path_params["session_id"], before=int(before) if before else None
    )
    axis = overview.axis(found)
    rows = overview.rows(found, axis)
    view = OverviewPage(
        frame=await frame(
            request, f"Trace of {found.title}", nav="sessions",
            live=f"/live/trace/{found.session_id}?after={position}",
        ),
        found=found, axis=axis, rows=rows, parts=overview.parts(rows), before=before,
    )  # fmt: skip
    if asked(request, "region") == "trace":
        return block(request, SHOW, "trace", view)
    return page(request, SHOW, view)
