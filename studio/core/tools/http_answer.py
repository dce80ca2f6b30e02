"""What an HTTP tool's answer is: its value, what is kept of it, and the words of a failure."""

import base64
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from studio.core.rules import media as types
from studio.core.rules import selection
from studio.core.tools import strict
from studio.core.tools.tool import Result, ToolError

if TYPE_CHECKING:
    import httpx2

LARGEST_ANSWER = 8 * 1024 * 1024
QUOTED_CHARACTERS = 300
_HEAD = ("content-type", "content-length", "last-modified", "etag")


def read(content_type: str, body: bytes) -> Result:
    """What an answer's body is: JSON, text, or bytes in base 64 with their media type."""
    media = types.bare(content_type)
    if not body:
        return Result(value=None)
    elif media == "application/json" or media.endswith("+json"):
        return Result(value=strict.loads(body))
    elif not media:
        return _untyped(body)
    elif media.startswith("text/") or media.endswith("+xml") or media == "application/xml":
        return Result(text=_decoded(content_type, body), media=media)
    return _binary(media, body)


def told(content_type: str, body: bytes) -> Any:
    """What the answer of a failure says, if it is JSON or text."""
    try:
        result = read(content_type, body)
    except (strict.NotJson, ToolError):
        return None
    return result.value if result.text is None else result.text


def _untyped(body: bytes) -> Result:
    try:
        return Result(value=strict.loads(body))
    except strict.NotJson:
        pass
    try:
        return Result(text=body.decode("utf-8"), media="text/plain")
    except UnicodeDecodeError:
        return _binary("application/octet-stream", body)


def _binary(media: str, body: bytes) -> Result:
    if len(body) > LARGEST_ANSWER * 3 // 4 - 1024:
        raise ToolError("tool.too_large", "The answer is bytes, larger than 6 MiB; not kept.")
    coded = base64.b64encode(body).decode("ascii")
    return Result(value={"media": media, "bytes": len(body), "base64": coded})


def _decoded(content_type: str, body: bytes) -> str:
    found = re.search(r"charset=[\"']?([\w.-]+)", content_type, re.I)
    try:
        return body.decode(found[1] if found else "utf-8", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


def kept(result: Result, select: str | Mapping[str, str] | None) -> Result:
    """What the tool's selection keeps of an answer; ToolError when it does not fit."""
    if select is None:
        return result
    if result.text is not None:
        raise ToolError("tool.bad_result", "The answer is not JSON, so nothing can be taken of it.")
    try:
        return Result(value=selection.of(result.value, select))
    except selection.Unfit as wrong:
        words = f"The answer does not fit what the tool keeps of it. {wrong}"
        raise ToolError("tool.bad_result", words) from None


def head(response: "httpx2.Response") -> Result:
    """What an answer without a body says of the thing that was asked for."""
    found = {name: response.headers[name] for name in _HEAD if name in response.headers}
    return Result(value={"status": response.status_code, **found})


def elsewhere(response: "httpx2.Response") -> str:
    """Where a redirect points, without what may be secret in its path and query."""
    import httpx2

    try:
        url = response.request.url.join(response.headers["location"])
    except (KeyError, ValueError, httpx2.InvalidURL):
        return "elsewhere"
    return f"to {url.scheme}://{url.host}" if url.host else "elsewhere"


def words(told: Any) -> str:
    """The server's own words, short: the usual fields of an error, or a plain text."""
    found: Any = told
    for name in ("error", "detail", "message", "title", "reason"):
        if isinstance(found, Mapping) and name in found:
            found = found[name]
    if not isinstance(found, str) or found.lstrip().startswith("<"):
        return ""
    words = " ".join(found.split())[:QUOTED_CHARACTERS]
    return f" It says: “{words}”" if words else ""
