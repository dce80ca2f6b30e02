"""HTTP over the wire: a new connection for each request, redirects within one origin alone.

A connection is used once, so a broken one never leaves open whether a request was read. No
cookies, no proxy of the environment, no second try.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpcore2
import httpx2

from studio.core.faults import fault
from studio.core.network.resolver import Rules
from studio.core.network.wire import Wire

MOST_REDIRECTS = 5
_READS = frozenset({"GET", "HEAD"})


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


class Connector(httpx2.AsyncBaseTransport):
    """Sends requests to places that the rules let it reach.

    It is also a transport, for clients that others wrote.
    """

    def __init__(self, rules: Rules, inner: httpcore2.AsyncNetworkBackend | None = None) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx2.create_ssl_context(trust_env=False),
            max_connections=None, max_keepalive_connections=0,
            network_backend=Wire(rules, inner),
        )  # fmt: skip

    @asynccontextmanager
    async def send(self, request: httpx2.Request, sent: Sent) -> AsyncIterator[httpx2.Response]:
        """The answer to a request; `sent` learns when the first byte goes out.

        Raises Refused or Unresolved, and the errors of httpx2.
        """
        request.extensions = {**request.extensions, "trace": sent.trace}
        response = await self.handle_async_request(request)
        try:
            yield response
        finally:
            await response.aclose()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, after redirects that stay at the same scheme, host and port."""
        response = await self._once(request)
        for _ in range(MOST_REDIRECTS):
            further = _further(request, response)
            if further is None:
                break
            await response.aclose()
            request = further
            response = await self._once(request)
        return response

    async def aclose(self) -> None:
        """Let go of every connection."""
        await self._pool.aclose()

    async def _once(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        asked = httpcore2.Request(
            method=request.method,
            url=httpcore2.URL(
                scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
            ),
            headers=request.headers.raw, content=request.stream, extensions=request.extensions,
        )  # fmt: skip
        with _in_words_of_httpx():
            answer = await self._pool.handle_async_request(asked)
        return httpx2.Response(
            answer.status, headers=answer.headers, stream=_Body(answer),
            extensions=answer.extensions, request=request,
        )  # fmt: skip


class _Body(httpx2.AsyncByteStream):
    """The body of an answer, as it comes."""

    def __init__(self, answer: httpcore2.Response) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _in_words_of_httpx():
            async for part in self._answer.aiter_stream():
                yield part

    async def aclose(self) -> None:
        await self._answer.aclose()


def _further(request: httpx2.Request, response: httpx2.Response) -> httpx2.Request | None:
    """The request that a redirect asks for, when it stays where it is and repeats nothing else."""
    is_same = response.status_code in {307, 308}
    is_read = response.status_code in {301, 302, 303} and request.method in _READS
    place = response.headers.get("location")
    if not place or not (is_same or is_read):
        return None
    try:
        url = request.url.join(place).copy_with(fragment=None)
    except (httpx2.InvalidURL, ValueError):
        return None
    if _origin(url) != _origin(request.url) or url.userinfo:
        return None
    return httpx2.Request(
        request.method, url, headers=request.headers, stream=request.stream,
        extensions=request.extensions,
    )  # fmt: skip


def _origin(url: httpx2.URL) -> tuple[str, bytes, int | None]:
    return url.scheme, url.raw_host, url.port


@contextmanager
def _in_words_of_httpx() -> Iterator[None]:
    """Errors below have the same names above."""
    try:
        yield
    except Exception as wrong:
        for kind in type(wrong).__mro__:
            if kind.__module__.startswith("httpcore2"):
                raise getattr(httpx2, kind.__name__, httpx2.TransportError)(str(wrong)) from wrong
        raise
