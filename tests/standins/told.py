"""A host behind the proxy: it writes down what reaches it, and answers as the path says.

A connection that begins like HTTP is answered once; what is not HTTP comes back as it is (echo),
and after the sender's end comes `bye`.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKS = OK + b"transfer-encoding: chunked\r\n\r\n"
ANSWERS = {
    "/chunks": CHUNKS + b"3;x=1\r\nabc\r\n2\r\nde\r\n0\r\nt: 1\r\n\r\n",
    "/bad-chunk": CHUNKS + b"zz\r\nabc\r\n0\r\n\r\n",
    "/until-close": OK + b"connection: close\r\n\r\nabcde",
    "/hops": OK + b"connection: x-hop\r\nx-hop: 1\r\nkeep-alive: 5\r\ncontent-length: 1\r\n\r\na",
    "/hints": b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"
    + OK
    + b"content-length: 1\r\n\r\na",
    "/two-lengths": OK + b"content-length: 1\r\ncontent-length: 2\r\n\r\nab",
    "/cut": OK + b"content-length: 9\r\n\r\nabc",
    "/none": b"HTTP/1.1 204 No Content\r\n\r\n",
    "/changes": b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n",
    "/early": b"HTTP/1.1 413 Content Too Large\r\ncontent-length: 2\r\n\r\nno",
    "/garbage": b"220 mail.example ESMTP\r\n\r\n",
    "/silent": b"",
}
PLAIN = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello"


class Host:
    """What it heard: one text of bytes for each connection."""

    def __init__(self) -> None:
        self.heard: list[bytearray] = []
        self.port = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        heard = bytearray()
        self.heard.append(heard)
        try:
            with contextlib.suppress(ConnectionError):
                await self._talk(reader, writer, heard)
        finally:
            writer.close()

    async def _talk(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, heard: bytearray
    ) -> None:
        heard += await reader.read(65_536)
        if bytes(heard).split(b" ", 1)[0] not in {b"GET", b"HEAD", b"POST", b"OPTIONS"}:
            await self._echo(reader, writer, heard)
            return
        while b"\r\n\r\n" not in heard:
            heard += await reader.read(65_536)
        path = bytes(heard).split(b" ")[1].decode()
        if path == "/waits":
            heard += await reader.read()  # until the other side ends it
            return
        if path != "/early":
            while not _whole(bytes(heard)):
                data = await reader.read(65_536)
                if not data:
                    return
                heard += data
        writer.write(ANSWERS.get(path, PLAIN))
        await writer.drain()
        if path == "/early":
            writer.write_eof()
            await reader.read()  # what is unread at the close would take the answer back

    async def _echo(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, heard: bytearray
    ) -> None:
        data = bytes(heard)
        while data:
            writer.write(data)
            await writer.drain()
            data = await reader.read(65_536)
            heard += data
        writer.write(b"bye")
        await writer.drain()


def _whole(heard: bytes) -> bool:
    head, _, body = heard.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" in head.lower():
        return body.endswith(b"0\r\n\r\n")
    sizes = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return len(body) >= int(sizes[0].split(b":")[1]) if sizes else True


@contextlib.asynccontextmanager
async def host() -> AsyncIterator[Host]:
    """A host on loopback."""
    found = Host()
    server = await asyncio.start_server(found.talk, "127.0.0.1", 0)
    found.port = server.sockets[0].getsockname()[1]
    try:
        yield found
    finally:
        server.close()
