"""Approvals: what waits for a person, one card in full, the edit form, and the decision itself."""

from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlencode

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from studio.core.reader import Page, WaitRow
from studio.core.rules.errors import Gone, Invalid, Refused, StudioError
from studio.core.rules.events import Choice
from studio.core.tokens import DecisionToken
from studio.web import errors
from studio.web.cards import CardView, card_of
from studio.web.render import Frame, block, frame, page
from studio.web.visit import asked, is_swap, person, reader, runtime, text, typed

KINDS = ("approval", "question", "uncertain")
AGES = {"10m": 600_000, "1h": 3_600_000, "1d": 86_400_000}
ON_PAGE = 15
LIST, ONE, EDIT = "approvals/index.html", "approvals/show.html", "approvals/edit.html"


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What the list is narrowed to; all of it is in the URL."""

    state: str = "open"
    q: str = ""
    kind: str = ""
    agent: str = ""
    tool: str = ""
    plugin: str = ""
    age: str = ""

    @property
    def any(self) -> bool:
        """Something is asked for beside the state."""
        return bool(self.q or self.kind or self.agent or self.tool or self.plugin or self.age)

    def url(self, **changes: str) -> str:
        """The list's URL with some filters changed; empty ones are left out."""
        named = {name: getattr(self, name) for name in self.__dataclass_fields__}
        kept = {name: value for name, value in {**named, **changes}.items() if value}
        if kept.get("state") == "open":
            del kept["state"]
        return "/approvals" + (f"?{urlencode(kept)}" if kept else "")


@dataclass(frozen=True, kw_only=True)
class ListView:
    """The list: cards while open, rows once decided."""

    frame: Frame
    filters: Filters
    page: Page[WaitRow]
    cards: tuple[CardView, ...]
    cursor: str
    agents: tuple[str, ...]
    kinds: tuple[str, ...]
    ages: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CardPage:
    """One card on a page of its own."""

    frame: Frame
    card: CardView


async def index(request: Request) -> Response:
    """GET /approvals."""
    position, filters = await reader(request).position(), _filters(request)
    found = await reader(request).waits(
        person(request), state=filters.state, kind=filters.kind, agent=filters.agent,
        tool=filters.tool, plugin=filters.plugin, q=filters.q,
        older_than_ms=AGES.get(filters.age), limit=ON_PAGE if filters.state == "open" else 50,
        cursor=asked(request, "cursor") or None,
    )  # fmt: skip
    view = ListView(
        frame=await frame(
            request, "Approvals", nav="approvals", live=f"/live/approvals?after={position}"
        ),
        filters=filters,
        page=found,
        cards=await _cards(request, found) if filters.state == "open" else (),
        cursor=asked(request, "cursor"),
        agents=tuple(row.name for row in await reader(request).agents(person(request))),
        kinds=KINDS,
        ages=tuple(AGES),
    )
    if asked(request, "region") == "list":
        return block(request, LIST, "list", view)
    return page(request, LIST, view)


async def show(request: Request) -> Response:
    """GET /approvals/{wait_id}: the card alone."""
    return await _one(request, await card_of(request, request.path_params["wait_id"]))


async def card(request: Request) -> Response:
    """GET /approvals/{wait_id}/card: the card as a part of another page."""
    one = await card_of(request, request.path_params["wait_id"])
    return block(request, ONE, "card", _Part(card=one))


async def whole(request: Request) -> Response:
    """GET /approvals/{wait_id}/whole: all of the arguments, and the form that may then approve."""
    return await _one(request, await card_of(request, request.path_params["wait_id"], whole=True))


async def decide(request: Request) -> Response:
    """POST /approvals/{wait_id}/decision: answer it, once."""
    form, wait_id = await typed(request), request.path_params["wait_id"]
    try:
        given = await _given(request, form)
        await runtime(request).decide(
            person(request), wait_id, cast(Choice, text(form, "decision")),
            digest=text(form, "digest"), reason=text(form, "reason"),
            token=DecisionToken(value=text(form, "token"), secret=request.state.secret), **given,
        )  # fmt: skip
    except (Refused, Gone, Invalid) as refusal:
        return await _refused(request, form, refusal)
    if is_swap(request):
        return await card(request)
    return RedirectResponse(f"/approvals/{wait_id}", 303)


# What a page is made of --------------------------------------------------------------------------


async def _cards(request: Request, found: Page[WaitRow]) -> tuple[CardView, ...]:
    return tuple([await card_of(request, wait.id) for wait in found.items])


async def _one(request: Request, one: CardView, *, status: int = 200) -> Response:
    wait = one.card.wait
    live = None if one.is_whole else f"/live/approvals?after={await reader(request).position()}"
    view = CardPage(
        frame=await frame(request, wait.tool, nav="approvals", live=live),
        card=one,
    )
    return page(request, ONE, view, status=status)


async def _given(request: Request, form: FormData) -> dict[str, Any]:
    """What the form says beside its choice: edited arguments, or the answer to a question."""
    return {}


async def _refused(request: Request, form: FormData, refusal: StudioError) -> Response:
    """The card as it is now, with the reason and what was typed."""
    one = await card_of(
        request, request.path_params["wait_id"], whole=text(form, "whole") == "true",
        reason=text(form, "reason"), refusal=refusal,
    )  # fmt: skip
    status = errors.status(refusal)
    if is_swap(request):
        return block(request, ONE, "card", _Part(card=one), status=status)
    return await _one(request, one, status=status)


def _filters(request: Request) -> Filters:
    kind, age = asked(request, "kind"), asked(request, "age")
    return Filters(
        state="closed" if asked(request, "state") == "closed" else "open",
        q=asked(request, "q"),
        kind=kind if kind in KINDS else "",
        agent=asked(request, "agent"),
        tool=asked(request, "tool"),
        plugin=asked(request, "plugin"),
        age=age if age in AGES else "",
    )


@dataclass(frozen=True, kw_only=True)
class _Part:
    card: CardView
