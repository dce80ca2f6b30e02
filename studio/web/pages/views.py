"""Saved views: saved, renamed, shared, deleted, and brought back."""

from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response

from studio.core.projections.views import SeenViews, ViewRow
from studio.core.rules.errors import Invalid, NotFound, StudioError
from studio.core.rules.views import LISTS
from studio.web import errors
from studio.web.render import Frame, frame, page
from studio.web.visit import asked, may, onward, person, reader, runtime, text, typed

SHOW = "views/index.html"


@dataclass(frozen=True, kw_only=True)
class Typed:
    """A form that was refused: of which view (`id` is "" for a new one), what was typed, and why.

    `list` and `query` are those of a new one.
    """

    id: str = ""
    list: str = ""
    query: str = ""
    name: str = ""
    shared: bool = False
    error: str = ""
    fields: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ViewsPage:
    """All views of a person and those that are shared. `removed` was deleted just now."""

    frame: Frame
    seen: SeenViews
    me: str
    may_share: bool
    typed: Typed | None = None
    removed: ViewRow | None = None


async def index(request: Request) -> Response:
    """GET /views."""
    return page(request, SHOW, await _view(request))


async def save(request: Request) -> Response:
    """POST /views: keep what a list is narrowed to, then go back to it."""
    form = await typed(request)
    given = Typed(
        list=text(form, "list"), query=text(form, "query"), name=text(form, "name"),
        shared=text(form, "shared") == "true",
    )  # fmt: skip
    try:
        view_id = await runtime(request).save_view(
            person(request),
            list=given.list,
            name=given.name,
            query=given.query,
            shared=given.shared,
        )
    except StudioError as refusal:
        return await _refuse(request, given, refusal)
    saved = await reader(request).view(person(request), view_id)
    return onward(request, saved.url)


async def change(request: Request) -> Response:
    """POST /views/{view_id}: another name, shared or not."""
    form, view_id = await typed(request), request.path_params["view_id"]
    given = Typed(id=view_id, name=text(form, "name"), shared=text(form, "shared") == "true")
    try:
        await runtime(request).change_view(
            person(request), view_id, name=given.name, shared=given.shared
        )
    except StudioError as refusal:
        return await _refuse(request, given, refusal)
    return onward(request, "/views")


async def remove(request: Request) -> Response:
    """POST /views/{view_id}/removal; the page offers to undo it."""
    view_id = request.path_params["view_id"]
    await runtime(request).remove_view(person(request), view_id)
    return onward(request, f"/views?removed={view_id}")


async def restore(request: Request) -> Response:
    """POST /views/{view_id}/restoration."""
    await runtime(request).restore_view(person(request), request.path_params["view_id"])
    return onward(request, "/views")


async def _refuse(request: Request, given: Typed, refusal: StudioError) -> Response:
    if given.list not in LISTS and not given.id:
        raise refusal
    fields = refusal.fields if isinstance(refusal, Invalid) else {}
    told = Typed(**{**vars(given), "error": refusal.message, "fields": dict(fields)})
    return page(request, SHOW, await _view(request, told), status=errors.status(refusal))


async def _view(request: Request, told: Typed | None = None) -> ViewsPage:
    asking = person(request)
    return ViewsPage(
        frame=await frame(request, "Saved views", nav="traces"),
        seen=await reader(request).views(asking), me=asking.id,
        may_share=may(request, "operator"), typed=told, removed=await _removed(request),
    )  # fmt: skip


async def _removed(request: Request) -> ViewRow | None:
    """The view that was just deleted, for whoever may bring it back."""
    asked_for = asked(request, "removed")
    try:
        found = await reader(request).view(person(request), asked_for) if asked_for else None
    except NotFound:
        return None
    return found if found is not None and found.removed and found.may_change else None
