"""How OTLP over HTTP is answered: in the encoding of the request, refusals as google.rpc.Status."""

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from studio.api import errors
from studio.api.errors import HEADERS
from studio.core.rules.errors import StudioError

PROTOBUF, JSON = "application/x-protobuf", "application/json"
UNPROCESSABLE, BAD = 422, 400  # the protocol knows only the second
CODES = {  # google.rpc.Code of an HTTP status
    400: 3, 401: 16, 403: 7, 404: 5, 408: 4, 411: 3, 413: 3, 415: 3, 429: 8, 503: 14,
}  # fmt: skip
INTERNAL = 13


def kind_of(request: Request) -> str:
    """The media type of the body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def taken(kind: str, refused: int, words: str) -> Response:
    """An ExportTraceServiceResponse; without refusals it is empty, as the protocol asks."""
    if kind == JSON:
        partial = {"rejectedSpans": str(refused), "errorMessage": words}
        return _response(kind, 200, json.dumps({"partialSuccess": partial} if refused else {}))
    partial_success = _number(1, refused) + _text(2, words)
    return _response(kind, 200, _block(1, partial_success) if refused else b"")


def refused(request: Request, error: StudioError) -> Response:
    """A refusal, with the headers that every refusal of its status has."""
    plain = errors.answer(error)
    status = BAD if plain.status_code == UNPROCESSABLE else plain.status_code
    code = CODES.get(status, INTERNAL)
    kind = PROTOBUF if kind_of(request) == PROTOBUF else JSON
    if kind == JSON:
        text = json.dumps({"code": code, "message": error.message, "details": []})
        found = _response(kind, status, text)
    else:
        found = _response(kind, status, _number(1, code) + _text(2, error.message))
    for name in ("retry-after", "www-authenticate", "allow"):
        if name in plain.headers:
            found.headers[name] = plain.headers[name]
    return found


def _response(kind: str, status: int, body: Any) -> Response:
    return Response(body, status, media_type=kind, headers=HEADERS)


# Protobuf by hand: two messages of two fields ----------------------------------------------------


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, text: str) -> bytes:
    return _block(field, text.encode("utf-8", "replace"))


def _block(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
