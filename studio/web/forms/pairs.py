"""The names and texts of a form. A name is the dotted path of a value; markers before it say more.

_as:path      what an empty field means: yes, no (left out), empty (text), null; "" if filled in
_rows:path    how many rows an array has
_json:path    the value as JSON text, where no other field can hold it
_more:path    other fields of an open object, as JSON text
_add:path, _remove:path    buttons: one row more, or this row less
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from studio.core.rules import paths, reveal
from studio.core.rules.conditions import same
from studio.web.forms.shapes import Shape

Pairs = Sequence[tuple[str, str]]

MOST_PAIRS = 900
MOST_ROWS = 100
ABSENT: Any = object()

NUMBER = re.compile(r"-?(0|[1-9]\d{0,300})(\.\d{1,300})?([eE][+-]?\d{1,3})?")

_MARKED = re.compile(r"(_as|_rows|_json|_more|_add|_remove):")
_ROW = re.compile(r"\[(\d{1,4})\]")


def of(shape: Shape, value: Any, path: str) -> list[tuple[str, str]]:
    """The pairs of a value; the whole as JSON text when a form of it would be too long."""
    found = _of(shape, value, path, needed=True)
    if len(found) > MOST_PAIRS:
        return [(f"_json:{path}", text_of(value))]
    return found


def text_of(value: Any) -> str:
    """JSON text to be read and edited: indented, with characters that are not seen escaped."""
    if value is ABSENT:
        return ""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=2)
    except RecursionError:
        return ""
    hidden = {letter for letter in set(text) if reveal.label(letter) is not None}
    return text.translate({ord(letter): json.dumps(letter)[1:-1] for letter in hidden})


def marker(name: str) -> tuple[str, str]:
    """The marker of a name (such as `_rows`, or nothing) and its path."""
    found = _MARKED.match(name)
    return (found[1], name[found.end() :]) if found else ("", name)


def first(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The first text of each name, with the line breaks that a browser rewrote put back."""
    data: dict[str, str] = {}
    for name, text in pairs:
        data.setdefault(name, text.replace("\r\n", "\n").replace("\r", "\n"))
    return data


def count(data: Mapping[str, str], path: str) -> int:
    """How many rows the form has at this path."""
    text = data.get(f"_rows:{path}", "0")
    return min(int(text), MOST_ROWS) if re.fullmatch(r"\d{1,4}", text) else 0


def is_filled(data: Mapping[str, str], path: str) -> bool:
    """Somebody filled in something at this path or below it."""
    for name, text in data.items():
        kind, place = marker(name)
        is_below = place.startswith(path) and place[len(path) :][:1] in ("", ".", "[")
        if is_below and text and _says_something(kind, text, is_inner=place != path):
            return True
    return False


def _says_something(kind: str, text: str, *, is_inner: bool) -> bool:
    if kind == "_as":
        return is_inner and text != "no"
    return kind not in ("_add", "_remove") and (kind, text) != ("_rows", "0")


def with_row(pairs: Pairs, path: str) -> list[tuple[str, str]]:
    """The pairs with one row more at the end of the array at this path."""
    data = first(pairs)
    rows = min(count(data, path) + 1, MOST_ROWS)
    changed = [(name, text) for name, text in pairs if name != f"_rows:{path}"]
    return [*_given(changed, path), (f"_rows:{path}", str(rows))]


def without_row(pairs: Pairs, path: str) -> list[tuple[str, str]]:
    """The pairs without the row at this path; rows behind it move up."""
    array, bracket, index = path.rpartition("[")
    if not bracket or not re.fullmatch(r"\d{1,4}\]", index):
        return list(pairs)
    gone, rows = int(index[:-1]), count(first(pairs), array)
    if gone >= rows:
        return list(pairs)
    changed = []
    for name, text in pairs:
        moved = _moved(name, array, gone)
        if moved is not None and name != f"_rows:{array}":
            changed.append((moved, text))
    return [*_given(changed, array), (f"_rows:{array}", str(rows - 1))]


def _moved(name: str, array: str, gone: int) -> str | None:
    """The name after a row is gone; None when it belonged to that row."""
    kind, place = marker(name)
    found = _ROW.match(place, len(array)) if place.startswith(array) else None
    if found is None:
        return name
    row = int(found[1])
    if row == gone:
        return None
    if row < gone:
        return name
    mark = f"{kind}:" if kind else ""
    return f"{mark}{array}[{row - 1}]{place[found.end() :]}"


def _given(pairs: Pairs, path: str) -> list[tuple[str, str]]:
    """The pairs with an array that is there, whatever was said of it before."""
    return [(name, "yes" if name == f"_as:{path}" else text) for name, text in pairs]


def _of(shape: Shape, value: Any, path: str, *, needed: bool) -> list[tuple[str, str]]:
    if value is None and shape.nullable and shape.kind not in ("choice", "boolean", "const"):
        return [*_absent(shape, path, needed=needed, mode="null")]
    if value is ABSENT:
        return _absent(shape, path, needed=needed, mode="")
    match shape.kind:
        case "text" if isinstance(value, str) and is_plain(value):
            mode = "empty" if value == "" and not needed else ""
            return [(path, value), *_mode(shape, path, needed=needed, mode=mode)]
        case "number" | "integer" if _is_number(value):
            return [(path, json.dumps(value)), *_mode(shape, path, needed=needed, mode="")]
        case "choice" | "boolean" | "const":
            text = choice_text(shape, value)
            return [(path, text)] if text is not None else [(f"_json:{path}", text_of(value))]
        case "group" if isinstance(value, Mapping):
            return _group(shape, value, path, needed=needed)
        case "rows" if isinstance(value, list) and len(value) <= MOST_ROWS and shape.item:
            return _rows(shape.item, value, path, _mode(shape, path, needed=needed, mode="yes"))
        case _:
            return [(f"_json:{path}", text_of(value))]


def choice_text(shape: Shape, value: Any) -> str | None:
    """The text that stands for a value among the choices, or None when it is none of them."""
    for choice in choices(shape):
        if same(choice, value):
            return json.dumps(choice)
    return None


def choices(shape: Shape) -> tuple[Any, ...]:
    """Every value that can be chosen."""
    by_kind = {"boolean": (True, False), "const": (shape.const,), "choice": shape.choices}
    found: tuple[Any, ...] = by_kind[shape.kind]
    return (*found, None) if shape.nullable and None not in found else found


def is_plain(text: str) -> bool:
    """A browser sends it back as it is, and all of it can be seen."""
    return all(letter in "\n\t" or reveal.label(letter) is None for letter in set(text))


def modes(shape: Shape, *, needed: bool) -> tuple[tuple[str, str], ...]:
    """What an empty field, or the whole of a group, can mean; nothing when that is plain."""
    null = (("null", "null"),) if shape.nullable else ()
    match shape.kind:
        case "text":
            empty = () if needed else (("empty", "an empty text"),)
            plain = (("", "the text" if needed else "the text, if filled in"),)
            return (*plain, *empty, *null) if empty or null else ()
        case "number" | "integer":
            return (("", "the number"), *null) if null else ()
        case "group" | "rows" if needed:
            return (("yes", "given"), *null) if null else ()
        case "group" | "rows":
            return (("", "if filled in"), ("yes", "given"), ("no", "left out"), *null)
        case _:
            return ()


def _mode(shape: Shape, path: str, *, needed: bool, mode: str) -> list[tuple[str, str]]:
    return [(f"_as:{path}", mode)] if modes(shape, needed=needed) else []


def _absent(shape: Shape, path: str, *, needed: bool, mode: str) -> list[tuple[str, str]]:
    """The pairs of a field that says nothing, or null."""
    said = _mode(shape, path, needed=needed, mode=mode)
    match shape.kind:
        case "group":
            inner: list[tuple[str, str]] = []
            for name, part in shape.parts:
                place = paths.join(path, name)
                inner += _absent(part, place, needed=name in shape.needed, mode="")
            return [*said, *inner]
        case "rows":
            return [*said, (f"_rows:{path}", "0")]
        case "json":
            return [(f"_json:{path}", "null" if mode == "null" else "")]
        case _:
            return [(path, ""), *said]


def _group(
    shape: Shape, value: Mapping[str, Any], path: str, *, needed: bool
) -> list[tuple[str, str]]:
    found = _mode(shape, path, needed=needed, mode="yes")
    for name, part in shape.parts:
        place = paths.join(path, name)
        found += _of(part, value.get(name, ABSENT), place, needed=name in shape.needed)
    known = {name for name, _ in shape.parts}
    others = {name: item for name, item in value.items() if name not in known}
    if others or shape.takes_more:
        found.append((f"_more:{path}", text_of(others) if others else ""))
    return found


def _rows(
    item: Shape, value: list[Any], path: str, said: list[tuple[str, str]]
) -> list[tuple[str, str]]:
    found = [*said, (f"_rows:{path}", str(len(value)))]
    for index, inner in enumerate(value):
        found += _of(item, inner, paths.join(path, index), needed=True)
    return found


def _is_number(value: Any) -> bool:
    """It is a number that a line of text can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    is_small = isinstance(value, float) or abs(value) < 10**300
    return is_small and NUMBER.fullmatch(json.dumps(value)) is not None
