"""The first page: what needs a person, what runs, what failed, and the figures of the last day."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import Home
from studio.web.render import Frame, block, frame, page
from studio.web.visit import asked, may, person, reader


@dataclass(frozen=True, kw_only=True)
class HomeView:
    """The first page. `is_new` when nobody has started a session yet."""

    frame: Frame
    home: Home
    may_act: bool
    has_demo: bool
    is_new: bool


async def index(request: Request) -> Response:
    """GET /."""
    asking, position = person(request), await reader(request).position()
    home = await reader(request).home(asking)
    nothing = not (home.turns or home.running or home.needs)
    view = HomeView(
        frame=await frame(request, "Home", nav="home", live=f"/live/home?after={position}"),
        home=home,
        may_act=may(request, "operator"),
        has_demo=request.app.state.demo is not None,
        is_new=nothing and not (await reader(request).sessions(asking, limit=1)).items,
    )
    if asked(request, "region") == "today":
        return block(request, "home/index.html", "today", view)
    return page(request, "home/index.html", view)
