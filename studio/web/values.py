"""JSON values of any size and depth: their text, whether two are the same, where they differ."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from studio.core.rules import paths

DEEPEST = 24
ABSENT: Any = object()


def text(value: Any) -> str:
    """Compact JSON of a value of any depth."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (RecursionError, ValueError):
        return "".join(_parts(value))


def _parts(value: Any) -> Iterator[str]:
    """The same without recursion: a stack of what is still to be written."""
    stack: list[tuple[bool, Any]] = [(False, value)]
    while stack:
        is_text, item = stack.pop()
        if is_text:
            yield item
        elif isinstance(item, Mapping):
            stack.append((True, "}"))
            for at, (key, inner) in reversed(list(enumerate(item.items()))):
                name = f"{',' if at else ''}{json.dumps(key, ensure_ascii=False)}:"
                stack += [(False, inner), (True, name)]
            stack.append((True, "{"))
        elif isinstance(item, list):
            stack.append((True, "]"))
            for at in range(len(item) - 1, -1, -1):
                stack += [(False, item[at]), (True, "," if at else "")]
            stack.append((True, "["))
        else:
            yield _leaf(item)


def _leaf(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except ValueError:
        return f"(a number of {value.bit_length():,} bits)"


def same(one: Any, two: Any) -> bool:
    """JSON equality at any depth: true is not 1, and 1.0 is 1."""
    stack = [(one, two)]
    while stack:
        left, right = stack.pop()
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            if left.keys() != right.keys():
                return False
            stack += [(left[key], right[key]) for key in left]
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            stack += zip(left, right, strict=True)
        elif isinstance(left, bool) or isinstance(right, bool):
            if left is not right:
                return False
        elif left is not right and (_is_inner(left) or _is_inner(right) or left != right):
            return False
    return True


def _is_inner(value: Any) -> bool:
    return isinstance(value, Mapping | list)


def differences(old: Any, new: Any) -> Iterator[tuple[paths.Path, Any, Any]]:
    """Places that differ, found with a stack of our own, so that depth does not matter."""
    stack: list[tuple[paths.Path, Any, Any]] = [((), old, new)]
    while stack:
        path, before, after = stack.pop()
        inner = _pairs(path, before, after) if len(path) < DEEPEST else None
        if inner is not None:
            stack += reversed(inner)
        elif not same(before, after):
            yield path, before, after


def _pairs(path: paths.Path, before: Any, after: Any) -> list[tuple[paths.Path, Any, Any]] | None:
    """The entries of two objects or two arrays, side by side; None when they are not both that."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        keys = dict.fromkeys([*after, *before])
        return [((*path, key), before.get(key, ABSENT), after.get(key, ABSENT)) for key in keys]
    if isinstance(before, list) and isinstance(after, list):
        longest = max(len(before), len(after))
        return [((*path, at), _at(before, at), _at(after, at)) for at in range(longest)]
    return None


def _at(items: list[Any], index: int) -> Any:
    return items[index] if index < len(items) else ABSENT
