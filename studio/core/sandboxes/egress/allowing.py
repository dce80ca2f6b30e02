"""Which places an environment may reach: hosts, exact or `*.suffix`, with their ports."""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from studio.core.network import hosts


class BadPlace(ValueError):
    """An entry of an allow-list that cannot be meant; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """One entry. `host` is a name, an address, or `*.` before a name; `ports` are 1 to 65535."""

    host: str
    ports: frozenset[int] = frozenset({443})

    def holds(self, host: str, port: int) -> bool:
        """Whether a host in its one form and a port are of this entry.

        `*.example.com` holds every name below `example.com`, not the name itself. An address is
        only ever held by the same address.
        """
        if port not in self.ports:
            return False
        if not self.host.startswith("*."):
            return host == self.host
        return host.endswith(self.host[1:]) and not _is_address(host)


@dataclass(frozen=True)
class AllowList:
    """The places; an empty list lets nothing out."""

    places: tuple[Place, ...] = ()

    @classmethod
    def of(cls, entries: Iterable[tuple[str, Iterable[int]]]) -> "AllowList":
        """Hosts and their ports as an operator writes them; BadPlace says which cannot be meant."""
        return cls(tuple(place(host, ports) for host, ports in entries))

    def __bool__(self) -> bool:
        return bool(self.places)

    def holds(self, host: str, port: int) -> bool:
        """Whether a host in its one form (see `network.hosts.read`) may be reached at a port."""
        return any(found.holds(host, port) for found in self.places)


def place(host: str, ports: Iterable[int]) -> Place:
    """One entry with its host in its one form."""
    numbers = frozenset(ports)
    if not numbers:
        raise BadPlace(f"{host} has no port; write the ports, such as 443.")
    if wrong := sorted(number for number in numbers if not 0 < number < 65_536):
        raise BadPlace(f"{host} has a port {wrong[0]}, and ports are 1 to 65535.")
    suffix = host.startswith("*.")
    try:
        name = hosts.read(host.removeprefix("*.").removeprefix("[").removesuffix("]"))
    except hosts.BadHost as fault:
        raise BadPlace(f"{host} {fault}") from None
    if suffix and (_is_address(name) or "." not in name):
        raise BadPlace(f"{host} would hold too much; write at least two labels after “*.”.")
    return Place(host=f"*.{name}" if suffix else name, ports=numbers)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
