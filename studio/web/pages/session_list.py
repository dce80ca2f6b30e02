"""The list of sessions, with its filters in the address."""

from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import Page, SessionRow
from studio.web import filtering, views
from studio.web.filtering import Fault, Wrong
from studio.web.render import Frame, block, frame, page
from studio.web.views import BarPart, ViewsBar
from studio.web.visit import asked, may, person, reader

SHOW = "sessions/index.html"
STATUSES = ("queued", "running", "held", "waiting", "completed", "failed", "cancelled", "idle")
NEEDS = ("any", "held", "questions", "uncertain")
CHECKS: dict[str, filtering.Read] = {
    "q": filtering.plain, "agent": filtering.plain, "status": filtering.one_of("state", STATUSES),
    "needs": filtering.one_of("need of a person", NEEDS), "plugin": filtering.plain,
    "environment": filtering.plain,
}  # fmt: skip


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
    wrong: Wrong


async def index(request: Request) -> Response:
    """GET /sessions."""
    filters, wrong = filters_of(request)
    saved = await views.bar(request, "sessions", filters.query)
    if asked(request, "region") == "views":
        return block(request, SHOW, "views", BarPart(saved=saved))
    position = await reader(request).position()
    found, cursor, off = await filtering.listed(
        lambda cursor: reader(request).sessions(person(request), **vars(filters), cursor=cursor),
        asked(request, "cursor"),
    )
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
        wrong=wrong | off,
    )
    if asked(request, "region") == "list":
        return block(request, SHOW, "list", view)
    return page(request, SHOW, view, status=422 if off else 200)


def filters_of(request: Request) -> tuple[Filters, dict[str, Fault]]:
    """What the URL narrows the list to, and what of it is not understood."""
    kept, wrong = filtering.read(request, CHECKS)
    return Filters(**kept), wrong
