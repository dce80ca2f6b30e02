"""A trace from outside as OTLP's JSON again, a window of spans at a time."""

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from itertools import groupby
from typing import Any

from studio.core.reader import OutsideSpan

ERROR = 2


async def document(
    first: list[OutsideSpan], more: AsyncIterator[list[OutsideSpan]]
) -> AsyncIterator[str]:
    """The whole document; spans in the order of their ids, resources as often as they change."""
    yield '{"resourceSpans":[' + _groups(first)
    async for window in more:
        yield "," + _groups(window)
    yield "]}"


def _groups(spans: Iterable[OutsideSpan]) -> str:
    groups = groupby(spans, lambda span: (span.resource, span.scope))
    return ",".join(_dumped(_group(resource, scope, found)) for (resource, scope), found in groups)


def _group(resource: Mapping[str, Any], scope: str, spans: Iterable[OutsideSpan]) -> dict[str, Any]:
    inside = {"scope": {"name": scope}, "spans": [_span(span) for span in spans]}
    return {"resource": {"attributes": _pairs(resource)}, "scopeSpans": [inside]}


def _span(span: OutsideSpan) -> dict[str, Any]:
    found = {
        "traceId": span.trace_id, "spanId": span.id, "parentSpanId": span.parent,
        "name": span.name, "startTimeUnixNano": str(span.began),
        "endTimeUnixNano": str(span.ended or 0), "attributes": _pairs(span.attributes),
        "events": [
            {
                "name": event["name"], "timeUnixNano": event["time"],
                "attributes": _pairs(event["attributes"]),
            }
            for event in span.events
        ],
        "links": [
            {
                "traceId": link["trace_id"], "spanId": link["span_id"],
                "attributes": _pairs(link["attributes"]),
            }
            for link in span.links
        ],
        "status": {"code": ERROR, "message": span.words} if span.is_error else {},
    }  # fmt: skip
    return {name: value for name, value in found.items() if value not in ("", [], {})}


def _pairs(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in values.items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    elif isinstance(value, int):
        return {"intValue": str(value)}
    elif isinstance(value, float):
        return {"doubleValue": value}
    elif isinstance(value, list):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    elif isinstance(value, dict):
        return {"kvlistValue": {"values": _pairs(value)}}
    return {} if value is None else {"stringValue": str(value)}


def _dumped(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
