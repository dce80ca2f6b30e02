"""Places inside a JSON value, written as dotted paths: `rollout.percent`, `files[0].name`, `to[*]`.

A name that is not a plain word is written as a JSON string in brackets: `["odd.name"]`. One
writing for policy conditions, field errors, form names and differences.
"""

import json
import re
from enum import Enum

MOST_PARTS = 64
LONGEST = 2_000

_WORD = re.compile(r"[A-Za-z_$@][A-Za-z0-9_$@-]*")
_INDEX = re.compile(r"\[(\d{1,9}|\*)\]")
_QUOTED = re.compile(r'\[("(?:[^"\\]|\\.)*")\]', re.DOTALL)


class Every(Enum):
    """The part `[*]`: every element of an array."""

    ELEMENT = "*"


EACH = Every.ELEMENT
Part = str | int | Every
Path = tuple[Part, ...]


def parse(text: str) -> Path | None:
    """The parts of a written path, none for the whole value; None when it cannot be read."""
    if len(text) > LONGEST:
        return None
    parts: list[Part] = []
    at = 0
    while at < len(text):
        read = _part(text, at, first=not parts)
        if read is None or len(parts) == MOST_PARTS:
            return None
        part, at = read
        parts.append(part)
    return tuple(parts)


def write(path: Path) -> str:
    """The path as text; `parse` reads it back."""
    text = ""
    for part in path:
        text = join(text, part)
    return text


def join(text: str, part: Part) -> str:
    """A written path with one part more."""
    if isinstance(part, Every):
        return f"{text}[*]"
    if isinstance(part, int):
        return f"{text}[{part}]"
    if not _WORD.fullmatch(part):
        return f"{text}[{json.dumps(part)}]"
    return f"{text}.{part}" if text else part


def _part(text: str, at: int, *, first: bool) -> tuple[Part, int] | None:
    if found := _INDEX.match(text, at):
        inside = found[1]
        return (EACH if inside == "*" else int(inside)), found.end()
    if found := _QUOTED.match(text, at):
        try:
            return json.loads(found[1]), found.end()
        except ValueError:
            return None
    if not first:
        if text[at] != ".":
            return None
        at += 1
    found = _WORD.match(text, at)
    return (found[0], found.end()) if found else None
