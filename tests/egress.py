"""Everything that is tried against the proxy of an environment, as one table.

`python -m tests.egress` plays it and prints, for each case, what was answered, what was told, and
whether the host heard anything. `G` stands for a port that is allowed, `O` for one that is not.
"""

import asyncio
import contextlib
import re
import socket
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from studio.core.network import streams
from studio.core.network.resolver import Rules, Unresolved
from studio.core.sandboxes.egress.allowing import AllowList
from studio.core.sandboxes.egress.proxy import Bounds, Egress
from studio.core.sandboxes.egress.tried import Tried
from tests.standins.told import Host, host

HERE, PUBLIC = "127.0.0.1", "93.184.216.34"
NAMES = {
    "api.good.example": [HERE], "a.wild.example": [HERE], "b.c.wild.example": [HERE],
    "xn--bcher-kva.example": [HERE], "ten.example": ["10.0.0.1"], "mixed.example": [PUBLIC, HERE],
    "meta.example": ["169.254.169.254"], "mail.example": [PUBLIC], "out.example": [PUBLIC],
    "six.example": ["::1"], "nat.example": ["64:ff9b::7f00:1"],
}  # fmt: skip
FREE = ("api.good.example", "a.wild.example", "b.c.wild.example", "xn--bcher-kva.example")


@dataclass(frozen=True)
class Case:
    """Bytes that a client sends; the statuses it gets; what is told; what the host hears of it.

    `told` is `outcome host:port` for each try. `hears` must stand in what the host heard, `never`
    must not; with neither the host must have heard nothing.
    """

    name: str
    sent: str
    statuses: tuple[int, ...]
    told: tuple[str, ...]
    hears: str = ""
    never: str = "evil"


def get(host: str, rest: str = "", path: str = "/x") -> str:
    """A request in absolute form."""
    return f"GET http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n{rest}\r\n"


def connect(place: str, rest: str = "", then: str = "") -> str:
    """A request for a tunnel, and what follows it."""
    return f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{rest}\r\n{then}"


def post(rest: str, body: str, path: str = "/x") -> str:
    """A request with a body to the allowed host."""
    return f"POST http://api.good.example:G{path} HTTP/1.1\r\nHost: a\r\n{rest}\r\n{body}"


def bad(name: str, sent: str, status: int = 400, told: str = "refused :0") -> Case:
    """Nothing reaches a host."""
    return Case(name, sent, (status,), (told,))


def no(name: str, place: str, shown: str = "") -> Case:
    """A tunnel to a place that is not allowed."""
    return Case(name, connect(place), (403,), (f"refused {shown or place}",))


INNER = "GET http://nowhere.example/ HTTP/1.1\r\n\r\n"
GOOD = "allowed api.good.example:G"
CASES = [
    # what is allowed
    Case("allowed, absolute form", get("api.good.example:G"), (200,), (GOOD,), "GET /x HTTP/1.1"),
    Case("allowed, tunnel", connect("api.good.example:G", then="ping"), (200,), (GOOD,), "ping"),
    Case("a name with a last dot", get("api.good.example.:G"), (200,), (GOOD,), "GET /x"),
    Case("a name in capitals", get("API.Good.EXAMPLE:G"), (200,), (GOOD,), "GET /x"),
    Case("below a suffix", get("a.wild.example:G"), (200,), ("allowed a.wild.example:G",), "GET"),
    Case("far below a suffix", connect("b.c.wild.example:G", then="hi"), (200,),
         ("allowed b.c.wild.example:G",), "hi"),
    Case("a name of another language", get("xn--bcher-kva.example:G"), (200,),
         ("allowed xn--bcher-kva.example:G",), "GET"),
    Case("a query without a path", get("api.good.example:G", path="?q=1"), (200,), (GOOD,),
         "GET /?q=1 HTTP/1.1"),
    # what is not
    no("same host, other port", "api.good.example:O"),
    Case("same host, other port, absolute form", get("api.good.example:O"), (403,),
         ("refused api.good.example:O",)),
    no("unknown host", "evil.example:443"),
    Case("unknown host, absolute form, default port", get("evil.example"), (403,),
         ("refused evil.example:80",)),
    no("this machine's loopback", "127.0.0.1:O"),
    no("this machine by name", "localhost:O"),
    no("the suffix itself", "wild.example:G"),
    no("a suffix without its dot", "evilwild.example:G"),
    no("a suffix in the middle", "a.wild.example.evil.example:G"),
    no("an allowed name in the middle", "api.good.example.evil.example:G"),
    no("an address below a suffix", "127.0.0.1:G"),
    # forms of an address: judged as what they are
    *(no(f"address {form}", f"{form}:O", "127.0.0.1:O")
      for form in ("127.1", "0x7f000001", "2130706433", "0177.0.0.1", "127.0.0.1.")),
    *(no(f"address {form}", f"{form}:O") for form in ("[::1]", "[::ffff:7f00:1]", "0.0.0.0")),
    no("an allowed address, listed, that is loopback", "127.0.0.1:443"),
    no("an allowed name at a private address", "ten.example:443"),
    no("an allowed name with one bad address of two", "mixed.example:G"),
    no("an allowed name at a cloud's metadata", "meta.example:80"),
    no("an allowed name at IPv6 loopback", "six.example:G"),
    no("an allowed name behind NAT64", "nat.example:G"),
    no("a port of another protocol", "mail.example:25"),
    # names that deceive
    bad("a user in the address", get("api.good.example:G@evil.example:O")),
    bad("a user before an allowed host", get("evil@api.good.example:G")),
    bad("a user in a tunnel", connect("x@api.good.example:G")),
    bad("a host with an encoded dot", get("evil%2eexample:G")),
    bad("a host with a NUL", get("api.good.example\0.evil.example:G")),
    bad("a backslash", get("api.good.example:G\\@evil.example")),
    bad("brackets around a name", connect("[api.good.example]:G")),
    bad("brackets around an IPv4 address", connect("[127.0.0.1]:O")),
    bad("a network card", connect("[fe80::1%25eth0]:O")),
    bad("letters of other scripts", get("\u0430pi.good.example:G")),
    bad("a tunnel without a port", connect("api.good.example")),
    bad("port 0", connect("api.good.example:0")),
    bad("port 65536", connect("api.good.example:65536")),
    bad("a tunnel to an address with a path", connect("api.good.example:G/x")),
    # what is no request to a proxy
    bad("origin form", "GET /x HTTP/1.1\r\nHost: api.good.example:G\r\n\r\n"),
    bad("asterisk form", "OPTIONS * HTTP/1.1\r\nHost: api.good.example:G\r\n\r\n"),
    bad("https in absolute form", "GET https://api.good.example:G/ HTTP/1.1\r\n\r\n"),
    bad("ftp", "GET ftp://api.good.example:G/ HTTP/1.1\r\n\r\n"),
    bad("the beginning of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    bad("TLS to the proxy", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    bad("no version", "GET http://api.good.example:G/\r\n\r\n"),
    bad("a head that is too large", get("api.good.example:G", f"X: {'a' * 40_000}\r\n"), 431),
    bad("a head without an end", "GET http://api.good.example:G/ HTTP/1.1\r\nHost: a\r\n"),
    # heads that two readers read differently
    bad("a bare LF between headers", get("api.good.example:G", "X: a\nEvil: b\r\n")),
    bad("a bare CR in a header", get("api.good.example:G", "X: a\rEvil: b\r\n")),
    bad("a NUL in a header", get("api.good.example:G", "X: a\0b\r\n")),
    bad("a folded header", get("api.good.example:G", "X: a\r\n b\r\n")),
    bad("a space before the colon", get("api.good.example:G", "Content-Length : 3\r\n")),
    bad("a header without a name", get("api.good.example:G", ": x\r\n")),
    bad("two hosts", get("api.good.example:G", "Host: evil.example\r\n")),
    bad("a tab in the first line", "GET\thttp://api.good.example:G/ HTTP/1.1\r\n\r\n"),
    *(bad(f"a body of {name}", post(fields, "0\r\n\r\n")) for name, fields in {
        "two lengths": "Content-Length: 5\r\nContent-Length: 6\r\n",
        "a length and chunks": "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "a length with a sign": "Content-Length: +5\r\n",
        "a length in hexadecimal": "Content-Length: 0x5\r\n",
        "an unknown coding": "Transfer-Encoding: xchunked\r\n",
        "two codings": "Transfer-Encoding: gzip, chunked\r\n",
        "chunks twice": "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    }.items()),
    # one connection, many requests
    Case("another Host header", "GET http://api.good.example:G/x HTTP/1.1\r\nHost: evil\r\n\r\n",
         (200,), (GOOD,), "host: api.good.example:G"),
    Case("another Host header of a tunnel",
         "CONNECT api.good.example:G HTTP/1.1\r\nHost: evil.example\r\n\r\nping", (200,), (GOOD,),
         "ping"),
    Case("two allowed, one after the other", get("api.good.example:G") * 2, (200, 200),
         (GOOD, GOOD), "GET /x"),
    Case("allowed, then not", get("api.good.example:G") + get("evil.example:G"), (200, 403),
         (GOOD, "refused evil.example:G"), "GET /x"),
    Case("not allowed, then allowed", get("evil.example:G") + get("api.good.example:G"), (403,),
         ("refused evil.example:G",)),
    Case("a request behind a tunnel", connect("api.good.example:G", then=get("other.example:O")),
         (200, 200), (GOOD,), "GET http://other.example:O/x"),
    bad("a tunnel with a body", connect("api.good.example:G", "Content-Length: 3\r\n", "abc")),
    Case("a request inside a body",
         post(f"Content-Length: {len(INNER)}\r\n", INNER), (200,), (GOOD,),
         "GET http://nowhere.example/"),
    Case("a body in chunks, written anew",
         post("Transfer-Encoding: chunked\r\n", "003;evil=1\r\nabc\r\n0\r\nevil: 1\r\n\r\n"),
         (200,), (GOOD,), "\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
    Case("a chunk whose size cannot be read",
         post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n-1\r\nevil"), (), (GOOD,), "abc"),
    Case("a chunk longer than it says",
         post("Transfer-Encoding: chunked\r\n", "3\r\nabcevil\r\n0\r\n\r\n"), (), (GOOD,), "abc"),
    Case("an upgrade goes no further",
         get("api.good.example:G", "Connection: upgrade, evil\r\nUpgrade: evil\r\nEvil: 1\r\n"),
         (200,), (GOOD,), "GET /x"),
    Case("a credential for the proxy goes no further",
         get("api.good.example:G", "Proxy-Authorization: evil\r\n"), (200,), (GOOD,), "GET /x"),
    # what hosts answer
    *(Case(f"an answer {name}", get("api.good.example:G", path=path), statuses,
           (f"{outcome} api.good.example:G",), f"GET {path}")
      for name, path, statuses, outcome in (
          ("in chunks", "/chunks", (200,), "allowed"),
          ("that ends with the connection", "/until-close", (200,), "allowed"),
          ("without a body", "/none", (204,), "allowed"),
          ("after hints", "/hints", (103, 200), "allowed"),
          ("that changes the protocol", "/changes", (502,), "failed"),
          ("that is no HTTP", "/garbage", (502,), "failed"),
          ("that never comes", "/silent", (502,), "failed"),
          ("of two lengths", "/two-lengths", (502,), "failed"),
          ("cut short", "/cut", (200,), "allowed"),
          ("with a broken chunk", "/bad-chunk", (200,), "allowed"),
      )),
    # no connection
    Case("a name that changes its mind", connect("rebind.example:G"), (502,),
         ("failed rebind.example:G",)),
    Case("a name without an address", connect("nowhere.wild.example:G"), (502,),
         ("failed nowhere.wild.example:G",)),
    Case("nobody listens", get("a.wild.example:N"), (502,), ("failed a.wild.example:N",)),
    Case("the outside is not there", connect("out.example:443"), (502,),
         ("failed out.example:443",)),
]  # fmt: skip


@dataclass
class World:
    """A proxy and what stands around it."""

    host: Host
    egress: Egress
    ports: dict[str, int]
    told: list[Tried] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    dialled: list[str] = field(default_factory=list)
    readers: list[asyncio.StreamReader] = field(default_factory=list)  # of what hosts say

    def named(self, text: str) -> str:
        """A text of the table with its ports: letters that stand alone behind a colon."""
        for letter, port in self.ports.items():
            text = text.replace(f":{letter}", f":{port}")
        return text

    async def lookup(self, name: str, port: int) -> list[str]:
        """A name service; `rebind.example` is public once and then this machine."""
        self.asked.append(name)
        if name == "rebind.example":
            return [HERE if self.asked.count(name) > 1 else PUBLIC]
        if name not in NAMES:
            raise Unresolved(f"The name {name} could not be resolved.")
        return NAMES[name]

    async def broken(self, port: int, asked: str, wrong: Exception) -> bytes:
        """What comes back when `wrong` befalls the host's side once it heard what was asked."""
        reader, writer = await asyncio.open_connection(HERE, port)
        writer.write(self.named(asked).encode())
        async with asyncio.timeout(5):
            while not any(heard.endswith(b"|") for heard in self.host.heard):
                await asyncio.sleep(0.005)
            self.readers[-1].set_exception(wrong)
            answer = bytearray()
            with contextlib.suppress(ConnectionError):
                while data := await reader.read(65_536):
                    answer += data
        writer.close()
        return bytes(answer)

    async def dial(self, address: str, port: int) -> streams.Pair:
        """Real connections within this machine; the outside is not there."""
        self.dialled.append(address)
        if address == PUBLIC:
            raise OSError(101, "the outside is not there")
        reader, writer = await streams.dial(address, port)
        self.readers.append(reader)
        return reader, writer


@contextlib.asynccontextmanager
async def world(bounds: Bounds | None = None) -> AsyncIterator[tuple[World, int]]:
    """A proxy of these rules, listening; and its port."""
    with socket.create_server((HERE, 0)) as closed:
        nobody = closed.getsockname()[1]
    async with host() as good, host() as other:
        ports = {"G": good.port, "O": other.port, "N": nobody}
        told = list[Tried]()
        found = World(good, None, ports, told)  # type: ignore[arg-type]
        rules = Rules.of([f"{name}:{good.port}" for name in FREE] + [f"a.wild.example:{nobody}"],
                         found.lookup)  # fmt: skip
        found.egress = Egress(
            AllowList.of(_listed(good.port, nobody)), rules, told.append, lambda: 0,
            bounds or Bounds(head_seconds=5, idle_seconds=5, linger_seconds=1), found.dial,
        )  # fmt: skip
        listener = socket.create_server((HERE, 0))
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(found.egress.serve(listener, "eff_1"))
            try:
                yield found, listener.getsockname()[1]
            finally:
                serving.cancel()
        assert not other.heard, "a place that is not allowed was reached"


def _listed(good: int, nobody: int) -> list[tuple[str, list[int]]]:
    return [
        ("api.good.example", [good]), ("*.wild.example", [good, nobody]),
        ("bücher.example", [good]), ("ten.example", [443]), ("mixed.example", [good]),
        ("meta.example", [80]), ("six.example", [good]), ("nat.example", [good]),
        ("mail.example", [25]), ("127.0.0.1", [443]), ("rebind.example", [good]),
        ("out.example", [443]),
    ]  # fmt: skip


async def talk(port: int, sent: bytes) -> bytes:
    """All that comes back for these bytes, from a client that then ends its side."""
    reader, writer = await asyncio.open_connection(HERE, port)
    try:
        async with asyncio.timeout(10):
            writer.write(sent)
            await writer.drain()
            writer.write_eof()
            return await reader.read()
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


def statuses(answer: bytes) -> tuple[int, ...]:
    """The statuses in what came back, in order."""
    return tuple(int(found) for found in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer))


async def play(case: Case) -> list[str]:
    """What is not as the table says; nothing when all is."""
    async with world() as (found, port):
        answer = await talk(port, found.named(case.sent).encode("utf-8"))
    wrong = list[str]()
    if (got := statuses(answer)) != case.statuses:
        wrong.append(f"answered {got}: {answer[:300]!r}")
    told = [f"{item.outcome} {_place(item)}" for item in found.told]
    if told != [found.named(item) for item in case.told]:
        wrong.append(f"told {told}")
    heard = b"|".join(bytes(item) for item in found.host.heard)
    if case.hears and found.named(case.hears).encode() not in heard:
        wrong.append(f"the host heard {heard!r}")
    if (not case.hears and heard) or case.never.encode() in heard.lower():
        wrong.append(f"the host heard {heard!r}")
    if found.asked != list(dict.fromkeys(found.asked)) and len(case.told) == 1:
        wrong.append(f"asked for names {found.asked}")
    return wrong


def _place(item: Tried) -> str:
    return f"[{item.host}]:{item.port}" if ":" in item.host else f"{item.host}:{item.port}"


async def main() -> int:
    """Play the table and print it."""
    failed = 0
    for case in CASES:
        wrong = await play(case)
        failed += bool(wrong)
        sys.stdout.write(f"{'FAIL' if wrong else 'pass'}  {case.name}\n")
        for words in wrong:
            sys.stdout.write(f"      {words}\n")
    sys.stdout.write(f"{len(CASES)} cases, {len(CASES) - failed} pass, {failed} fail\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
