"""The card of a wait as one person is shown it, with the token that only its own form carries."""

import asyncio
from dataclasses import dataclass, replace

from starlette.requests import Request

from studio.core.reader import Card
from studio.core.rules import contents, reveal
from studio.core.rules.errors import Invalid, StudioError
from studio.web import arguments, commands, forms
from studio.web.arguments import Node
from studio.web.commands import Command
from studio.web.format import count
from studio.web.forms import Field
from studio.web.forms.pairs import ABSENT, Pairs
from studio.web.visit import may, person, reader, runtime
from studio.web.words import wait_state

WARNED_CHARACTERS = 64 * 1024
SHORT_CHARACTERS = 4_000
LARGE_BYTES = 64 * 1024
EDITED_BYTES = 256 * 1024  # a form of larger arguments would not fit into a request
MOST_HIDDEN = 2_000  # with more hidden characters than these nobody can read the arguments


@dataclass(frozen=True, kw_only=True)
class CardView:
    """One card, in any state.

    `command` is what the arguments say when that can be read as a whole, else None; `tree` is the
    exact arguments, cut when `is_cut`; then only the page of the whole arguments can
    approve. `token` is "" when this person may not decide. `fields` are those of the answer to a
    question. One that `is_folded` shows its head alone until it is opened; one that `is_listed`
    stands among others and can be ticked to be answered with them. `refusal` says why a
    decision was not taken; what was typed for it is kept.
    """

    card: Card
    state: str
    label: str
    tree: Node
    warnings: tuple[str, ...]
    is_cut: bool
    is_whole: bool
    token: str
    may_rule: bool = False
    is_folded: bool = False
    is_listed: bool = False
    fields: tuple[Field, ...] = ()
    action: forms.Action | None = None
    reason: str = ""
    refusal: StudioError | None = None
    command: Command | None = None

    @property
    def is_open(self) -> bool:
        """It waits for a person."""
        return self.card.wait.state == "open"

    @property
    def choices(self) -> tuple[str, ...]:
        """What this person may answer now."""
        return self.card.choices if self.token else ()

    @property
    def tick(self) -> str:
        """What it can be ticked for in a list: "approve" or denying, "deny" alone, or nothing."""
        if not self.is_listed or self.card.wait.kind != "approval" or "deny" not in self.choices:
            return ""
        return "deny" if self.is_cut or "approve" not in self.choices else "approve"

    @property
    def needs_opening(self) -> str:
        """Why it cannot be ticked where no script sees whether it was read."""
        if self.is_cut:
            return "its arguments are longer than the card shows"
        return "its arguments hide or mislead" if self.warnings else ""

    @property
    def is_unreadable(self) -> bool:
        """Not even the page of the whole arguments shows them, so it can only be denied."""
        return not self.card.readable or self.tree.hidden_characters > MOST_HIDDEN

    @property
    def may_edit(self) -> bool:
        """The arguments fit into a form."""
        fits = self.card.call.size <= EDITED_BYTES and not self.is_unreadable
        return fits and "approve" in self.choices


async def cards_of(request: Request, session_id: str) -> tuple[CardView, ...]:
    """The cards of a session that wait for a person."""
    found = await reader(request).cards(person(request), session_id)
    return tuple([await card_view(request, card) for card in found])


async def card_of(
    request: Request, wait_id: str, *, whole: bool = False, reason: str = "",
    typed: Pairs | None = None, refusal: StudioError | None = None,
) -> CardView:  # fmt: skip
    """One card by its wait; `whole` shows all of the arguments, `typed` is a form sent back."""
    card = await reader(request).wait(person(request), wait_id)
    view = await card_view(request, card, whole=whole, typed=typed, refusal=refusal)
    return replace(view, reason=reason)


async def card_view(
    request: Request, card: Card, *, whole: bool = False, typed: Pairs | None = None,
    refusal: StudioError | None = None,
) -> CardView:  # fmt: skip
    """A card for this person and this browser."""
    state, label = wait_state(card.wait)
    tree = await _drawn(card, whole=whole)
    fields, action = _fields(card, typed, refusal)
    return CardView(
        card=card,
        state=state,
        label=label,
        tree=tree,
        warnings=_warnings(card, tree),
        is_cut=not tree.complete,
        is_whole=whole,
        token=_token(request, card) if card.choices else "",
        may_rule=may(request, "admin"),
        fields=fields,
        action=action,
        refusal=None if action else refusal,
        command=commands.command(card.call) if tree.complete else None,
    )


def _fields(
    card: Card, typed: Pairs | None, refusal: StudioError | None
) -> tuple[tuple[Field, ...], forms.Action | None]:
    """The fields of the answer to a question: empty, or as they were sent."""
    if "answer" not in card.choices:
        return (), None
    if typed is None:
        return tuple(forms.fields(card.schema, ABSENT, under=card.wait.id)), None
    _value, wrong, action = forms.read(card.schema, typed, under=card.wait.id)
    if isinstance(refusal, Invalid):
        wrong = wrong | refusal.fields
    shown = wrong if refusal else {}
    drawn = forms.again(card.schema, typed, errors=shown, action=action, under=card.wait.id)
    return tuple(drawn), action


async def _drawn(card: Card, *, whole: bool) -> Node:
    """The arguments as a tree; a large one beside the loop, so that nobody waits for it."""
    if card.call.size < LARGE_BYTES:
        return _tree(card, whole=whole)
    return await asyncio.to_thread(_tree, card, whole=whole)


def _tree(card: Card, *, whole: bool) -> Node:
    """The exact arguments: as much as a card holds, or all; what cannot be read is cut text."""
    if not card.readable and card.call.arguments is not None:
        return replace(arguments.tree(contents.words(card.call.arguments)), complete=False)
    short = arguments.tree(card.arguments_value, cut=SHORT_CHARACTERS)
    if short.complete or short.hidden_characters > MOST_HIDDEN:
        return short
    if whole:
        return arguments.tree(card.arguments_value, cut=None)
    return arguments.tree(card.arguments_value)


def _warnings(card: Card, tree: Node) -> tuple[str, ...]:
    """What a person should know before they read the arguments: what hides or misleads in them."""
    content = card.call.arguments
    found = reveal.warnings(contents.words(content)[:WARNED_CHARACTERS]) if content else []
    if not found and tree.hidden_characters:
        found = [f"{count(tree.hidden_characters, 'hidden character')}, marked where they stand."]
    return tuple(dict.fromkeys(found))


def _token(request: Request, card: Card) -> str:
    return runtime(request).decision_token(
        person(request), card.wait.id, card.wait.digest, request.state.secret
    )
