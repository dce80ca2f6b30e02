"""Spans as OTLP's protobuf messages, made from the JSON that `rules.conventions` tells them in.

So both say the same. The messages are those of `opentelemetry-proto`; a process that neither sends
nor takes spans never imports this.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from studio.core.rules import conventions

MEDIA = "application/x-protobuf"


def span(told: Mapping[str, Any]) -> Span:
    """One span from its JSON (`conventions.told`)."""
    status = told.get("status", {})
    return Span(
        trace_id=bytes.fromhex(told["traceId"]), span_id=bytes.fromhex(told["spanId"]),
        parent_span_id=bytes.fromhex(told.get("parentSpanId", "")),
        trace_state=told.get("traceState", ""), flags=told.get("flags", 0),
        name=_text(told["name"]), kind=told["kind"],
        start_time_unix_nano=int(told["startTimeUnixNano"]),
        end_time_unix_nano=int(told["endTimeUnixNano"]),
        attributes=_pairs(told["attributes"]),
        status=Status(code=status.get("code", 0), message=_text(status.get("message", ""))),
    )  # fmt: skip


def request(spans: Iterable[Span], *, version: str, service: str) -> bytes:
    """The body of one request."""
    told = conventions.message([], version=version, service=service)["resourceSpans"][0]
    made = ExportTraceServiceRequest()
    resource = made.resource_spans.add()
    resource.resource.attributes.extend(_pairs(told["resource"]["attributes"]))
    scope = resource.scope_spans.add(schema_url=told["scopeSpans"][0]["schemaUrl"])
    scope.scope.name, scope.scope.version = "studio", version
    scope.spans.extend(spans)
    body: bytes = made.SerializeToString()
    return body


def refused(body: bytes) -> tuple[int, str]:
    """How many spans a collector refused of those it answered for, and why; a ValueError else."""
    try:
        found = ExportTraceServiceResponse.FromString(body).partial_success
    except DecodeError as error:
        raise ValueError("not an answer of OTLP") from error
    return max(found.rejected_spans, 0), found.error_message


def _pairs(told: Iterable[Mapping[str, Any]]) -> list[KeyValue]:
    return [KeyValue(key=pair["key"], value=_value(pair["value"])) for pair in told]


def _value(told: Mapping[str, Any]) -> AnyValue:
    (kind, value), *_ = told.items()
    match kind:
        case "boolValue":
            return AnyValue(bool_value=value)
        case "intValue":
            return AnyValue(int_value=int(value))
        case "doubleValue":
            return AnyValue(double_value=value)
        case _:
            return AnyValue(string_value=_text(value))


def _text(text: str) -> str:
    """A text that UTF-8 can hold: half a surrogate pair becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
