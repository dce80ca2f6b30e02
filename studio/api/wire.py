"""A request's body and headers, read strictly and within bounds, before anything believes them.

JSON must be UTF-8, without NaN, infinities, doubled keys or half surrogate pairs, and no deeper
than 64 levels. Nothing compressed is read, and nothing larger than the limit is kept.
"""

import asyncio
import json
import math
import re
from collections import Counter
from typing import Any, NoReturn

from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from studio.api.errors import Problem
from studio.core.rules.errors import Invalid, TooLarge

BODY_BYTES = 2 * 1024 * 1024  # a message of 1 MiB, and room for what JSON escapes in it
BODY_SECONDS = 30.0
RAW_BYTES = 60 * 1024 * 1024  # of an archive, which says by itself what it may hold
RAW_SECONDS = 300.0
FORM_BYTES = 64 * 1024  # of a multipart form, around the one file that it carries
FILE_SECONDS = 600.0
LEVELS = 64
KEY = re.compile(r"[\x21-\x7e]{1,200}")
TAG = re.compile(r'"([\x21\x23-\x7e]*)"')


async def json_body(request: Request, *, required: bool = True) -> Any:
    """The JSON of the body; an empty object when there is none and none is required."""
    _check_kind(request, required=required)
    data = await _read(request, most=BODY_BYTES, seconds=BODY_SECONDS)
    if not data and not required:
        return {}
    return decode(data)


async def raw_body(request: Request, kind: str) -> bytes:
    """The bytes of a body of this kind, such as application/zip."""
    headers = request.headers
    if "content-encoding" in headers:
        raise Problem(415, "body.encoded", "The body must not be compressed or encoded.")
    if "content-length" not in headers and "transfer-encoding" not in headers:
        raise Problem(411, "body.no_length", "Send a body, with Content-Length.")
    if headers.get("content-type", "").partition(";")[0].strip().lower() != kind:
        raise Problem(415, "body.other_kind", f"Send the body as Content-Type: {kind}.")
    return await _read(request, most=RAW_BYTES, seconds=RAW_SECONDS)


def bounded(request: Request, most: int, seconds: float) -> Request:
    """The same request; its body is refused while it arrives, whoever reads it and however.

    TooLarge over `most` bytes, or at once when it says that it is; Problem 408 when it is not here
    within `seconds` from now.
    """
    length = request.headers.get("content-length", "")
    if length.isdecimal() and (len(length) > 15 or int(length) > most):
        raise _too_large(most)
    until, taken = asyncio.get_running_loop().time() + seconds, 0

    async def receive() -> Message:
        nonlocal taken
        try:
            async with asyncio.timeout_at(until):
                message = await request.receive()
        except TimeoutError:
            raise Problem(
                408, "body.slow", f"The body did not arrive within {seconds:.0f} seconds."
            ) from None
        taken += len(message.get("body", b""))
        if taken > most:
            raise _too_large(most)
        return message

    return Request(request.scope, receive)


def decode(data: bytes) -> Any:
    """JSON of these bytes, or an error that says what is wrong with them."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        at = f"byte {error.start} is not"
        raise Invalid(f"The body must be UTF-8; {at}.", code="body.not_utf8") from None
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_constant=_constant, parse_float=_number
        )
    except RecursionError:
        raise too_deep() from None
    except ValueError as error:
        said = getattr(error, "msg", "a number has too many digits")
        at = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise Problem(400, "body.not_json", f"The body is not JSON: {said}{at}.") from None
    _check(value)
    return value


def too_deep() -> Invalid:
    """The refusal of JSON with too many levels."""
    return Invalid(f"The body has more than {LEVELS} levels.", code="body.too_deep")


def idempotency_key(request: Request) -> str | None:
    """The Idempotency-Key header, if there is one."""
    key = request.headers.get("idempotency-key")
    if key is None or KEY.fullmatch(key):
        return key
    raise Invalid(
        "Idempotency-Key must be 1 to 200 visible ASCII characters.", code="idempotency.invalid"
    )


def if_match(request: Request, *, what: str, required: bool) -> str | None:
    """The one entity tag of If-Match; absent when it is needed, 428 says what to send."""
    header = request.headers.get("if-match")
    if header is None:
        if not required:
            return None
        raise Problem(
            428, "if_match.missing",
            f'Send If-Match: "…" with {what}, so that what you saw is what is changed.',
        )  # fmt: skip
    found = TAG.fullmatch(header.strip())
    if not found:
        raise Invalid(
            f'If-Match must be one strong tag in double quotes, with {what}; not "*", not a list.',
            code="if_match.invalid",
        )
    return found[1]


def if_match_version(request: Request, *, what: str, required: bool) -> int | None:
    """If-Match as a version number. `If-None-Match: *` says that there is no version yet."""
    if request.headers.get("if-none-match", "").strip() == "*":
        return 0
    tag = if_match(request, what=what, required=required)
    if tag is None:
        return None
    if not re.fullmatch(r"[0-9]{1,15}", tag):
        raise Invalid(f"If-Match must be {what}, a number.", code="if_match.invalid")
    return int(tag)


# The body ---------------------------------------------------------------------------------------


def _check_kind(request: Request, *, required: bool) -> None:
    headers = request.headers
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    if "content-encoding" in headers:
        raise Problem(415, "body.encoded", "The body must not be compressed or encoded.")
    if required and "content-length" not in headers and "transfer-encoding" not in headers:
        raise Problem(411, "body.no_length", "Send a JSON body, with Content-Length.")
    if has_body or required:
        kind, _, options = headers.get("content-type", "").partition(";")
        charset = options.replace(" ", "").replace('"', "").lower()
        if kind.strip().lower() != "application/json" or charset not in ("", "charset=utf-8"):
            raise Problem(
                415, "body.not_json_type", "Send the body as Content-Type: application/json."
            )


async def _read(request: Request, *, most: int, seconds: float) -> bytes:
    kept = bytearray()
    try:
        async for chunk in bounded(request, most, seconds).stream():
            kept += chunk
    except ClientDisconnect:
        raise Problem(400, "body.cut", "The connection ended before the body did.") from None
    return bytes(kept)


def _too_large(most: int) -> TooLarge:
    return TooLarge(
        f"The body is over {most:,} bytes.", code="body.too_large", details={"limit": most},
    )  # fmt: skip


# The JSON ---------------------------------------------------------------------------------------


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise Invalid(
            f"The key {twice[:60]!r} is given twice in one object.", code="body.double_key"
        )
    return found


def _constant(word: str) -> NoReturn:
    raise Problem(400, "body.not_json", f"The body is not JSON: {word} is not a number of JSON.")


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise Problem(400, "body.not_json", "The body has a number that is too large.")
    return number


def _check(value: Any) -> None:
    """Refuse more than 64 levels and half surrogate pairs, without recursion."""
    level: list[Any] = [value]
    for _ in range(LEVELS):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                _check_text("".join(item))
                below += item.values()
            elif isinstance(item, list):
                below += item
            elif isinstance(item, str):
                _check_text(item)
        if not below:
            return
        level = below
    if any(isinstance(item, dict | list) for item in level):
        raise too_deep()
    for item in level:
        _check_text(item if isinstance(item, str) else "")


def _check_text(text: str) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Invalid(
            "A text has half of a surrogate pair, which is no character.", code="body.not_utf8"
        ) from None
