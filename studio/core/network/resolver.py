"""Names become addresses once, and every answer is judged before any of them is used."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from studio.core.network import addresses, hosts

Lookup = Callable[[str, int], Awaitable[list[str]]]


class Refused(Exception):
    """The host may not be reached; the message says why, in words."""


class Unresolved(Exception):
    """The name has no address, or the name service failed."""


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a name by the system's resolver, each once."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Unresolved(f"The name {host} could not be resolved.") from None
    return list(dict.fromkeys(str(item[4][0]) for item in found))


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What may be reached beside public hosts, and who is asked for names.

    `allow` lists places (`host:port`) that are reached whatever their address is.
    """

    allow: frozenset[str] = frozenset()
    lookup: Lookup = field(default=resolve)

    @classmethod
    def of(cls, allow: Iterable[str], lookup: Lookup | None = None) -> "Rules":
        """The rules of an allow list as an operator writes it."""
        return cls(allow=frozenset(map(hosts.allowed, allow)), lookup=lookup or resolve)

    async def vetted(self, host: str, port: int) -> list[str]:
        """The addresses to connect to, in order; Refused or Unresolved say why there are none.

        A name is asked for once; when any of its addresses is refused, the name is refused.
        """
        try:
            name = hosts.read(host)
        except hosts.BadHost as wrong:
            raise Refused(f"The host {host} {wrong}") from None
        if is_free := hosts.place(name, port) not in self.allow:
            self._refuse_by_name(name, port)
        found = [name] if _is_address(name) else await self.lookup(name, port)
        if not found:
            raise Unresolved(f"{name} has no address.")
        if is_free:
            for address in found:
                if why := addresses.problem(address):
                    raise Refused(f"{name} is at {address} ({why}), which tools may not reach.")
        return found

    def _refuse_by_name(self, name: str, port: int) -> None:
        if why := hosts.local(name):
            raise Refused(f"{name} is {why}, which tools may not reach.")
        if port in hosts.OTHER_PORTS:
            raise Refused(f"Port {port} belongs to another protocol, so {name} is not asked there.")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
