"""HTTP tools: one described request each, from the agent's manifest.

The path takes arguments, the rest of them go into the body or the query. The effect's key goes out
as `Idempotency-Key`. Whether a call that broke may have run is told by whether it was sent.
"""

import asyncio
import base64
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, urlsplit

from studio.core import schemas
from studio.core.masking import Mask
from studio.core.network import hosts
from studio.core.network.resolver import Refused, Unresolved
from studio.core.rules import ids
from studio.core.rules.events import Origin
from studio.core.tools import strict
from studio.core.tools.tool import Kit, Result, ToolError, ToolSpec
from studio.core.tools.values import NotSet, Values, named

if TYPE_CHECKING:
    import httpx2

    from studio.core.network.connector import Connector, Sent

LARGEST_ANSWER = 8 * 1024 * 1024
QUOTED_CHARACTERS = 300
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_OURS = frozenset(
    "host content-length transfer-encoding connection accept-encoding idempotency-key traceparent"
    " proxy-authorization te upgrade expect".split()
)
_PARAMETER = re.compile(r"\{(\w+)\}")
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_UNSETTLED = frozenset({408, 409, 425, 429})


class BadTool(Exception):
    """The manifest's tool cannot be offered; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Described:
    """What a manifest says of an HTTP tool, with its settings opened."""

    spec: ToolSpec
    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    mask: Mask = field(default_factory=Mask, repr=False)


def described(tool: Mapping[str, Any], settings: Mapping[str, str]) -> Described:
    """The tool of a manifest's entry; BadTool says why it cannot be offered."""
    method, url = str(tool.get("method", "GET")).upper(), str(tool.get("url", ""))
    if method not in METHODS:
        raise BadTool(f"The method {method} is not one of {', '.join(METHODS)}.")
    _check_url(url)
    values = Values.of(settings)
    found = headers(tool.get("headers", {}), values)
    return Described(
        spec=_spec(tool, method, url), method=method, url=url, headers=found, mask=values.mask,
    )  # fmt: skip


def _spec(tool: Mapping[str, Any], method: str, url: str) -> ToolSpec:
    schema, output = tool.get("input", {"type": "object"}), tool.get("output")
    for name, found in (("input", schema), ("output", output)):
        if found is not None and (wrong := schemas.problem(found)):
            raise BadTool(f"Its “{name}” {wrong}")
    headers = tool.get("headers")
    told = ("name", "description", "method", "url", "input", "output", "headers")
    on_uncertain: Literal["ask", "tell"] = "tell" if tool.get("on_uncertain") == "tell" else "ask"
    return ToolSpec(
        name=str(tool.get("name", "")),
        description=str(tool.get("description", "")),
        schema=schema,
        origin=Origin(kind="http"),
        hash=ids.digest({"kind": "http", **{name: tool.get(name) for name in told}}),
        destination=f"{method} {hosts.shown(url)}",
        output_schema=output,
        read_only=bool(tool.get("read_only", method == "GET")),
        repeatable=bool(tool.get("repeatable", False)),
        parallel=bool(tool.get("parallel", True)),
        terminal=bool(tool.get("terminal", False)),
        on_uncertain=on_uncertain,
        timeout=float(tool.get("timeout", 30)),
        secrets=named(headers.values() if isinstance(headers, Mapping) else ()),
    )


def _check_url(url: str) -> None:
    if wrong := hosts.url_problem(url):
        raise BadTool(f"Its URL {wrong}")


def headers(value: Any, values: Values) -> dict[str, str]:
    """The headers with settings and secrets opened."""
    found = dict[str, str]()
    for name, given in value.items() if isinstance(value, Mapping) else ():
        if not _TOKEN.fullmatch(name) or name.lower() in _OURS:
            raise BadTool(f"The header {name} cannot be set here.")
        if isinstance(given, Mapping):
            text = opened(given, values)
        else:
            text = str(given)
        if re.search(r"[\x00-\x08\x0a-\x1f\x7f]", text) or not text.isascii():
            raise BadTool(f"The header {name} has characters that cannot be sent.")
        found[name] = text
    return found


def opened(given: Mapping[str, Any], values: Values) -> str:
    """The value of {"setting": NAME} or {"secret": NAME}; BadTool when it is not set."""
    try:
        return values.opened(given)
    except NotSet as wrong:
        raise BadTool(str(wrong)) from None


class HttpTool:
    """A described request that can be sent."""

    def __init__(self, tool: Described, connector: "Connector") -> None:
        self.spec = tool.spec
        self._tool, self._connector = tool, connector

    async def call(self, arguments: Any, kit: Kit) -> Result:
        """Send it once; every way it can fail is a ToolError that says whether it may have run."""
        from studio.core.network.connector import Sent

        request = self._request(arguments, kit)
        sent = Sent()
        try:
            async with asyncio.timeout(self._seconds(kit)):
                async with self._connector.send(request, sent) as response:
                    body = await self._read(response)
        except (Refused, Unresolved) as wrong:
            raise self._broken(sent, "tool.unreachable", str(wrong)) from None
        except TimeoutError:
            raise self._broken(sent, "tool.timeout", "No answer came in time.") from None
        except self._errors() as wrong:
            words = f"The connection broke: {type(wrong).__name__}."
            raise self._broken(sent, "tool.unreachable", words) from None
        return self._result(response, body)

    def _request(self, arguments: Any, kit: Kit) -> "httpx2.Request":
        if not isinstance(arguments, dict):
            raise _bad_arguments("The arguments are not an object.")
        url, rest = _expand(self._tool.url, arguments)
        headers = {
            "accept": "application/json, */*;q=0.5",
            "user-agent": "operator-studio",
            **{name.lower(): value for name, value in self._tool.headers.items()},
            "accept-encoding": "identity",
            "idempotency-key": kit.key,
            **({"traceparent": kit.traceparent} if kit.traceparent else {}),
        }
        return self._built(url, rest, headers)

    def _built(self, url: str, rest: dict[str, Any], headers: dict[str, str]) -> "httpx2.Request":
        import httpx2

        method = self._tool.method
        try:
            if method in _WITH_BODY:
                headers.setdefault("content-type", "application/json")
                body = json.dumps(rest, allow_nan=False).encode()
                return httpx2.Request(method, url, headers=headers, content=body)
            full = httpx2.URL(url).copy_merge_params(_query(rest)) if rest else httpx2.URL(url)
            return httpx2.Request(method, full, headers=headers)
        except (httpx2.InvalidURL, ValueError) as wrong:
            raise _bad_arguments(f"No request can be made of these arguments: {wrong}.") from None

    def _seconds(self, kit: Kit) -> float:
        return min(self.spec.timeout, kit.deadline - time.monotonic())

    def _errors(self) -> tuple[type[Exception], ...]:
        import httpx2

        return (httpx2.HTTPError, httpx2.StreamError)

    async def _read(self, response: "httpx2.Response") -> bytes:
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise self._unsure("tool.bad_result", "The answer is packed, which was not asked for.")
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > LARGEST_ANSWER:
                size = LARGEST_ANSWER // 1024 // 1024
                words = f"The answer is larger than {size} MiB and was not kept."
                raise self._unsure("tool.too_large", words)
        return bytes(body)

    def _result(self, response: "httpx2.Response", body: bytes) -> Result:
        status = response.status_code
        if 200 <= status < 300:
            result = self._tool_result(response, body)
            self._check(result)
            return result
        raise self._refusal(status, response, body)

    def _tool_result(self, response: "httpx2.Response", body: bytes) -> Result:
        try:
            result = read(response.headers.get("content-type", ""), body)
        except strict.NotJson as wrong:
            words = f"The answer says that it is JSON and is not: {wrong}."
            raise ToolError("tool.bad_result", words) from None
        mask = self._tool.mask
        if result.text is not None:
            return Result(text=mask.text(result.text), media=result.media)
        return Result(value=mask.value(result.value))

    def _check(self, result: Result) -> None:
        if self.spec.output_schema is None:
            return
        value = result.value if result.text is None else result.text
        if wrong := schemas.errors(self.spec.output_schema, value):
            listed = "; ".join(f"{path or 'result'}: {words}" for path, words in wrong.items())
            raise ToolError(
                "tool.bad_result", f"The answer does not fit the tool's schema. {listed}",
                result=value,
            )  # fmt: skip

    def _refusal(self, status: int, response: "httpx2.Response", body: bytes) -> ToolError:
        told = self._tool.mask.value(_told(response.headers.get("content-type", ""), body))
        words = _words(told)
        if status >= 500:
            return ToolError(
                "tool.failed", f"The server failed ({status}).{words}",
                maybe_ran=not self.spec.read_only, result=told,
            )  # fmt: skip
        elif status >= 400:
            return ToolError(
                "tool.refused", f"The server refused it ({status}).{words}",
                settled=status not in _UNSETTLED, result=told,
            )  # fmt: skip
        where = _elsewhere(response)
        words = f"The server answered {status} and points {where}; that is not followed."
        return ToolError("tool.redirected", words)

    def _broken(self, sent: "Sent", code: str, words: str) -> ToolError:
        if sent.begun:
            return self._unsure(code, words)
        return ToolError(code, f"{words} Nothing was sent.", settled=True)

    def _unsure(self, code: str, words: str) -> ToolError:
        return ToolError(code, words, maybe_ran=not self.spec.read_only)


def read(content_type: str, body: bytes) -> Result:
    """What an answer's body is: JSON, text, or bytes in base 64 with their media type."""
    media = content_type.partition(";")[0].strip().lower()
    if not body:
        return Result(value=None)
    elif media == "application/json" or media.endswith("+json"):
        return Result(value=strict.loads(body))
    elif not media:
        return _untyped(body)
    elif media.startswith("text/") or media.endswith("+xml") or media == "application/xml":
        return Result(text=_decoded(content_type, body), media=media)
    return _binary(media, body)


def _told(content_type: str, body: bytes) -> Any:
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


def _expand(url: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The URL with its parameters put in, percent-encoded, and the arguments that are left."""
    names = set(_PARAMETER.findall(url))
    expanded = _PARAMETER.sub(lambda found: _segment(found[1], arguments), url)
    path = urlsplit(expanded).path
    if any(re.fullmatch(r"(\.|%2e){1,2}", part, re.I) for part in path.split("/")):
        raise _bad_arguments("A path parameter may not be “.” or “..”.")
    return expanded, {name: value for name, value in arguments.items() if name not in names}


def _segment(name: str, arguments: Mapping[str, Any]) -> str:
    value = arguments.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        raise _bad_arguments(f"{name}: it stands in the address, so it is a text or a number.")
    return quote(str(value).encode("utf-8", "replace"), safe="")


def _query(arguments: Mapping[str, Any]) -> list[tuple[str, str | int | float | bool | None]]:
    found = list[tuple[str, str | int | float | bool | None]]()
    for name, value in arguments.items():
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                text = item if isinstance(item, str) else json.dumps(item)
                found.append((name, text.encode("utf-8", "replace").decode()))
    return found


def _elsewhere(response: "httpx2.Response") -> str:
    """Where a redirect points, without what may be secret in its path and query."""
    import httpx2

    try:
        url = response.request.url.join(response.headers["location"])
    except (KeyError, ValueError, httpx2.InvalidURL):
        return "elsewhere"
    return f"to {url.scheme}://{url.host}" if url.host else "elsewhere"


def _words(told: Any) -> str:
    """The server's own words, short: the usual fields of an error, or a plain text."""
    found: Any = told
    for name in ("error", "detail", "message", "title", "reason"):
        if isinstance(found, Mapping) and name in found:
            found = found[name]
    if not isinstance(found, str) or found.lstrip().startswith("<"):
        return ""
    words = " ".join(found.split())[:QUOTED_CHARACTERS]
    return f" It says: “{words}”" if words else ""


def _bad_arguments(words: str) -> ToolError:
    return ToolError("tool.bad_arguments", words, settled=True)
