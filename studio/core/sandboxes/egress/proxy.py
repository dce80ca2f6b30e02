"""The proxy: it listens where a command can reach it, judges each request, and connects by itself.

Names are asked for once and every address is judged by `network`; what is connected to is what was
judged. A tunnel (CONNECT) carries bytes to one place. A request in absolute form gets a connection
of its own to the host, so that each of several on one connection is judged anew.
"""

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from studio.core.network import streams
from studio.core.network.resolver import Refused, Rules, Unresolved
from studio.core.sandboxes.egress import answers, heads, relays
from studio.core.sandboxes.egress.allowing import AllowList
from studio.core.sandboxes.egress.answers import Declined
from studio.core.sandboxes.egress.forward import forward
from studio.core.sandboxes.egress.tried import Attempt, Tried
from studio.core.sandboxes.egress.watching import Watch

log = logging.getLogger(__name__)
_FULL = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
# What accept(2) tells of one connection that broke before it was taken, and not of the listener.
_BROKEN = frozenset({
    errno.ECONNABORTED, errno.EPROTO, errno.ENOPROTOOPT, errno.EOPNOTSUPP, errno.EPERM,
    errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENONET,
})  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Of one listener. Bytes, and seconds; what is beyond `connections` waits to be accepted."""

    head: int = 32 * 1024
    head_seconds: float = 10.0
    idle_seconds: float = 120.0
    total_seconds: float = 3_600.0
    linger_seconds: float = 2.0
    connections: int = 64


class Egress:
    """The way out of one environment. `heard` is told of each try, once, when it has ended.

    `rules` are the studio's own: what they allow beside public hosts an operator may list too.
    `now` gives milliseconds since 1970, UTC.
    """

    def __init__(
        self, allow: AllowList, rules: Rules, heard: Callable[[Tried], None],
        now: Callable[[], int], bounds: Bounds | None = None, dial: streams.Dial = streams.dial,
    ) -> None:  # fmt: skip
        self._allow, self._rules, self._heard, self._now = allow, rules, heard, now
        self._bounds, self._dial = bounds or Bounds(), dial

    async def serve(self, listener: socket.socket, command: str = "") -> None:
        """Serve until cancelled; then every connection is ended, told of, and closed."""
        listener.setblocking(False)
        room = asyncio.Semaphore(self._bounds.connections)
        with listener:
            async with asyncio.TaskGroup() as group:
                while True:
                    await room.acquire()
                    accepted = await _accepted(listener)
                    task = group.create_task(self._connection(accepted, command))
                    task.add_done_callback(lambda _: room.release())

    async def _connection(self, accepted: socket.socket, command: str) -> None:
        """One connection, to its end. Whatever becomes of it, the others go on."""
        try:
            await self._served(accepted, command)
        except OSError:
            return  # the command is gone, or cannot be reached: there is nobody to answer
        except Exception:
            log.exception("A connection to the proxy broke; the others go on.")

    async def _served(self, accepted: socket.socket, command: str) -> None:
        reader, writer = await _streams(accepted, self._bounds.head)
        try:
            while await self._one(reader, writer, command):
                pass
            await self._last_words(reader, writer)
        finally:
            writer.transport.abort()

    async def _one(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, command: str
    ) -> bool:
        """One request, judged, done and told of; whether another may follow."""
        first = await self._first(reader)
        if not first:
            return False
        with self._attempt(command) as attempt:
            try:
                asked = await self._head(reader, first)
                return await self._done(asked, (reader, writer), attempt)
            except Declined as no:
                attempt.became("refused" if no.status in {400, 403, 431} else "failed", no.reason)
                await self._within_idle(relays.send(writer, no.answer(attempt.host, attempt.port)))
                return False

    async def _first(self, reader: asyncio.StreamReader) -> bytes:
        """The first byte of a request; none when the client has ended, or is silent."""
        try:
            async with asyncio.timeout(self._bounds.idle_seconds):
                return await reader.read(1)
        except TimeoutError:
            return b""

    async def _head(self, reader: asyncio.StreamReader, first: bytes) -> heads.Request:
        try:
            async with asyncio.timeout(self._bounds.head_seconds):
                return heads.request(first + await reader.readuntil(b"\r\n\r\n"))
        except heads.BadHead as wrong:
            raise answers.unreadable(str(wrong)) from None
        except asyncio.LimitOverrunError:
            size = self._bounds.head // 1024
            words = f"The head of the request is larger than {size} KiB."
            raise Declined(431, words, f"{words} Nothing was sent.") from None
        except (asyncio.IncompleteReadError, TimeoutError):
            raise answers.unreadable("The head of the request did not come whole.") from None

    async def _done(self, asked: heads.Request, client: streams.Pair, attempt: Attempt) -> bool:
        target = self._judged(asked, attempt)
        host = await self._connected(target)
        attempt.became("allowed")
        watch = Watch(attempt, self._bounds.idle_seconds, self._bounds.total_seconds)
        try:
            async with watch:
                if asked.method != "CONNECT":
                    return await forward(asked, target, client, host, watch)
                await relays.send(client[1], b"HTTP/1.1 200 Connection established\r\n\r\n")
                await relays.tunnel(client, host, watch.up, watch.down)
        except TimeoutError:
            attempt.became("allowed", watch.words())
            if asked.method != "CONNECT" and not attempt.down:
                raise answers.failed(watch.words(), status=504) from None
        except OSError:
            attempt.became("allowed", "One side broke the connection.")
        except relays.Broken as wrong:
            attempt.became("allowed", str(wrong))
        finally:
            host[1].transport.abort()
        return False

    def _judged(self, asked: heads.Request, attempt: Attempt) -> heads.Target:
        """Where it goes, when the list holds it. Declined else."""
        try:
            target = heads.target(asked)
            heads.request_length(asked)
        except heads.BadHead as wrong:
            raise answers.unreadable(str(wrong)) from None
        attempt.host, attempt.port = target.host, target.port
        if not self._allow.holds(target.host, target.port):
            raise answers.not_allowed(target.host, target.port)
        return target

    async def _connected(self, target: heads.Target) -> streams.Pair:
        try:
            host = await streams.connect(self._rules, target.host, target.port, self._dial)
        except Refused as wrong:
            raise answers.forbidden(str(wrong)) from None
        except (Unresolved, streams.Unreachable) as wrong:
            raise answers.failed(str(wrong)) from None
        host[1].transport.set_write_buffer_limits(0)
        return host

    async def _within_idle(self, work: Awaitable[None]) -> None:
        with contextlib.suppress(TimeoutError):  # a client that takes no answer gets none
            async with asyncio.timeout(self._bounds.idle_seconds):
                await work

    async def _last_words(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Let the client read all that was written: what it still sends is read and dropped.

        A socket that is closed with unread bytes takes back what it sent before.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._bounds.linger_seconds):
                await writer.drain()
                relays.end(writer)
                while await reader.read(streams.BUFFER):
                    pass

    @contextlib.contextmanager
    def _attempt(self, command: str) -> Iterator[Attempt]:
        """A try that is told of exactly once, also when the command ends in its middle."""
        attempt = Attempt(self._now(), command)
        try:
            yield attempt
        except asyncio.CancelledError:
            attempt.became(attempt.outcome, "The command ended.")
            raise
        finally:
            self._heard(attempt.ended())


async def _accepted(listener: socket.socket) -> socket.socket:
    """The next connection. A machine out of descriptors is asked again, as asyncio's servers do."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            accepted, _ = await loop.sock_accept(listener)
        except OSError as error:
            if error.errno in _BROKEN:
                continue
            if error.errno not in _FULL:
                raise
            await asyncio.sleep(0.1)
        else:
            return accepted


async def _streams(accepted: socket.socket, limit: int) -> streams.Pair:
    """A connection whose writes are done when the kernel has them: nothing waits in memory."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=limit)
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await loop.connect_accepted_socket(lambda: protocol, accepted)
    transport.set_write_buffer_limits(0)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)
