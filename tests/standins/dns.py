"""A name service of our own on loopback, over UDP, that answers as it is told, query by query.

`Names.answers(name, kind, count)` gives the addresses for the `count`-th query of a kind ("A" or
"AAAA"). `lookup` asks it, with the interface that the connector takes; every answer has TTL 0.
"""

import asyncio
import contextlib
import ipaddress
import itertools
import socket
import struct
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator

KINDS = {1: "A", 28: "AAAA"}
Answers = Callable[[str, str, int], list[str]]


class Names:
    """The server; `asked` counts the queries of each kind."""

    def __init__(self, answers: Answers) -> None:
        self.asked = Counter[str]()
        self._answers = answers
        self._by_name = Counter[tuple[str, str]]()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]

    def serve(self) -> None:
        """Answer until the socket is closed."""
        with contextlib.suppress(OSError):
            while True:
                packet, client = self._socket.recvfrom(512)
                if not packet:
                    return
                self._socket.sendto(self._answer(packet), client)

    def close(self) -> None:
        """Stop answering."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _answer(self, packet: bytes) -> bytes:
        name, end = _name(packet, 12)
        (number,) = struct.unpack("!H", packet[end : end + 2])
        kind = KINDS[number]
        self.asked[kind] += 1
        self._by_name[name, kind] += 1
        found = self._answers(name, kind, self._by_name[name, kind])
        head = packet[:2] + struct.pack("!HHHHH", 0x8180, 1, len(found), 0, 0)
        records = b"".join(
            b"\xc0\x0c" + struct.pack("!HHIH", number, 1, 0, len(data)) + data
            for data in (ipaddress.ip_address(address).packed for address in found)
        )
        return head + packet[12 : end + 4] + records


@contextlib.contextmanager
def names(answers: Answers) -> Iterator[Names]:
    """The server in a thread of this process."""
    server = Names(answers)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join(10)


def lookup(port: int) -> Callable[[str, int], Awaitable[list[str]]]:
    """Ask the server for both kinds, as a resolver does."""
    numbers = itertools.count(1)

    async def asking(host: str, _: int) -> list[str]:
        found = list[str]()
        for kind in KINDS:
            packet = await _asked(port, _query(host, kind, next(numbers) & 0xFFFF))
            found += _addresses(packet)
        return found

    return asking


async def _asked(port: int, query: bytes) -> bytes:
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.setblocking(False)
        await loop.sock_sendto(asking, query, ("127.0.0.1", port))
        async with asyncio.timeout(10):
            return await loop.sock_recv(asking, 4096)


def _query(host: str, kind: int, number: int) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in host.split("."))
    head = struct.pack("!HHHHHH", number, 0x0100, 1, 0, 0, 0)
    return head + labels + b"\0" + struct.pack("!HH", kind, 1)


def _name(packet: bytes, at: int) -> tuple[str, int]:
    labels = list[str]()
    while size := packet[at]:
        labels.append(packet[at + 1 : at + 1 + size].decode())
        at += 1 + size
    return ".".join(labels), at + 1


def _addresses(packet: bytes) -> list[str]:
    (count,) = struct.unpack("!H", packet[6:8])
    _, at = _name(packet, 12)
    at += 4
    found = list[str]()
    for _ in range(count):
        (size,) = struct.unpack("!H", packet[at + 10 : at + 12])
        found.append(str(ipaddress.ip_address(packet[at + 12 : at + 12 + size])))
        at += 12 + size
    return found
