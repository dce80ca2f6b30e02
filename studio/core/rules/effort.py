"""How long a regular expression could take at worst, found by walking its parsed form.

The matcher of the standard library backtracks: what takes time is the number of *ways* in which
the beginning of a pattern can match, times what each of them tries next. Both are bounded here for
the worst text of a given length, and work is counted in nanoseconds of a plain machine.
"""

import importlib
import math
import re
from dataclasses import dataclass
from typing import Any

from studio.core.rules import charsets

MOST_WORK = 200_000_000.0
MOST_COUNTED = 1_000
MOST_EMPTY = 16

# Measured: a try at what follows, one character of a repeat (greedy, lazy), entering a repeated
# group and going round it, an alternative, and one more character of a run (a letter, a set).
TRY, TAKE, LAZY, ENTER, ROUND, CHOICE, LETTER, SET = 6.0, 1.0, 10.0, 35.0, 18.0, 8.0, 1.2, 5.0

_codes: Any = importlib.import_module("re._constants")
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
_UNKNOWN = "uses something that is not known here"
_NESTED = "could take too long: it repeats something that can itself match in several ways"


class _Refused(Exception):
    """The pattern is refused; the text says why."""


@dataclass(frozen=True, kw_only=True)
class _Part:
    """A piece of the pattern: a run of single characters, or one item of another kind.

    `first` is the set it can begin with, `gap` the least distance between two places where it can
    match, `is_empty` says that it can match nothing.
    """

    items: tuple[Any, ...]
    flags: int
    first: int
    is_empty: bool
    gap: int = 1
    work: float = TRY
    sets: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Next:
    """What follows a piece: the set it can begin with, its gap, and the work of a try in vain."""

    first: int
    gap: int = 1
    work: float = TRY


@dataclass(frozen=True, kw_only=True)
class _Spent:
    """How many ways lead behind a piece, and the work of getting there."""

    ways: float
    work: float


def fault(tree: Any, reach: int) -> str | None:
    """Why a parsed pattern could take too long on `reach` characters, or None."""
    flags = tree.state.flags
    is_tried_once = starts_open(tree) or _is_anchored(tree, flags)
    try:
        parts = _parts(_without_tail(list(tree)), flags)
        _sequence(parts, 1.0 if is_tried_once else float(reach), reach, _Next(first=0))
    except _Refused as refused:
        return str(refused)
    return None


def starts_open(tree: Any) -> bool:
    """It begins with `.*` (or `.*?`), so only the beginnings of lines need to be tried."""
    if not len(tree) or str(tree[0][0]) not in ("MAX_REPEAT", "MIN_REPEAT"):
        return False
    least, most, body = tree[0][1]
    is_any = len(body) == 1 and body[0][0] is _codes.ANY
    return bool(least == 0 and most is _codes.MAXREPEAT and is_any)


def _is_anchored(tree: Any, flags: int) -> bool:
    if not len(tree) or str(tree[0][0]) != "AT":
        return False
    return str(tree[0][1]) == "AT_BEGINNING_STRING" or (
        str(tree[0][1]) == "AT_BEGINNING" and not flags & re.MULTILINE
    )


def _without_tail(items: list[Any]) -> list[Any]:
    """The items with a repeat at the very end cut to what it needs: the rest never fails."""
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


def _parts(items: list[Any], flags: int) -> list[_Part]:
    """The pieces of a sequence; plain groups are opened, neighbouring characters taken together."""
    found: list[_Part] = []
    run: list[Any] = []
    for item, own_flags in _opened(items, flags):
        ones = _ones(item)
        if run and (not ones or own_flags != flags):
            found.append(_run(run, flags))
            run = []
        if ones and own_flags == flags:
            run += ones
        elif ones:
            found.append(_run(ones, own_flags))
        else:
            first, is_empty = _first([item], own_flags)
            found.append(_Part(items=(item,), flags=own_flags, first=first, is_empty=is_empty))
    if run:
        found.append(_run(run, flags))
    return found


def _opened(items: list[Any], flags: int) -> list[tuple[Any, int]]:
    opened: list[tuple[Any, int]] = []
    for item in items:
        name = str(item[0])
        if name in _REFUSED:
            raise _Refused(_REFUSED[name])
        if name == "SUBPATTERN":
            _, on, off, body = item[1]
            opened += _opened(list(body), (flags | on) & ~off)
        elif name == "ATOMIC_GROUP":
            opened += _opened(list(item[1]), flags)
        else:
            opened.append((item, flags))
    return opened


def _ones(item: Any) -> list[Any]:
    """The single characters that an item stands for: `x` is x, and `x{3}` is xxx."""
    if _is_one(item):
        return [item]
    if str(item[0]) in _REPEATS:
        least, most, body = item[1]
        if least == most and 0 < most <= MOST_COUNTED and len(body) == 1 and _is_one(body[0]):
            return [body[0]] * most
    return []


def _is_one(item: Any) -> bool:
    return str(item[0]) in _ONE_CHARACTER


def _run(items: list[Any], flags: int) -> _Part:
    sets = tuple(charsets.of(item, flags) for item in items)
    depth, gap = _overlap(sets)
    is_text = all(str(item[0]) == "LITERAL" for item in items) and not flags & re.IGNORECASE
    return _Part(
        items=tuple(items), flags=flags, first=sets[0], is_empty=False, gap=gap,
        work=TRY + depth * (LETTER if is_text else SET), sets=sets,
    )  # fmt: skip


def _overlap(sets: tuple[int, ...], most: int = 24) -> tuple[int, int]:
    """How many shifted copies of a run can agree with one text, and the smallest such shift."""
    if len(sets) > most:
        return len(sets), 1
    reach = [
        next((at for at in range(len(sets) - by) if not sets[at] & sets[at + by]), len(sets) - by)
        for by in range(1, len(sets))
    ]
    whole = [by for by, length in enumerate(reach, 1) if length == len(sets) - by]
    depths = [
        sum(by < at <= by + length for by, length in enumerate(reach, 1))
        for at in range(1, len(sets) + 1)
    ]
    return max(depths), min(whole, default=len(sets))


def _sequence(parts: list[_Part], ways: float, reach: int, last: _Next) -> _Spent:
    """The work of all pieces, when `ways` ways lead to the first of them."""
    work = 0.0
    followers = _followers(parts, last)
    for at, (part, follower) in enumerate(zip(parts, followers, strict=True)):
        before = parts[at - 1].sets if at else ()
        spent = _piece(part, ways, reach, follower, before)
        ways, work = max(spent.ways, 1.0), work + spent.work
        if work > MOST_WORK or ways > MOST_WORK:
            raise _Refused(_SLOW)
    return _Spent(ways=ways, work=work)


def _followers(parts: list[_Part], last: _Next) -> list[_Next]:
    followers: list[_Next] = []
    follower = last
    for part in reversed(parts):
        followers.insert(0, follower)
        vain = _vain(part)
        if part.is_empty:
            follower = _Next(first=part.first | follower.first, work=vain + follower.work)
        else:
            follower = _Next(first=part.first, gap=part.gap, work=vain)
    return followers


def _vain(part: _Part) -> float:
    """The work of a try at a piece that does not even begin."""
    name, argument = str(part.items[0][0]), part.items[0][1]
    if name == "BRANCH":
        return CHOICE * len(argument[1])
    if name in _REPEATS and not (len(argument[2]) == 1 and _is_one(argument[2][0])):
        return ENTER
    return TRY


def _piece(
    part: _Part, ways: float, reach: int, follower: _Next, before: tuple[int, ...]
) -> _Spent:
    if part.sets:
        return _Spent(ways=ways / part.gap, work=ways * part.work)
    code, argument = part.items[0]
    name = str(code)
    if name == "AT":
        return _Spent(ways=ways, work=ways * TRY)
    if name == "BRANCH":
        return _branch(argument[1], part.flags, ways, reach, follower)
    if name not in _REPEATS:
        raise _Refused(_UNKNOWN)  # pragma: no cover - of a later Python
    least, most, body = argument
    is_open = most is _codes.MAXREPEAT
    if least > MOST_COUNTED or (not is_open and most > MOST_COUNTED):
        raise _Refused(f"repeats more than {MOST_COUNTED:,} times")
    times = reach if is_open else min(int(most), reach)
    if len(body) == 1 and _is_one(body[0]):
        is_lazy = name == "MIN_REPEAT"
        characters = charsets.of(body[0], part.flags)
        is_apart = any(not characters & one for one in before)
        return _single(characters, times, ways, reach, follower, is_lazy=is_lazy, is_apart=is_apart)
    return _loop(list(body), least, times, part.flags, ways, reach, follower)


def _single(
    characters: int, times: int, ways: float, reach: int, follower: _Next, *,
    is_lazy: bool, is_apart: bool,
) -> _Spent:  # fmt: skip
    """A repeat of one character. `is_apart`: it cannot run over what stands before it.

    Then the stretches that it takes from different places do not overlap, and together are no
    longer than the text (for each way to get to the same place).
    """
    pairs = ways * times
    if is_apart:
        pairs = min(pairs, max(ways, ways / min(ways, reach) * reach))
    elif ways >= reach and times == reach:
        pairs /= 2
    is_shared = bool(characters & follower.first)
    # Where what follows can begin anywhere in the repeat, its own work counts each try at it.
    vain = 0.0 if is_shared and follower.gap == 1 else follower.work
    work = ways * TRY + pairs * ((LAZY - TRY if is_lazy else TAKE) + vain)
    return _Spent(ways=max(ways, pairs / follower.gap) if is_shared else ways, work=work)


def _branch(choices: list[Any], flags: int, ways: float, reach: int, follower: _Next) -> _Spent:
    work, found, firsts = ways * CHOICE * len(choices), [], []
    for choice in choices:
        parts = _parts(list(choice), flags)
        spent = _sequence(parts, ways, reach, follower)
        work += spent.work
        found.append(spent.ways)
        first, is_empty = _first(list(choice), flags)
        firsts.append(first | follower.first if is_empty else first)
    is_apart = all(not one & two for at, one in enumerate(firsts) for two in firsts[at + 1 :])
    return _Spent(ways=max(found) if is_apart else sum(found), work=work)


def _loop(
    body: list[Any], least: int, times: int, flags: int, ways: float, reach: int, follower: _Next
) -> _Spent:
    """A repeat of more than one character."""
    first, is_empty = _first(body, flags)
    if is_empty and times > MOST_EMPTY:
        raise _Refused(_NESTED)
    parts = _parts(body, flags)
    again = _Next(first=first | follower.first if times > 1 else follower.first)
    inner = _sequence(parts, 1.0, reach, again)
    times = min(times, reach // max(_length(body), 1))
    if inner.ways > 1 and times > 1:
        if times * math.log(inner.ways) > math.log(MOST_WORK):
            raise _Refused(_NESTED)
        rounds = inner.ways ** (times + 1)
        return _Spent(ways=ways * rounds, work=ways * rounds * (ROUND + inner.work))
    is_exact = not first & follower.first and not is_empty
    # What matches in one way only passes over the text once.
    passed = min(inner.work * times, times * len(parts) * TRY + reach * (TAKE + TRY))
    work = ways * (ENTER + times * ROUND + passed)
    if ways >= reach and times * _length(body) >= reach // 2:
        work /= 2
    return _Spent(ways=ways * (inner.ways if is_exact else inner.ways + times - least), work=work)


def _length(items: list[Any]) -> int:
    """The fewest characters that items can match."""
    length = 0
    for code, argument in items:
        name = str(code)
        if name in _ONE_CHARACTER:
            length += 1
        elif name == "BRANCH":
            length += min(_length(list(choice)) for choice in argument[1])
        elif name == "SUBPATTERN":
            length += _length(list(argument[3]))
        elif name == "ATOMIC_GROUP":
            length += _length(list(argument))
        elif name in _REPEATS:
            length += argument[0] * _length(list(argument[2]))
    return length


def _first(items: list[Any], flags: int) -> tuple[int, bool]:
    """The characters that items can begin with, and whether they can match nothing."""
    first = 0
    for code, argument in items:
        mask, is_empty = _first_of(str(code), argument, flags)
        first |= mask
        if not is_empty:
            return first, False
    return first, True


def _first_of(name: str, argument: Any, flags: int) -> tuple[int, bool]:
    if name in _ONE_CHARACTER:
        return charsets.of((name, argument), flags), False
    if name == "AT":
        is_end = str(argument) in ("AT_END", "AT_END_STRING")
        return (charsets.NEWLINE if is_end else charsets.ALL), True
    if name == "SUBPATTERN":
        return _first(list(argument[3]), (flags | argument[1]) & ~argument[2])
    if name == "ATOMIC_GROUP":
        return _first(list(argument), flags)
    if name == "BRANCH":
        found = [_first(list(choice), flags) for choice in argument[1]]
        mask = 0
        for choice, _ in found:
            mask |= choice
        return mask, any(is_empty for _, is_empty in found)
    if name in _REPEATS:
        mask, is_empty = _first(list(argument[2]), flags)
        return mask, is_empty or argument[0] == 0
    raise _Refused(_REFUSED.get(name, _UNKNOWN))
