"""JSON that people wrote, read strictly: no key twice, no NaN, and words for what is wrong."""

import json
from collections import Counter
from typing import Any


class NotJson(ValueError):
    """The text is not JSON; the message says where and why."""


def loads(text: str) -> Any:
    """The value of a JSON text."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except json.JSONDecodeError as wrong:
        raise NotJson(f"line {wrong.lineno}, column {wrong.colno}: {wrong.msg}") from None
    except RecursionError:
        raise NotJson("it is nested too deeply") from None
    except ValueError as wrong:
        raise NotJson(str(wrong)[:200]) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"the name {twice} stands twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
