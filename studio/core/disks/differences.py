"""What differs between two versions, and between two files as text."""

import difflib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from studio.core.disks import browsing, tree
from studio.core.disks.browsing import Entry, entry_of
from studio.core.disks.objects import Objects, Reader
from studio.core.disks.tree import Row, Version

# `changed`: other bytes, or another target; `type`: a file became a folder, say; `mode`, `times`:
# only that. A folder's time is no difference: it says that something in it came or went.
What = Literal["added", "removed", "changed", "type", "mode", "times"]
MOST_TEXT = 512 * 1024  # bytes of each side
MOST_LINES = 20_000
MOST_SECONDS = 1.0  # of comparing: difflib is quadratic on texts that are made for it
CONTEXT = 3


@dataclass(frozen=True, kw_only=True)
class Change:
    """One path that differs, as it was and as it is; None where it was not or is not."""

    path: str
    what: What
    before: Entry | None = None
    after: Entry | None = None


@dataclass(frozen=True, kw_only=True)
class TextDiff:
    """A unified diff of two files, or why there is none.

    `lines` begin with a blank, `-`, `+` or `@`, and have no line ends.
    """

    state: Literal["same", "text", "binary", "too_large"]
    lines: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0


def diff(objects: Objects, a: Version, b: Version) -> Iterator[Change]:
    """Every difference, in the order of paths; folders that are the same are not looked into."""
    if a.mode != b.mode:
        before, after = (Row(tree.FOLDER, v.mode, 0, v.size, v.tree) for v in (a, b))
        yield Change(path="", what="mode", before=entry_of("", before), after=entry_of("", after))
    with objects.reading() as reader:
        yield from _folders(reader, "", a.tree, b.tree)


def text_diff(objects: Objects, a: str | None, b: str | None) -> TextDiff:
    """Two files by hash, line by line; None is a file that is not there."""
    if a == b:
        return TextDiff(state="same")
    with objects.reading() as reader:
        if any(sha and reader.size(sha) > MOST_TEXT for sha in (a, b)):
            return TextDiff(state="too_large")
        before, after = (reader.whole(sha) if sha else b"" for sha in (a, b))
    return compared(before, after)


def compared(before: bytes, after: bytes) -> TextDiff:
    """Two texts in hand, line by line."""
    if before == after:
        return TextDiff(state="same")
    if max(len(before), len(after)) > MOST_TEXT:
        return TextDiff(state="too_large")
    if not all(browsing.is_text(data, whole=True) for data in (before, after)):
        return TextDiff(state="binary")
    old, new = (_lines(data.decode("utf-8")) for data in (before, after))
    if max(len(old), len(new)) > MOST_LINES:
        return TextDiff(state="too_large")
    try:
        lines = tuple(_unified(old, new))
    except _TooLong:
        return TextDiff(state="too_large")
    return TextDiff(
        state="text", lines=lines, added=sum(line[0] == "+" for line in lines),
        removed=sum(line[0] == "-" for line in lines),
    )  # fmt: skip


def _folders(reader: Reader, prefix: str, a: str | None, b: str | None) -> Iterator[Change]:
    if a == b:
        return
    old, new = (reader.rows(sha) if sha else {} for sha in (a, b))
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if before != after:
            yield from _names(reader, prefix + name, before, after)


def _names(reader: Reader, path: str, a: Row | None, b: Row | None) -> Iterator[Change]:
    if what := _what(a, b):
        before, after = (row and entry_of(path, row) for row in (a, b))
        yield Change(path=path, what=what, before=before, after=after)
    inner = [row.ref if row and row.kind == tree.FOLDER else None for row in (a, b)]
    yield from _folders(reader, f"{path}/", *inner)


def _what(a: Row | None, b: Row | None) -> What | None:
    if a is None or b is None:
        return "added" if b else "removed"
    if a.kind != b.kind:
        return "type"
    if a.kind != tree.FOLDER and a.ref != b.ref:
        return "changed"
    if a.mode != b.mode:
        return "mode"
    return "times" if a.kind != tree.FOLDER and a.mtime_ns != b.mtime_ns else None


def _lines(text: str) -> list[str]:
    """Lines as people count them: parted by line feeds alone, and the last may have none."""
    lines = text.split("\n")
    if lines[-1]:
        lines[-1] += "\n\\ No newline at end of file"
    else:
        lines.pop()
    return lines


class _TooLong(Exception):
    """Comparing takes longer than it is worth."""


class _Bounded(difflib.SequenceMatcher[str]):
    """The matcher of the standard library, which stops when its time is over."""

    def __init__(self, a: Sequence[str], b: Sequence[str]) -> None:
        super().__init__(None, a, b)
        self._until = time.monotonic() + MOST_SECONDS

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> difflib.Match:
        """As it is, while there is time."""
        if time.monotonic() > self._until:
            raise _TooLong
        return super().find_longest_match(alo, ahi, blo, bhi)


def _unified(old: list[str], new: list[str]) -> Iterator[str]:
    for group in _Bounded(old, new).get_grouped_opcodes(CONTEXT):
        first, last = group[0], group[-1]
        yield f"@@ -{_span(first[1], last[2])} +{_span(first[3], last[4])} @@"
        for tag, a, b, c, d in group:
            if tag == "equal":
                yield from _marked(" ", old[a:b])
            else:
                yield from _marked("-", old[a:b])
                yield from _marked("+", new[c:d])


def _marked(mark: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        text, *note = line.split("\n")
        yield mark + text
        yield from note


def _span(start: int, stop: int) -> str:
    """A hunk's place as in a unified diff: lines count from 1, an empty one from before."""
    count = stop - start
    return f"{start + bool(count)},{count}" if count != 1 else f"{start + 1}"
