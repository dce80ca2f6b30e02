"""Masking: secrets taken out of whatever comes from outside, by their values.

A value is found as it is, in base 64 (both alphabets, at any alignment), percent-encoded, escaped
for JSON or HTML and in hex, also when it is spread over several texts that follow each other. In
its place stands `[masked: NAME]`. Values under 8 characters cannot be masked without harm and are
not.

Finding is fast because every form of 7 bytes or more that occurs somewhere holds four bytes that
begin at a multiple of four: the text is read as numbers of four bytes, and each is looked up.
"""

import base64
import html
import json
import logging
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from urllib.parse import quote, quote_plus

SHORTEST = 8
GRAM = 4
_UNRESERVED = "!'()*~-._"
_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_NUMBER = re.compile(r"[0-9.eE+-]+")


@dataclass(frozen=True, slots=True)
class Form:
    """One way in which a secret may be written; some letters beside it may hold bits of it."""

    data: bytes
    name: str
    before: int = 0
    after: int = 0


@dataclass(frozen=True, slots=True)
class Span:
    """Where a secret was found, in bytes."""

    start: int
    end: int
    name: str


@dataclass(frozen=True, slots=True)
class Hidden:
    """What is left of a value, and how many secrets were taken out of it."""

    value: Any
    count: int = 0


class Mask:
    """Secrets by name, to be taken out. `put` replaces all of them, for everybody who has it."""

    def __init__(self, secrets: Iterable[tuple[str, str]] = ()) -> None:
        self.put(secrets)

    def put(self, secrets: Iterable[tuple[str, str]]) -> None:
        """Mask these (name, value) from now on."""
        forms: dict[bytes, Form] = {}
        self._has_numbers = False
        for name, value in secrets:
            for part in _parts(value):
                self._has_numbers |= _NUMBER.fullmatch(part) is not None
                for form in _forms(name, part):
                    forms.setdefault(form.data, form)
        table: dict[int, list[tuple[Form, int]]] = {}
        heads: dict[bytes, list[Form]] = {}
        for form in forms.values():
            heads.setdefault(form.data[:GRAM], []).append(form)
            for offset in range(GRAM):
                gram = int.from_bytes(form.data[offset : offset + GRAM], sys.byteorder)
                table.setdefault(gram, []).append((form, offset))
        self._table, self._heads, self._grams = table, heads, frozenset(table)
        self.longest = max((len(form.data) for form in forms.values()), default=0)

    def text(self, text: str) -> str:
        """The text without secrets."""
        return str(self.hide(text).value)

    def value(self, value: Any) -> Any:
        """The JSON value without secrets, in names and in texts."""
        return self.hide(value).value

    def data(self, data: bytes) -> bytes:
        """The bytes of a file without secrets."""
        made, begin = bytearray(), 0
        for span in self.spans(data) if self._grams else ():
            made += data[begin : span.start] + f"[masked: {span.name}]".encode()
            begin = span.end
        return bytes(made) + data[begin:] if begin else data

    def hide(self, value: Any) -> Hidden:
        """The value without secrets, and how many there were. Lists, dicts and tuples are copied.

        Texts that follow each other, and those at the same place of several entries, are also
        looked at as one.
        """
        if not self._grams:
            return Hidden(value)
        elif isinstance(value, str):
            return self._text(value)
        leaves = _Leaves(numbers=self._has_numbers)
        leaves.walk(value, 0)
        texts, count = self._texts(leaves)
        if not count:
            return Hidden(value)
        return Hidden(_rebuilt(value, iter(texts), numbers=self._has_numbers), count)

    def running(self) -> "Running":
        """For text that comes in pieces."""
        return Running(self)

    def spans(self, data: bytes) -> list[Span]:
        """Where secrets stand in these bytes, apart from each other, in order."""
        padded = data + bytes(-len(data) % GRAM)
        view = memoryview(padded).cast("I")
        if self._grams.isdisjoint(view):
            return []
        found = []
        for number, gram in enumerate(view):
            for form, offset in self._table.get(gram, ()):
                start = GRAM * number - offset
                if start >= 0 and data.startswith(form.data, start):
                    found.append(_widened(data, form, start))
        return _apart(found)

    def partial(self, data: bytes) -> int:
        """Where the end of these bytes may be the beginning of a secret; their length if not."""
        for start in range(max(0, len(data) - self.longest + 1), len(data) - GRAM + 1):
            for form in self._heads.get(data[start : start + GRAM], ()):
                if form.data.startswith(data[start:]):
                    return start
        return len(data)

    def _text(self, text: str) -> Hidden:
        data = _bytes(text)
        spans = self.spans(data)
        return Hidden(_without(data, spans), len(spans)) if spans else Hidden(text)

    def _texts(self, leaves: "_Leaves") -> tuple[list[str], int]:
        """The texts of a value without secrets, whole or spread over several of them."""
        texts, count = leaves.texts, 0
        groups = [group for group in leaves.groups.values() if len(group) > 1]
        looks: list[tuple[Sequence[int], list[Span]]] = []
        for group in [range(len(texts)), leaves.values, *groups]:
            joined = "".join(texts) if isinstance(group, range) else "".join(
                [texts[number] for number in group]
            )  # fmt: skip
            if spans := self.spans(_bytes(joined)):
                looks.append((group, spans))
        if not looks:
            return texts, 0
        datas = [_bytes(text) for text in texts]
        cuts: list[list[Span]] = [[] for _ in datas]
        for group, spans in looks:
            count += self._cut(spans, group, datas, cuts)
        hidden = [
            _without(data, _apart(found)) if found else text
            for text, data, found in zip(texts, datas, cuts, strict=True)
        ]
        return hidden, count

    def _cut(
        self, spans: list[Span], group: Iterable[int], datas: list[bytes], cuts: list[list[Span]]
    ) -> int:
        """Give each text its part of the spans; how many of them were not known before."""
        fresh, begin, waiting = 0, 0, list(spans)
        counted = set[int]()
        for number in group:
            end = begin + len(datas[number])
            while waiting and waiting[0].end <= begin:
                waiting.pop(0)
            for span in waiting:
                if span.start >= end:
                    break
                part = Span(max(span.start, begin) - begin, min(span.end, end) - begin, span.name)
                known = any(c.start <= part.start and part.end <= c.end for c in cuts[number])
                if not known and part.end > part.start:
                    cuts[number].append(part)
                    if span.start not in counted:
                        counted.add(span.start)
                        fresh += 1
            begin = end
        return fresh


class Running:
    """Text that comes in pieces. What is shown never ends with the beginning of a secret."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._done: list[str] = []
        self._open = b""  # what the next piece may make a secret of
        self._said = b""  # of lines: the end of what was said before
        self.count = 0

    def add(self, piece: str) -> None:
        """The next piece."""
        self._open += _bytes(piece)
        keep = max(self._mask.longest - 1, 0) + GRAM
        if len(self._open) <= 2 * keep + 4096:
            return
        spans = self._mask.spans(self._open)
        cut = len(self._open) - keep
        for span in spans:
            if span.start < cut < span.end:
                cut = span.start
        cut = _whole_letter(self._open, cut)
        settled = [span for span in spans if span.end <= cut]
        self.count += len(settled)
        self._done.append(_without(self._open[:cut], settled))
        self._open = self._open[cut:]

    def shown(self) -> str:
        """All of it so far, without secrets, and without what may become one."""
        data = self._open[: self._mask.partial(self._open)]
        return "".join(self._done) + _without(data, self._mask.spans(data))

    def line(self, words: str) -> str:
        """A line of its own that may go on with what the lines before it began."""
        before, data = self._said, self._said + _bytes(words)
        spans = self._mask.spans(data)
        if (start := self._mask.partial(data)) < len(data):
            spans = _apart([*spans, Span(start, len(data), _name(self._mask, data[start:]))])
        edge = len(before)
        own = [Span(max(s.start, edge) - edge, s.end - edge, s.name) for s in spans if s.end > edge]
        self.count += len(own)
        self._said = data[-self._mask.longest :] if self._mask.longest else b""
        return _without(data[edge:], own)


class MaskedFormatter(logging.Formatter):
    """Writes log lines as `inner` does, without secrets, those in errors included."""

    def __init__(self, inner: logging.Formatter, mask: Mask) -> None:
        super().__init__()
        self.inner, self._mask = inner, mask

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        return self._mask.text(self.inner.format(record))


def _name(mask: Mask, start: bytes) -> str:
    forms = mask._heads[start[:GRAM]]
    return next(form.name for form in forms if form.data.startswith(start))


# The forms of a secret --------------------------------------------------------------------------


def _parts(value: str) -> Iterator[str]:
    """The secret, and the part behind a word like Bearer."""
    if len(value) >= SHORTEST:
        yield value
    last = value.rpartition(" ")[2]
    if last != value and len(last) >= SHORTEST:
        yield last


def _forms(name: str, value: str) -> Iterator[Form]:
    texts = {value, html.escape(value), quote(value, safe=_UNRESERVED)}
    for once in (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]):
        texts |= {once, once.replace("/", "\\/"), json.dumps(once)[1:-1]}
    raw = _bytes(value)
    for coded in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        texts |= {coded, re.sub(r"%..", lambda found: found[0].lower(), coded)}
    texts |= {raw.hex(), raw.hex().upper()}
    for text in texts:
        yield Form(_bytes(text), name)
    yield from _base64_forms(name, raw)


def _base64_forms(name: str, raw: bytes) -> Iterator[Form]:
    """What stays the same of its base 64 whatever stands before and behind it."""
    for shift in range(3):
        whole = base64.b64encode(bytes(shift) + raw).decode("ascii")
        bits = 8 * (shift + len(raw))
        core = whole[-(-8 * shift // 6) : bits // 6]
        before, after = int(8 * shift % 6 > 0), int(bits % 6 > 0)
        url = core.replace("+", "-").replace("/", "_")
        for text in {core, url, quote(core, safe=""), core.replace("/", "\\/")}:
            yield Form(text.encode("ascii"), name, before, after)


# Spans ------------------------------------------------------------------------------------------


def _widened(data: bytes, form: Form, start: int) -> Span:
    """Where a form stands, with the letters beside it that hold bits of the secret."""
    end = start + len(form.data)
    if form.before and start and data[start - 1] in _BASE64:
        start -= 1
    if form.after and end < len(data) and data[end] in _BASE64:
        end += 1
        while form.after and end < len(data) and data[end] == 61:  # the padding
            end += 1
    return Span(start, end, form.name)


def _apart(spans: list[Span]) -> list[Span]:
    """The same places as spans that do not overlap; the longer one gives its name."""
    if len(spans) < 2:
        return spans
    spans = sorted(spans, key=lambda span: (span.start, -span.end))
    merged = [spans[0]]
    for _, span in pairwise(spans):
        last = merged[-1]
        if span.start >= last.end:
            merged.append(span)
        elif span.end > last.end:
            longer = span if span.end - span.start > last.end - last.start else last
            merged[-1] = Span(last.start, span.end, longer.name)
    return merged


def _without(data: bytes, spans: list[Span]) -> str:
    """The text of these bytes with a word in place of each span."""
    if not spans:
        return data.decode("utf-8", "surrogatepass")
    parts, at = [], 0
    for span in spans:
        start, end = _whole_letter(data, span.start), span.end
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end += 1
        parts += [data[at:start].decode("utf-8", "surrogatepass"), f"[masked: {span.name}]"]
        at = end
    parts.append(data[at:].decode("utf-8", "surrogatepass"))
    return "".join(parts)


def _whole_letter(data: bytes, at: int) -> int:
    """The beginning of the letter that this byte is of."""
    while 0 < at < len(data) and data[at] & 0xC0 == 0x80:
        at -= 1
    return at


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# JSON values ------------------------------------------------------------------------------------


class _Leaves:
    """The texts of a JSON value in order, names among them; `groups` by their place."""

    def __init__(self, *, numbers: bool) -> None:
        self.texts: list[str] = []
        self.values: list[int] = []
        self.groups: dict[int, list[int]] = {}
        self._numbers = numbers

    def walk(self, value: Any, place: int) -> None:
        """Take in a value; `place` is its path without the numbers in it, as a hash."""
        if isinstance(value, str):
            self._add(value, place)
        elif isinstance(value, dict):
            for key, item in value.items():
                self.texts.append(str(key))
                self.walk(item, hash((place, key)))
        elif isinstance(value, list | tuple):
            inner = hash((place, 0))
            for item in value:
                self.walk(item, inner)
        elif self._numbers and _is_number(value):
            self._add(str(value), place)

    def _add(self, text: str, place: int) -> None:
        number = len(self.texts)
        self.texts.append(text)
        self.values.append(number)
        self.groups.setdefault(place, []).append(number)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _rebuilt(value: Any, texts: Iterator[str], *, numbers: bool) -> Any:
    """The value with these texts, which are in the order of `_Leaves`."""
    if isinstance(value, str):
        return next(texts)
    elif isinstance(value, dict):
        return {next(texts): _rebuilt(item, texts, numbers=numbers) for item in value.values()}
    elif isinstance(value, list | tuple):
        return [_rebuilt(item, texts, numbers=numbers) for item in value]
    elif numbers and _is_number(value):
        text = next(texts)
        return value if text == str(value) else text
    return value
