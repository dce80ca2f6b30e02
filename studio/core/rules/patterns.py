"""Regular expressions that people and tools write, kept from running for seconds.

`check` walks the parsed pattern and bounds the work that a backtracking matcher could need on
`LONGEST` characters; a pattern whose bound is over `MOST_WORK` is refused with a sentence. The
unit of work is one try at what follows a repeat (25 ns or so where this was measured).
"""

import importlib
import math
import re
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

LONGEST = 4_096
LONGEST_PATTERN = 500
MOST_COUNTED = 1_000
MOST_WORK = 2.0 * LONGEST * LONGEST

_parser: Any = importlib.import_module("re._parser")
_codes: Any = importlib.import_module("re._constants")

# A set of characters is a number: one bit for each ASCII character, bit 128 for all others.
_OTHERS = 1 << 128
_ALL = (1 << 129) - 1
_DIGITS = sum(1 << ord(c) for c in "0123456789")
_SPACES = sum(1 << ord(c) for c in " \t\n\r\f\v\x1c\x1d\x1e\x1f")
_LETTERS = sum(1 << ord(c) for c in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_WORDS = _LETTERS | _DIGITS | 1 << ord("_")
_NEWLINE = 1 << ord("\n")
_CASED_BEYOND = sum(1 << ord(c) for c in "ikIKsS")
_CATEGORIES = {
    "CATEGORY_DIGIT": _DIGITS | _OTHERS,
    "CATEGORY_NOT_DIGIT": _ALL & ~_DIGITS,
    "CATEGORY_SPACE": _SPACES | _OTHERS,
    "CATEGORY_NOT_SPACE": _ALL & ~_SPACES,
    "CATEGORY_WORD": _WORDS | _OTHERS,
    "CATEGORY_NOT_WORD": _ALL & ~_WORDS,
}
_ONE_CHARACTER = frozenset({"LITERAL", "NOT_LITERAL", "IN", "ANY"})
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_BACK = "refers back to a group, which can take very long"
_AROUND = "looks ahead or behind, which can take very long"
_REFUSED = {
    "GROUPREF": _BACK,
    "GROUPREF_EXISTS": _BACK,
    "ASSERT": _AROUND,
    "ASSERT_NOT": _AROUND,
    "FAILURE": _AROUND,
}
_SLOW = (
    "could take too long: two repeats can match the same text. "
    "Begin it with ^, make the repeats more exact, or use two conditions"
)
_NESTED = "could take too long: it repeats something that can itself match in several ways"

# What trying one more character of a run costs, against one try at what follows a repeat.
_SCAN, _LETTER, _SET = 0.1, 0.17, 0.75


class _TooSlow(Exception):
    """The pattern is refused; the text says why."""


@dataclass(frozen=True, kw_only=True)
class _After:
    """What follows a part: characters it begins with, and how far apart two beginnings are."""

    first: int
    gap: int = 1


@dataclass(frozen=True, kw_only=True)
class _Cost:
    """Bounds of a part from one start: `ways` it can match, `work`, shortest `length`."""

    ways: float
    work: float
    length: int
    first: int
    gap: int = 1


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
        tree = _parse(pattern)
        if _work(tree) > MOST_WORK:
            return _SLOW
        _compiled(pattern)
    except _TooSlow as slow:
        return str(slow)
    except RecursionError:
        return "is nested too deeply"
    except (re.error, OverflowError, ValueError) as fault:
        return f"is not a regular expression: {fault}"
    return None


@lru_cache(maxsize=1_024)
def _compiled(pattern: str) -> tuple[re.Pattern[str], bool]:
    tree = _parse(pattern)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(pattern), _starts_open(tree)


def _parse(pattern: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _parser.parse(pattern)


def _starts_open(tree: Any) -> bool:
    """It begins with `.*` (or `.*?`), so only the beginnings of lines need to be tried."""
    if not len(tree) or str(tree[0][0]) not in ("MAX_REPEAT", "MIN_REPEAT"):
        return False
    least, most, body = tree[0][1]
    is_any = len(body) == 1 and body[0][0] is _codes.ANY
    return bool(least == 0 and most is _codes.MAXREPEAT and is_any)


def _work(tree: Any) -> float:
    """The bound over all places of the text where the pattern may begin."""
    flags = tree.state.flags
    items = _without_tail(list(tree))
    cost = _sequence(items, flags, _After(first=0))
    if _starts_open(tree) or _is_anchored(tree, flags):
        return cost.work
    run = _pieces(items)[0] if items else []
    at_each_place = _run(run, flags).work if run and _is_one(run[0]) else 0.0
    return LONGEST * at_each_place + LONGEST / cost.gap * cost.work


def _without_tail(items: list[Any]) -> list[Any]:
    """The parts with a repeat at the very end cut to what it needs: the rest never fails."""
    if not items or str(items[-1][0]) not in _REPEATS | {"SUBPATTERN"}:
        return items
    only = items[-1:]
    while len(only) == 1 and str(only[0][0]) == "SUBPATTERN" and not any(only[0][1][1:3]):
        only = list(only[0][1][3])
    if len(only) != 1 or str(only[0][0]) not in _REPEATS:
        return items
    least, most, body = only[0][1]
    is_huge = most is not _codes.MAXREPEAT and most > MOST_COUNTED
    if len(body) != 1 or not _is_one(body[0]) or least > 32 or is_huge:
        return items
    return [*items[:-1], *[body[0]] * least]


def _is_anchored(tree: Any, flags: int) -> bool:
    if not len(tree) or str(tree[0][0]) != "AT":
        return False
    return str(tree[0][1]) == "AT_BEGINNING_STRING" or (
        str(tree[0][1]) == "AT_BEGINNING" and not flags & re.MULTILINE
    )


def _sequence(items: list[Any], flags: int, after: _After) -> _Cost:
    """Bounds of parts one behind the other, worked out from the last to the first."""
    costs: list[_Cost] = []
    for piece in reversed(_pieces(items)):
        cost = _run(piece, flags) if _is_one(piece[0]) else _item(piece[0], flags, after)
        costs.insert(0, cost)
        if cost.length:
            after = _After(first=cost.first, gap=cost.gap)
        else:
            after = _After(first=cost.first | after.first)
    ways, work = 1.0, 0.0
    for cost in costs:
        work += ways * cost.work
        ways *= cost.ways
        if work > MOST_WORK or ways > MOST_WORK:
            raise _TooSlow(_SLOW)
    length = sum(cost.length for cost in costs)
    gap = costs[0].gap if costs else 1
    return _Cost(ways=ways, work=work, length=length, first=after.first, gap=gap)


def _pieces(items: list[Any]) -> list[list[Any]]:
    """Parts with neighbouring single characters taken together; `x{3}` counts as `xxx`."""
    pieces: list[list[Any]] = []
    for item in items:
        ones = _ones(item)
        if ones and pieces and _is_one(pieces[-1][0]):
            pieces[-1].extend(ones)
        else:
            pieces.append(ones or [item])
    return pieces


def _ones(item: Any) -> list[Any]:
    if _is_one(item):
        return [item]
    if str(item[0]) in _REPEATS:
        least, most, body = item[1]
        if least == most and 0 < most <= MOST_COUNTED and len(body) == 1 and _is_one(body[0]):
            return [body[0]] * most
    return []


def _is_one(item: Any) -> bool:
    return str(item[0]) in _ONE_CHARACTER


def _run(items: list[Any], flags: int) -> _Cost:
    """A run of single characters: how often can several tries at it be half-way at once?"""
    sets = [_characters(item, flags) for item in items]
    depth, gap = _overlap(sets)
    is_text = all(str(item[0]) == "LITERAL" for item in items) and not flags & re.IGNORECASE
    work = 1 + depth * (_LETTER if is_text else _SET)
    return _Cost(ways=1, work=work, length=len(items), first=sets[0], gap=gap)


def _overlap(sets: list[int], most: int = 24) -> tuple[int, int]:
    """How many shifted copies of the run can agree on one text, and the smallest such shift."""
    if len(sets) > most:
        return len(sets), 1
    reach = [
        next((at for at in range(len(sets) - by) if not sets[at] & sets[at + by]), len(sets) - by)
        for by in range(1, len(sets))
    ]
    whole = [by for by, length in enumerate(reach, 1) if length == len(sets) - by]
    depth = max(
        (sum(1 for by, length in enumerate(reach, 1) if by < at <= by + length)
         for at in range(1, len(sets) + 1)),
        default=0,
    )  # fmt: skip
    return depth, min(whole, default=len(sets))


def _item(item: Any, flags: int, after: _After) -> _Cost:
    code, argument = item
    name = str(code)
    if name in _REFUSED:
        raise _TooSlow(_REFUSED[name])
    if name == "AT":
        first = _NEWLINE if str(argument) in ("AT_END", "AT_END_STRING") else _ALL
        return _Cost(ways=1, work=1, length=0, first=first)
    if name == "BRANCH":
        return _branch(argument[1], flags, after)
    if name == "SUBPATTERN":
        _, on, off, body = argument
        return _sequence(list(body), (flags | on) & ~off, after)
    if name == "ATOMIC_GROUP":
        return _sequence(list(argument), flags, after)
    if name in _REPEATS:
        return _repeat(argument, flags, after)
    raise _TooSlow("uses something that is not supported here")


def _branch(choices: list[Any], flags: int, after: _After) -> _Cost:
    costs = [_sequence(list(choice), flags, after) for choice in choices]
    firsts = [cost.first if cost.length else cost.first | after.first for cost in costs]
    apart = all(not (one & two) for at, one in enumerate(firsts) for two in firsts[at + 1 :])
    ways = max(cost.ways for cost in costs) if apart else sum(cost.ways for cost in costs)
    first = 0
    for cost in costs:
        first |= cost.first
    return _Cost(
        ways=ways,
        work=1 + sum(cost.work for cost in costs),
        length=min(cost.length for cost in costs),
        first=first,
    )


def _repeat(argument: Any, flags: int, after: _After) -> _Cost:
    least, most, body = argument
    if most is not _codes.MAXREPEAT and most > MOST_COUNTED:
        raise _TooSlow(f"repeats more than {MOST_COUNTED:,} times")
    if least > MOST_COUNTED:
        raise _TooSlow(f"repeats more than {MOST_COUNTED:,} times")
    count = min(int(most), LONGEST)
    only = _unwrapped(body)
    if only is not None:
        first = _characters(only, flags)
        ways = (count - least + 1) / after.gap if first & after.first else 1.0
        scan = _SCAN if only is body[0] else 1.0
        return _Cost(ways=max(ways, 1.0), work=1 + count * scan, length=least, first=first)
    return _loop(list(body), least, count, flags, after)


def _unwrapped(body: Any) -> Any:
    """The single character that is repeated, also out of groups; None when it is more."""
    while len(body) == 1 and str(body[0][0]) == "SUBPATTERN" and not any(body[0][1][1:3]):
        body = body[0][1][3]
    return body[0] if len(body) == 1 and _is_one(body[0]) else None


def _loop(body: list[Any], least: int, count: int, flags: int, after: _After) -> _Cost:
    """A repeat of more than one character."""
    first, is_empty = _first(body, flags)
    if is_empty and count > 16:
        raise _TooSlow(_NESTED)
    inner = _sequence(body, flags, _After(first=first | after.first if count > 1 else after.first))
    times = min(count, LONGEST // max(inner.length, 1))
    is_exact = not first & after.first and not is_empty
    if inner.ways > 1 and times > 1:
        if times * math.log(inner.ways) > math.log(MOST_WORK):
            raise _TooSlow(_NESTED)
        ways = inner.ways**times * (times + 1)
        work = inner.work * ways
    else:
        ways = inner.ways if is_exact else inner.ways + times - least
        # Parts that match in one way only pass over the text once, forth and back.
        work = min(inner.work * times, 0.8 * LONGEST + inner.work)
    length = inner.length * least
    return _Cost(ways=max(ways, 1.0), work=1 + work, length=length, first=first)


def _first(items: list[Any], flags: int) -> tuple[int, bool]:
    """The characters that parts can begin with, and whether they can match nothing."""
    first = 0
    for code, argument in items:
        name = str(code)
        mask, is_empty = 0, False
        if name in _ONE_CHARACTER:
            mask = _characters((code, argument), flags)
        elif name == "BRANCH":
            found = [_first(list(choice), flags) for choice in argument[1]]
            is_empty = any(empty for _, empty in found)
            for choice, _ in found:
                mask |= choice
        elif name == "SUBPATTERN":
            mask, is_empty = _first(list(argument[3]), (flags | argument[1]) & ~argument[2])
        elif name == "ATOMIC_GROUP":
            mask, is_empty = _first(list(argument), flags)
        elif name in _REPEATS:
            mask, is_empty = _first(list(argument[2]), flags)
            is_empty = is_empty or argument[0] == 0
        else:
            is_empty = True
        first |= mask
        if not is_empty:
            return first, False
    return first, True


def _characters(item: Any, flags: int) -> int:
    """The set that a single-character part matches."""
    code, argument = item
    name = str(code)
    if name == "LITERAL":
        return _cased(_bit(argument), flags)
    if name == "NOT_LITERAL":
        return _ALL if argument >= 128 else _ALL & ~_bit(argument)
    if name == "ANY":
        return _ALL if flags & re.DOTALL else _ALL & ~_NEWLINE
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
            found |= _CATEGORIES.get(str(detail), _ALL)
    if is_negated:
        return _ALL & ~found | _OTHERS
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
