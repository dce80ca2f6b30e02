"""Answers of a sandbox service, as far as they are believed: claimed by someone outside."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from studio.core.sandboxes.contract import Ended, Found, Match, Ran, Written
from studio.core.sandboxes.egress.tried import Outcome, Tried
from studio.core.sandboxes.output import Output
from studio.core.sandboxes.services.service import MOST, MOST_WORDS, number, text, unreadable

_ENDED: Final[Mapping[str, Ended]] = {
    "timeout": "timeout", "output": "output", "disk": "disk", "memory": "memory",
    "stopped": "stopped", "lost": "lost",
}  # fmt: skip
_OUTCOMES: Final[Mapping[str, Outcome]] = {
    "allowed": "allowed", "refused": "refused", "failed": "failed",
}  # fmt: skip
_NUMBERS = ("bytes_up", "bytes_down", "started", "milliseconds")
MOST_TRIED = 1_000
LONGEST_HOST, LONGEST_HASH = 253, 128  # characters
_DECLINED = (AttributeError, KeyError, OverflowError, TypeError, ValueError)


def end(told: Any) -> dict[str, Any]:
    """The end of a command; Unreadable when it has no exit code or ended in no known way."""
    if not isinstance(told, dict) or not isinstance(told.get("exit"), int):
        raise unreadable("the end of a command has no exit code")
    if not -MOST <= told["exit"] <= MOST:
        raise unreadable("the exit code of a command is out of all bounds")
    if not isinstance(told.get("ended"), str | None) or told.get("ended") not in {None, *_ENDED}:
        raise unreadable("a command ended in a way that is not known")
    tried(told, "")
    return told


def ran(told: Mapping[str, Any], output: Output, seconds: float) -> Ran:
    """What became of a command, by its `end`."""
    ended, size = told.get("ended"), told.get("size")
    return Ran(
        exit=told["exit"], output=output.kept,
        size=number(size) if isinstance(size, int) else output.size,
        seconds=seconds, ended=_ENDED[ended] if ended is not None else None,
        words=text(told.get("words") or "", MOST_WORDS),
    )  # fmt: skip


def tried(told: Mapping[str, Any], command: str) -> list[Tried]:
    """The places that a command tried to reach, as its `end` tells; `MOST_TRIED` at most."""
    return [_tried(item, command) for item in listed(told, "tried")[:MOST_TRIED]]


def _tried(item: Any, command: str) -> Tried:
    try:
        outcome = item["outcome"]
        numbers = {name: number(item.get(name, 0)) for name in _NUMBERS}
        if outcome not in _OUTCOMES:
            raise ValueError(outcome)
        return Tried(
            host=text(item["host"], LONGEST_HOST), port=int(item["port"]) & 0xFFFF,
            outcome=_OUTCOMES[outcome], reason=text(item.get("reason") or "", MOST_WORDS),
            command=command, **numbers,
        )  # fmt: skip
    except _DECLINED:
        raise unreadable("a place that was tried is not told of in full") from None


def written(told: Mapping[str, Any]) -> Written:
    """What a write left."""
    try:
        return Written(
            size=number(told["size"]), hash=text(told["hash"], LONGEST_HASH),
            made=bool(told["made"]),
        )  # fmt: skip
    except _DECLINED:
        raise unreadable("it does not say what was written") from None


def found(told: Mapping[str, Any], most: int) -> Found:
    """Paths and matches, `most` of them."""
    try:
        matches = tuple(
            Match(path=text(item["path"]), line=number(item["line"]), text=text(item["text"]))
            for item in listed(told, "matches")[:most]
        )
    except _DECLINED:
        raise unreadable("a match in it has no path, line and text") from None
    paths = tuple(map(text, listed(told, "paths")[:most]))
    return Found(paths=paths, matches=matches, more=bool(told.get("more")))


def listed(told: Mapping[str, Any], name: str) -> list[Any]:
    """A list of an answer; empty when it is left out."""
    items = told.get(name, [])
    if not isinstance(items, list):
        raise unreadable(f"its “{name}” is no list")
    return items


def output(told: Any) -> bytes:
    """A piece of output."""
    try:
        return base64.b64decode(told, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise unreadable("a piece of output is not base64") from None
