"""`POST /v1/otlp/v1/traces`: spans of other people's agents, as OTLP over HTTP sends them.

What cannot be read at all is a 400 and nothing is kept; what can be is kept, and each span that
is refused is counted and named in `partial_success`. Sent again, the same spans are no error.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from studio.api import bodies as b
from studio.api import wire
from studio.api.endpoint import Ask, Endpoint
from studio.api.errors import Problem
from studio.api.otlp import answering, json_text, protobuf, unpacking
from studio.api.takings import Taking
from studio.core.rules import access
from studio.core.rules.errors import TooLarge
from studio.core.rules.outside import claims
from studio.core.rules.outside.claims import Claim, Refusal
from studio.core.rules.outside.cutting import Resources

BODY_SECONDS = 30.0
ENCODINGS = ("", "identity", "gzip")
Spans = Iterator[Claim | Refusal]


async def take(ask: Ask[b.NoQuery, b.NoBody]) -> Response:
    """Keep the spans of a request."""
    access.needs_to_send_spans(ask.person)
    kind, packed = _looked_at(ask.request)
    limits = ask.runtime.outside
    with ask.parts.gate.takings.place(ask.person, limits.request_bytes) as taking:
        data = await _body(ask.request, limits.request_bytes, taking)
        async with taking.work():
            if packed:
                data = await asyncio.to_thread(unpacking.gunzip, data, limits.request_bytes)
            spans = await asyncio.to_thread(_spans, data, kind, limits.request_spans)
            done = await ask.runtime.take_spans(ask.person, spans)
    count = done.refused_count
    words = claims.told(done.refused)
    of = f"{count:,} of {count + done.new + done.here:,} spans: {words}. {done.advice}"
    return answering.taken(kind, count, of.rstrip())


def _looked_at(request: Request) -> tuple[str, bool]:
    """The media type, and whether the body is packed."""
    kind = answering.kind_of(request)
    if kind not in (answering.PROTOBUF, answering.JSON):
        raise Problem(
            415, "body.other_kind",
            f"Send the body as Content-Type: {answering.PROTOBUF} or {answering.JSON}.",
        )  # fmt: skip
    encoding = request.headers.get("content-encoding", "").strip().lower()
    if encoding not in ENCODINGS:
        raise Problem(
            415, "body.encoded", "The body may be packed as Content-Encoding: gzip, or not at all."
        )
    return kind, encoding == "gzip"


async def _body(request: Request, most: int, taking: Taking) -> bytes:
    kept = bytearray()
    try:
        async for chunk in wire.bounded(request, most, BODY_SECONDS).stream():
            taking.arrived(len(chunk))
            kept += chunk
    except ClientDisconnect:
        raise Problem(400, "body.cut", "The connection ended before the body did.") from None
    except TooLarge as error:
        words = f"{error.message} Send fewer spans at once."
        raise TooLarge(words, code=error.code, details=error.details) from None
    return bytes(kept)


def _spans(data: bytes, kind: str, most: int) -> Spans:
    """The spans of a body whose frame is sound. They are decoded as they are asked for."""
    known = Resources()
    if kind == answering.PROTOBUF:
        return _first(
            protobuf.groups(data),
            lambda group, left: protobuf.spans(data, group, left, known), most,
        )  # fmt: skip
    text = json_text.text_of(data)
    return _first(
        json_text.groups(text), lambda group, left: json_text.spans(text, group, left, known), most
    )


def _first(groups: list[Any], spans: Callable[[Any, int], Spans], most: int) -> Spans:
    """At most so many spans of these groups, then the count of those that are too many."""
    left, beyond = most, 0
    for group in groups:
        count = len(group[2])
        if left and count:
            yield from spans(group, left)
        beyond += max(count - left, 0)
        left = max(left - count, 0)
    if beyond:
        yield Refusal("too_many", count=beyond)


ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    Endpoint(
        name="take_spans", method="POST", path="/otlp/v1/traces", call=take, gives=None,
        takes_file=True, gives_file=True, least="sender",
        kinds=(answering.PROTOBUF, answering.JSON), refuse=answering.refused,
        says="Send spans of an agent that runs elsewhere, as OTLP over HTTP (an "
        "ExportTraceServiceRequest, gzip allowed). It answers in the encoding of the request, "
        "refusals as google.rpc.Status.",
    ),
)  # fmt: skip
