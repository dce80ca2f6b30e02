"""Bytes from one side to the other: whole tunnels, and bodies of a known end.

What waits for a slow peer waits alone: each side is read only as fast as the other takes it. Chunks
are read and written anew, so that nobody behind the proxy reads them in another way than it did.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from studio.core.network.streams import BUFFER
from studio.core.sandboxes.egress.heads import BadHead, Length

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter
Count = Callable[[int], None]
LONGEST_LINE = 1_024  # of a chunk's size, and of each field after the last chunk
MOST_TRAILERS = 64
_HEX = frozenset(b"0123456789abcdefABCDEF")


class Broken(Exception):
    """A side ended, or broke the rules, in the middle; the message says which and how."""


async def send(writer: Writer, data: bytes) -> None:
    """Write, and wait while the other side is slow."""
    writer.write(data)
    await writer.drain()


def end(writer: Writer) -> None:
    """Send the end of this side; a peer that is gone is a ConnectionError, as in a write."""
    try:
        writer.write_eof()
    except OSError as gone:
        raise ConnectionResetError(gone.errno, gone.strerror) from None


async def tunnel(client: tuple[Reader, Writer], host: tuple[Reader, Writer],
                 up: Count, down: Count) -> None:  # fmt: skip
    """Carry bytes both ways until both sides have ended; one may end long before the other."""
    await side_by_side(_pump(client[0], host[1], up), _pump(host[0], client[1], down))


async def _pump(reader: Reader, writer: Writer, count: Count) -> None:
    while data := await reader.read(BUFFER):
        count(len(data))
        await send(writer, data)
    end(writer)


async def body(reader: Reader, writer: Writer, length: Length, count: Count) -> None:
    """Carry a body; Broken when it ends too early or is not in the form it claims."""
    if length.kind == "size":
        await _sized(reader, writer, length.size, count)
    elif length.kind == "chunks":
        await _chunks(reader, writer, count)
    elif length.kind == "close":
        while data := await reader.read(BUFFER):
            count(len(data))
            await send(writer, data)


async def unchunked(reader: Reader, writer: Writer, count: Count) -> None:
    """Carry a body in chunks to one who knows no chunks."""
    while size := _size(await _line(reader)):
        await _sized(reader, writer, size, count)
        await _end_of_chunk(reader)
    await _trailers(reader)


async def _sized(reader: Reader, writer: Writer, left: int, count: Count) -> None:
    while left:
        data = await reader.read(min(left, BUFFER))
        if not data:
            raise Broken("A body ended in its middle.")
        left -= len(data)
        count(len(data))
        await send(writer, data)


async def _chunks(reader: Reader, writer: Writer, count: Count) -> None:
    while size := _size(await _line(reader)):
        writer.write(b"%x\r\n" % size)
        await _sized(reader, writer, size, count)
        await _end_of_chunk(reader)
        writer.write(b"\r\n")
    await _trailers(reader)
    await send(writer, b"0\r\n\r\n")


async def _trailers(reader: Reader) -> None:
    """Read what follows the last chunk; it goes no further."""
    for _ in range(MOST_TRAILERS):
        if not await _line(reader):
            return
    raise BadHead("There is no end of fields after the last chunk.")


async def _end_of_chunk(reader: Reader) -> None:
    if await _line(reader):
        raise BadHead("A chunk is longer than it says.")


async def _line(reader: Reader) -> bytes:
    try:
        line = await reader.readuntil(b"\r\n")
    except asyncio.IncompleteReadError:
        raise Broken("A body ended in its middle.") from None
    except asyncio.LimitOverrunError:
        raise BadHead("A line between chunks is too long.") from None
    if len(line) > LONGEST_LINE:
        raise BadHead("A line between chunks is too long.")
    return line[:-2]


def _size(line: bytes) -> int:
    """The size of a chunk; what a sender may add behind “;” is left out."""
    digits = line.partition(b";")[0].rstrip(b" \t")
    if not 0 < len(digits) <= 12 or not _HEX.issuperset(digits):
        raise BadHead("The size of a chunk cannot be read.")
    return int(digits, 16)


async def side_by_side(*works: Coroutine[Any, Any, None]) -> None:
    """Do all to their ends; the first error ends the others and is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            for work in works:
                group.create_task(work)
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None
