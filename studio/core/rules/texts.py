"""How two texts differ: lines added and removed, and within a changed line the words."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

CONTEXT = 3
MOST_WORK = 4_000_000  # lines times lines that are compared; beyond it, all is old or new
MOST_WORDS = 400
WORD = re.compile(r"\w+|\s+|[^\w\s]")

Change = Literal["same", "added", "removed", "gap"]


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line. `parts` are (text, whether it is what changed); a gap says how many are left out.

    `old` and `new` are its numbers, counted from 1, where it stands in that text.
    """

    change: Change
    parts: tuple[tuple[str, bool], ...] = ()
    old: int | None = None
    new: int | None = None
    left_out: int = 0


def lines(old: str, new: str, *, context: int = CONTEXT) -> tuple[Line, ...]:
    """The changed lines with those around them; nothing when the texts are the same."""
    if old == new:
        return ()
    before, after = _split(old), _split(new)
    return tuple(_folded(list(_all(before, after)), context))


def _split(text: str) -> list[str]:
    """Lines without their ends; an end at the very end leaves an empty last line."""
    return text.split("\n") if text else []


def _all(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    for kind, i, j, k, m in _blocks(old, new):
        if kind == "equal":
            for n in range(j - i):
                yield Line(
                    change="same", parts=((old[i + n], False),), old=i + n + 1, new=k + n + 1
                )
        else:
            marked = [_words(a, b) for a, b in zip(old[i:j], new[k:m], strict=False)]
            for n in range(i, j):
                parts = marked[n - i][0] if n - i < len(marked) else ((old[n], False),)
                yield Line(change="removed", parts=parts, old=n + 1)
            for n in range(k, m):
                parts = marked[n - k][1] if n - k < len(marked) else ((new[n], False),)
                yield Line(change="added", parts=parts, new=n + 1)


def _blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """As `SequenceMatcher.get_opcodes`, with bounded work: equal ends are found first."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    most = min(len(old), len(new)) - start
    while end < most and old[len(old) - 1 - end] == new[len(new) - 1 - end]:
        end += 1
    a, b = old[start : len(old) - end], new[start : len(new) - end]
    if start:
        yield "equal", 0, start, 0, start
    if len(a) * len(b) > MOST_WORK:
        yield "delete", start, len(old) - end, start, start
        yield "insert", len(old) - end, len(old) - end, start, len(new) - end
    else:
        for kind, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
            yield kind, start + i, start + j, start + k, start + m
    if end:
        yield "equal", len(old) - end, len(old), len(new) - end, len(new)


def _words(old: str, new: str) -> tuple[tuple[tuple[str, bool], ...], tuple[tuple[str, bool], ...]]:
    """The parts of two lines that stand for one another, those that changed marked."""
    a, b = WORD.findall(old), WORD.findall(new)
    if max(len(a), len(b)) > MOST_WORDS:
        return ((old, False),), ((new, False),)
    before: list[tuple[str, bool]] = []
    after: list[tuple[str, bool]] = []
    for kind, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        is_changed = kind != "equal"
        if j > i:
            before.append(("".join(a[i:j]), is_changed))
        if m > k:
            after.append(("".join(b[k:m]), is_changed))
    same = sum(len(text) for text, changed in after if not changed and text.strip())
    if same * 2 < max(len(old.strip()), len(new.strip())):
        return ((old, False),), ((new, False),)  # little in common: marking it says nothing
    return tuple(before), tuple(after)


def _folded(found: list[Line], context: int) -> Iterator[Line]:
    """Without the lines that are far from any change; a gap counts them."""
    near = [False] * len(found)
    for index, line in enumerate(found):
        if line.change != "same":
            for other in range(max(0, index - context), min(len(found), index + context + 1)):
                near[other] = True
    left = 0
    for line, kept in zip(found, near, strict=True):
        if kept:
            if left:
                yield Line(change="gap", left_out=left)
            left = 0
            yield line
        else:
            left += 1
    if left:
        yield Line(change="gap", left_out=left)
