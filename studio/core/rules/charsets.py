"""What a single-character part of a regular expression matches, as a set that is quick to compare.

A set is a number: one bit for each ASCII character, and bit 128 for all others together, so two
sets may seem to overlap that do not, and never the other way round.
"""

import re
from typing import Any

_OTHERS = 1 << 128
ALL = (1 << 129) - 1
_DIGITS = sum(1 << ord(c) for c in "0123456789")
_SPACES = sum(1 << ord(c) for c in " \t\n\r\f\v\x1c\x1d\x1e\x1f")
_LETTERS = sum(1 << ord(c) for c in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_WORDS = _LETTERS | _DIGITS | 1 << ord("_")
NEWLINE = 1 << ord("\n")
_CASED_BEYOND = sum(1 << ord(c) for c in "ikIKsS")
_CATEGORIES = {
    "CATEGORY_DIGIT": _DIGITS | _OTHERS,
    "CATEGORY_NOT_DIGIT": ALL & ~_DIGITS,
    "CATEGORY_SPACE": _SPACES | _OTHERS,
    "CATEGORY_NOT_SPACE": ALL & ~_SPACES,
    "CATEGORY_WORD": _WORDS | _OTHERS,
    "CATEGORY_NOT_WORD": ALL & ~_WORDS,
}


def of(item: Any, flags: int) -> int:
    """The set that a single-character part matches."""
    code, argument = item
    name = str(code)
    if name == "LITERAL":
        return _cased(_bit(argument), flags)
    if name == "NOT_LITERAL":
        return ALL if argument >= 128 else ALL & ~_bit(argument)
    if name == "ANY":
        return ALL if flags & re.DOTALL else ALL & ~NEWLINE
    return _set(argument, flags)


def _set(argument: list[Any], flags: int) -> int:
    found, is_negated = 0, False
    for code, detail in argument:
        name = str(code)
        if name == "NEGATE":
            is_negated = True
        elif name == "LITERAL":
            found |= _bit(detail)
        elif name == "RANGE":
            low, high = detail
            found |= ((1 << min(high, 127) + 1) - 1) & ~((1 << min(low, 128)) - 1)
            found |= _OTHERS if high >= 128 else 0
        else:
            found |= _CATEGORIES.get(str(detail), ALL)
    if is_negated:
        return ALL & ~found | _OTHERS
    return _cased(found, flags)


def _bit(code_point: int) -> int:
    return 1 << code_point if code_point < 128 else _OTHERS


def _cased(found: int, flags: int) -> int:
    """The set with the other case of its letters; for i, k and s one of them is beyond ASCII."""
    if not flags & re.IGNORECASE or not found & (_LETTERS | _OTHERS):
        return found
    upper = found & _LETTERS & ((1 << 91) - 1)
    lower = found & _LETTERS & ~((1 << 91) - 1)
    found |= upper << 32 | lower >> 32
    if found & _OTHERS:
        return found | _CASED_BEYOND
    return found | (_OTHERS if found & _CASED_BEYOND else 0)
