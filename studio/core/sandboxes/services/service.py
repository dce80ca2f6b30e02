"""Requests to a sandbox service, over the one way out. The protocol: `docs/remote-sandbox.md`.

What a service says is claimed by someone outside: its errors keep a code that the contract knows,
and words of a bounded length.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, urlencode

from studio.core.network.resolver import Refused, Unresolved
from studio.core.sandboxes.contract import SandboxError

if TYPE_CHECKING:
    import httpx2

    from studio.core.network.connector import Connector

LARGEST_ANSWER = 64 * 1024**2
LONGEST_LINE = 1024**2
MOST = 2**63 - 1  # what a store, and a size or time of the system, can hold
MOST_WORDS, MOST_TEXT = 500, 64 * 1024  # characters
ANSWER_SECONDS = 60.0
_CODE = re.compile(r"(path|file|text|disk|pattern)\.[a-z_]{1,30}|sandbox\.unsupported")
Method = Literal["GET", "PUT", "POST", "DELETE"]


class Lost(Exception):
    """A request left us and no whole answer came; whether it was done is not known."""


class Unreadable(SandboxError):
    """The service answered, and the answer is none of the protocol."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A whole answer. Names of headers are in small letters."""

    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    def json(self) -> dict[str, Any]:
        """The object that it holds."""
        return _object(self.body)

    def number(self, name: str) -> int:
        """A header that is a number."""
        try:
            return number(self.headers[name])
        except (KeyError, ValueError):
            raise unreadable(f"it has no {name}") from None


class Service:
    """One environment at a service. `url` is the service's, `identity` the environment's name."""

    def __init__(self, url: str, token: str, identity: str, connector: "Connector") -> None:
        self._base = f"{url.rstrip('/')}/environments/{quote(identity, safe='')}"
        self._token, self._connector = token, connector

    async def ask(
        self, method: Method, path: str = "", *, query: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None, json: Any = None, content: Any = None,
    ) -> Answer:  # fmt: skip
        """A whole answer. SandboxError when the service refuses or nothing was sent; else Lost."""
        async with self.opened(
            method, path, query=query, headers=headers, json=json, content=content
        ) as response:
            body = bytearray()
            async for part in response.aiter_raw():
                body += part
                if len(body) > LARGEST_ANSWER:
                    raise unreadable(f"it is larger than {LARGEST_ANSWER:,} bytes")
        return Answer(headers=_headers(response), body=bytes(body))

    @asynccontextmanager
    async def opened(
        self, method: Method, path: str = "", *, query: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None, json: Any = None, content: Any = None,
        seconds: float = ANSWER_SECONDS,
    ) -> "AsyncIterator[httpx2.Response]":  # fmt: skip
        """An answer that is read as it comes; it must be a good one. Errors as in `ask`."""
        import httpx2

        from studio.core.network.connector import Sent

        request, sent = self._request(method, path, query, headers, json, content), Sent()
        try:
            async with asyncio.timeout(seconds), self._connector.send(request, sent) as response:
                if not 200 <= response.status_code < 300:
                    raise await _refusal(response)
                yield response
        except (Refused, Unresolved) as wrong:
            raise unavailable(str(wrong)) from None
        except (TimeoutError, httpx2.HTTPError, httpx2.StreamError) as wrong:
            if not sent.begun:
                raise unavailable("It cannot be connected to.") from None
            raise Lost(f"it broke: {type(wrong).__name__}") from None

    def _request(
        self, method: Method, path: str, query: Mapping[str, object] | None,
        headers: Mapping[str, str] | None, given: Any, content: Any,
    ) -> "httpx2.Request":  # fmt: skip
        import httpx2

        url = self._base + path + (f"?{urlencode(query)}" if query else "")
        fields = {
            "user-agent": "operator-studio", "accept-encoding": "identity", **(headers or {}),
        }  # fmt: skip
        if self._token:
            fields["authorization"] = f"Bearer {self._token}"
        if given is not None:
            content, fields["content-type"] = json.dumps(given).encode(), "application/json"
        try:
            return httpx2.Request(method, url, headers=fields, content=content)
        except (httpx2.InvalidURL, ValueError) as wrong:
            raise unavailable(f"Its address or token cannot be used: {wrong}.") from None


def number(told: Any) -> int:
    """A number from 0 to `MOST`; what is beyond is the bound.

    OverflowError, TypeError or ValueError when it is none: JSON's `1e999` is no whole number.
    """
    return min(max(0, int(told)), MOST)


def text(told: Any, most: int = MOST_TEXT) -> str:
    """Text of `most` characters that can be kept: JSON can write half of a character alone."""
    return str(told)[:most].encode("utf-8", "replace").decode("utf-8")


async def lines(response: "httpx2.Response") -> AsyncIterator[dict[str, Any]]:
    """The objects of an answer that has one a line, as they come."""
    left = bytearray()
    async for part in response.aiter_raw():
        *whole, rest = (bytes(left) + part).split(b"\n")
        left[:] = rest
        if len(left) > LONGEST_LINE:
            raise unreadable("a line of it is too long")
        for line in whole:
            yield _object(line)


def unavailable(why: str) -> SandboxError:
    """The service cannot be used; nothing was sent to it, or nothing that does anything."""
    words = f"The sandbox service cannot be used. {why} Nothing ran; tell an operator."
    return SandboxError("sandbox.unavailable", words)


def unreadable(why: str) -> Unreadable:
    """An answer that is none of the protocol; what was asked for may be done."""
    words = f"The sandbox service gave an answer that cannot be read: {why}. Tell an operator."
    return Unreadable("sandbox.unavailable", words)


async def _refusal(response: "httpx2.Response") -> SandboxError | Lost:
    """What a service's refusal means here. One that failed does not say what it did before."""
    body = bytearray()
    async for part in response.aiter_raw():
        body += part[: LONGEST_LINE - len(body)]
    told = _told(bytes(body))
    code, words = str(told.get("code", "")), text(told.get("message", ""), MOST_WORDS)
    if _CODE.fullmatch(code) and words:
        return SandboxError(code, words)
    if response.status_code in {401, 403}:
        return unavailable("It does not know its token; set the secret anew.")
    if response.status_code >= 500:
        return Lost(f"it answered {response.status_code}")
    return unavailable(f"It answered {response.status_code}. {words}".rstrip())


def _told(body: bytes) -> Mapping[str, Any]:
    """The `error` of a refusal; nothing when it is in another form."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    error = told.get("error") if isinstance(told, dict) else None
    return error if isinstance(error, dict) else {}


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise unreadable("it is no JSON") from None
    if not isinstance(found, dict):
        raise unreadable("it is no JSON object")
    return found


def _headers(response: "httpx2.Response") -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}
