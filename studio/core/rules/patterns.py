"""Regular expressions that people and tools write, kept from running for seconds.

`check` refuses a pattern for which a backtracking matcher could need long (see `rules.effort`);
`matches` runs the others, on at most `LONGEST` characters.
"""

import importlib
import re
import warnings
from functools import lru_cache
from typing import Any

from studio.core.rules import effort

LONGEST = 4_096
LONGEST_PATTERN = 500

_parser: Any = importlib.import_module("re._parser")


def check(pattern: str) -> str | None:
    """None when the pattern may be used, else why not, as the end of a sentence about it."""
    return _checked(pattern)


def matches(pattern: str, text: str) -> bool | None:
    """Whether the pattern is found anywhere in the text. None: it cannot be checked."""
    if len(text) > LONGEST or _checked(pattern) is not None:
        return None
    compiled, starts_open = _compiled(pattern)
    if not starts_open:
        return compiled.search(text) is not None
    # A leading `.*` reaches from the beginning of a line whatever it reaches from later in it.
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    return any(compiled.match(text, start) is not None for start in starts)


@lru_cache(maxsize=1_024)
def _checked(pattern: str) -> str | None:
    if len(pattern) > LONGEST_PATTERN:
        return f"is longer than {LONGEST_PATTERN} characters"
    try:
        fault = effort.fault(_parse(pattern), LONGEST)
        if fault is None:
            _compiled(pattern)
    except RecursionError:
        return "is nested too deeply"  # pragma: no cover - depends on the caller's own depth
    except (re.error, OverflowError, ValueError) as wrong:
        return f"is not a regular expression: {wrong}"
    return fault


@lru_cache(maxsize=1_024)
def _compiled(pattern: str) -> tuple[re.Pattern[str], bool]:
    starts_open = effort.starts_open(_parse(pattern))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(pattern), starts_open


def _parse(pattern: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _parser.parse(pattern)
