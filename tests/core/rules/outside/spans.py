"""Spans from outside, as tests make them: sound unless they say otherwise."""

from typing import Any

from studio.core.rules.outside.arranging import Outside, Place
from studio.core.rules.outside.claims import SECOND, Claim
from studio.core.rules.spans import Span

NOW = 1_796_000_000 * SECOND  # ns
TRACE = "ab" * 16


def span_id(number: int) -> str:
    """The id of the n-th span."""
    return f"{number:016x}"


def claim(number: int = 1, parent: int = 0, **changes: Any) -> Claim:
    """A span of a second that begins with its number in ms."""
    fields: dict[str, Any] = {
        "trace_id": TRACE, "span_id": span_id(number),
        "parent_id": span_id(parent) if parent else "", "name": f"span {number}",
        "start": NOW + number * 1_000_000, "end": NOW + number * 1_000_000 + SECOND,
        "is_error": False, "message": "", "attributes": {}, "service": "shop", "scope": "tests",
    }  # fmt: skip
    return Claim(**(fields | changes))


def place(
    number: int, parent: int = 0, *, start: int = 0, end: int | None = 10, **more: Any
) -> Place:
    """The place of a span; times are ms."""
    fields: dict[str, Any] = {"kind": "other", "words": "", "of": None}
    return Place(
        id=span_id(number), parent=span_id(parent) if parent else "", start=start, end=end,
        **(fields | more),
    )  # fmt: skip


def made(one: Place) -> Span:
    """The span of a place."""
    return Span(
        id=one.id, parent=one.parent, name=one.id, kind=one.kind, what="", state="succeeded",
        start=one.start, end=one.end, depth=one.depth, words=one.words,
        is_critical=one.is_critical, is_slowest=one.is_slowest,
        loose=one.loose,
    )  # fmt: skip


def outside(**changes: Any) -> Outside:
    """The row of a trace of a second."""
    fields: dict[str, Any] = {
        "id": TRACE, "name": "helper", "agent": "helper", "service": "shop",
        "state": "completed", "began": 0, "ended": 1_000,
    }  # fmt: skip
    return Outside(**(fields | changes))
