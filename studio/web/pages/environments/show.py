"""One environment: its head, which can be edited in place, and the tab that was asked for."""

from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from studio.core.projections.environments import EnvironmentView
from studio.core.projections.operations import OperationRow
from studio.core.rules import contents
from studio.core.rules.errors import Invalid, NotFound, StudioError
from studio.web import errors, labels
from studio.web.pages.environments import tabs
from studio.web.pages.environments.tabs import Tab
from studio.web.render import Frame, block, frame, page
from studio.web.visit import asked, is_swap, may, person, reader

SHOW = "environments/show.html"
OPERATIONS = 5
LONGEST_UNDO = 2_000


@dataclass(frozen=True, kw_only=True)
class Undo:
    """What was saved just now, and the form that takes it back: its field holds what was."""

    said: str
    what: str
    was: str


@dataclass(frozen=True, kw_only=True)
class Refused:
    """What was typed or pressed and refused: in which form (labels, owner, start, a slot's).

    `session_id`: whose turn stands in the way, if it may be named.
    """

    what: str
    message: str
    session_id: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    typed: str = ""


@dataclass(frozen=True, kw_only=True)
class ShowView:
    """An environment's page. `operations` are the newest wishes for its disk, the last one first.

    `labels` is the text of the form: as they are, or as typed when that was refused.
    """

    frame: Frame
    it: EnvironmentView
    operations: tuple[OperationRow, ...]
    tab: Tab
    labels: str
    owner: str
    may_act: bool
    may_rule: bool
    said: str = ""
    undo: Undo | None = None
    refused: Refused | None = None

    @property
    def url(self) -> str:
        """The page's own address, which a new name does not change."""
        return f"/environments/{self.it.row.id}"


async def show(request: Request) -> Response:
    """GET /environments/{environment}; `?region=all` gives what changes alone."""
    view = await _view(request)
    if is_swap(request) and asked(request, "region") == "all":
        return block(request, SHOW, "all", view)
    return page(request, SHOW, view)


async def refuse(
    request: Request, refusal: StudioError, *, what: str, typed: str = "", tab: str = ""
) -> Response:
    """The page again, with what is wrong at the form it was typed into."""
    fields = refusal.fields if isinstance(refusal, Invalid) else {}
    refused = Refused(
        what=what, message=refusal.message, fields=dict(fields), typed=typed,
        session_id=str(refusal.details.get("session_id", "")),
    )  # fmt: skip
    view = await _view(request, refused=refused, tab=tab)
    return page(request, SHOW, view, status=errors.status(refusal))


async def output(request: Request) -> Response:
    """GET /environments/{environment}/setup/{number}: the whole output of a setup command."""
    it = await reader(request).environment(person(request), request.path_params["environment"])
    word = request.path_params["number"]
    number = int(word) if word.isascii() and word.isdigit() and len(word) < 4 else 0
    if not 0 < number <= len(it.setup.runs):
        raise NotFound("The setup ran no such command.", code="setup.no_command")
    told = it.setup.runs[number - 1].output
    if told.stored:
        data = await reader(request).environment_blob(person(request), told.hash, it.row.id)
    else:
        data = contents.data(told)
    headers = {
        "Content-Disposition": f'attachment; filename="setup-{number}.txt"',
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
    return Response(data, media_type="application/octet-stream", headers=headers)


async def _view(request: Request, *, refused: Refused | None = None, tab: str = "") -> ShowView:
    who, word = person(request), request.path_params["environment"]
    it = await reader(request).environment(who, word)
    asked_for = await reader(request).operations(who, it.row.id, limit=OPERATIONS)
    live = f"/live/environment/{it.row.id}?after={it.position}"
    more: dict[str, Any] = {"labels": labels.written(it.row.labels), "owner": it.row.owner}
    if refused is not None and refused.what in more:
        more[refused.what] = refused.typed
    return ShowView(
        frame=await frame(request, it.row.name, nav="environments", live=live), it=it,
        operations=asked_for, tab=await tabs.read(request, it, tab), refused=refused,
        may_act=may(request, "operator") and it.row.deleted is None,
        may_rule=may(request, "admin") and it.row.deleted is None,
        undo=await _undo(request, it), said=_said(request, it), **more,
    )  # fmt: skip


async def _undo(request: Request, it: EnvironmentView) -> Undo | None:
    """The way back to what the URL says was there before, if it really was; a press posts it."""
    was, what = request.query_params.get("was", "")[:LONGEST_UNDO], asked(request, "saved")
    if what not in ("labels", "owner") or not may(request, "operator"):
        return None
    if was not in await _former(request, it, what):
        return None
    match what:
        case "labels" if was != labels.written(it.row.labels):
            shown = ", ".join(was.split("\n")) or "none"
            return Undo(said=f"The labels are saved. They were: {shown}.", what="labels", was=was)
        case "owner" if was != it.row.owner:
            whose = f"{was}’s alone to use" if was else "everybody’s to use"
            return Undo(said=f"The owner is saved. It was {whose}.", what="owner", was=was)
    return None


async def _former(request: Request, it: EnvironmentView, what: str) -> set[str]:
    """The labels or owners that its newest facts tell of."""
    facts = await reader(request).environment_events_before(person(request), it.row.id, limit=50)
    told = [fact.payload[what] for fact in facts if what in fact.payload]
    return {labels.written(one) if what == "labels" else str(one) for one in told}


def _said(request: Request, it: EnvironmentView) -> str:
    """What a form that led here has done."""
    slot = asked(request, "slot")
    declared = {one["name"] for one in it.definition.get("secrets", ())}
    match asked(request, "saved"):
        case "secret" if slot in declared:
            return f"{slot} is set. Its value is shown nowhere."
        case "removed" if slot in declared:
            return f"The value of {slot} is removed."
        case "made":
            return "It is made. Its disk is set up when the first turn needs it."
    return ""
