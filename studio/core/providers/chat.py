"""Chat completions of any server that speaks OpenAI's protocol, through the official SDK.

The SDK is imported by the shelf, off the event loop, and only when an agent needs it. It never
tries again by itself: that is for the worker, which records every attempt.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from studio.core.providers import chat_errors, chat_request
from studio.core.providers.chat_reply import LARGEST_ANSWER, Draft, too_large
from studio.core.providers.provider import ProviderError, Reply, Request, TextDelta

if TYPE_CHECKING:
    import httpx2
    import openai

LONGEST_LINE = LARGEST_ANSWER + 64 * 1024
LARGEST_STREAM = 256 * 1024 * 1024
LONGEST_ANSWER_SECONDS = 1800.0
CONNECT_SECONDS = 10.0
NO_KEY = "none"
_SENT = frozenset(
    "host accept accept-encoding connection content-type content-length user-agent traceparent"
    " authorization".split()
)


class Chat:
    """One server and key. `timeout` is the longest silence, in seconds."""

    name = "chat"

    def __init__(self, *, base_url: str, key: str, timeout: float) -> None:
        import httpx2
        import openai

        self._key = key
        self._http = httpx2.AsyncClient(
            timeout=httpx2.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS)),
            headers={"accept-encoding": "identity"},
            event_hooks={"request": [self._plain], "response": [_bound]},
            trust_env=False,
        )
        self._client = openai.AsyncOpenAI(
            base_url=base_url, api_key=key or NO_KEY, max_retries=0, http_client=self._http
        )

    async def stream(self, request: Request) -> AsyncIterator[TextDelta | Reply]:
        """Yield deltas and, last, the reply; closing it closes the connection."""
        deadline = asyncio.get_running_loop().time() + LONGEST_ANSWER_SECONDS
        draft, stream = Draft(), await self._open(request, deadline)
        try:
            while (chunk := await self._next(stream, deadline)) is not None:
                if text := draft.take(chunk):
                    yield TextDelta(text=text)
            yield draft.reply(request.options.get("prices"))
        finally:
            await stream.close()

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.close()
        await self._http.aclose()

    async def _open(self, request: Request, deadline: float) -> "openai.AsyncStream[Any]":
        with self._neutral():
            async with asyncio.timeout_at(deadline):
                found = await self._client.chat.completions.create(**chat_request.body(request))
        media = found.response.headers.get("content-type", "")
        if "event-stream" not in media:
            await found.close()
            raise chat_errors.web_page(media)
        stream: openai.AsyncStream[Any] = found
        return stream

    async def _next(self, stream: "openai.AsyncStream[Any]", deadline: float) -> Any:
        """The next piece as plain JSON, or None at the end."""
        with self._neutral():
            async with asyncio.timeout_at(deadline):
                chunk = await anext(stream, None)
            return None if chunk is None else chunk.to_dict(mode="json", warnings=False)

    async def _plain(self, request: "httpx2.Request") -> None:
        """Send what is needed; the SDK adds headers and keys that it finds in the environment."""
        for name in set(request.headers) - _SENT:
            del request.headers[name]
        request.headers["user-agent"] = "operator-studio"
        if self._key:
            request.headers["authorization"] = f"Bearer {self._key}"
        else:
            request.headers.pop("authorization", None)

    def _neutral(self) -> "_Neutral":
        return _Neutral(self._key)


class _Neutral:
    """Turns whatever the SDK raises inside into a ProviderError."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, ProviderError):
            raise self._named(error) from None

    def _named(self, error: Exception) -> ProviderError:
        import openai

        if isinstance(error, openai.APIStatusError):
            return chat_errors.of_status(
                error.status_code, error.response.headers, error.body,
                now=time.time(), key=self._key,
            )  # fmt: skip
        elif isinstance(error, openai.APIConnectionError):
            timed_out = isinstance(error, openai.APITimeoutError)
            return chat_errors.unreachable(timed_out=timed_out)
        elif isinstance(error, TimeoutError):
            return chat_errors.unreachable(timed_out=True)
        elif isinstance(error, openai.APIError):
            return chat_errors.of_event(error.body, key=self._key)
        return chat_errors.garbage()


async def _bound(response: "httpx2.Response") -> None:
    """Have the body counted while it comes, so that no server can fill the memory."""
    import httpx2

    if response.headers.get("content-encoding", "identity") != "identity":
        await response.aclose()
        raise too_large()

    class Bounded(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            total = line = 0
            async for chunk in body:
                total += len(chunk)
                last = chunk.rfind(b"\n")
                line = line + len(chunk) if last < 0 else len(chunk) - last
                if total > LARGEST_STREAM or line > LONGEST_LINE:
                    raise too_large()
                yield chunk

        async def aclose(self) -> None:
            await body.aclose()

    body: Any = response.stream
    response.stream = Bounded()
