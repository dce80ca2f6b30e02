"""The list of sessions, with its filters in the address."""

from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import Page, SessionRow
from studio.web import views
from studio.web.render import Frame, block, frame, page
from studio.web.views import BarPart, ViewsBar
from studio.web.visit import asked, may, person, reader

SHOW = "sessions/index.html"
STATUSES = ("queued", "running", "held", "waiting", "completed", "failed", "cancelled", "idle")
NEEDS = ("any", "held", "questions", "uncertain")


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What the list is narrowed to; all of it is in the URL."""

    q: str = ""
    agent: str = ""
    status: str = ""
    needs: str = ""
    plugin: str = ""
    environment: str = ""

    @property
    def any(self) -> bool:
        """Something is asked for."""
        return any(getattr(self, name) for name in self.__dataclass_fields__)

    @property
    def query(self) -> str:
        """The same as it stands in the URL; empty ones are left out."""
        return self.url().partition("?")[2]

    def url(self, **changes: str) -> str:
        """The list's URL with some filters changed; empty ones are left out."""
        asked_for = {name: getattr(self, name) for name in self.__dataclass_fields__}
        kept = {name: value for name, value in {**asked_for, **changes}.items() if value}
        return "/sessions" + (f"?{urlencode(kept)}" if kept else "")


@dataclass(frozen=True, kw_only=True)
class ListView:
    """The list of sessions."""

    frame: Frame
    page: Page[SessionRow]
    filters: Filters
    cursor: str
    agents: tuple[str, ...]
    plugins: tuple[str, ...]
    statuses: tuple[str, ...]
    may_act: bool
    saved: ViewsBar


async def index(request: Request) -> Response:
    """GET /sessions."""
    filters, cursor = _filters(request), asked(request, "cursor")
    saved = await views.bar(request, "sessions", filters.query)
    if asked(request, "region") == "views":
        return block(request, SHOW, "views", BarPart(saved=saved))
    position = await reader(request).position()
    found = await reader(request).sessions(
        person(request), q=filters.q, agent=filters.agent, status=filters.status,
        needs=filters.needs, plugin=filters.plugin, environment=filters.environment,
        cursor=cursor or None,
    )  # fmt: skip
    view = ListView(
        frame=await frame(
            request, "Sessions", nav="sessions", live=f"/live/sessions?after={position}"
        ),
        page=found,
        filters=filters,
        cursor=cursor,
        agents=tuple(row.name for row in await reader(request).agents(person(request))),
        plugins=tuple(await reader(request).plugin_names(person(request))),
        statuses=STATUSES,
        may_act=may(request, "operator"),
        saved=saved,
    )
    if asked(request, "region") == "list":
        return block(request, SHOW, "list", view)
    return page(request, SHOW, view)


def _filters(request: Request) -> Filters:
    status, needs = asked(request, "status"), asked(request, "needs")
    return Filters(
        q=asked(request, "q"),
        agent=asked(request, "agent"),
        status=status if status in STATUSES else "",
        needs=needs if needs in NEEDS else "",
        plugin=asked(request, "plugin"),
        environment=asked(request, "environment"),
    )
