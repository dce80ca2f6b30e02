"""The one connection to an MCP server, kept in a task of its own.

It starts when it is first needed, is shared by all who need it, and is started again, after a
pause, when it broke.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from studio.core.masking import Mask
from studio.core.network.resolver import Rules
from studio.core.rules.servers import GIVEN
from studio.core.tools.mcp.errors import SESSION_ENDED
from studio.core.tools.mcp.stdio import Ears, Launch, stdio
from studio.core.tools.mcp.watcher import Watcher

if TYPE_CHECKING:
    import mcp_types
    from mcp.client.client import Client

MOST_TOOLS, MOST_PAGES = 1_000, 100
LONGEST_PAUSE, PATIENCE = 120.0, 2.0
RELISTEN_SECONDS = 5.0
LONGEST_REASON = 200


class Down(Exception):
    """The server cannot be used now; the message says why, in words."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server as a manifest or plugin describes it, with its settings opened."""

    name: str
    destination: str
    timeout: float = 30.0
    launch: Launch | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    mask: Mask = field(default_factory=Mask, repr=False)


class Connection:
    """The one connection to a server. `generation` grows whenever its tools may have changed."""

    def __init__(self, server: Server, rules: Rules, watcher: Watcher | None = None) -> None:
        self.server, self._watcher = server, watcher
        self.generation, self.used = 0, time.monotonic()
        self.listed, self.latency = 0.0, 0.0
        self._rules = rules
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Client] | None = None
        self._stop = asyncio.Event()
        self._ears = Ears()
        self._failures, self._not_before = 0, 0.0
        self._tools: tuple[mcp_types.Tool, ...] | None = None
        self._listing = asyncio.Lock()
        self.busy, self.is_listening, self._retired = 0, False, False

    @property
    def is_up(self) -> bool:
        """It is connected, and its list of tools is good."""
        return self._tools is not None and self._client() is not None

    @property
    def is_over(self) -> bool:
        """It was ended, and its server is gone."""
        return self._stop.is_set() and (self._task is None or self._task.done())

    @property
    def listed_ago(self) -> float:
        """How many seconds ago its tools were listed."""
        return time.monotonic() - self.listed

    @property
    def about(self) -> dict[str, str]:
        """Who the server says it is."""
        client = self._client()
        if client is None:
            return {}
        info = client.server_info
        who = {"name": info.name, "version": info.version} if info is not None else {}
        told = {**who, "protocol": client.protocol_version}
        return {name: self.server.mask.text(str(text or ""))[:200] for name, text in told.items()}

    async def tools(self) -> "tuple[mcp_types.Tool, ...]":
        """The tools it offers now; Down when it cannot be reached."""
        return (await self.offering())[1]

    async def offering(self, *, anew: bool = False) -> "tuple[Client, tuple[mcp_types.Tool, ...]]":
        """A client and the tools that this very connection offers; `anew` lists them in any case.

        A server that has forgotten us is connected to again. Down says why there is nothing.
        """
        async with self._listing:
            for last in (False, True):
                client = await self.client()
                if self._tools is not None and not anew:
                    return client, self._tools
                begun = time.monotonic()
                if (found := await self._list(client, again=not last)) is not None:
                    self.listed, self.latency = time.monotonic(), time.monotonic() - begun
                    if found != self._tools:
                        self._tools = found
                        self.generation += 1
                    return client, found
                self.drop()
            raise AssertionError("the last try lists or raises")

    async def _list(self, client: "Client", *, again: bool) -> "tuple[mcp_types.Tool, ...] | None":
        """The tools, or None when the server has forgotten us and may be asked again."""
        from mcp.shared.exceptions import MCPError
        from pydantic import ValidationError

        try:
            async with asyncio.timeout(self.server.timeout):
                return await _listed(client)
        except (MCPError, ValidationError, RuntimeError, TimeoutError) as wrong:
            if again and isinstance(wrong, MCPError) and wrong.code == SESSION_ENDED:
                return None
            raise Down(self._why("its tools could not be listed", wrong)) from None

    async def client(self) -> "Client":
        """The connected client; started when needed, by one for all. Down says why not."""
        self.used = time.monotonic()
        if (client := self._client()) is not None:
            return client
        if self._retired:  # what it carries may be another's by now, and nobody would end it
            raise Down(f"{self.server.name} is connected to anew with the next call.")
        if self._ready is None or self._ready.done():
            await self._pause()
            self._start()
        assert self._ready is not None, "just started"
        return await asyncio.shield(self._ready)

    def forget(self) -> None:
        """The server says that its tools changed."""
        self._tools = None
        self.generation += 1

    def drop(self) -> None:
        """End this connection; the next use starts another."""
        self._stop.set()

    def retire(self) -> None:
        """End this connection once no call is out on it; nobody begins another."""
        self._retired = True
        if not self.busy:
            self.drop()

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """A call is out on it."""
        self.busy += 1
        try:
            yield
        finally:
            self.busy -= 1
            if self._retired and not self.busy:
                self.drop()

    def well(self) -> None:
        """A call was answered, so the next failure is a first one again."""
        self._failures = 0

    def words(self) -> str:
        """What the server said beside the protocol, without secrets."""
        return self._ears.words(self.server.mask)

    async def close(self) -> None:
        """End the server and wait until it is gone."""
        self._stop.set()
        if self._task is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.shield(self._task)

    def _client(self) -> "Client | None":
        if self._ready is None or not self._ready.done() or self._stop.is_set():
            return None
        gone = self._task is None or self._task.done() or self._ears.ended.is_set()
        failed = self._ready.cancelled() or self._ready.exception() is not None
        return None if gone or failed else self._ready.result()

    async def _pause(self) -> None:
        """Wait a little before another start; with a longer way to go, say so instead."""
        left = self._not_before - time.monotonic()
        if left > PATIENCE:
            raise Down(f"{self.server.name} failed {self._failures} times and is tried again "
                       f"in {left:.0f} s.{self.words()}")  # fmt: skip
        if left > 0:
            await asyncio.sleep(left)

    def _start(self) -> None:
        if self._ready is not None and not self._ready.done():
            return  # another one waited too, and was first
        loop = asyncio.get_running_loop()
        before, self._stop, self._ears = self._task, asyncio.Event(), Ears()
        self._ready, self._tools = loop.create_future(), None
        self._ready.add_done_callback(_seen)
        # It outlives whoever asked for it first, so no task group here can own it; `close` waits.
        self._task = loop.create_task(self._live(before, self._ready, self._stop, self._ears))

    async def _live(
        self, before: "asyncio.Task[None] | None", ready: "asyncio.Future[Client]",
        stop: asyncio.Event, ears: Ears,
    ) -> None:  # fmt: skip
        """Connect, stay until stopped or broken, and disconnect, all in this one task."""
        if before is not None:
            await asyncio.wait([before])
        wrong: BaseException | None = None
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(self.server.timeout):
                    client = await stack.enter_async_context(self._connected(ears))
                ready.set_result(client)
                await self._stay(client, stop, ears)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - any is the server's
            wrong = error
        finally:
            self._ended(ready, stop, wrong)

    def _ended(
        self, ready: "asyncio.Future[Client]", stop: asyncio.Event, wrong: BaseException | None
    ) -> None:
        self.generation += 1
        if not stop.is_set() or not ready.done():
            self._failures += 1
            pause = min(0.25 * 2**self._failures, LONGEST_PAUSE)
            self._not_before = time.monotonic() + pause
        if not ready.done() and isinstance(wrong, Down):
            ready.set_exception(wrong)
        elif not ready.done():
            ready.set_exception(Down(self._why("it could not be started", wrong)))

    @contextlib.asynccontextmanager
    async def _connected(self, ears: Ears) -> "AsyncIterator[Client]":
        import mcp_types
        from mcp.client.client import Client

        async def heard(message: object) -> None:
            if isinstance(message, mcp_types.ToolListChangedNotification):
                self.forget()

        us = mcp_types.Implementation(name="operator-studio", version="1")
        async with contextlib.AsyncExitStack() as stack:
            transport = await self._transport(stack, ears)
            client = Client(transport, cache=None, message_handler=heard, client_info=us)
            yield await stack.enter_async_context(client)

    async def _transport(self, stack: contextlib.AsyncExitStack, ears: Ears) -> Any:
        launch = self.server.launch
        if launch is not None:
            if launch.unpacked and (told := await asyncio.to_thread(launch.unpacked.refusal)):
                raise Down(f"{self.server.name}: {told}")
            return stdio(launch, ears, self._watcher)
        from mcp.client.streamable_http import streamable_http_client

        from studio.core.tools.mcp import streamable

        http = streamable.client(self.server.headers, self._rules)
        await stack.enter_async_context(http)
        return streamable_http_client(
            self.server.url, http_client=http, max_sse_event_size=streamable.LARGEST_ANSWER
        )

    async def _stay(self, client: "Client", stop: asyncio.Event, ears: Ears) -> None:
        """Until we are told to stop, or the server ends."""
        async with asyncio.TaskGroup() as group:
            waits = [group.create_task(stop.wait()), group.create_task(ears.ended.wait())]
            follow = group.create_task(self._follow(client))
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for task in (*waits, follow):
                task.cancel()

    async def _follow(self, client: "Client") -> None:
        """Newer servers tell of changed tools only to those who listen."""
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
        from mcp.shared.exceptions import MCPError
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        offers = client.server_capabilities.tools
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or not (
            offers and offers.list_changed
        ):
            return
        while True:
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    self.is_listening = True
                    async for _ in changes:
                        self.forget()
            except ListenNotSupportedError:
                return
            except (SubscriptionLost, MCPError, TimeoutError):
                self.forget()
            self.is_listening = False
            await asyncio.sleep(RELISTEN_SECONDS)

    def _why(self, what: str, wrong: BaseException | None) -> str:
        ended = self._ears.exit
        own, foreign = _reasons(wrong) if ended is None else (f"it ended with status {ended}", "")
        words = " ".join(self.server.mask.text(foreign).split())[:LONGEST_REASON].rstrip(". ")
        given = f"{GIVEN}{words}”" if words else ""
        return f"{self.server.name}: {what}{f' ({own})' if own else ''}.{given}{self.words()}"


def _seen(ready: "asyncio.Future[Client]") -> None:
    """Nobody may be waiting any more; an exception that nobody reads is no fault."""
    if not ready.cancelled():
        ready.exception()


def _reasons(wrong: BaseException | None) -> tuple[str, str]:
    """The first reason in an error, which may be a group of groups: one of our own, or in foreign
    words. Those are whole, so that a secret is found in them.
    """
    while isinstance(wrong, BaseExceptionGroup):
        wrong = wrong.exceptions[0]
    if isinstance(wrong, FileNotFoundError):
        return "there is no such program, or no such folder", ""
    elif isinstance(wrong, PermissionError):
        return "the program may not be started", ""
    elif isinstance(wrong, TimeoutError):
        return "no answer in time", ""
    elif isinstance(wrong, asyncio.CancelledError) or wrong is None:
        return "", ""
    return "", str(getattr(wrong, "message", "") or wrong).strip() or type(wrong).__name__


async def _listed(client: "Client") -> "tuple[mcp_types.Tool, ...]":
    """Every tool once, page by page; a list without end is cut."""
    import mcp_types

    found, cursor = dict[str, mcp_types.Tool](), None
    for _ in range(MOST_PAGES):
        params = mcp_types.PaginatedRequestParams(cursor=cursor)
        page = await client.session.list_tools(params=params)
        for tool in page.tools:
            found.setdefault(tool.name, tool)
        if not page.next_cursor or page.next_cursor == cursor or len(found) >= MOST_TOOLS:
            break
        cursor = page.next_cursor
    return tuple(found.values())[:MOST_TOOLS]
