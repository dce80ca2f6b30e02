"""OTLP's protobuf, read span by span: the frame by hand, each span by the generated classes.

So a request of any size is never one tree of objects, a body that was cut off is told before
anything of it is kept, and one broken span costs nothing but itself.
"""

import functools
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from studio.api.errors import Problem
from studio.api.otlp import unpacking
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

Piece = tuple[int, int]  # where it begins and ends in the body
Group = tuple[list[Piece], list[Piece], list[Piece]]  # resource, scope, spans
OF_BROKEN = "of a resource or scope that cannot be decoded"
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def groups(data: bytes) -> list[Group]:
    """The frame of an ExportTraceServiceRequest: where its spans are. Blocks."""
    found: list[Group] = []
    parts = 0
    for number, *place in _fields(data, 0, len(data)):
        if number != 1:
            continue
        resource, scopes = list[Piece](), list[tuple[list[Piece], list[Piece]]]()
        for inside, start, end in _fields(data, *place):
            if inside == 1:
                resource.append((start, end))
            elif inside == 2:
                scopes.append(([], []))
                for one, *piece in _fields(data, start, end):
                    if one in (1, 2):
                        scopes[-1][one - 1].append((piece[0], piece[1]))
                        parts = _counted(parts)
            parts = _counted(parts)
        parts = _counted(parts)
        found += [(resource, scope, pieces) for scope, pieces in scopes]
    return found


def _counted(parts: int) -> int:
    if parts >= unpacking.PARTS:
        raise unpacking.too_many()
    return parts + 1


def spans(
    data: bytes, group: Group, most: int, resources: Resources
) -> Iterator[Claim | Refusal]:  # fmt: skip
    """The spans of a group, at most `most` of them; `resources` are those of its request."""
    kinds = _kinds()
    resource, scope, pieces = group
    try:
        about, service = resources.of(resource, lambda: _resource(kinds, data, resource))
        service = plain(service, 200)
        name = _scope(kinds, data, scope)
    except kinds.broken:
        yield Refusal("unreadable", OF_BROKEN, min(len(pieces), most))
        return
    for number, (start, end) in enumerate(pieces[:most], 1):
        span = kinds.span()
        try:
            span.ParseFromString(_bounded(kinds, data, "span", start, end))
        except kinds.broken:
            yield Refusal("unreadable", f"span {number} of “{name or service}”")
            continue
        yield _claim(span, about, service, name)


INSIDE = {  # which fields hold parts, of what kind
    "span": {9: "pair", 11: "event", 13: "link"}, "event": {3: "pair"}, "link": {4: "pair"},
    "resource": {1: "pair", 3: "pair"}, "scope": {3: "pair"}, "pair": {2: "value"},
    "value": {5: "list", 6: "pairs"}, "list": {1: "value"}, "pairs": {1: "pair"},
}  # fmt: skip


def _bounded(kinds: "_Kinds", data: bytes, kind: str, start: int, end: int) -> bytes:
    """The bytes of a message, unless it would have too many parts in memory."""
    if end - start > unpacking.SPAN_BYTES:
        left, parts = [(kind, start, end)], 0
        while left:
            of, *place = left.pop()
            try:
                for number, *inside in _fields(data, *place):
                    parts += 1
                    if parts > unpacking.SPAN_PARTS:
                        raise kinds.broken("it has too many parts")
                    if number in INSIDE[of]:
                        left.append((INSIDE[of][number], inside[0], inside[1]))
            except Problem as error:
                raise kinds.broken(error.message) from None
    return data[start:end]


class _Kinds:
    """The generated classes, loaded with the first request. They say no types."""

    def __init__(self) -> None:
        made = "opentelemetry.proto"
        self.span: Any = import_module(f"{made}.trace.v1.trace_pb2").Span
        self.resource: Any = import_module(f"{made}.resource.v1.resource_pb2").Resource
        self.scope: Any = import_module(f"{made}.common.v1.common_pb2").InstrumentationScope
        self.broken: type[Exception] = import_module("google.protobuf.message").DecodeError


_kinds = functools.cache(_Kinds)


def _resource(kinds: _Kinds, data: bytes, pieces: list[Piece]) -> dict[str, Any]:
    found = kinds.resource()
    for start, end in pieces:
        found.MergeFromString(_bounded(kinds, data, "resource", start, end))
    return _attributes(found.attributes, Cutter())


def _scope(kinds: _Kinds, data: bytes, pieces: list[Piece]) -> str:
    found = kinds.scope()
    for start, end in pieces:
        found.MergeFromString(_bounded(kinds, data, "scope", start, end))
    return plain(f"{found.name} {found.version}".strip(), 200)


def _claim(span: Any, resource: dict[str, Any], service: str, scope: str) -> Claim:
    cutter = Cutter()
    attributes = _attributes(span.attributes, cutter)
    events = [
        {
            "name": plain(event.name), "time": str(event.time_unix_nano),
            "attributes": _attributes(event.attributes, cutter, f"{event.name[:100]} "),
        }
        for event in span.events[:EVENTS]
    ]  # fmt: skip
    links = [
        {
            "trace_id": link.trace_id[:16].hex(), "span_id": link.span_id[:8].hex(),
            "attributes": _attributes(link.attributes, cutter, "link "),
        }
        for link in span.links[:LINKS]
    ]  # fmt: skip
    cutter.drop(max(len(span.events) - EVENTS, 0) + max(len(span.links) - LINKS, 0))
    status = span.status
    return Claim(
        trace_id=span.trace_id[:17].hex(), span_id=span.span_id[:9].hex(),
        parent_id=_parent(span.parent_span_id), name=plain(span.name) or "unnamed",
        start=span.start_time_unix_nano, end=span.end_time_unix_nano, is_error=status.code == 2,
        message=status.message, attributes=attributes, service=service, scope=scope,
        resource=resource, events=events, links=links, cut=cutter.cut,
        dropped=cutter.dropped + span.dropped_attributes_count + span.dropped_events_count,
    )  # fmt: skip


def _parent(data: bytes) -> str:
    """The parent's id; zeros are as good as none."""
    return data[:9].hex() if any(data) else ""


def _attributes(pairs: Any, cutter: Cutter, place: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs[:ATTRIBUTES]:
        key = cutter.key(pair.key)
        found[key] = _value(pair.value, cutter, place + key, 0)
    if len(pairs) > len(found):  # too many, or of one name
        cutter.drop(len(pairs) - len(found))
    return found


def _value(value: Any, cutter: Cutter, key: str, level: int) -> Any:
    kind = value.WhichOneof("value")
    if kind == "string_value":
        return cutter.text(key, value.string_value)
    elif kind in ("int_value", "bool_value"):
        return getattr(value, kind)
    elif kind == "double_value":
        return finite(value.double_value)
    elif kind == "bytes_value":
        return cutter.data(key, value.bytes_value)
    elif kind is not None and level >= LEVELS:
        cutter.drop()
    elif kind == "array_value":
        items = value.array_value.values
        cutter.drop(max(len(items) - ITEMS, 0))
        return [_value(item, cutter, key, level + 1) for item in items[:ITEMS]]
    elif kind == "kvlist_value":
        pairs = value.kvlist_value.values
        cutter.drop(max(len(pairs) - ITEMS, 0))
        return {
            cutter.key(pair.key): _value(pair.value, cutter, key, level + 1)
            for pair in pairs[:ITEMS]
        }
    return None


def finite(number: float) -> float | str:
    """A number as JSON can hold it."""
    return number if number - number == 0 else str(number)


# The frame ----------------------------------------------------------------------------------------


def _fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The length-delimited fields between two places: number, where it begins and ends."""
    while at < end:
        key, at = _varint(data, at, end)
        number, wire = key >> 3, key & 7
        if number == 0:
            raise _unreadable("a field has no number")
        if wire == BYTES:
            length, at = _varint(data, at, end)
            if length > end - at:
                raise _cut()
            yield number, at, at + length
            at += length
        elif wire == VARINT:
            _, at = _varint(data, at, end)
        elif wire in (FIXED64, FIXED32):
            at += 8 if wire == FIXED64 else 4
            if at > end:
                raise _cut()
        else:
            raise _unreadable(f"a field is of wire type {wire}")


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    found = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return found, at
        shift += 7
        if shift > 63:
            raise _unreadable("a number has more than 10 bytes")
    raise _cut()


def _cut() -> Problem:
    return _unreadable("it ends in the middle of a field, as if it were cut off")


def _unreadable(why: str) -> Problem:
    return Problem(
        400, "otlp.unreadable",
        f"The body is no ExportTraceServiceRequest of OTLP: {why}. Nothing of it was kept.",
    )  # fmt: skip
