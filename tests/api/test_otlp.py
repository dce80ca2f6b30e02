"""OTLP as it is sent by programs that are well, broken or hostile: what is taken, what is told."""

import gzip
import json
import time
import zlib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.api.conftest import Studio
from tests.core.conftest import CHARLIE

PATH = "/v1/otlp/v1/traces"
PROTOBUF, JSON = "application/x-protobuf", "application/json"
TRACE = "ab" * 16


def request_of(studio: Studio, count: int = 1, **changes: Any) -> ExportTraceServiceRequest:
    """So many sound model calls of one trace, the first the root."""
    request, now = ExportTraceServiceRequest(), studio.core.clock.now() * 1_000_000
    inside = request.resource_spans.add()
    inside.resource.attributes.add(key="service.name").value.string_value = "shop"
    scope = inside.scope_spans.add()
    scope.scope.name = "tests"
    for number in range(1, count + 1):
        span = scope.spans.add(
            trace_id=bytes.fromhex(TRACE), span_id=number.to_bytes(8, "big"), name=f"s{number}",
            start_time_unix_nano=now + number, end_time_unix_nano=now + number + 1_000_000,
            parent_span_id=b"" if number == 1 else (1).to_bytes(8, "big"), **changes,
        )  # fmt: skip
        span.attributes.add(key="gen_ai.operation.name").value.string_value = "chat"
        span.attributes.add(key="gen_ai.usage.input_tokens").value.int_value = 7
    return request


async def send(studio: Studio, content: bytes, kind: str = PROTOBUF, **more: Any) -> Any:
    headers = {"Content-Type": kind, **more.pop("headers", {})}
    return await studio.raw("POST", PATH, content=content, headers=headers, **more)


def refused(answer: Any) -> tuple[int, str]:
    """Of a partial success in either encoding: the count and the words."""
    assert answer.status_code == 200, answer.content
    if answer.headers["content-type"] == JSON:
        partial = answer.json().get("partialSuccess", {})
        return int(partial.get("rejectedSpans", 0)), partial.get("errorMessage", "")
    found = ExportTraceServiceResponse.FromString(answer.content).partial_success
    return found.rejected_spans, found.error_message


def status_words(answer: Any) -> str:
    """The words of a google.rpc.Status in protobuf: its second field."""
    data = answer.content
    assert answer.headers["content-type"] == PROTOBUF
    assert (data[0], data[2]) == (0x08, 0x12)
    start = 4 if data[3] < 0x80 else 5
    return str(data[start:].decode())


async def only(studio: Studio) -> Any:
    """The one trace that there is."""
    (found,) = [one async for one in studio.client("charlie").outside_traces.list()]
    return found


@pytest.mark.parametrize("packed", [False, True])
async def test_protobuf_is_taken_and_answered_with_nothing(studio: Studio, packed: bool) -> None:
    data = request_of(studio, 3).SerializeToString()
    content = gzip.compress(data, mtime=0) if packed else data
    headers = {"Content-Encoding": "gzip"} if packed else {}

    answer = await send(studio, content, headers=headers)

    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == PROTOBUF
    found = await only(studio)
    assert (found["spans"], found["models"], found["input_tokens"]) == (3, 3, 21)
    assert (found["service"], found["sent_by"]) == ("shop", "application:bob")


async def test_json_is_taken_and_the_same_comes_back(studio: Studio) -> None:
    await send(studio, request_of(studio, 3).SerializeToString())
    document = await studio.client("charlie").outside_traces.spans(TRACE)
    other = json.loads(json.dumps(document).replace(TRACE, "CD" * 16))

    answer = await send(studio, json.dumps(other).encode(), JSON)

    assert (answer.status_code, answer.json()) == (200, {})
    again = await studio.client("charlie").outside_traces.spans("cd" * 16)
    assert again == json.loads(json.dumps(document).replace(TRACE, "cd" * 16))


@pytest.mark.parametrize("kind", [PROTOBUF, JSON])
async def test_nothing_sent_is_no_error(studio: Studio, kind: str) -> None:
    assert refused(await send(studio, b"", kind)) == (0, "")


async def test_bad_spans_are_refused_by_name_and_the_rest_is_kept(studio: Studio) -> None:
    request = request_of(studio, 4)
    spans = request.resource_spans[0].scope_spans[0].spans
    for name, changes in {
        "zeros": {"trace_id": bytes(16)}, "short": {"span_id": b"abc"},
        "odd parent": {"parent_span_id": b"ab"}, "from 1970": {"start_time_unix_nano": 5},
        "from 2554": {"start_time_unix_nano": 2**64 - 1},
    }.items():  # fmt: skip
        bad = spans.add()
        bad.CopyFrom(spans[1])
        bad.name = name
        for field, value in changes.items():
            setattr(bad, field, value)

    count, words = refused(await send(studio, request.SerializeToString()))

    assert count == 5
    assert words.startswith("5 of 9 spans: ")
    for name in ("zeros", "short", "odd parent", "from 1970", "from 2554"):
        assert f"“{name}”" in words
    assert (await only(studio))["spans"] == 4


async def test_what_was_sent_before_is_no_error_again(studio: Studio) -> None:
    data = request_of(studio, 3).SerializeToString()

    answers = [await send(studio, data) for _ in range(3)]

    assert [answer.content for answer in answers] == [b"", b"", b""]
    assert (await only(studio))["spans"] == 3


async def test_a_span_that_is_broken_costs_itself_alone(studio: Studio) -> None:
    sound = request_of(studio, 1).resource_spans[0].scope_spans[0].spans[0].SerializeToString()
    broken = b"\x0a\xff\xff"  # an id that is longer than the span
    body = block(1, block(2, block(2, broken) + block(2, sound)))

    count, words = refused(await send(studio, body))

    assert count == 1
    assert "it cannot be decoded (span 1 of" in words
    assert (await only(studio))["spans"] == 1


async def test_a_body_that_was_cut_off_is_refused_whole(studio: Studio) -> None:
    data = request_of(studio, 50).SerializeToString()

    for end in (len(data) - 1, len(data) // 2, 3):
        answer = await send(studio, data[:end])
        assert answer.status_code == 400
        assert "Nothing of it was kept" in status_words(answer)

    assert [one async for one in studio.client("charlie").outside_traces.list()] == []


@pytest.mark.parametrize(
    "text",
    [
        '{"resourceSpans": [', '{"resourceSpans": 7}', "[1]", '{"resourceSpans": [{}]} more',
        '{"a": NaN}', '{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "x"},', "\ufeffx",
        '{"resourceSpans": [{"resource": ' + "[" * 100_000,
    ],
)  # fmt: skip
async def test_json_that_is_none_is_refused_whole(studio: Studio, text: str) -> None:
    answer = await send(studio, text.encode(), JSON)

    assert answer.status_code == 400
    assert answer.json()["code"] == 3
    assert "Nothing of it was kept" in answer.json()["message"]


async def test_a_gzip_bomb_is_refused_while_it_grows(studio: Studio) -> None:
    bomb = gzip.compress(bytes(100 * 1024 * 1024), 9)

    answer = await send(studio, bomb, headers={"Content-Encoding": "gzip"})

    assert answer.status_code == 413
    assert "over 33,554,432 bytes" in status_words(answer)


async def test_gzip_of_several_members_is_one_body(studio: Studio) -> None:
    data = request_of(studio, 3).SerializeToString()
    content = b"".join(gzip.compress(data[at : at + 50], mtime=0) for at in range(0, len(data), 50))

    answer = await send(studio, content, headers={"Content-Encoding": "gzip"})

    assert (answer.status_code, answer.content) == (200, b"")
    assert (await only(studio))["spans"] == 3


async def test_gzip_of_very_many_members_is_refused(studio: Studio) -> None:
    content = gzip.compress(b"", mtime=0) * 100_000  # to unpack them all takes ever longer

    answer = await send(studio, content, headers={"Content-Encoding": "gzip"})

    assert answer.status_code == 400
    assert "more than 1,000 members" in status_words(answer)


@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(b"x" * 500, mtime=0)[:-9]])
async def test_what_only_says_that_it_is_gzip_is_refused(studio: Studio, content: bytes) -> None:
    answer = await send(studio, content, headers={"Content-Encoding": "gzip"})

    assert answer.status_code == 400
    assert "gzip" in status_words(answer)


@pytest.mark.parametrize("place", ["time", "attribute", "resource"])
async def test_a_number_beyond_all_bounds_costs_its_span_alone(studio: Studio, place: str) -> None:
    now = studio.core.clock.now() * 1_000_000

    def span(number: int, *, huge: bool) -> str:
        start = "1e999" if huge and place == "time" else str(now)
        count = "1e999" if huge and place == "attribute" else "7"
        return (
            f'{{"traceId": "{TRACE}", "spanId": "{number:016x}", "name": "s{number}", '
            f'"startTimeUnixNano": {start}, "attributes": '
            f'[{{"key": "n", "value": {{"intValue": {count}}}}}]}}'
        )

    about = '{"attributes": [{"key": "n", "value": {"intValue": 1e999}}]}'
    resource = about if place == "resource" else "{}"
    body = (
        f'{{"resourceSpans": [{{"resource": {resource}, "scopeSpans": [{{"spans": '
        f'[{span(1, huge=True)}]}}]}}, {{"scopeSpans": [{{"spans": [{span(2, huge=False)}]}}]}}]}}'
    )

    count, words = refused(await send(studio, body.encode(), JSON))

    assert count == 1
    assert "it cannot be decoded" in words
    assert (await only(studio))["spans"] == 1


def block(number: int, data: bytes) -> bytes:
    """A field of protobuf that holds these bytes."""
    size, left = bytearray(), len(data)
    while left > 127:
        size.append(left & 127 | 128)
        left >>= 7
    return bytes([number << 3 | 2, *size, left]) + data


@pytest.mark.parametrize(
    "kind,content",
    [
        (PROTOBUF, block(1, block(2, b"\x12\x00" * 300_000))),
        (PROTOBUF, block(1, b"\x12\x00" * 300_000)),
        (PROTOBUF, b"\x0a\x00" * 300_000),
        (JSON, b'{"resourceSpans":[{"scopeSpans":[{"spans":[' + b"{}," * 300_000 + b"{}]}]}]}"),
        (JSON, b'{"resourceSpans":[' + b"{}," * 300_000 + b"{}]}"),
    ],
)
async def test_a_frame_that_would_fill_the_memory_is_refused(
    studio: Studio, kind: str, content: bytes
) -> None:
    answer = await send(studio, content, kind)

    assert answer.status_code == 413
    assert b"over 250,000 resources, scopes and spans" in answer.content


@pytest.mark.parametrize("field", [9, 11, 13])
async def test_a_span_that_would_fill_the_memory_is_refused_by_name(
    studio: Studio, field: int
) -> None:
    sound = request_of(studio, 1).resource_spans[0].scope_spans[0].spans[0].SerializeToString()
    parts = bytes([field << 3 | 2, 0]) * 200_000
    inside = block(9, block(2, block(5, b"\x0a\x00" * 200_000)))
    spans = b"".join(block(2, data) for data in (sound, sound + parts, sound + inside))

    count, words = refused(await send(studio, block(1, block(2, spans))))

    assert count == 2
    assert "it cannot be decoded" in words


async def test_json_that_would_fill_the_memory_is_refused_by_name(studio: Studio) -> None:
    many = '{"arrayValue": {"values": [' + "{}," * 100_000 + "{}]}}"
    span = f'{{"name": "wide", "attributes": [{{"key": "a", "value": {many}}}]}}'
    body = f'{{"resourceSpans": [{{"scopeSpans": [{{"spans": [{span}]}}]}}]}}'

    count, words = refused(await send(studio, body.encode(), JSON))

    assert count == 1
    assert "it cannot be decoded" in words


@pytest.mark.parametrize("kind", [PROTOBUF, JSON])
async def test_a_large_resource_is_not_kept_with_every_span(studio: Studio, kind: str) -> None:
    if kind == JSON:
        now = studio.core.clock.now() * 1_000_000
        pairs = [{"key": "args", "value": {"stringValue": "x" * 60_000}}]
        span = {"traceId": TRACE, "spanId": f"{1:016x}", "name": "s", "startTimeUnixNano": now}
        inside = {"resource": {"attributes": pairs}, "scopeSpans": [{"spans": [span]}]}
        data = json.dumps({"resourceSpans": [inside]}).encode()
    else:
        request = request_of(studio, 1)
        about = request.resource_spans[0].resource
        about.attributes.add(key="args").value.string_value = "x" * 60_000
        data = request.SerializeToString()

    assert refused(await send(studio, data, kind)) == (0, "")

    found = await studio.core.parts.reader.outside_span(CHARLIE, TRACE, f"{1:016x}")
    assert "args" not in found.resource


async def test_broken_spans_behind_much_text_cost_themselves_alone(studio: Studio) -> None:
    broken, before = ",".join(['{"a" 1}'] * 300), "y" * 30_000_000
    spans = f'[{{"scopeSpans": [{{"spans": [{broken}]}}]}}]'
    body = f'{{"x": "{before}", "resourceSpans": {spans}}}'
    began = time.process_time()

    count, words = refused(await send(studio, body.encode(), JSON))

    assert count == 300
    assert "it cannot be decoded" in words
    assert time.process_time() - began < 3  # each looked at all of the text before it


async def test_a_body_that_is_too_large_is_refused(studio: Studio) -> None:
    answer = await send(studio, b"", headers={"Content-Length": str(64 * 1024 * 1024)})

    assert answer.status_code == 413
    assert status_words(answer).endswith("Send fewer spans at once.")


async def test_an_attribute_of_ten_megabytes_is_cut_with_size_and_hash(studio: Studio) -> None:
    request = request_of(studio, 1)
    span = request.resource_spans[0].scope_spans[0].spans[0]
    span.attributes.add(key="input.value").value.string_value = "x" * 10_000_000

    assert refused(await send(studio, request.SerializeToString())) == (0, "")

    found = await studio.core.parts.reader.outside_span(CHARLIE, TRACE, f"{1:016x}")
    assert len(found.attributes["input.value"]) == 64 * 1024
    assert found.cut["input.value"]["size"] == 10_000_000


@pytest.mark.slow
async def test_of_a_hundred_thousand_spans_the_first_are_taken_and_the_rest_counted(
    studio: Studio,
) -> None:
    data = gzip.compress(request_of(studio, 100_000).SerializeToString(), 1)

    count, words = refused(await send(studio, data, headers={"Content-Encoding": "gzip"}))

    assert count == 80_000
    assert "the request has more spans than are taken at once" in words
    assert (await only(studio))["spans"] == 20_000


@pytest.mark.parametrize(
    "headers,status",
    [
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": None}, 415),
        ({"Content-Encoding": "br"}, 415),
    ],
)
async def test_other_kinds_of_bodies_are_refused(
    studio: Studio, headers: dict[str, Any], status: int
) -> None:
    assert (await send(studio, b"x", headers=headers)).status_code == status


async def test_a_viewer_may_not_send_and_nobody_without_a_key(studio: Studio) -> None:
    data = request_of(studio).SerializeToString()

    viewer, nobody = await send(studio, data, person="charlie"), await send(studio, data, person="")

    assert (viewer.status_code, nobody.status_code) == (403, 401)
    assert "you need the role operator" in status_words(viewer)
    assert "www-authenticate" in nobody.headers


async def test_a_sender_sends_and_sees_nothing(studio: Studio) -> None:
    made = await studio.client("alice").keys.make("exporter", role="sender")
    studio.keys["exporter"] = made["key"]

    sent = await send(studio, request_of(studio).SerializeToString(), person="exporter")
    asked = [
        await studio.raw("GET", f"/v1{path}", person="exporter")
        for path in ("/outside-traces", f"/outside-traces/{TRACE}", "/sessions", "/agents", "/keys")
    ]

    assert (sent.status_code, sent.content) == (200, b"")
    assert {answer.status_code for answer in asked} == {403}
    assert (await only(studio))["sent_by"] == "application:exporter"


SPANS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "traceId": st.sampled_from([TRACE, "AB" * 16, "0" * 32, "zz", "", 5, None]),
            "spanId": st.sampled_from([f"{n:016x}" for n in range(6)] + ["x", 7]),
            "parentSpanId": st.sampled_from([f"{n:016x}" for n in range(6)] + ["x", ""]),
            "name": st.one_of(st.text(max_size=8), st.integers()),
            "startTimeUnixNano": st.sampled_from(["1796000000000000000", "0", -1, "x", 2**70, 1.5]),
            "endTimeUnixNano": st.sampled_from(["1796000000000000001", "0", None, str(2**64 - 1)]),
            "status": st.sampled_from([{"code": 2, "message": "no"}, {}, None, 3]),
            "attributes": st.sampled_from(
                [[], None, [{"key": "a", "value": {"stringValue": "b"}}], [{}], 7,
                 [{"key": "a", "value": {"arrayValue": {"values": [{"intValue": "1"}]}}}],
                 [{"key": "a", "value": {"bytesValue": "!"}}]]
            ),
            "events": st.sampled_from([[], [{"name": "e", "timeUnixNano": "5"}], [3]]),
        },
    ),
    max_size=12,
)  # fmt: skip


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(spans=SPANS)
async def test_of_any_spans_each_is_kept_or_counted(studio: Studio, spans: list[Any]) -> None:
    body = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}

    count, words = refused(await send(studio, json.dumps(body).encode(), JSON))

    assert 0 <= count <= len(spans)
    assert (count > 0) == bool(words)
    if count:
        assert words.startswith(f"{count} of {len(spans)} spans: ")


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.binary(max_size=80), kind=st.sampled_from([PROTOBUF, JSON]), packed=st.booleans())
async def test_any_bytes_are_answered(studio: Studio, data: bytes, kind: str, packed: bool) -> None:
    content = zlib.compress(data, wbits=31) if packed else data
    headers = {"Content-Encoding": "gzip"} if packed else {}

    answer = await send(studio, content, kind, headers=headers)

    assert answer.status_code in (200, 400)
    assert answer.headers["content-type"] == kind
