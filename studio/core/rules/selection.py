"""What a tool keeps of an answer: one place of it, or several under names of their own.

A place is a dotted path as everywhere (`data.items[0].id`, `items[*].name`) or a JSON pointer
(`/data/items/0/id`).
"""

import re
from collections.abc import Mapping
from typing import Any

from studio.core.rules import paths

MOST_NAMES = 50
_INDEX = re.compile(r"0|[1-9]\d{0,8}")


class Unfit(Exception):
    """The answer has nothing at this place; the message says so, and nothing else of it."""


def fault(select: object) -> str | None:
    """What is wrong with a selection, as a sentence without its subject; None when nothing."""
    if isinstance(select, str):
        return None if _parts(select) is not None else "is not a path such as data.items[0].id."
    if not isinstance(select, Mapping) or not 0 < len(select) <= MOST_NAMES:
        return f"must be a path, or an object of 1 to {MOST_NAMES} names, each with its path."
    for name, path in select.items():
        if not isinstance(path, str) or _parts(path) is None:
            return f"has no path such as data.items[0].id under “{name}”."
    return None


def of(value: Any, select: str | Mapping[str, str]) -> Any:
    """What the selection keeps; Unfit names the place that is not there."""
    if isinstance(select, str):
        return _at(value, select)
    return {name: _at(value, path) for name, path in select.items()}


def _at(value: Any, path: str) -> Any:
    parts = _parts(path)
    if parts is None:
        raise Unfit(f"“{path}” is not a path.")
    return _walk(value, parts, path)


def _walk(value: Any, parts: paths.Path, path: str) -> Any:
    for index, part in enumerate(parts):
        if isinstance(part, paths.Every):
            if not isinstance(value, list):
                raise Unfit(_words(path, parts[:index], "is no list"))
            return [_walk(item, parts[index + 1 :], path) for item in value]
        if isinstance(part, str) and isinstance(value, list) and _INDEX.fullmatch(part):
            part = int(part)
        try:
            value = value[part] if _fits(value, part) else _missing(parts[:index], part, path)
        except IndexError:
            raise Unfit(
                _words(path, parts[:index], f"has fewer than {int(part) + 1} entries")
            ) from None
    return value


def _fits(value: Any, part: paths.Part) -> bool:
    if isinstance(part, int):
        return isinstance(value, list)
    return isinstance(value, Mapping) and part in value


def _missing(before: paths.Path, part: paths.Part, path: str) -> Any:
    what = "is no list" if isinstance(part, int) else f"has no field “{part}”"
    raise Unfit(_words(path, before, what))


def _words(path: str, before: paths.Path, what: str) -> str:
    where = f"“{paths.write(before)}”" if before else "it"
    return f"It has nothing at “{path}”: {where} {what}."


def _parts(path: str) -> paths.Path | None:
    if not path.startswith("/"):
        return paths.parse(path)
    if len(path) > paths.LONGEST or re.search(r"~(?![01])", path):
        return None
    found = [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]
    return tuple(found) if len(found) <= paths.MOST_PARTS else None
