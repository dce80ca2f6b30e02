"""JSON from outside, read strictly: no NaN, no infinity, no endless nesting."""

import json
import math
from typing import Any

DEEPEST = 128


class NotJson(ValueError):
    """The text is not JSON, or not JSON that can be kept."""


def loads(text: str | bytes) -> Any:
    """The value of a JSON text; NotJson says what is wrong."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except NotJson:
        raise
    except (ValueError, RecursionError) as wrong:
        raise NotJson(_words(wrong)) from None
    check(value)
    return value


def _words(wrong: ValueError | RecursionError) -> str:
    """What is wrong in the words of people and not of this language."""
    match wrong:
        case json.JSONDecodeError():
            return str(wrong)
        case UnicodeDecodeError():
            return f"byte {wrong.start} is not UTF-8"
        case RecursionError():
            return f"it is nested deeper than {DEEPEST} levels"
        case _:
            return "a number in it has too many digits"


def check(value: Any) -> None:
    """Raise NotJson when a value holds NaN or infinity, or is nested too deep."""
    level = [value]
    for _ in range(DEEPEST):
        inner = list[Any]()
        for item in level:
            if isinstance(item, dict):
                inner += item.values()
            elif isinstance(item, list):
                inner += item
            elif isinstance(item, float) and not math.isfinite(item):
                raise NotJson("a number in it is not finite")
        if not inner:
            return
        level = inner
    raise NotJson(f"it is nested deeper than {DEEPEST} levels")


def _refuse(text: str) -> float:
    raise NotJson(f"{text} is not JSON")
