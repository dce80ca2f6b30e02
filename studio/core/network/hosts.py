"""Hosts as they are written, read to the one form that is judged, shown and connected to.

`127.1`, `0x7f000001`, `127.0.0.1.` and `127.0.0.1` are one address here, as they are for the
system's resolver. What is written to look like something else is refused.
"""

import ipaddress
import re
import unicodedata
from urllib.parse import urlsplit, urlunsplit

_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_OTHER_DOTS = frozenset("\u3002\uff0e\uff61")
_PLACE = re.compile(r"\{\w*\}")

# Names that mean this machine, or the metadata of a cloud, whatever a name service says of them.
LOCAL_NAMES = {
    "localhost": "this machine",
    "localhost.localdomain": "this machine",
    "localhost4": "this machine",
    "localhost4.localdomain4": "this machine",
    "localhost6": "this machine",
    "localhost6.localdomain6": "this machine",
    "ip6-localhost": "this machine",
    "ip6-loopback": "this machine",
    "broadcasthost": "every machine of this network",
    "metadata": "a cloud's metadata",
    "metadata.goog": "a cloud's metadata",
    "metadata.google.internal": "a cloud's metadata",
    "instance-data": "a cloud's metadata",
    "instance-data.ec2.internal": "a cloud's metadata",
    "kubernetes.default.svc": "the machinery of a cluster",
    "host.docker.internal": "the machine that a container runs on",
}

# Ports that other protocols listen on and that could be spoken to by a crafted request; the list
# that browsers keep (Fetch standard, "bad port").
OTHER_PORTS = frozenset({
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
})  # fmt: skip


class BadHost(ValueError):
    """It is no host, or one written to mislead; the message says why, without its subject."""


def read(host: str) -> str:
    """The host in its one form: an IPv4 or IPv6 address, or a name in ASCII without a last dot.

    `host` stands without brackets. BadHost says what is wrong with it.
    """
    if not host:
        raise BadHost("is missing.")
    if ":" in host:
        return _ipv6(host)
    name = _ascii(host).lower()
    name = name[:-1] if name.endswith(".") else name
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(labels)
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise BadHost("is neither an address nor a name.")
    return name


def local(host: str) -> str | None:
    """What a name in its one form means in any case, when it may not be asked for; else None."""
    if host.endswith(".localhost"):
        return "this machine"
    return LOCAL_NAMES.get(host)


def place(host: str, port: int) -> str:
    """`host:port`, with IPv6 addresses in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def allowed(entry: str) -> str:
    """An entry `host:port` of an allow list with its host in its one form."""
    host, _, port = entry.rpartition(":")
    try:
        return place(read(host.removeprefix("[").removesuffix("]")), int(port))
    except ValueError:
        return entry


def url_problem(url: str) -> str | None:
    """What is wrong with an address to call, as a sentence without its subject; None when nothing.

    Places such as `{name}` may stand behind its host.
    """
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in url) or "\\" in url:
        return "has control characters or “\\”."
    try:
        parts = urlsplit(url)
        port = parts.port
        ipv6 = "[" in parts.netloc
    except ValueError as wrong:
        return f"cannot be read: {wrong}."
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        return "is not an http or https address."
    if "@" in parts.netloc or parts.fragment or _PLACE.search(parts.netloc):
        return "may have parameters only in path and query, and no user."
    try:
        found = read(parts.hostname)
    except BadHost as wrong:
        return f"has a host that {wrong}"
    if ipv6 != (":" in found):
        return "has brackets around something that is no IPv6 address."
    return None


def shown(url: str) -> str:
    """The address with its host in the form that is really called, for a person to check."""
    try:
        parts = urlsplit(url)
        host = read(parts.hostname or "")
        netloc = host if ":" not in host else f"[{host}]"
        netloc += f":{parts.port}" if parts.port is not None else ""
    except ValueError:
        return url
    if netloc == parts.netloc.lower():
        return url
    return urlunsplit(parts._replace(netloc=netloc))


def _ascii(host: str) -> str:
    if host.isascii():
        return host
    plain = unicodedata.normalize("NFKC", host) == unicodedata.normalize("NFC", host)
    if not plain or _OTHER_DOTS & set(host):
        raise BadHost("is written in characters that stand for others; write it plainly.")
    import idna

    try:
        return idna.encode(host.lower()).decode("ascii")
    except idna.IDNAError:
        raise BadHost("is no name of another language that can be asked for.") from None


def _ipv6(host: str) -> str:
    if "%" in host:
        raise BadHost("names a network card (“%”), which is this machine's alone.")
    try:
        return str(ipaddress.IPv6Address(host))
    except ValueError:
        raise BadHost("is not an IPv6 address.") from None


def _ipv4(labels: list[str]) -> str:
    """One to four numbers, decimal, octal or hexadecimal; the last one fills what is left."""
    if len(labels) > 4 or not all(map(_NUMBER.fullmatch, labels)):
        raise BadHost("ends in a number and is not an IPv4 address.")
    try:
        numbers = [_number(label) for label in labels]
    except ValueError:
        raise BadHost("has a number that cannot be read.") from None
    *first, last = numbers
    if any(number > 255 for number in first) or last >= 256 ** (5 - len(numbers)):
        raise BadHost("has a number that is too large for an IPv4 address.")
    value = sum(number << 8 * (3 - index) for index, number in enumerate(first)) + last
    return str(ipaddress.IPv4Address(value))


def _number(label: str) -> int:
    if label[:2] in {"0x", "0X"}:
        return int(label[2:] or "0", 16)
    return int(label, 8 if len(label) > 1 and label[0] == "0" else 10)
