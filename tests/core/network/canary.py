"""A canary on every address of this machine: whoever reaches it has got out where he must not."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator


class Canary:
    """Listens on one port of all IPv4 and IPv6 addresses; `reached` counts who came."""

    def __init__(self) -> None:
        self.reached, self.port = 0, 0

    async def greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Count the connection and answer whatever is asked."""
        self.reached += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi")
            await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def canary() -> AsyncIterator[Canary]:
    """A canary on a port that is free for both families, where there are both."""
    found = Canary()
    four = socket.create_server(("0.0.0.0", 0))
    found.port = four.getsockname()[1]
    servers = [await asyncio.start_server(found.greet, sock=four)]
    with contextlib.suppress(OSError):
        six = socket.create_server(("::", found.port), family=socket.AF_INET6)
        servers.append(await asyncio.start_server(found.greet, sock=six))
    try:
        yield found
    finally:
        for server in servers:
            server.close()
