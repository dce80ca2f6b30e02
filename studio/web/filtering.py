"""Filters of lists as the address has them: what is not understood is said beside its field.

Nothing is dropped without a word: what was typed stays in the field, and the list is shown as it is
without that filter.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TypeVar

from starlette.requests import Request

from studio.core.projections.pages import Page, is_plain
from studio.core.projections.turn_list import day, number
from studio.core.rules.errors import Invalid
from studio.web.visit import asked

T = TypeVar("T")
LONGEST = 200
WITHOUT = "The list is shown without it."
Read = Callable[[str], str]  # what is wrong with a text, "" for nothing


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A filter that was not understood: what was typed, and what is wrong with it."""

    typed: str
    message: str


Wrong = Mapping[str, Fault]


def read(request: Request, checks: Mapping[str, Read]) -> tuple[dict[str, str], dict[str, Fault]]:
    """The filters that are understood ("" for the others), and what is wrong with the rest."""
    kept, wrong = dict[str, str](), dict[str, Fault]()
    for name, check in checks.items():
        given = asked(request, name)
        said = (check(given) or plain(given)) if given else ""
        kept[name] = "" if said else given
        if said:
            shown = given if len(given) <= LONGEST else f"{given[:LONGEST]}…"
            wrong[name] = Fault(typed=given, message=f"“{shown}” {said} {WITHOUT}")
    return kept, wrong


def plain(text: str) -> str:
    """Any text that is not too long."""
    if len(text) > LONGEST:
        return f"is too long: a filter has at most {LONGEST} characters."
    return "" if is_plain(text) else "has characters that no text here can have."


def one_of(what: str, words: Collection[str]) -> Read:
    """One of these words."""
    return lambda text: "" if text in words else f"is no {what}: choose {_either(words)}."


def amount(what: str) -> Read:
    """A number that is not negative."""
    said = f"is no number of {what}: write 0 or more, such as 2.5, and less than a million."
    return lambda text: "" if number(text) is not None else said


def date(text: str) -> str:
    """A day."""
    return "" if day(text) is not None else "is no day: write it as 2026-11-30."


async def listed(
    ask: Callable[[str | None], Awaitable[Page[T]]], cursor: str
) -> tuple[Page[T], str, dict[str, Fault]]:
    """A page of the list, its cursor, and what is wrong with that: then it is the first page."""
    try:
        return await ask(cursor or None), cursor, {}
    except Invalid as refusal:
        if "cursor" not in refusal.fields:
            raise
    words = "This address is of a place in a list with other filters. The list begins anew here."
    return await ask(None), "", {"cursor": Fault(typed=cursor, message=words)}


def refused(wrong: Wrong) -> None:
    """Invalid when anything is wrong: for what cannot say it beside a field, such as a file."""
    if wrong:
        fields = {
            name: fault.message.removesuffix(WITHOUT).strip() for name, fault in wrong.items()
        }
        raise Invalid("A filter is not understood.", fields=fields, code="filter.invalid")


def _either(words: Collection[str]) -> str:
    *some, last = words
    return f"{', '.join(some)} or {last}" if some else last
