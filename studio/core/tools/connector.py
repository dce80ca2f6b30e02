"""The one way out over HTTP for described tools: vetted address, no redirects, a new connection.

A connection is used once, so a broken one never leaves open whether a request was read. No
cookies, no proxy of the environment, no second try.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from studio.core.faults import fault
from studio.core.tools import addresses

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 10.0
_PORTS = {"http": 80, "https": 443}


class Sent:
    """Whether a request left us: before that, nothing can have happened."""

    def __init__(self) -> None:
        self.begun = False

    async def trace(self, name: str, info: Mapping[str, Any]) -> None:
        """Hear from the connection what it does."""
        if name.endswith("send_request_headers.started"):
            self.begun = True
        elif name.endswith("send_request_headers.complete"):
            fault("call.mid_send")
        elif name.endswith("send_request_body.complete"):
            fault("call.after_send")


class Connector:
    """Sends requests to places that were vetted. `allow` lists places reached in any case."""

    def __init__(self, allow: frozenset[str], lookup: addresses.Lookup | None = None) -> None:
        import httpx

        self._allow, self._lookup = allow, lookup
        self._transport = httpx.AsyncHTTPTransport(
            limits=httpx.Limits(max_keepalive_connections=0, max_connections=None),
            trust_env=False,
        )

    @asynccontextmanager
    async def send(self, request: "httpx.Request", sent: Sent) -> "AsyncIterator[httpx.Response]":
        """The answer to a request; `sent` learns when the first byte goes out.

        The request keeps its Host and, for TLS, its name; only the address is put in its place.
        """
        host, port = request.url.host, request.url.port or _PORTS[request.url.scheme]
        found = await addresses.vetted(host, port, self._allow, self._lookup)
        request.extensions = {
            "timeout": {"connect": CONNECT_SECONDS},
            "trace": sent.trace,
            "sni_hostname": host,
        }
        response = await self._try_each(request, found)
        try:
            yield response
        finally:
            await response.aclose()

    async def close(self) -> None:
        """Let go of every connection."""
        await self._transport.aclose()

    async def _try_each(self, request: "httpx.Request", found: list[str]) -> "httpx.Response":
        import httpx

        for address in found[:-1]:
            request.url = request.url.copy_with(host=address)
            try:
                return await self._transport.handle_async_request(request)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
        request.url = request.url.copy_with(host=found[-1])
        return await self._transport.handle_async_request(request)
