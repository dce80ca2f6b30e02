"""A small HTTP/1.1 server over a real socket, with full say over every byte: stand-ins misbehave.

`run(handle)` serves for ever and prints its port first; `served(handle)` serves in a thread of this
process until the block ends. One request a connection.
"""

import argparse
import asyncio
import contextlib
import ssl
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request as it came. Names of headers are in small letters."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class Talk:
    """The answering side of one connection."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def head(self, status: int = 200, **headers: str) -> None:
        """The status line and headers; a body without a length ends with the connection."""
        lines = [f"HTTP/1.1 {status} {_phrase(status)}", "connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.send("\r\n".join([*lines, "", ""]).encode())

    async def answer(self, body: bytes, status: int = 200, **headers: str) -> None:
        """A whole answer."""
        await self.head(status, content_length=str(len(body)), **headers)
        await self.send(body)

    async def chunk(self, data: bytes) -> None:
        """One piece of a chunked body; an empty one ends it."""
        await self.send(b"%x\r\n%b\r\n" % (len(data), data))

    async def send(self, data: bytes) -> None:
        """Bytes as they are."""
        self._writer.write(data)
        await self._writer.drain()

    def cut(self) -> None:
        """Break the connection, now."""
        self._writer.transport.abort()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Odd"


Handle = Callable[[Asked, Talk], Awaitable[None]]


async def listen(
    handle: Handle, port: int = 0, tls: ssl.SSLContext | None = None
) -> asyncio.Server:
    """Listen on loopback."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, TimeoutError):
                await handle(await _read(reader), Talk(writer))
        except asyncio.CancelledError:
            writer.transport.abort()  # the stand-in ends; a task may not end cancelled here
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    return await asyncio.start_server(connected, "127.0.0.1", port, limit=1 << 20, ssl=tls)


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ", 2)
    pairs = [line.split(":", 1) for line in head[1:] if line]
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    parts = urlsplit(target)
    return Asked(
        method=method, path=parts.path, query=dict(parse_qsl(parts.query)), headers=headers,
        body=body,
    )  # fmt: skip


def run(handle: Handle) -> None:
    """Serve until killed; the first line printed is the port."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    port = parser.parse_args().port

    async def serve() -> None:
        server = await listen(handle, port)
        sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()
        await server.serve_forever()

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve())


@contextlib.contextmanager
def served(handle: Handle, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Serve in a thread of this process; gives the port."""
    loop, ready, ports = asyncio.new_event_loop(), threading.Event(), list[int]()
    stop = asyncio.Event()

    async def serve() -> None:
        server = await listen(handle, tls=tls)
        ports.append(server.sockets[0].getsockname()[1])
        ready.set()
        await stop.wait()
        server.close()
        await asyncio.sleep(0)
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in others:
                if "connected" in repr(task.get_coro()):
                    task.cancel()
            await asyncio.wait(others, timeout=1)
        await asyncio.sleep(0)

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    assert ready.wait(10), "the stand-in did not start"
    try:
        yield ports[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()
