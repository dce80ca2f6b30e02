"""OTLP's JSON, read span by span: the frame by hand, each span by the standard library.

As in `protobuf`: the whole frame is walked before anything is kept, so that a body that was cut off
is told first, and one broken span costs nothing but itself. Names are lowerCamelCase, ids hex,
64-bit numbers texts or numbers.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from studio.api.errors import Problem
from studio.api.otlp import unpacking
from studio.api.otlp.protobuf import OF_BROKEN, finite
from studio.core.rules.outside.claims import Claim, Refusal, plain
from studio.core.rules.outside.cutting import (
    ATTRIBUTES,
    EVENTS,
    ITEMS,
    LEVELS,
    LINKS,
    Cutter,
    Resources,
)

Place = tuple[int, int, bool]  # where a span begins and ends, and whether it may be made
Group = tuple[Any, Any, list[Place]]  # resource, scope, where its spans are
BROKEN = (
    TypeError, ValueError, AttributeError, LookupError, RecursionError,
    OverflowError,  # 1e999 is a number of JSON, and no whole one
)  # fmt: skip
BLANK = re.compile(r"[ \t\n\r]*")
MANY = 20  # times as many parts as are read: not even walked
MARK = re.compile(r'["{}\[\],]')
SCALAR = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null")


def _constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number of JSON")


DECODER = json.JSONDecoder(parse_constant=_constant)


def text_of(data: bytes) -> str:
    """The text of a body."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _unreadable(f"byte {error.start} is not UTF-8") from None


def groups(text: str) -> list[Group]:
    """The frame of an ExportTraceServiceRequest: where its spans are. Blocks."""
    found: list[Group] = []
    parts = 0
    if not text.strip():
        return found

    def counted() -> None:
        nonlocal parts
        parts += 1
        if parts > unpacking.PARTS:
            raise unpacking.too_many()

    def resource_spans(at: int) -> int:
        counted()
        resource: list[Any] = [None]
        inside: list[tuple[list[Any], list[Place]]] = []

        def scope_spans(at: int) -> int:
            counted()
            scope: list[Any] = [None]
            places: list[Place] = []

            def span(at: int) -> int:
                counted()
                end, fits = _skip(text, at)
                places.append((at, end, fits))
                return end

            inside.append((scope, places))
            take = {"scope": _into(text, scope), "spans": lambda at: _items(text, at, span)}
            return _members(text, at, take)

        end = _members(text, at, {
            "resource": _into(text, resource),
            "scopeSpans": lambda at: _items(text, at, scope_spans),
        })  # fmt: skip
        found.extend((resource[0], scope[0], places) for scope, places in inside)
        return end

    take = {"resourceSpans": lambda at: _items(text, at, resource_spans)}
    end = _blank(text, _members(text, _blank(text, 0), take))
    if end != len(text):
        raise _unreadable(f"something follows at character {end}")
    return found


def spans(
    text: str, group: Group, most: int, resources: Resources
) -> Iterator[Claim | Refusal]:  # fmt: skip
    """The spans of a group, at most `most` of them; `resources` are those of its request."""
    resource, scope, places = group
    try:
        about, service = resources.of(
            resource, lambda: _attributes(_dict(resource).get("attributes"), Cutter())
        )
    except BROKEN:
        yield Refusal("unreadable", OF_BROKEN, min(len(places), most))
        return
    service, scope = plain(service, 200), _dict(scope)
    name = plain(f"{_text(scope, 'name')} {_text(scope, 'version')}".strip(), 200)
    for number, (at, end, fits) in enumerate(places[:most], 1):
        try:
            if not fits:
                raise ValueError("it has too many parts")
            # of its own text alone, as an error counts the lines before it
            value = DECODER.decode(text[at:end])
            claim = _claim(value, about, service, name)
        except BROKEN:
            yield Refusal("unreadable", f"span {number} of “{name or service}”")
        else:
            yield claim


# A span -------------------------------------------------------------------------------------------


def _claim(span: Any, resource: dict[str, Any], service: str, scope: str) -> Claim:
    cutter, status = Cutter(), _dict(span.get("status"))
    events, links = span.get("events") or [], span.get("links") or []
    cutter.drop(max(len(events) - EVENTS, 0) + max(len(links) - LINKS, 0))
    parent = _id(span.get("parentSpanId"))
    return Claim(
        trace_id=_id(span.get("traceId")), span_id=_id(span.get("spanId")),
        parent_id=parent if parent.strip("0") else "", name=plain(_text(span, "name")) or "unnamed",
        start=_whole(span.get("startTimeUnixNano")), end=_whole(span.get("endTimeUnixNano")),
        is_error=status.get("code") in (2, "2", "STATUS_CODE_ERROR"),
        message=_text(status, "message"), service=service, scope=scope, resource=resource,
        attributes=_attributes(span.get("attributes"), cutter),
        events=[
            {
                "name": plain(_text(event, "name")), "time": str(_whole(event.get("timeUnixNano"))),
                "attributes": _attributes(
                    event.get("attributes"), cutter, f"{_text(event, 'name')[:100]} "
                ),
            }
            for event in events[:EVENTS]
        ],
        links=[
            {
                "trace_id": _id(link.get("traceId")), "span_id": _id(link.get("spanId")),
                "attributes": _attributes(link.get("attributes"), cutter, "link "),
            }
            for link in links[:LINKS]
        ],
        cut=cutter.cut, dropped=cutter.dropped,
    )  # fmt: skip


def _id(value: Any) -> str:
    """An id in lower-case hex; one that is none becomes what is refused as an id."""
    if value is None:
        return ""
    text = str(value)[:40].lower()
    return text if re.fullmatch(r"[0-9a-f]*", text) else "?"


def _whole(value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or (isinstance(value, str) and len(value) > 20):
        raise ValueError("this is no number of ns")
    return int(value)


def _text(of: dict[str, Any], name: str) -> str:
    value = of.get(name)
    return value if isinstance(value, str) else ""


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _attributes(pairs: Any, cutter: Cutter, place: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    pairs = pairs or []
    for pair in pairs[:ATTRIBUTES]:
        key = plain(cutter.key(pair["key"]))
        found[key] = _value(pair.get("value") or {}, cutter, place + key, 0)
    if len(pairs) > len(found):  # too many, or of one name
        cutter.drop(len(pairs) - len(found))
    return found


def _value(value: Any, cutter: Cutter, key: str, level: int) -> Any:
    for kind, one in value.items():
        if kind == "stringValue":
            return cutter.text(key, str(one))
        elif kind == "boolValue":
            return bool(one)
        elif kind == "intValue":
            return _whole(one)
        elif kind == "doubleValue":
            return finite(float(one))
        elif kind == "bytesValue":
            return cutter.data(key, _bytes(one))
        elif level >= LEVELS:
            cutter.drop()
            return None
        elif kind == "arrayValue":
            items = one.get("values") or []
            cutter.drop(max(len(items) - ITEMS, 0))
            return [_value(item, cutter, key, level + 1) for item in items[:ITEMS]]
        elif kind == "kvlistValue":
            pairs = one.get("values") or []
            cutter.drop(max(len(pairs) - ITEMS, 0))
            return {
                plain(cutter.key(pair["key"])): _value(
                    pair.get("value") or {}, cutter, key, level + 1
                )
                for pair in pairs[:ITEMS]
            }
    return None


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("this is no base64") from None


# The frame ----------------------------------------------------------------------------------------


def _members(text: str, at: int, take: dict[str, Callable[[int], int]]) -> int:
    """Walk an object from its brace; the place behind it. Members of other names are skipped."""
    at = _expect(text, at, "{")
    if text[at : at + 1] == "}":
        return at + 1
    while True:
        _at(text, at, '"')
        name, at = _read(text, at)
        at = _expect(text, _blank(text, at), ":")
        known = take.get(name)
        at = _blank(text, known(at) if known is not None else _skip(text, at)[0])
        if text[at : at + 1] == "}":
            return at + 1
        at = _expect(text, at, ",")


def _items(text: str, at: int, take: Callable[[int], int]) -> int:
    """Walk a list from its bracket; null is an empty one."""
    if text.startswith("null", at):
        return at + 4
    at = _expect(text, at, "[")
    if text[at : at + 1] == "]":
        return at + 1
    while True:
        at = _blank(text, take(at))
        if text[at : at + 1] == "]":
            return at + 1
        at = _expect(text, at, ",")


def _into(text: str, place: list[Any]) -> Callable[[int], int]:
    def take(at: int) -> int:
        end, fits = _skip(text, at)
        if not fits:
            raise _unreadable("a resource or scope has too many parts")
        place[0] = _read(text, at)[0]
        return end

    return take


def _skip(text: str, at: int) -> tuple[int, bool]:
    """The place behind a value, and whether it has few enough parts to be made. Makes nothing."""
    sign = text[at : at + 1]
    if sign == '"':
        return _read(text, at)[1], True
    if sign not in ("{", "["):
        found = SCALAR.match(text, at)
        if found is None:
            raise _unreadable(f"no value stands at character {at}")
        return found.end(), True
    depth = parts = 0
    while True:
        sought = MARK.search(text, at)
        if sought is None:
            raise _unreadable("it ends in the middle of a value, as if it were cut off")
        at, sign = sought.end(), sought[0]
        if sign == '"':
            at = _read(text, at - 1)[1]
        elif sign == ",":
            parts += 1
        else:
            parts += sign in "{["
            if parts > MANY * unpacking.SPAN_PARTS:
                raise _unreadable("one value has more parts than anybody reads")
            depth += 1 if sign in "{[" else -1
            if depth == 0:
                return at, parts <= unpacking.SPAN_PARTS


def _read(text: str, at: int) -> tuple[Any, int]:
    try:
        return DECODER.raw_decode(text, at)
    except RecursionError:
        raise _unreadable("it has too many levels") from None
    except ValueError as error:
        raise _unreadable(f"{error}") from None


def _blank(text: str, at: int) -> int:
    found = BLANK.match(text, at)
    return found.end() if found else at


def _expect(text: str, at: int, sign: str) -> int:
    """The place behind a sign and the blanks that follow it."""
    _at(text, at, sign)
    return _blank(text, at + 1)


def _at(text: str, at: int, sign: str) -> None:
    if text[at : at + 1] != sign:
        found = "it ends" if at >= len(text) else f"{text[at]!r} stands"
        raise _unreadable(f"{found} at character {at} where {sign} belongs")


def _unreadable(why: str) -> Problem:
    return Problem(
        400, "otlp.unreadable",
        f"The body is no ExportTraceServiceRequest of OTLP's JSON: {why}. Nothing of it was kept.",
    )  # fmt: skip
