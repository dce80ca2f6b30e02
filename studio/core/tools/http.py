"""HTTP tools: one described request each, from the agent's manifest.

Where its arguments go is told by `rules.ways`. The effect's key goes out as `Idempotency-Key`.
Whether a call that broke may have run is told by whether it was sent.
"""

import asyncio
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from studio.core import schemas
from studio.core.masking import Mask
from studio.core.network import hosts
from studio.core.network.resolver import Refused, Unresolved
from studio.core.rules import ids, selection, ways
from studio.core.rules.events import Origin
from studio.core.tools import http_answer, strict
from studio.core.tools.http_request import Shape, bad_arguments
from studio.core.tools.tool import Kit, Result, ToolError, ToolSpec
from studio.core.tools.values import NotSet, Values, named

if TYPE_CHECKING:
    import httpx2

    from studio.core.network.connector import Connector, Sent

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_OURS = frozenset(
    "host content-length transfer-encoding connection accept-encoding idempotency-key traceparent"
    " tracestate"
    " proxy-authorization te upgrade expect".split()
)
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_UNSETTLED = frozenset({408, 409, 425, 429})


class BadTool(Exception):
    """The manifest's tool cannot be offered; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Described:
    """What a manifest says of an HTTP tool, with its settings opened."""

    spec: ToolSpec
    shape: Shape
    select: str | Mapping[str, str] | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    mask: Mask = field(default_factory=Mask, repr=False)


def described(tool: Mapping[str, Any], settings: Mapping[str, str]) -> Described:
    """The tool of a manifest's entry; BadTool says why it cannot be offered."""
    method, url = str(tool.get("method", "GET")).upper(), str(tool.get("url", ""))
    if method not in METHODS:
        raise BadTool(f"The method {method} is not one of {', '.join(METHODS)}.")
    _check_url(url)
    values = Values.of(settings)
    if (select := tool.get("select")) is not None and (wrong := selection.fault(select)):
        raise BadTool(f"Its “select” {wrong}")
    return Described(
        spec=_spec(tool, method, url), shape=_shape(tool, method, url, values), select=select,
        headers=headers(tool.get("headers", {}), values), mask=values.mask,
    )  # fmt: skip


def _shape(tool: Mapping[str, Any], method: str, url: str, values: Values) -> Shape:
    placed = dict[str, ways.Way]()
    for name, written in _mapping(tool.get("in")).items():
        if (way := ways.way(name, written)) is None:
            raise BadTool(f"It sends {name} to {written}, which is no part of a request.")
        placed[name] = way
    query = _mapping(tool.get("query"))
    if (body_as := str(tool.get("body_as") or "json")) not in ways.BODIES:
        raise BadTool(f"Its body cannot be sent as {body_as}.")
    return Shape(
        method=method, url=url, ways=placed, body=tool.get("body"), body_as=body_as,
        query={name: given for name, given in query.items() if isinstance(given, str)},
        secrets={n: opened(v, values) for n, v in query.items() if isinstance(v, Mapping)},
    )  # fmt: skip


def _spec(tool: Mapping[str, Any], method: str, url: str) -> ToolSpec:
    schema, output = tool.get("input", {"type": "object"}), tool.get("output")
    for name, found in (("input", schema), ("output", output)):
        if found is not None and (wrong := schemas.problem(found)):
            raise BadTool(f"Its “{name}” {wrong}")
    told = ("name", "description", "method", "url", "input", "output", "headers", "in", "query",
            "body", "body_as", "select")  # fmt: skip
    on_uncertain: Literal["ask", "tell"] = "tell" if tool.get("on_uncertain") == "tell" else "ask"
    return ToolSpec(
        name=str(tool.get("name", "")),
        description=str(tool.get("description", "")),
        schema=schema,
        origin=Origin(kind="http"),
        hash=ids.digest({"kind": "http", **{name: tool.get(name) for name in told}}),
        destination=ways.destination(method, hosts.shown(url), tool),
        output_schema=output,
        read_only=bool(tool.get("read_only", method in {"GET", "HEAD"})),
        repeatable=bool(tool.get("repeatable", False)),
        parallel=bool(tool.get("parallel", True)),
        terminal=bool(tool.get("terminal", False)),
        on_uncertain=on_uncertain,
        timeout=float(tool.get("timeout", 30)),
        secrets=named(
            [*_mapping(tool.get("headers")).values(), *_mapping(tool.get("query")).values()]
        ),
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


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


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
            raise bad_arguments("The arguments are not an object.")
        headers = {
            "accept": "application/json, */*;q=0.5",
            "user-agent": "operator-studio",
            **{name.lower(): value for name, value in self._tool.headers.items()},
            **kit.headers,
            "accept-encoding": "identity",
            "idempotency-key": kit.key,
            **({"traceparent": kit.traceparent} if kit.traceparent else {}),
            **({"tracestate": kit.tracestate} if kit.tracestate else {}),
        }
        return self._tool.shape.request(arguments, headers)

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
            if len(body) > http_answer.LARGEST_ANSWER:
                size = http_answer.LARGEST_ANSWER // 1024 // 1024
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
        if self._tool.shape.method == "HEAD":
            return http_answer.kept(http_answer.head(response), self._tool.select)
        try:
            result = http_answer.read(response.headers.get("content-type", ""), body)
        except strict.NotJson as wrong:
            words = f"The answer says that it is JSON and is not: {wrong}."
            raise ToolError("tool.bad_result", words) from None
        result = http_answer.kept(result, self._tool.select)
        mask = self._tool.mask
        if result.text is not None:
            text = mask.hide(result.text)
            return Result(text=text.value, media=result.media, masked=text.count)
        hidden = mask.hide(result.value)
        return Result(value=hidden.value, masked=hidden.count)

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
        told = self._tool.mask.value(
            http_answer.told(response.headers.get("content-type", ""), body)
        )
        words = http_answer.words(told)
        if self._tool.select is not None:
            told = None  # nothing of an answer is kept beyond what was selected
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
        where = http_answer.elsewhere(response)
        words = f"The server answered {status} and points {where}; that is not followed."
        return ToolError("tool.redirected", words)

    def _broken(self, sent: "Sent", code: str, words: str) -> ToolError:
        if sent.begun:
            return self._unsure(code, words)
        return ToolError(code, f"{words} Nothing was sent.", settled=True)

    def _unsure(self, code: str, words: str) -> ToolError:
        return ToolError(code, words, maybe_ran=not self.spec.read_only)
