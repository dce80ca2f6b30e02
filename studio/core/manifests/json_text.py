"""JSON with the line of every field, no key twice and no number that is not one."""

import json
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from studio.core.manifests.document import DEEPEST, Document, Fault
from studio.core.rules import paths

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+|\n', re.DOTALL)


def read(text: str) -> Document:
    """The value; raises Fault."""
    try:
        value = json.loads(text.removeprefix("\ufeff"), parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise Fault(f"{_plain(error.msg)} (column {error.colno}).", line=error.lineno) from None
    except RecursionError:
        raise Fault(f"is nested more than {DEEPEST} levels deep.") from None
    except ValueError as error:
        raise Fault(str(error) if isinstance(error, _Odd) else "has a number too long.") from None
    return Document(value=value, format="json", lines=_lines(text))


class _Odd(ValueError):
    pass


def _constant(word: str) -> NoReturn:
    raise _Odd(f"{word} is not a number of JSON.")


def _plain(words: str) -> str:
    return words[:1].lower() + words[1:]


@dataclass
class _Place:
    """An object or list that is open, as the walk over the tokens stands in it."""

    path: str
    is_object: bool
    keys: set[str] = field(default_factory=set)
    key: str | None = None
    index: int = 0


def _lines(text: str) -> dict[str, int]:
    """The line of every field of a text that is JSON."""
    found: dict[str, int] = {}
    stack: list[_Place] = []
    line = 1
    for match in TOKEN.finditer(text):
        piece = match[0]
        if piece == "\n":
            line += 1
        elif piece in "}]":
            stack.pop()
        elif piece == ",":
            stack[-1].key, stack[-1].index = None, stack[-1].index + 1
        elif piece != ":":
            _take(piece, line, stack, found)
    return found


def _take(piece: str, line: int, stack: list[_Place], found: dict[str, int]) -> None:
    """A key, a scalar, or the beginning of an object or list."""
    place = stack[-1] if stack else None
    if place is not None and place.is_object and place.key is None:
        key: Any = json.loads(piece)
        path = paths.join(place.path, key)
        if key in place.keys:
            raise Fault("is given twice.", line=line, path=path)
        place.keys.add(key)
        place.key = key
        found[path] = line
        return
    if place is None:
        path = ""
    else:
        path = paths.join(place.path, place.key if place.key is not None else place.index)
    found.setdefault(path, line)
    if piece in "{[":
        if len(stack) >= DEEPEST:
            raise Fault(f"is nested more than {DEEPEST} levels deep.", line=line)
        stack.append(_Place(path=path, is_object=piece == "{"))
