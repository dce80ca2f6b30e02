"""The demo: what its outside world has received, beside the sessions that sent it."""

from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from studio.core.rules.errors import NotFound
from studio.web.render import Frame, frame, page


@dataclass(frozen=True, kw_only=True)
class DemoView:
    """The page of the demo."""

    frame: Frame
    demo: Any


async def show(request: Request) -> Response:
    """GET /demo."""
    demo = request.app.state.demo
    if demo is None:
        raise NotFound("There is no demo in this studio. Start it with STUDIO_DEMO=on.")
    view = DemoView(frame=await frame(request, "Demo", nav="demo"), demo=demo)
    return page(request, "demo/index.html", view)
