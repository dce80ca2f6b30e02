"""The SDK's streamable HTTP with our connector's rules: vetted addresses, bounded answers.

A request that could not be sent, or whose answer broke, becomes an error of that one call instead
of the end of the connection; the code says which of the two it was.
"""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2

from studio.core.network.connector import Connector, Sent
from studio.core.network.resolver import Refused, Rules, Unresolved
from studio.core.network.wire import CONNECT_SECONDS
from studio.core.tools.mcp.errors import BROKE, NOT_SENT, SESSION_ENDED

LARGEST_ANSWER = 8 * 1024 * 1024


class TooLarge(httpx2.StreamError):
    """The answer is over what is kept."""


def client(headers: Mapping[str, str], rules: Rules) -> httpx2.AsyncClient:
    """An HTTP client for one server."""
    return httpx2.AsyncClient(
        transport=_Told(Connector(rules)),
        headers={**headers, "accept-encoding": "identity", "user-agent": "operator-studio"},
        timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        follow_redirects=False,
        trust_env=False,
    )


class _Told(httpx2.AsyncBaseTransport):
    """Turns what goes wrong with a POST into an answer to it, and bounds what comes back."""

    def __init__(self, connector: Connector) -> None:
        self._inner = connector

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        sent = Sent()
        request.extensions = {**request.extensions, "trace": sent.trace}
        try:
            response = await self._inner.handle_async_request(request)
        except (Refused, Unresolved, httpx2.TransportError) as wrong:
            if request.method != "POST":
                raise httpx2.ConnectError(str(wrong)) from wrong
            return _broken(sent, wrong)
        if request.method == "POST":
            return await _answered(request, response)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


def _broken(sent: Sent, wrong: Exception) -> httpx2.Response:
    known = isinstance(wrong, Refused | Unresolved)
    words = str(wrong) if known else f"The connection failed: {type(wrong).__name__}."
    return _error(503, BROKE if sent.begun else NOT_SENT, words)


async def _answered(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    media = response.headers.get("content-type", "").lower()
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        await response.aclose()
        return _error(502, BROKE, "The answer is packed, which was not asked for.")
    elif response.status_code == 404 and "mcp-session-id" in request.headers:
        await response.aclose()
        return _error(404, SESSION_ENDED, "The server has forgotten this connection.")
    elif response.status_code >= 400 and not media.startswith("application/json"):
        await response.aclose()
        words = f"The server answered {response.status_code}."
        return _error(response.status_code, _code(response.status_code), words)
    elif not media.startswith("text/event-stream"):
        response.stream = _Bounded(response.stream)
    return response


def _code(status: int) -> int:
    """A 4xx is a definite no; after a 5xx nobody knows."""
    return NOT_SENT if status < 500 else BROKE


def _error(status: int, code: int, words: str) -> httpx2.Response:
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": words}}
    return httpx2.Response(
        status, headers={"content-type": "application/json"}, content=json.dumps(body).encode()
    )


class _Bounded(httpx2.AsyncByteStream):
    """A body that is counted while it comes."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for chunk in self._inner:
                size += len(chunk)
                if size > LARGEST_ANSWER:
                    kept = LARGEST_ANSWER // 1024 // 1024
                    raise TooLarge(f"the answer is larger than {kept} MiB and was not kept")
                yield chunk
        except httpx2.TransportError as wrong:
            raise httpx2.StreamError(f"the connection broke: {type(wrong).__name__}") from wrong

    async def aclose(self) -> None:
        await self._inner.aclose()
