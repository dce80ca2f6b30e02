"""The demo: messages to try, and what its outside world has really received."""

from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from studio.core.rules.errors import NotFound
from studio.web.render import Frame, block, frame, page
from studio.web.visit import asked, may, reader


@dataclass(frozen=True, kw_only=True)
class DemoView:
    """The page of the demo. `seen` is what the demo gives: messages, releases, notices, effects."""

    frame: Frame
    seen: Any
    may_act: bool


async def show(request: Request) -> Response:
    """GET /demo."""
    demo = request.app.state.demo
    if demo is None:
        raise NotFound("There is no demo in this studio. Start it with STUDIO_DEMO=on.")
    position = await reader(request).position()
    view = DemoView(
        frame=await frame(request, "Demo", nav="demo", live=f"/live/home?after={position}"),
        seen=await demo.seen(),
        may_act=may(request, "operator"),
    )
    if asked(request, "region") == "world":
        return block(request, "demo/index.html", "world", view)
    return page(request, "demo/index.html", view)
