"""Arguments as a card shows them: a tree of exact values, the difference of two, a line for lists.

Nothing is left out unsaid: what is cut away is counted, in characters or entries and in bytes, and
`complete` says whether all of it is there. Values of any size and depth are taken.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

from studio.core.rules import paths, reveal
from studio.web import values

Kind = Literal["string", "number", "bool", "null", "object", "array", "json", "cut"]
Chars = tuple[tuple[str, bool, str], ...]

SHOWN_CHARACTERS = 64 * 1024
DEEPEST = 24
MOST_NODES = 5_000
MOST_CHANGES = 200
ENOUGH = 1e15
LEAST_TEXT = 200
LONGEST_KEY = 200

_NODE_COST = 16
_NOT_SHOWN = "cut: not shown here"
# Marks that the first two warnings are about already.
_PLAIN_MARKS = ("U+", "+", "cut:", "⏎", "⇥", "␠")
_ESCAPED = re.compile(r"\\(u[0-9a-f]{4}|.)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Node:
    """One value. A page prints `key`, and `chars` where there are any, else `text`.

    `chars` are (what to print, whether it is marked, the mark's words). `json` is a value shown as
    its JSON text, because it is too deep or has too many parts for a tree; `cut` says in words what
    is not shown. `size` is bytes of JSON. `hidden_count` is how many entries or characters of this
    value are not shown. `complete` and `hidden_characters` are about all that is below, too;
    hidden characters are counted whether they are shown or not. `was` is the value before an edit.
    """

    kind: Kind
    key: str = ""
    key_chars: Chars = ()
    text: str = ""
    chars: Chars = ()
    children: tuple["Node", ...] = ()
    size: int = 0
    hidden_count: int = 0
    complete: bool = True
    hidden_characters: int = 0
    was: "Node | None" = None


@dataclass(frozen=True, kw_only=True)
class Change:
    """A place where two values differ: None before when it was added, after when it was removed."""

    path: str
    before: Node | None
    after: Node | None


@dataclass(frozen=True, kw_only=True)
class _Room:
    """What a value may take: `characters` shown (None for all), parts in the tree, levels."""

    characters: float
    nodes: float
    levels: int = DEEPEST

    def share(self, count: int) -> "_Room":
        """An equal part of the room, one level down."""
        return _Room(
            characters=self.characters / count, nodes=self.nodes / count, levels=self.levels - 1
        )

    def without(self, other: "_Room") -> "_Room":
        """What is left when another took its part."""
        return replace(
            self, characters=self.characters - other.characters, nodes=self.nodes - other.nodes
        )


def tree(value: Any, *, cut: int | None = SHOWN_CHARACTERS) -> Node:
    """The value as a tree. `cut` is about how many characters are shown of it; None is all."""
    text = values.text(value)
    size = _bytes(text)
    if cut is None or len(text) <= cut:
        room = _Room(characters=ENOUGH, nodes=MOST_NODES)
    else:
        room = _Room(characters=cut, nodes=ENOUGH)
    root, _ = _node(value, room)
    return replace(root, size=size, hidden_characters=_hidden(text))


def warnings(node: Node, *, most: int = 10) -> list[str]:
    """What a person should know before reading a tree, one sentence each."""
    sentences = []
    if node.hidden_characters:
        plural = "" if node.hidden_characters == 1 else "s"
        sentences.append(f"{node.hidden_characters:,} hidden character{plural}, each marked.")
    if not node.complete:
        sentences.append(f"Not all of it is shown: it has {node.size:,} bytes.")
    odd = {
        f"“{text[:60]}”: {words}."
        for chars in _all_chars(node)
        for text, is_marked, words in chars
        if is_marked and not words.startswith(_PLAIN_MARKS)
    }
    return sentences + sorted(odd)[:most]


def edited(old: Any, new: Any, *, cut: int | None = SHOWN_CHARACTERS) -> Node:
    """The tree of the new value, with the old one (`was`) at every entry that is different."""
    return _with_was(tree(new, cut=cut), old, new)


def diff(old: Any, new: Any, *, most: int = MOST_CHANGES) -> list[Change]:
    """Every place where two values differ, at most `most` of them, in the order of the new one."""
    room = 2_000
    return [
        Change(
            path=paths.write(path),
            before=None if before is values.ABSENT else tree(before, cut=room),
            after=None if after is values.ABSENT else tree(after, cut=room),
        )
        for path, before, after in islice(values.differences(old, new), most)
    ]


def one_line(text: str, width: int = 120) -> str:
    """A name that others chose, for a title: hidden characters as escapes, and not endless."""
    return _clip(reveal.plain(text[: width * 4], one_line=True), width)


def summary(value: Any, width: int = 120) -> str:
    """One line for a list, at most `width` characters: `version "4.2.0", percent 50, +3`."""
    if isinstance(value, Mapping):
        parts = (
            f"{reveal.plain(key[:width], one_line=True)} {_brief(item, width)}"
            for key, item in value.items()
        )
    elif isinstance(value, list):
        parts = (_brief(item, width) for item in value)
    else:
        return _clip(_brief(value, width), width)
    return _fitting(parts, len(value), width) or "no arguments"


def _node(value: Any, room: _Room, key: str | None = None) -> tuple[Node, _Room]:
    """The node of a value, and what it took of the room."""
    if isinstance(value, Mapping | list) and value:
        node, took = _container(value, room)
    else:
        node = _leaf(value, room)
        took = _Room(characters=len(node.text) + _NODE_COST, nodes=1)
    if key is None:
        return node, took
    node = _named(node, key, room)
    return node, replace(took, characters=took.characters + len(node.key))


def _named(node: Node, key: str, room: _Room) -> Node:
    """The node with its key, whole or cut."""
    shown = key[: int(max(room.characters, LONGEST_KEY))]
    left = len(key) - len(shown)
    rest = f"… {left:,} more characters" if left else ""
    return replace(
        node,
        key=f"{reveal.plain(shown, one_line=True)}{rest}",
        complete=node.complete and not left,
        key_chars=(*chars(shown), *(((rest, True, _NOT_SHOWN),) if left else ())),
        size=node.size + _bytes(json.dumps(key, ensure_ascii=False)) + 1,
    )


def _container(value: Mapping[str, Any] | list[Any], room: _Room) -> tuple[Node, _Room]:
    if room.levels <= 0 or len(value) > room.nodes:
        node = _text_leaf("json", values.text(value), room)
        return node, _Room(characters=len(node.text) + _NODE_COST, nodes=1)
    count = int(min(len(value), max(1, room.characters / (2 * _NODE_COST))))
    left = replace(room, characters=room.characters - _NODE_COST, nodes=room.nodes - 1)
    children: list[Node] = []
    for at, (key, item) in enumerate(islice(_entries(value), count)):
        child, took = _node(item, left.share(count - at), key)
        left = left.without(took)
        children.append(child)
    size = sum(child.size for child in children) + len(children) + 1
    if count < len(value):
        rest = _cut_entries(value, count)
        children.append(rest)
        size += rest.size
    node = Node(
        kind="object" if isinstance(value, Mapping) else "array", children=tuple(children),
        size=size, hidden_count=len(value) - count,
        complete=all(child.complete for child in children),
    )  # fmt: skip
    return node, room.without(left)


def _entries(value: Mapping[str, Any] | list[Any]) -> Iterator[tuple[str | None, Any]]:
    if isinstance(value, Mapping):
        yield from value.items()
    else:
        yield from ((None, item) for item in value)


def _cut_entries(value: Mapping[str, Any] | list[Any], shown: int) -> Node:
    """What is said of the entries behind the first `shown`."""
    rest: Any = list(islice(_entries(value), shown, None))
    rest = dict(rest) if isinstance(value, Mapping) else [item for _, item in rest]
    count, size = len(rest), _bytes(values.text(rest)) - 1
    noun = "field" if isinstance(value, Mapping) else "entr"
    plural = {"field": ("field", "fields"), "entr": ("entry", "entries")}[noun][count != 1]
    return _cut(f"… {count:,} more {plural}, {size:,} bytes", count=count, size=size)


def _cut(words: str, *, count: int, size: int) -> Node:
    return Node(kind="cut", text=words, size=size, hidden_count=count, complete=False)


def _leaf(value: Any, room: _Room) -> Node:
    if isinstance(value, str):
        return _text_leaf("string", value, room)
    text = values.text(value)
    if isinstance(value, Mapping | list):
        return Node(kind="object" if isinstance(value, Mapping) else "array", size=len(text))
    kind: Kind = "null" if value is None else "bool" if isinstance(value, bool) else "number"
    return Node(kind=kind, text=text, chars=((text, False, ""),), size=len(text))


def _text_leaf(kind: Kind, text: str, room: _Room) -> Node:
    """A text, or its head and tail with what is between them counted."""
    size = _bytes(json.dumps(text, ensure_ascii=False) if kind == "string" else text)
    most = max(room.characters, LEAST_TEXT)
    if len(text) <= most:
        return Node(kind=kind, text=text, chars=chars(text), size=size)
    head, tail = text[: int(most * 2 / 3)], text[len(text) - int(most / 3) :]
    between = text[len(head) : len(text) - len(tail)]
    count, lost = len(between), _bytes(between)
    words = f"… {count:,} more characters, {lost:,} bytes …"
    return Node(
        kind=kind, text=f"{head}{words}{tail}", size=size, hidden_count=count, complete=False,
        chars=(*chars(head), (words, True, _NOT_SHOWN), *chars(tail)),
    )  # fmt: skip


def chars(text: str) -> Chars:
    """A text in parts, what is hidden in it marked; the macro `ui.chars` shows them."""
    return tuple(
        (segment.shown, segment.label is not None, segment.label or "")
        for segment in reveal.segments(text)
    )


def _all_chars(node: Node) -> Iterator[Chars]:
    yield node.key_chars
    yield node.chars
    for child in node.children:
        yield from _all_chars(child)


def _with_was(node: Node, old: Any, new: Any) -> Node:
    """Mark the entries of objects that differ; removed ones are added, with nothing in place."""
    if not isinstance(old, Mapping) or not isinstance(new, Mapping) or node.kind != "object":
        return node if values.same(old, new) else replace(node, was=tree(old))
    children = []
    for child, (key, item) in zip(node.children, new.items(), strict=False):
        if child.kind == "cut" and child.key == "":
            children.append(child)
        elif key not in old:
            children.append(replace(child, was=_cut("not given", count=0, size=0)))
        else:
            children.append(_with_was(child, old[key], item))
    for key in old:
        if key not in new:
            gone, _ = _node(old[key], _Room(characters=2_000, nodes=MOST_NODES), key)
            taken_out = Node(kind="cut", text="taken out", key=gone.key, key_chars=gone.key_chars)
            children.append(replace(taken_out, was=gone))
    return replace(node, children=tuple(children))


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _hidden(text: str) -> int:
    """Hidden characters in a value, counted in its JSON text, where controls are escaped."""
    if "\\" not in text:
        return reveal.hidden_characters(text)
    escaped = sum(found[0] in "bfru" for found in _ESCAPED.findall(text))
    return reveal.hidden_characters(text) + escaped


def _brief(value: Any, width: int) -> str:
    if isinstance(value, str):
        return f'"{_clip(reveal.plain(value[: width + 1], one_line=True), width)}"'
    if isinstance(value, Mapping):
        return f"{{{len(value):,}}}" if value else "{}"
    if isinstance(value, list):
        return f"[{len(value):,}]" if value else "[]"
    return values.text(value)


def _fitting(parts: Iterator[str], count: int, width: int) -> str:
    """As many parts as fit, and how many more there are."""
    line = ""
    for at, part in enumerate(parts):
        longer = f"{line}, {part}" if line else part
        more = f", +{count - at - 1:,}" if at + 1 < count else ""
        if len(longer) + len(more) > width:
            rest = f", +{count - at:,}"
            return f"{line}{rest}" if line else f"{_clip(part, width - len(more))}{more}"
        line = longer
    return line


def _clip(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: max(width - 1, 0)]}…"
