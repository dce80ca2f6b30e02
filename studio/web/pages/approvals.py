"""Approvals: what waits for a person, one card in full, the edit form, and the decision itself."""

from dataclasses import dataclass, replace
from typing import Any, cast
from urllib.parse import urlencode

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from studio.core.reader import Page, WaitRow
from studio.core.rules.errors import Gone, Invalid, Refused, StudioError, TooLarge, Unavailable
from studio.core.rules.events import Choice
from studio.core.tokens import DecisionToken
from studio.web import arguments, errors, filtering, forms
from studio.web.arguments import Node
from studio.web.cards import CardView, card_of
from studio.web.filtering import Fault, Wrong
from studio.web.format import count
from studio.web.forms.inputs import UNDER, field_id, under_path
from studio.web.render import Frame, block, frame, page
from studio.web.visit import asked, is_swap, may, pairs, person, reader, runtime, text, typed

KINDS = ("approval", "question", "uncertain")
AGES = {"10m": 600_000, "1h": 3_600_000, "1d": 86_400_000}
ON_PAGE, MOST_ON_PAGE = 15, 50
CHECKS: dict[str, filtering.Read] = {
    "state": filtering.one_of("state", ("open", "closed")), "q": filtering.plain,
    "kind": filtering.one_of("kind", KINDS), "agent": filtering.plain, "tool": filtering.plain,
    "plugin": filtering.plain, "age": filtering.one_of("age", AGES),
    "show": filtering.one_of("number of cards", (str(MOST_ON_PAGE),)),
}  # fmt: skip
FOLDED_OVER = 8  # with more than these on a page, all but the oldest are folded
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
    show: str = ""  # "50": as many on a page as can be answered at once

    @property
    def size(self) -> int:
        """How many stand on one page."""
        return MOST_ON_PAGE if self.show or self.state != "open" else ON_PAGE

    @property
    def any(self) -> bool:
        """Something is asked for beside the state."""
        return bool(self.q or self.kind or self.agent or self.tool or self.plugin or self.age)

    def url(self, *, to: str = "/approvals", **changes: str) -> str:
        """The list's URL with some filters changed, or that of `to`; empty ones are left out."""
        named = {name: getattr(self, name) for name in self.__dataclass_fields__}
        kept = {name: value for name, value in {**named, **changes}.items() if value}
        if kept.get("state") == "open":
            del kept["state"]
        return to + (f"?{urlencode(kept)}" if kept else "")


@dataclass(frozen=True, kw_only=True)
class ListView:
    """The list: cards while open, rows once decided.

    `refusal` says why no card that was ticked was answered; the `reason` typed for them is kept.
    """

    frame: Frame
    filters: Filters
    page: Page[WaitRow]
    cards: tuple[CardView, ...]
    cursor: str
    agents: tuple[str, ...]
    kinds: tuple[str, ...]
    ages: tuple[str, ...]
    may_decide: bool
    refusal: StudioError | None
    reason: str
    wrong: Wrong


@dataclass(frozen=True, kw_only=True)
class CardPage:
    """One card on a page of its own."""

    frame: Frame
    card: CardView


@dataclass(frozen=True, kw_only=True)
class Part:
    """One card as a part of another page."""

    card: CardView


@dataclass(frozen=True, kw_only=True)
class EditView:
    """The edit form. `tree` is what was proposed, or, when `is_tried`, what would run.

    `wrong` are (path, sentence, id of the field).
    """

    frame: Frame
    card: CardView
    fields: tuple[forms.Field, ...]
    tree: Node
    is_tried: bool
    changes: int
    error: str
    wrong: tuple[tuple[str, str, str], ...]
    reason: str


async def index(request: Request) -> Response:
    """GET /approvals."""
    return await listed(request)


async def listed(
    request: Request, *, refusal: StudioError | None = None, reason: str = ""
) -> Response:
    """The list, or with a `refusal` of an answer to several the list once more."""
    position, (filters, wrong) = await reader(request).position(), filters_of(request)
    found, cursor, off = await filtering.listed(
        lambda cursor: _waits(request, filters, cursor), asked(request, "cursor")
    )
    view = ListView(
        frame=await frame(
            request, "Approvals", nav="approvals", live=f"/live/approvals?after={position}"
        ),
        filters=filters,
        page=found,
        cards=await _cards(request, found) if filters.state == "open" else (),
        cursor=cursor,
        agents=tuple(row.name for row in await reader(request).agents(person(request))),
        kinds=KINDS,
        ages=tuple(AGES),
        may_decide=may(request, "operator"),
        refusal=refusal,
        reason=reason,
        wrong=wrong | off,
    )
    if asked(request, "region") == "list":
        return block(request, LIST, "list", view)
    status = errors.status(refusal) if refusal else 422 if off else 200
    return page(request, LIST, view, status=status)


async def _waits(request: Request, filters: Filters, cursor: str | None) -> Page[WaitRow]:
    return await reader(request).waits(
        person(request), state=filters.state, kind=filters.kind, agent=filters.agent,
        tool=filters.tool, plugin=filters.plugin, q=filters.q,
        older_than_ms=AGES.get(filters.age), limit=filters.size, cursor=cursor,
    )  # fmt: skip


async def show(request: Request) -> Response:
    """GET /approvals/{wait_id}: the card alone."""
    position = await reader(request).position()  # first: what is shown is not older than it
    one = await card_of(request, request.path_params["wait_id"])
    return await _one(request, one, after=position)


async def card(request: Request) -> Response:
    """GET /approvals/{wait_id}/card: the card as a part of another page."""
    one = await card_of(request, request.path_params["wait_id"])
    return block(request, ONE, "card", Part(card=one))


async def whole(request: Request) -> Response:
    """GET /approvals/{wait_id}/whole: all of the arguments, and the form that may then approve."""
    return await _one(request, await card_of(request, request.path_params["wait_id"], whole=True))


async def decide(request: Request) -> Response:
    """POST /approvals/{wait_id}/decision: answer it, once."""
    form, wait_id = await typed(request), request.path_params["wait_id"]
    if text(form, "edited"):
        return await _approve_edited(request, form)
    one = await card_of(request, wait_id, whole=bool(text(form, "whole")), typed=pairs(form))
    try:
        await _decide(request, form, **_given(one, form))
    except (Refused, Gone, Invalid, TooLarge, Unavailable) as refusal:
        return await _again(request, form, refusal)
    if is_swap(request):
        return await card(request)
    return RedirectResponse(f"/approvals/{wait_id}", 303)


async def edit(request: Request) -> Response:
    """GET /approvals/{wait_id}/edit: a form from the tool's schema, filled with the proposal."""
    one = await card_of(request, request.path_params["wait_id"], whole=True)
    if not one.may_edit:
        return await _one(request, one, status=409)
    value = one.card.arguments_value
    drawn = forms.fields(one.card.schema, value)
    return await _form(request, one, drawn, tree=arguments.tree(value))


async def preview(request: Request) -> Response:
    """POST /approvals/{wait_id}/edit: the difference to the proposal; nothing is decided."""
    return await _drawn(request, await typed(request))


# What a page is made of --------------------------------------------------------------------------


async def _cards(request: Request, found: Page[WaitRow]) -> tuple[CardView, ...]:
    cards = [await card_of(request, wait.id) for wait in found.items]
    many = len(cards) > FOLDED_OVER
    return tuple(
        replace(one, is_folded=many and place > 0, is_listed=True)
        for place, one in enumerate(cards)
    )


async def _one(
    request: Request, one: CardView, *, after: int | None = None, status: int = 200
) -> Response:
    """A page with one card. It looks again for what came behind `after`, or at once."""
    wait = one.card.wait
    live = None if one.is_whole else f"/live/approvals?after={'' if after is None else after}"
    view = CardPage(
        frame=await frame(request, wait.tool, nav="approvals", live=live),
        card=one,
    )
    return page(request, ONE, view, status=status)


async def _decide(request: Request, form: FormData, **given: Any) -> None:
    choice = text(form, "decision")
    # a reason that was begun in the box for denying does not go with an approval
    reason = text(form, "reason") if choice != "approve" or text(form, "edited") else ""
    await runtime(request).decide(
        person(request), request.path_params["wait_id"], cast(Choice, choice),
        digest=text(form, "digest"), reason=reason,
        token=DecisionToken(value=text(form, "token"), secret=request.state.secret), **given,
    )  # fmt: skip


def _given(one: CardView, form: FormData) -> dict[str, Any]:
    """What a card's form says beside its choice; refused where the card could not be read."""
    if text(form, "decision") == "approve" and one.is_cut:
        raise Refused(
            "These arguments are longer than the card shows. Read them whole, then approve there.",
            code="decision.unread",
        )
    if text(form, "decision") != "answer" and not one.action:
        return {}
    value, wrong, action = forms.read(one.card.schema, pairs(form), under=one.card.wait.id)
    if action or wrong:
        words = "A row was changed." if action else "The answer does not fit the question."
        raise Invalid(words, code="answer.invalid", fields=wrong)
    return {"answer": value}


async def _again(request: Request, form: FormData, refusal: StudioError) -> Response:
    """The card as it is now, with the reason and everything that was typed."""
    position = await reader(request).position()
    one = await card_of(
        request, request.path_params["wait_id"], whole=bool(text(form, "whole")),
        reason=text(form, "reason"), typed=pairs(form), refusal=refusal,
    )  # fmt: skip
    status = 200 if one.action else errors.status(refusal)
    if is_swap(request):
        return block(request, ONE, "card", Part(card=one), status=status)
    return await _one(request, one, after=position, status=status)


async def _approve_edited(request: Request, form: FormData) -> Response:
    one = await card_of(request, request.path_params["wait_id"], whole=True)
    value, wrong, action = forms.read(one.card.schema, pairs(form))
    if wrong or action:
        return await _drawn(request, form)
    try:
        await _decide(request, form, arguments=value)
    except (Invalid, Unavailable) as refusal:
        return await _drawn(request, form, refusal=refusal)
    except Refused as refusal:
        if refusal.code == "arguments.denied":
            return await _drawn(request, form, refusal=refusal)
        return await _again(request, form, refusal)
    except (Gone, TooLarge) as refusal:
        return await _again(request, form, refusal)
    return RedirectResponse(f"/approvals/{one.card.wait.id}", 303)


async def _drawn(
    request: Request, form: FormData, *, refusal: StudioError | None = None
) -> Response:
    """The edit form once more, with what was typed, what is wrong and what would change."""
    one = await card_of(request, request.path_params["wait_id"], whole=True)
    if not one.may_edit:
        return await _one(request, one, status=409)
    value, wrong, action = forms.read(one.card.schema, pairs(form))
    if isinstance(refusal, Invalid):
        wrong = wrong | refusal.fields
    drawn = forms.again(one.card.schema, pairs(form), errors=wrong, action=action)
    if wrong or action or refusal:
        tree, changes = arguments.tree(one.card.proposed_value), None
    else:
        tree = arguments.edited(one.card.proposed_value, value)
        changes = len(arguments.diff(one.card.proposed_value, value))
    return await _form(
        request, one, drawn, tree=tree, wrong=wrong, refusal=refusal, changes=changes,
        reason=text(form, "reason"),
    )  # fmt: skip


async def _form(
    request: Request, one: CardView, drawn: list[forms.Field], *, tree: Node,
    wrong: dict[str, str] | None = None, refusal: StudioError | None = None,
    changes: int | None = None, reason: str = "",
) -> Response:  # fmt: skip
    status = errors.status(refusal) if refusal else 422 if wrong else 200
    words = f"{count(len(wrong or {}), 'field')} must be put right. Nothing was decided."
    view = EditView(
        frame=await frame(request, f"Edit {one.card.wait.tool}", nav="approvals"),
        card=one,
        fields=tuple(drawn),
        tree=tree,
        is_tried=changes is not None,
        changes=changes or 0,
        error=refusal.message if refusal else words if wrong else "",
        wrong=tuple((path or "value", said, _id(path)) for path, said in (wrong or {}).items()),
        reason=reason,
    )
    return page(request, EDIT, view, status=status)


def _id(path: str) -> str:
    return field_id(under_path(path, UNDER))


def filters_of(request: Request) -> tuple[Filters, dict[str, Fault]]:
    """What the URL narrows the list to, and what of it is not understood."""
    kept, wrong = filtering.read(request, CHECKS)
    return Filters(**kept | {"state": kept["state"] or "open"}), wrong
