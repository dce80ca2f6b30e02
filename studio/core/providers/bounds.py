"""The HTTP client that providers share: what may go out, how much may come back, for how long."""

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from studio.core.providers import errors

if TYPE_CHECKING:
    import httpx2

LONGEST_LINE = errors.LARGEST_ANSWER + 64 * 1024
LARGEST_STREAM = 256 * 1024 * 1024
CONNECT_SECONDS = 10.0
_SENT = frozenset(
    "host accept accept-encoding connection content-type content-length user-agent traceparent"
    " tracestate anthropic-version".split()
)


def client(*, timeout: float, headers: Mapping[str, str]) -> "httpx2.AsyncClient":
    """A client that sends what is needed and these headers, and bounds every answer.

    It follows no redirect (the key would go along), asks no proxy of the environment, and trusts
    no certificate that the system does not. `timeout` is the longest silence, in seconds.
    """
    import httpx2

    async def plain(request: "httpx2.Request") -> None:
        # The SDKs add headers and keys that they find in the environment.
        for name in set(request.headers) - _SENT:
            del request.headers[name]
        request.headers["user-agent"] = "operator-studio"
        for name, value in headers.items():
            request.headers[name] = value

    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS)),
        headers={"accept-encoding": "identity"},
        event_hooks={"request": [plain], "response": [_bound]},
        follow_redirects=False,
        trust_env=False,
    )


async def _bound(response: "httpx2.Response") -> None:
    """Have the body counted while it comes, so that no server can fill the memory."""
    import httpx2

    if response.headers.get("content-encoding", "identity") != "identity":
        await response.aclose()
        raise errors.too_large()

    class Bounded(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            total = line = 0
            async for chunk in body:
                total += len(chunk)
                last = chunk.rfind(b"\n")
                line = line + len(chunk) if last < 0 else len(chunk) - last
                if total > LARGEST_STREAM or line > LONGEST_LINE:
                    raise errors.too_large()
                yield chunk

        async def aclose(self) -> None:
            await body.aclose()

    body: Any = response.stream
    response.stream = Bounded()
