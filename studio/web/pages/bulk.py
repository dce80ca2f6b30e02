"""One answer for several held calls: each is a decision of its own, and each is told of."""

import logging
from dataclasses import dataclass
from typing import cast

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from studio.core.rules.access import needs
from studio.core.rules.errors import (
    Invalid,
    NotFound,
    Refused,
    StudioError,
    TooLarge,
    Unavailable,
)
from studio.core.rules.events import Choice
from studio.core.runtime import Decided
from studio.core.tokens import DecisionToken
from studio.web import errors
from studio.web.cards import CardView, card_of
from studio.web.pages import approvals
from studio.web.render import Frame, frame, page
from studio.web.visit import pairs, person, runtime, text, typed

log = logging.getLogger(__name__)

MOST = 50  # answers in one post
RESULTS = "approvals/results.html"


@dataclass(frozen=True, kw_only=True)
class Tick:
    """One ticked card as it was sent: its wait, the digest it showed and its own token.

    `is_read`: the page's script says that the arguments were in sight to their end.
    """

    wait_id: str
    digest: str
    token: str
    is_read: bool


@dataclass(frozen=True, kw_only=True)
class Result:
    """What became of one answer. `card` is as it is now, None for what this person may not see.

    Without a `refusal` it was recorded. One that `is_again` may be denied once more as it is. Of
    one that `is_broken` the card cannot be read now.
    """

    wait_id: str
    card: CardView | None
    refusal: StudioError | None
    state: str
    label: str
    words: str
    is_again: bool = False
    is_broken: bool = False


@dataclass(frozen=True, kw_only=True)
class ResultsView:
    """What became of every answer, in the order of the page they were given on.

    `again` are refused denials whose calls still wait; `reason` is what was typed for them.
    """

    frame: Frame
    choice: str
    results: tuple[Result, ...]
    recorded: int
    again: tuple[Result, ...]
    reason: str
    filters: approvals.Filters


async def leave(request: Request) -> Response:
    """GET /approvals/decisions: the address of what was posted decides nothing."""
    return RedirectResponse(approvals.filters_of(request)[0].url(), 303)


async def decide(request: Request) -> Response:
    """POST /approvals/decisions: approve or deny each ticked call by itself."""
    needs(person(request), "operator", "decide")
    form = await typed(request)
    choice, ticks = text(form, "decision"), _ticks(form)
    if refusal := _wrong(choice, ticks):
        return await approvals.listed(request, refusal=refusal, reason=text(form, "reason"))
    # a reason that was begun in the box for denying does not go with an approval
    reason = text(form, "reason") if choice == "deny" else ""
    results = tuple([await _one(request, tick, choice, reason) for tick in ticks])
    refusals = [one.refusal for one in results if one.refusal]
    again = tuple(one for one in results if one.is_again)
    view = ResultsView(
        frame=await frame(request, "Answers", nav="approvals"),
        choice=choice,
        results=results,
        recorded=len(results) - len(refusals),
        again=again,
        reason=reason if refusals else "",
        filters=approvals.filters_of(request)[0],
    )
    refused = len(refusals) == len(results)
    return page(request, RESULTS, view, status=errors.status(refusals[0]) if refused else 200)


def _ticks(form: FormData) -> list[Tick]:
    """What was ticked, each wait once."""
    found: dict[str, Tick] = {}
    read = {value for name, value in pairs(form) if name == "read"}
    for name, value in pairs(form):
        if name == "ticked":
            wait_id, digest, token = [*value.split(" "), "", ""][:3]
            found.setdefault(
                wait_id,
                Tick(wait_id=wait_id, digest=digest, token=token, is_read=wait_id in read),
            )
    return list(found.values())


def _wrong(choice: str, ticks: list[Tick]) -> StudioError | None:
    """Why nothing at all is tried."""
    if not ticks:
        return Invalid(
            "No card is ticked, so nothing was decided. Tick the cards that you mean, then answer.",
            code="bulk.empty",
        )
    if choice not in ("approve", "deny"):
        return Invalid(
            "Several cards are approved or denied, nothing else. Nothing was decided.",
            code="decision.choice",
        )
    if len(ticks) > MOST:
        return TooLarge(
            f"{len(ticks)} cards are ticked; {MOST} can be answered at once. Nothing was decided.",
            code="bulk.too_many",
            details={"limit": MOST},
        )
    return None


async def _one(request: Request, tick: Tick, choice: str, reason: str) -> Result:
    """Answer one call. What is refused, or breaks, stops nothing of the rest."""
    is_asked = False
    try:
        if choice == "approve":
            _readable(await card_of(request, tick.wait_id), is_read=tick.is_read)
        is_asked = True
        decided = await runtime(request).decide(
            person(request), tick.wait_id, cast(Choice, choice), digest=tick.digest, reason=reason,
            token=DecisionToken(value=tick.token, secret=request.state.secret),
        )  # fmt: skip
    except StudioError as refusal:
        return await _refused(request, tick, choice, refusal)
    except Exception:
        log.exception("The answer to %s broke; the others are given all the same.", tick.wait_id)
        return await _broken(request, tick, is_asked=is_asked)
    card, is_broken = await _shown(request, tick)
    return Result(
        wait_id=tick.wait_id, card=card, refusal=None, is_broken=is_broken,
        state="held" if not decided.closed else "approved" if choice == "approve" else "denied",
        label=_label(decided), words=_said(decided),
    )  # fmt: skip


async def _shown(request: Request, tick: Tick) -> tuple[CardView | None, bool]:
    """The card as it is now, if this person may see it, and whether it cannot even be read."""
    try:
        return await card_of(request, tick.wait_id), False
    except NotFound:
        return None, False
    except Exception:
        log.exception("The card of %s cannot be read.", tick.wait_id)
        return None, True


async def _broken(request: Request, tick: Tick, *, is_asked: bool) -> Result:
    """A fault of ours: what is known of the decision, which may be in the journal all the same."""
    card, is_broken = await _shown(request, tick)
    if not is_asked:
        known = "Your answer was not recorded."
    elif card is None:
        known = "Whether your answer was recorded is not known: look at it before you answer again."
    elif card.is_open and person(request).id not in card.card.wait.approved_by:
        known = "Your answer was not recorded: the call still waits."
    else:
        known = "The call was answered all the same: look at its card."
    words = f"Something of the studio broke, and its log says what. {known}"
    return Result(
        wait_id=tick.wait_id, card=card, refusal=Unavailable(words, code="decision.broken"),
        state="failed", label="broken", words=words, is_broken=is_broken,
    )  # fmt: skip


def _readable(card: CardView, *, is_read: bool) -> None:
    """Refuse to approve from a list what it does not show whole, and what hides or misleads
    unless it was read: without scripts nobody sees that, and each is approved on its own card.
    """
    if card.is_cut and card.is_open:
        raise Refused(
            "These arguments are longer than the card shows. Read them whole, then approve there.",
            code="decision.unread",
        )
    if card.needs_opening and card.is_open and not is_read:
        raise Refused(
            f"Nobody has read it to its end here, and {card.needs_opening}. Approve it on its own "
            "card.",
            code="decision.unread",
        )


async def _refused(request: Request, tick: Tick, choice: str, refusal: StudioError) -> Result:
    card, is_broken = await _shown(request, tick)
    same = card is not None and "deny" in card.choices and card.card.wait.digest == tick.digest
    return Result(
        wait_id=tick.wait_id, card=card, refusal=refusal, is_again=same and choice == "deny",
        state="failed", label="refused", words=refusal.message, is_broken=is_broken,
    )  # fmt: skip


def _label(decided: Decided) -> str:
    if decided.choice == "deny":
        return "denied"
    return "approved" if decided.closed else f"{decided.approvals} of {decided.needed}"


def _said(decided: Decided) -> str:
    if decided.choice == "deny":
        return "It does not run."
    return "It runs." if decided.closed else "Your approval is kept. It waits for another person."
