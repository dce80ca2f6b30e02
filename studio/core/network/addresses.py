"""Which addresses may be reached. Everything that is not a public host is refused by a table.

`ipaddress.is_global` is not used: it calls loopback behind NAT64, 6to4 and `::127.0.0.1` global.
"""

import ipaddress

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
    "240.0.0.0/4": "reserved, or broadcast",
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
_ISATAP = frozenset({0x0000_5EFE, 0x0200_5EFE})


def problem(address: str) -> str | None:
    """Why this address may not be reached, or None when it is public."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "not an address"
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.scope_id is not None or parsed not in _IPV6_PUBLIC:
            return "not a public IPv6 address"
        if int(parsed) >> 32 & 0xFFFF_FFFF in _ISATAP:
            return "ISATAP, which hides another address"
    for network, why in _DENIED.items():
        if parsed.version == network.version and parsed in network:
            return why
    return None
