"""A page of a list, the opaque cursor to the next one, and the patience of a search.

A cursor is base64 of JSON: a digest of the filter it belongs to, and the place in the list's order
where the next page begins. Lists are ordered by columns that never change, so what is added or
moves while someone pages is neither skipped nor shown twice.
"""

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from studio.core.rules import ids
from studio.core.rules.errors import Invalid

T = TypeVar("T")
Place = tuple[Any, ...]

LIMIT = 50
LIMIT_MOST = 200
WORDS_MOST = 10
MOST = 2**62
BACKSLASH = "\\"


@dataclass(frozen=True, kw_only=True)
class Page(Generic[T]):
    """Some items and the cursor behind them. `next` is None at the end of the list.

    `complete` is false when a search looked through only a part of what is there and `next` goes
    on from where it stopped, also when it found nothing yet ("search older").
    """

    items: tuple[T, ...]
    next: str | None = None
    complete: bool = True


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long a search may look: `seconds` since `begun` on a clock that never goes back."""

    clock: Callable[[], float]
    begun: float
    seconds: float = 0.22

    def is_over(self) -> bool:
        """It looked long enough."""
        return self.clock() - self.begun >= self.seconds


# Cursors ----------------------------------------------------------------------------------------


def filter_digest(**asked: Any) -> str:
    """What a cursor is bound to: the list and everything that chooses its items."""
    return ids.digest(asked)[:12]


def still(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What is asked for without what moves with the clock: `since`, where `days` says it."""
    return {**asked, "since": None} if asked["days"] else dict(asked)


def cursor(bound: str, place: Place) -> str:
    """The opaque words for a place in the list of this filter."""
    text = ids.canonical([bound, *place])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def place(given: str | None, bound: str, *kinds: type) -> Place | None:
    """The place a cursor names, its parts of these types; None without a cursor."""
    if given is None:
        return None
    try:
        found = json.loads(base64.b64decode(given + "=" * (-len(given) % 4), b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        raise _unreadable() from None
    if not isinstance(found, list) or [type(part) for part in found] != [str, *kinds]:
        raise _unreadable()
    if not all(_fits(part) for part in found):
        raise _unreadable()
    if found[0] != bound:
        raise Invalid(
            "This cursor belongs to another filter. Start this list from its first page.",
            code="cursor_mismatch",
            fields={"cursor": "It belongs to another filter."},
        )
    return tuple(found[1:])


def _unreadable() -> Invalid:
    return Invalid(
        "This cursor cannot be read. Use `next` of the page before, as it is.",
        code="cursor_invalid",
        fields={"cursor": "It cannot be read."},
    )


def _fits(part: str | int) -> bool:
    return within(part) == part if isinstance(part, int) else is_plain(part)


# What a store can compare with --------------------------------------------------------------------


def within(number: int) -> int:
    """The number, or the nearest that fits into a column."""
    return max(-MOST, min(number, MOST))


def is_plain(text: str) -> bool:
    """A store can hold this text: no NUL character and no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= sign <= "\udfff" for sign in text)


def plain(*texts: str) -> None:
    """Refuse a text that no column can hold, before a driver does."""
    if not all(is_plain(text) for text in texts):
        raise Invalid("This text has characters that no text here can have.", code="text.not_plain")


def size(limit: int, *, most: int = LIMIT_MOST) -> int:
    """The size of a page, or Invalid."""
    if not 1 <= limit <= most:
        raise Invalid(
            f"A page has 1 to {most} items, not {limit}.", fields={"limit": f"Use 1 to {most}."}
        )
    return limit


def one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a filter's word that is not one of these; the empty word filters nothing."""
    if value and value not in allowed:
        words = ", ".join(allowed)
        raise Invalid(f"`{value}` is no {name}. Use one of: {words}.",
                      fields={name: f"Use one of: {words}."})  # fmt: skip


# Searching ----------------------------------------------------------------------------------------


def words(q: str) -> list[str]:
    """The words of a search, as the search columns hold them."""
    return q.lower().split()[:WORDS_MOST]


def like(word: str) -> str:
    """The LIKE pattern (escape: backslash) of a text that holds this word as it is."""
    for special in (BACKSLASH, "%", "_"):
        word = word.replace(special, BACKSLASH + special)
    return f"%{word}%"


@dataclass(frozen=True, kw_only=True)
class Looked(Generic[T]):
    """What a search in windows found; `stopped` is where it lost patience, None if nowhere."""

    found: list[T]
    stopped: int | None = None


def look(
    fetch: Callable[[int, int, int], list[T]], *, start: int, end: int, step: int, enough: int,
    patience: Patience,
) -> Looked[T]:  # fmt: skip
    """Search from `start` down to `end` in windows of `step` until `enough` is found.

    `fetch(below, least, limit)` gives what lies in `least <= place < below`, the highest first.
    """
    found: list[T] = []
    below = start
    while below > end and len(found) < enough:
        least = max(end, below - step)
        found += fetch(below, least, enough - len(found))
        below = least
        if below > end and len(found) < enough and patience.is_over():
            return Looked(found=found, stopped=below)
    return Looked(found=found)
