"""The SDK's streamable HTTP with our connector's rules: vetted addresses, bounded answers.

A request that could not be sent, or whose answer broke, becomes an error of that one call instead
of the end of the connection; the code says which of the two it was.
"""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2

from studio.core.tools import addresses
from studio.core.tools.connector import CONNECT_SECONDS, Sent
from studio.core.tools.mcp.errors import BROKE, NOT_SENT, SESSION_ENDED

LARGEST_ANSWER = 8 * 1024 * 1024
_PORTS = {"http": 80, "https": 443}


class TooLarge(httpx2.StreamError):
    """The answer is over what is kept."""


def client(headers: Mapping[str, str], allow: frozenset[str]) -> httpx2.AsyncClient:
    """An HTTP client for one server."""
    return httpx2.AsyncClient(
        transport=_Vetted(allow),
        headers={**headers, "accept-encoding": "identity", "user-agent": "operator-studio"},
        timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        follow_redirects=False,
        trust_env=False,
    )


class _Vetted(httpx2.AsyncBaseTransport):
    """Connects to addresses that were vetted; no connection is used twice."""

    def __init__(self, allow: frozenset[str]) -> None:
        self._allow = allow
        self._inner = httpx2.AsyncHTTPTransport(
            limits=httpx2.Limits(max_keepalive_connections=0, max_connections=None),
            trust_env=False,
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        sent, url = Sent(), request.url
        try:
            response = await self._send(request, sent)
        except (addresses.Refused, addresses.Unresolved, httpx2.TransportError) as wrong:
            if request.method != "POST":
                raise httpx2.ConnectError(str(wrong)) from wrong
            return _broken(sent, wrong)
        finally:
            request.url = url
        if request.method == "POST":
            return await _answered(request, response)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _send(self, request: httpx2.Request, sent: Sent) -> httpx2.Response:
        host, port = request.url.host, request.url.port or _PORTS[request.url.scheme]
        found = await addresses.vetted(host, port, self._allow)
        more = {"trace": sent.trace, "sni_hostname": host}
        request.extensions = {**request.extensions, **more}
        for address in found[:-1]:
            request.url = request.url.copy_with(host=address)
            try:
                return await self._inner.handle_async_request(request)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue
        request.url = request.url.copy_with(host=found[-1])
        return await self._inner.handle_async_request(request)


def _broken(sent: Sent, wrong: Exception) -> httpx2.Response:
    known = isinstance(wrong, addresses.Refused | addresses.Unresolved)
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
