"""Which addresses a tool may reach. Everything that is not a public host is refused by a table.

`ipaddress.is_global` is not used: it calls loopback behind NAT64, 6to4 and `::127.0.0.1` global.
A name is resolved once; when any of its addresses is refused, the name is refused.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable

Lookup = Callable[[str, int], Awaitable[list[str]]]

_IPV4 = {
    "0.0.0.0/8": "this host",
    "10.0.0.0/8": "a private network",
    "100.64.0.0/10": "a carrier's shared network",
    "127.0.0.0/8": "loopback",
    "168.63.129.16/32": "a cloud's metadata",
    "169.254.0.0/16": "link-local, where clouds keep their metadata",
    "172.16.0.0/12": "a private network",
    "192.0.0.0/24": "reserved for protocols",
    "192.0.2.0/24": "documentation",
    "192.31.196.0/24": "reserved for name service",
    "192.52.193.0/24": "reserved for multicast tunnels",
    "192.88.99.0/24": "a 6to4 relay",
    "192.168.0.0/16": "a private network",
    "192.175.48.0/24": "reserved for name service",
    "198.18.0.0/15": "reserved for benchmarks",
    "198.51.100.0/24": "documentation",
    "203.0.113.0/24": "documentation",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved",
}
_IPV6_PUBLIC = ipaddress.IPv6Network("2000::/3")
_IPV6 = {
    "2001::/23": "reserved for protocols and tunnels",
    "2001:db8::/32": "documentation",
    "2002::/16": "6to4, which hides another address",
    "2620:4f:8000::/48": "reserved for name service",
    "3fff::/20": "documentation",
}
_DENIED = {ipaddress.ip_network(net): why for net, why in {**_IPV4, **_IPV6}.items()}


class Refused(Exception):
    """The host may not be reached; the message says why, in words."""


class Unresolved(Exception):
    """The name has no address, or the name service failed."""


def problem(address: str) -> str | None:
    """Why this address may not be reached, or None when it is public."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "not an address"
    if isinstance(parsed, ipaddress.IPv6Address) and (
        parsed.scope_id is not None or parsed not in _IPV6_PUBLIC
    ):
        return "not a public IPv6 address"
    for network, why in _DENIED.items():
        if parsed.version == network.version and parsed in network:
            return why
    return None


async def vetted(
    host: str, port: int, allow: frozenset[str], lookup: Lookup | None = None
) -> list[str]:
    """The addresses to connect to, in order; Refused or Unresolved say why there are none.

    A `host:port` in `allow`, written as in the URL, is reached whatever its address is.
    """
    found = await (lookup or resolve)(host, port)
    if not found:
        raise Unresolved(f"{host} has no address.")
    if place(host, port) not in allow:
        for address in found:
            if why := problem(address):
                raise Refused(f"{host} is at {address} ({why}), which tools may not reach.")
    return found


def place(host: str, port: int) -> str:
    """`host:port`, with IPv6 addresses in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a name by the system's resolver, each once."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Unresolved(f"The name {host} could not be resolved.") from None
    return list(dict.fromkeys(str(item[4][0]) for item in found))
