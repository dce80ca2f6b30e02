"""An endpoint of a protocol: one server and key, spoken to through an official SDK.

The SDK is imported by the shelf, off the event loop, and only when a model needs it. It never
tries again by itself: that is for the worker, which records every attempt.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from studio.core.providers import bounds, costs, errors
from studio.core.providers.provider import Delta, ProviderError, Reply, Request
from studio.core.rules import models
from studio.core.rules.events import Usage

if TYPE_CHECKING:
    import httpx2

LONGEST_ANSWER_SECONDS = 1800.0
NO_KEY = "none"


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a provider is, and what opens it. `timeout` is the longest silence, in seconds."""

    base_url: str
    key: str = field(repr=False)
    timeout: float


class Draft(Protocol):
    """An answer while it is written."""

    begun: bool

    @property
    def is_empty(self) -> bool:
        """Nothing that the model wrote has come yet."""
        ...

    def take(self, chunk: Mapping[str, Any]) -> Iterable[Delta]:
        """Take one piece of the stream; what it adds."""
        ...

    def reply(self) -> Reply:
        """The whole reply; ProviderError when it was refused or broke off."""
        ...

    def usage(self) -> Usage:
        """What has been told so far, without a cost."""
        ...


class Endpoint:
    """What all protocols share. A protocol says how a request is sent and how pieces are read.

    `busy` answers are on their way.
    """

    name = ""

    def __init__(self, place: Place, headers: Mapping[str, str]) -> None:
        self.place = place
        self.busy = 0
        self.http: httpx2.AsyncClient = bounds.client(timeout=place.timeout, headers=headers)

    async def create(self, request: Request) -> Any:
        """Send the request; the SDK's stream."""
        raise NotImplementedError

    def draft(self, request: Request) -> Draft:
        """An empty answer."""
        raise NotImplementedError

    def owner(self, request: Request) -> str:
        """Who may be given the state of a reply to this request."""
        return f"{self.name} {self.place.base_url} {models.family({'name': request.model})}"

    async def stream(self, request: Request) -> AsyncIterator[Delta | Reply]:
        """Yield deltas and, last, the reply; closing it closes the connection."""
        self.busy += 1
        try:
            async with aclosing(self._streamed(request)) as items:
                async for item in items:
                    yield item
        finally:
            self.busy -= 1

    async def _streamed(self, request: Request) -> AsyncGenerator[Delta | Reply, None]:
        deadline = asyncio.get_running_loop().time() + LONGEST_ANSWER_SECONDS
        draft = self.draft(request)
        stream = await self._open(request, deadline)
        try:
            while (chunk := await self._next(stream, draft, deadline)) is not None:
                draft.begun = True
                for delta in draft.take(chunk):
                    yield delta
            reply = draft.reply()
        except ProviderError as error:
            error.begun, error.usage = draft.begun, draft.usage()
            error.permanent |= draft.begun and not (draft.is_empty and errors.may_pass(error))
            raise
        finally:
            await stream.close()
        cost = await costs.of(
            reply.usage, model=request.model, base_url=self.place.base_url,
            prices=request.options.get("prices"),
        )  # fmt: skip
        yield replace(reply, usage=replace(reply.usage, cost=cost))

    async def close(self) -> None:
        """Let go of the connections."""
        await self.http.aclose()

    async def _open(self, request: Request, deadline: float) -> Any:
        with _Neutral(self.place.key):
            async with asyncio.timeout_at(deadline):
                found = await self.create(request)
        media = found.response.headers.get("content-type", "")
        if "event-stream" not in media:
            await found.close()
            raise errors.web_page(media)
        return found

    async def _next(self, stream: Any, draft: Draft, deadline: float) -> Any:
        """The next piece as plain JSON, or None at the end."""
        with _Neutral(self.place.key, draft):
            async with asyncio.timeout_at(deadline):
                chunk = await anext(stream, None)
            return None if chunk is None else chunk.to_dict(mode="json", warnings=False)


class _Neutral:
    """Turns whatever an SDK raises inside into a ProviderError."""

    def __init__(self, key: str, draft: Draft | None = None) -> None:
        self._key, self._draft = key, draft

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, ProviderError):
            raise self._named(error) from None

    def _named(self, error: Exception) -> ProviderError:
        import httpx2

        begun = self._draft is not None and self._draft.begun
        # Both SDKs were made by one generator: their errors have the same names and fields.
        names = {kind.__name__ for kind in type(error).__mro__}
        if isinstance(inner := error.__cause__, ProviderError):
            return inner
        elif "APIStatusError" in names:
            return self._of_answer(error)
        elif "APIConnectionError" in names or isinstance(error, httpx2.TransportError):
            timed_out = "APITimeoutError" in names or isinstance(error, httpx2.TimeoutException)
            return errors.of_connection(error, timed_out=timed_out, begun=begun)
        elif isinstance(error, TimeoutError):
            return errors.of_connection(error, timed_out=True, begun=begun)
        elif "APIError" in names:
            return errors.of_event(getattr(error, "body", None), key=self._key)
        return errors.garbage()

    def _of_answer(self, error: Any) -> ProviderError:
        if error.status_code < 300:  # an answer had begun well
            return errors.of_event(error.body, key=self._key)
        headers = error.response.headers
        return errors.of_status(
            error.status_code, headers, error.body, now=time.time(), key=self._key
        )
