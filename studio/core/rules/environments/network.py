"""The hosts that an environment may reach. Everything else is closed."""

import ipaddress
import re
from collections.abc import Mapping
from typing import Any

from studio.core.rules.reading import Reader

PART = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?"
LAST = r"[A-Za-z]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
HOST = re.compile(rf"(\*\.)?({PART}\.)+{LAST}")
WORDS = re.compile(rf"\*?|(\*\.)?{LAST}")  # names of one part, and what stands for everything
MOST, MOST_PORTS = 100, 16
PORTS = (443,)


def read(reader: Reader) -> tuple[dict[str, Any], ...]:
    """The allow-list as [{host, ports}], hosts in small letters and ports written out."""
    network = reader.object("network")
    if network is None:
        return ()
    network.known("allow")
    found, seen = [], set[str]()
    for entry in network.objects("allow", most=MOST):
        entry.known("host", "ports")
        host = (entry.text("host", most=253, needed=True) or "").lower()
        if host and (fault := host_fault(host)):
            entry.fault("host", fault)
        elif host and host in seen:
            entry.fault("host", "is given twice; name all its ports in one entry.")
        seen.add(host)
        found.append({"host": host, "ports": _ports(entry)})
    return tuple(found)


def allowing(manifest: Mapping[str, Any], host: str, port: int) -> dict[str, Any]:
    """The manifest (its JSON) that lets this host be reached too: what a refused try proposes."""
    allow = [dict(one) for one in (manifest.get("network") or {}).get("allow") or ()]
    for entry in allow:
        if entry["host"].lower() == host.lower():
            entry["ports"] = sorted({*(entry.get("ports") or PORTS), port})
            break
    else:
        allow.append({"host": host.lower(), "ports": [port]})
    return {**manifest, "network": {"allow": allow}}


def host_fault(host: str) -> str | None:
    """What is wrong with a host of the allow-list, as a sentence without its subject.

    A name that leads to a private address is refused when it is reached, not here.
    """
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        pass
    else:
        if not address.is_global or address.is_multicast:
            return "is an address that is not public; no environment reaches it."
        return None
    if host in ("*", "*."):
        return "would open every host; name the hosts, or a suffix such as *.example.com."
    if not HOST.fullmatch(host):
        if WORDS.fullmatch(host):
            return "must have two parts at least, such as example.com or *.example.com."
        return "must be the name of a host, or *. and a suffix, without scheme, port and path."
    return None


def _ports(entry: Reader) -> list[int]:
    if not entry.has("ports"):
        return list(PORTS)
    found = []
    for path, port in entry.items("ports", most=MOST_PORTS):
        if isinstance(port, bool) or not isinstance(port, int) or not 1 <= port <= 65_535:
            entry.faults.add(path, "must be a port, a whole number from 1 to 65,535.")
        else:
            found.append(port)
    if entry.value["ports"] == []:
        entry.fault("ports", "must name one port at least; without the field it is 443.")
    return sorted(set(found))
