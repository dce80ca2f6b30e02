"""Saved views of lists."""

from typing import TypedDict


class View(TypedDict):
    """Filters of a list under a name."""

    id: str
    list: str
    name: str
    query: str
    owner: str
    shared: bool
    by: str
    made: str
    time: str
    may_change: bool


class Views(TypedDict):
    """By list and name: one's own first; `left_out` counts what more others share."""

    items: list[View]
    left_out: int
