"""Saved views of lists."""

from dataclasses import dataclass
from typing import Annotated

from studio.api.shapes import Time


@dataclass(frozen=True, kw_only=True)
class View:
    """Filters of a list under a name."""

    id: str
    list: Annotated[str, "traces or sessions."]
    name: str
    query: Annotated[str, "Of the list's URL."]
    owner: str
    shared: bool
    by: Annotated[str, "Who saved it last."]
    made: Time
    time: Time
    may_change: Annotated[bool, "Whether who asks may change it."]


@dataclass(frozen=True, kw_only=True)
class Views:
    """By list and name: one's own first, all of them, then those that others share."""

    items: tuple[View, ...]
    left_out: Annotated[int, "How many more others share."]
