"""Paths of a disk in an address, there and back whatever bytes they have.

A name on a disk is bytes. Here a byte that is no UTF-8 is a lone surrogate (PEP 383), which no JSON
and no page can carry; percent-encoded (RFC 3986) every byte can.
"""

from urllib.parse import parse_qsl, quote

ESCAPED = "surrogateescape"


def written(path: str) -> str:
    """The path for an address, each byte that is not plain there as `%XX`."""
    return quote(path, safe="/", errors=ESCAPED)


def asked(query: bytes, name: str) -> str:
    """The field of a raw query, as a path; empty when it is not there."""
    text = query.decode("utf-8", ESCAPED)
    pairs = parse_qsl(text, keep_blank_values=True, errors=ESCAPED)
    found = next((value for key, value in pairs if key == name), "")
    return found.encode("utf-8", ESCAPED).decode("utf-8", ESCAPED)


def clean(path: str) -> str:
    """The path as text that every reader takes: a byte that is no UTF-8 is U+FFFD."""
    return path.encode("utf-8", ESCAPED).decode("utf-8", "replace")
