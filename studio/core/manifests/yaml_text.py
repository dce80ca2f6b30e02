"""YAML read as JSON: its core schema (1.2), so `no` and a date are text, and nothing is made.

Events are taken one by one, never recursively. Aliases are followed within a bound; tags, merge
keys and a second document are refused. What YAML 1.1 would have read otherwise is told.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from studio.core.manifests.document import DEEPEST, Document, Fault
from studio.core.rules import paths

MOST_VALUES = 100_000
MOST_NOTES = 20
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
NULL = frozenset({"", "~", "null", "Null", "NULL"})
FLAGS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
WHOLE = re.compile(r"[-+]?[0-9]{1,300}")
OCTAL, HEX = re.compile(r"0o[0-7]{1,300}"), re.compile(r"0x[0-9a-fA-F]{1,300}")
REAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,9})?")
NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
# What version 1.1 made of a plain word: a truth value, a date, a number with : or _, an octal.
OLD_FLAG = re.compile(r"(?i)y|n|yes|no|on|off")
OLD_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?")
OLD_NUMBER = re.compile(r"[-+]?[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?|[-+]?[0-9][0-9_]*_[0-9_.]*")
OLD_OCTAL = re.compile(r"[-+]?0[0-7]+")
OLD = (OLD_FLAG, OLD_DATE, OLD_NUMBER)


def read(text: str) -> Document:
    """The value; raises Fault."""
    reading = _Reading()
    try:
        for event in yaml.parse(text.removeprefix("\ufeff"), Loader=LOADER):
            reading.take(event)
    except yaml.reader.ReaderError as error:
        raise Fault(f"has a character that YAML does not allow ({_code(error)}).") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        words = getattr(error, "problem", None) or getattr(error, "context", None)
        at = f" (column {mark.column + 1})" if mark else ""
        line = mark.line + 1 if mark else None
        raise Fault(f"{words or 'is not YAML'}{at}.", line=line) from None
    if not reading.done:
        raise Fault("is empty.")
    notes = tuple(reading.notes[:MOST_NOTES])
    return Document(value=reading.value, format="yaml", lines=reading.lines, notes=notes)


def is_special(text: str) -> bool:
    """A plain word that would not be read as this text, or would be told of."""
    return bool(
        text in NULL
        or text in ("<<", "=")
        or text in FLAGS
        or NOT_FINITE.fullmatch(text)
        or any(kind.fullmatch(text) for kind in (WHOLE, OCTAL, HEX, REAL, *OLD))
    )


def _code(error: Any) -> str:
    character = getattr(error, "character", "")
    code = ord(character) if isinstance(character, str) and len(character) == 1 else character
    return f"U+{code:04X}" if isinstance(code, int) else "not UTF-8"


@dataclass
class _Place:
    """A mapping or list that is open. `weight` counts the values inside it, aliases at full."""

    value: Any
    path: str
    anchor: str | None
    key: str | None = None
    weight: int = 1


@dataclass
class _Reading:
    """The walk over the events of one document."""

    value: Any = None
    done: bool = False
    lines: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    stack: list[_Place] = field(default_factory=list)
    anchors: dict[str, tuple[Any, int]] = field(default_factory=dict)
    documents: int = 0
    weight: int = 0

    def take(self, event: Any) -> None:
        """One event."""
        line = event.start_mark.line + 1
        match event:
            case DocumentStartEvent():
                self.documents += 1
                if self.documents > 1:
                    raise Fault("holds more than one document; keep one a file.", line=line)
            case MappingStartEvent() | SequenceStartEvent():
                self._open(event, line)
            case MappingEndEvent() | SequenceEndEvent():
                self._close()
            case ScalarEvent():
                self._scalar(event, line)
            case AliasEvent():
                self._alias(str(event.anchor), line)
            case _:
                pass

    def _open(self, event: Any, line: int) -> None:
        _no_tag(event, line)
        if self._expects_key():
            raise Fault("has a key that is not text.", line=line, path=self.stack[-1].path)
        if len(self.stack) >= DEEPEST:
            raise Fault(f"is nested more than {DEEPEST} levels deep.", line=line)
        path = self._here(line)
        value: Any = {} if isinstance(event, MappingStartEvent) else []
        self.stack.append(_Place(value=value, path=path, anchor=event.anchor))
        if event.anchor is not None:
            self.anchors.pop(event.anchor, None)  # it is not whole before it ends

    def _close(self) -> None:
        place = self.stack.pop()
        if place.anchor is not None:
            self.anchors[place.anchor] = (place.value, place.weight)
        self._put(place.value, place.weight)

    def _scalar(self, event: Any, line: int) -> None:
        _no_tag(event, line)
        if self._expects_key():
            self._key(event.value, line, is_plain=not event.style)
            if event.anchor is not None:
                self.anchors[event.anchor] = (event.value, 1)
            return
        path = self._here(line)
        value = event.value
        if event.implicit[0]:  # plain: it may be a number, a flag or nothing
            value = _resolved(event.value, line, path)
            self._note(event.value, value, line, path)
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, 1)
        self._put(value, 1)

    def _alias(self, anchor: str, line: int) -> None:
        if anchor not in self.anchors:
            words = f"has the alias *{anchor}, and no whole &{anchor} stands before it."
            raise Fault(words, line=line)
        value, weight = self.anchors[anchor]
        if self._expects_key():
            if not isinstance(value, str):
                raise Fault("has a key that is not text.", line=line)
            self._key(value, line)
            return
        self._here(line)
        self._put(value, weight)

    def _key(self, key: str, line: int, *, is_plain: bool = False) -> None:
        place = self.stack[-1]
        path = paths.join(place.path, key)
        if key == "<<" and is_plain:
            raise Fault("is a merge key, which is not read here; write its fields out.",
                        line=line, path=path)  # fmt: skip
        if key in place.value:
            raise Fault("is given twice.", line=line, path=path)
        place.key = key
        self.lines[path] = line

    def _here(self, line: int) -> str:
        """The path of the value that begins now."""
        if not self.stack:
            path = ""
        else:
            place = self.stack[-1]
            part = place.key if place.key is not None else len(place.value)
            path = paths.join(place.path, part)
        self.lines.setdefault(path, line)
        return path

    def _expects_key(self) -> bool:
        return bool(
            self.stack and isinstance(self.stack[-1].value, dict) and self.stack[-1].key is None
        )

    def _put(self, value: Any, weight: int) -> None:
        self.weight += 1 if weight == 1 else 0
        if not self.stack:
            self.value, self.done = value, True
            return
        place = self.stack[-1]
        place.weight += weight
        if place.weight > MOST_VALUES or self.weight > MOST_VALUES:
            words = f"has more than {MOST_VALUES:,} values, aliases counted in full."
            raise Fault(words, path=place.path)
        if place.key is not None:
            place.value[place.key] = value
            place.key = None
        else:
            place.value.append(value)

    def _note(self, written: str, value: Any, line: int, path: str) -> None:
        """Say what was read where YAML 1.1 reads something else."""
        if isinstance(value, str):
            if any(kind.fullmatch(value) for kind in OLD):
                self.notes.append(f"Line {line}: {path} was read as the text “{value}”.")
        elif (
            isinstance(value, int) and not isinstance(value, bool) and OLD_OCTAL.fullmatch(written)
        ):
            self.notes.append(f"Line {line}: {path} was read as the number {value}.")


def _no_tag(event: Any, line: int) -> None:
    tag = getattr(event, "tag", None)
    if tag is not None and tag != "!":
        raise Fault(f"has the tag {tag[:60]}, and tags are not read here.", line=line)


def _resolved(text: str, line: int, path: str) -> Any:
    """What a plain word is, by YAML's core schema."""
    if text in NULL:
        return None
    if text in FLAGS:
        return FLAGS[text]
    if WHOLE.fullmatch(text):
        return int(text)
    if OCTAL.fullmatch(text):
        return int(text[2:], 8)
    if HEX.fullmatch(text):
        return int(text[2:], 16)
    if NOT_FINITE.fullmatch(text):
        raise Fault(f"{text} is not a number that can be kept; quote it to mean the text.",
                    line=line, path=path)  # fmt: skip
    return float(text) if REAL.fullmatch(text) else text
