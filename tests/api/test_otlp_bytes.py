"""What hostile senders would make large is bounded in bytes, and what was cut is said."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from studio.core.rules.outside.cutting import SPAN_BYTES, TEXT_BYTES
from studio.core.store import raw
from tests.api.conftest import Studio
from tests.api.test_otlp import JSON, PROTOBUF, TRACE, only, refused, request_of, send
from tests.core.conftest import CHARLIE

Span = Any
FACES = "🔑" * 5_000


def small_attributes(span: Span) -> None:
    for number in range(100_000):
        span.attributes.add().key = f"{number:x}"


def long_keys(span: Span) -> None:
    for number in range(300):
        span.attributes.add(key=f"{number}{FACES}").value.string_value = "v"


def deep_arrays(span: Span) -> None:
    for number in range(8):
        value = span.attributes.add(key=f"deep {number}").value
        for _ in range(30):
            value = value.array_value.values.add()
        for _ in range(900):
            value.array_value.values.add().string_value = "x" * 900


def wide_mappings(span: Span) -> None:
    for number in range(20):
        pairs = span.attributes.add(key=f"wide {number}").value.kvlist_value.values
        for one in range(900):
            pairs.add(key=f"{one}{'k' * 190}").value.string_value = "\x01" * 100


def signs(span: Span) -> None:
    for number in range(20):
        span.attributes.add(key=f"{number}").value.string_value = "\x01" * TEXT_BYTES


def full_events(span: Span) -> None:
    for _ in range(400):
        event = span.events.add(name="e" * 10_000, time_unix_nano=2**63)
        for number in range(60):
            event.attributes.add(key=f"{number}{'k' * 300}").value.string_value = "v" * 200


def full_links(span: Span) -> None:
    for _ in range(300):
        link = span.links.add(trace_id=b"t" * 16, span_id=b"s" * 8)
        for number in range(60):
            link.attributes.add(key=f"{number}{'k' * 300}").value.string_value = "v" * 200


def as_json(request: Any) -> bytes:
    """The same as OTLP's JSON: ids are hex there."""
    from google.protobuf import json_format

    found = json_format.MessageToDict(request)
    for span in found["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        span["traceId"], span["spanId"] = TRACE, f"{1:016x}"
        for link in span.get("links", []):
            link["traceId"], link["spanId"] = TRACE, f"{7:016x}"
    return json.dumps(found).encode()


@pytest.mark.parametrize("kind", [PROTOBUF, JSON])
@pytest.mark.parametrize(
    "enlarge",
    [
        small_attributes, long_keys, deep_arrays, wide_mappings, signs, full_events, full_links,
    ],
)  # fmt: skip
async def test_no_span_is_larger_than_its_bytes_and_it_says_what_is_missing(
    studio: Studio, kind: str, enlarge: Callable[[Span], None]
) -> None:
    request = request_of(studio, 1)
    enlarge(request.resource_spans[0].scope_spans[0].spans[0])
    data = request.SerializeToString() if kind == PROTOBUF else as_json(request)

    count, words = refused(await send(studio, data, kind))

    rows = await studio.core.parts.db.read(
        lambda conn: raw.every(conn, "SELECT bytes FROM outside_spans")
    )
    if count:  # it has more values than anybody reads
        assert "it cannot be decoded" in words
        assert rows == []
    else:
        assert rows[0][0] <= SPAN_BYTES + 1_000  # with the texts of its row
        found = await studio.core.parts.reader.outside_span(CHARLIE, TRACE, f"{1:016x}")
        assert found.dropped + len(found.cut) > 0
        assert found.attributes["gen_ai.operation.name"] == "chat"


async def test_spans_beyond_the_bytes_of_their_trace_are_refused_by_name(studio: Studio) -> None:
    verbs = studio.core.runtime
    verbs.outside = replace(verbs.outside, trace_bytes=100_000)
    request = request_of(studio, 5)
    for span in request.resource_spans[0].scope_spans[0].spans:
        span.attributes.add(key="input.value").value.string_value = "x" * 40_000

    count, words = refused(await send(studio, request.SerializeToString()))

    assert count == 3
    assert words.startswith("3 of 5 spans: 3 refused because its trace has as many bytes as are ")
    assert all(f"“s{number}”" in words for number in (3, 4, 5))
    assert (await only(studio))["spans"] == 2


async def test_spans_beyond_the_bytes_of_their_sender_are_refused_by_name(studio: Studio) -> None:
    verbs = studio.core.runtime
    verbs.outside = replace(verbs.outside, sender_bytes=1_000)
    data = request_of(studio, 5).SerializeToString()

    count, words = refused(await send(studio, data))
    other = await send(studio, data, person="alice")

    assert 0 < count < 5
    assert "its sender has as many bytes here as are kept of one" in words
    assert "“s5”" in words
    assert refused(other)[0] < count  # it has room of its own
