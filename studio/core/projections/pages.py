"""A page of a list, and the opaque cursor that leads to the next one."""

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

LIMIT = 50
LIMIT_MOST = 200


@dataclass(frozen=True, kw_only=True)
class Page(Generic[T]):
    """Some items and the cursor behind them. `next` is None at the end of the list.

    `complete` is false when a search looked through only a part of what is there and `next` goes
    on from where it stopped, also when it found nothing yet ("search older").
    """

    items: tuple[T, ...]
    next: str | None = None
    complete: bool = True
