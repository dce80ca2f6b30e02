"""The arguments a model wrote, read strictly: what is shown of a call is all there is to it."""

import json
import math
from typing import Any

DEEPEST = 64


def parse(text: str) -> tuple[Any, str | None]:
    """(value, None), or (None, the text) when it is not JSON, or JSON that reads in two ways."""
    try:
        value = json.loads(
            text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_once
        )
        _check_depth(value)
    except (ValueError, RecursionError):
        return None, text
    return value, None


def _refuse(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large")
    return number


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return
    raise ValueError("it is nested too deep")
