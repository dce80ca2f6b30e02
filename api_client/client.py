"""Two short drivers of the same calls, one that blocks and one that is awaited."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from types import TracebackType
from typing import Any, Generic, Self, TypedDict, TypeVar

import httpx

from api_client import async_resources, operating, resources, wire
from api_client.call import Call, Listing
from api_client.errors import StudioError
from api_client.follow import QUIET_SECONDS, Following
from api_client.retry import Retries
from api_client.shapes import Event

T = TypeVar("T")
TIMEOUT = 30.0


class Page(TypedDict, Generic[T]):
    """A page of a list; `next` leads to the following one."""

    items: list[T]
    next: str | None
    complete: bool


class Client:
    """Blocks until the answer is there. Use it as a context manager, or close it."""

    def __init__(
        self, url: str, *, key: str = "", timeout: float = TIMEOUT, retries: Retries | None = None,
        transport: httpx.BaseTransport | None = None, sleep: Callable[[float], None] = time.sleep,
    ) -> None:  # fmt: skip
        self.url = url.rstrip("/")
        self._http = httpx.Client(transport=transport, **wire.options(self.url, key, timeout))
        self._retries, self._sleep = retries or Retries(), sleep
        self.agents = resources.Agents(self)
        self.sessions = resources.Sessions(self)
        self.artifacts = resources.Artifacts(self)
        self.approvals = resources.Approvals(self)
        self.plugins = resources.Plugins(self)
        self.policy = resources.Policy(self)
        self.keys = resources.Keys(self)
        self.environments = resources.Environments(self)
        self.disks = operating.Disks(self)
        self.environment_manifests = resources.EnvironmentManifests(self)
        self.outside_traces = resources.OutsideTraces(self)
        self.usage = resources.Usage(self)
        self.views = resources.Views(self)
        self.models = resources.Models(self)
        self.secrets = resources.Secrets(self)
        self.servers = resources.Servers(self)
        self.collector = resources.Collector(self)
        self.server = resources.Server(self)

    def do(self, call: Call[T]) -> T:
        """Carry out a call, again where that is safe."""
        attempt = 0
        while True:
            attempt += 1
            try:
                return self._once(call)
            except StudioError as error:
                pause = self._retries.pause(call, attempt, error)
                if pause is None:
                    raise
            self._sleep(pause)

    def page(self, listing: Listing[T], *, cursor: str | None = None) -> Page[T]:
        """One page of a list."""
        found: Page[T] = self.do(listing.page(cursor))
        return found

    def items(self, listing: Listing[T]) -> Iterator[T]:
        """Every item of a list, page after page."""
        cursor: str | None = None
        while True:
            page = self.page(listing, cursor=cursor)
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def follow(self, session_id: str, *, after: int = 0) -> Iterator[Event]:
        """Every fact behind `after`, then each as it is recorded, until you stop."""
        following = Following(session_id=session_id, after=after, retries=self._retries)
        while True:
            error: StudioError | None = None
            try:
                yield from self._connection(following)
            except httpx.TransportError as broken:
                error = wire.not_reached(self.url, broken)
            except StudioError as refused:
                error = refused
            self._sleep(following.pause(error))

    def pieces(self, call: Call[bytes]) -> Iterator[bytes]:
        """The bytes of an answer as they come; it is asked for once, when the first is wanted.

        NotReached also when the connection ends before they are whole.
        """
        try:
            with self._http.stream(**wire.streamed(call)) as response:
                if not response.is_success:
                    response.read()
                wire.raise_for(response)
                yield from response.iter_bytes()
        except httpx.TransportError as error:
            raise wire.not_reached(self.url, error) from error

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    def _once(self, call: Call[T]) -> T:
        try:
            response = self._http.send(wire.request(self._http, call))
        except httpx.TransportError as error:
            raise wire.not_reached(self.url, error) from error
        return wire.answer(call, response)

    def _connection(self, following: Following) -> Iterator[Event]:
        quiet = httpx.Timeout(TIMEOUT, read=QUIET_SECONDS)
        headers = following.headers()
        with self._http.stream("GET", following.path, headers=headers, timeout=quiet) as response:
            if not response.is_success:
                response.read()
            wire.raise_for(response)
            for data in response.iter_bytes():
                yield from following.take(data)


class AsyncClient:
    """Awaited. Use it as an async context manager, or close it."""

    def __init__(
        self, url: str, *, key: str = "", timeout: float = TIMEOUT, retries: Retries | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
    ) -> None:  # fmt: skip
        self.url = url.rstrip("/")
        options = wire.options(self.url, key, timeout)
        self._http = httpx.AsyncClient(transport=transport, **options)
        self._retries, self._sleep = retries or Retries(), sleep
        self.agents = async_resources.AsyncAgents(self)
        self.sessions = async_resources.AsyncSessions(self)
        self.artifacts = async_resources.AsyncArtifacts(self)
        self.approvals = async_resources.AsyncApprovals(self)
        self.plugins = async_resources.AsyncPlugins(self)
        self.policy = async_resources.AsyncPolicy(self)
        self.keys = async_resources.AsyncKeys(self)
        self.environments = async_resources.AsyncEnvironments(self)
        self.disks = operating.AsyncDisks(self)
        self.environment_manifests = async_resources.AsyncEnvironmentManifests(self)
        self.outside_traces = async_resources.AsyncOutsideTraces(self)
        self.usage = async_resources.AsyncUsage(self)
        self.views = async_resources.AsyncViews(self)
        self.models = async_resources.AsyncModels(self)
        self.secrets = async_resources.AsyncSecrets(self)
        self.servers = async_resources.AsyncServers(self)
        self.collector = async_resources.AsyncCollector(self)
        self.server = async_resources.AsyncServer(self)

    async def do(self, call: Call[T]) -> T:
        """Carry out a call, again where that is safe."""
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._once(call)
            except StudioError as error:
                pause = self._retries.pause(call, attempt, error)
                if pause is None:
                    raise
            await self._sleep(pause)

    async def page(self, listing: Listing[T], *, cursor: str | None = None) -> Page[T]:
        """One page of a list."""
        found: Page[T] = await self.do(listing.page(cursor))
        return found

    async def items(self, listing: Listing[T]) -> AsyncIterator[T]:
        """Every item of a list, page after page."""
        cursor: str | None = None
        while True:
            page = await self.page(listing, cursor=cursor)
            for item in page["items"]:
                yield item
            cursor = page["next"]
            if cursor is None:
                return

    async def follow(self, session_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        """Every fact behind `after`, then each as it is recorded, until you stop."""
        following = Following(session_id=session_id, after=after, retries=self._retries)
        while True:
            error: StudioError | None = None
            try:
                async for event in self._connection(following):
                    yield event
            except httpx.TransportError as broken:
                error = wire.not_reached(self.url, broken)
            except StudioError as refused:
                error = refused
            await self._sleep(following.pause(error))

    async def pieces(self, call: Call[bytes]) -> AsyncIterator[bytes]:
        """The bytes of an answer as they come; it is asked for once, when the first is wanted.

        NotReached also when the connection ends before they are whole.
        """
        try:
            async with self._http.stream(**wire.streamed(call)) as response:
                if not response.is_success:
                    await response.aread()
                wire.raise_for(response)
                async for piece in response.aiter_bytes():
                    yield piece
        except httpx.TransportError as error:
            raise wire.not_reached(self.url, error) from error

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        await self.close()

    async def _once(self, call: Call[T]) -> T:
        try:
            response = await self._http.send(wire.request(self._http, call))
        except httpx.TransportError as error:
            raise wire.not_reached(self.url, error) from error
        return wire.answer(call, response)

    async def _connection(self, following: Following) -> AsyncIterator[Event]:
        quiet = httpx.Timeout(TIMEOUT, read=QUIET_SECONDS)
        headers, path = following.headers(), following.path
        async with self._http.stream("GET", path, headers=headers, timeout=quiet) as response:
            if not response.is_success:
                await response.aread()
            wire.raise_for(response)
            async for data in response.aiter_bytes():
                for event in following.take(data):
                    yield event
