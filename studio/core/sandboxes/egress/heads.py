"""Heads of HTTP/1.1 messages, read strictly: what two readers could read differently is refused.

The rules are those of RFC 9112: request line and absolute form (3), field lines (5), the length of
a body (6). A head that ends a line with a bare CR or LF, folds a line, or says two things about
the length of its body is a smuggler's, or broken.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from studio.core.network import hosts

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_PLAIN = re.compile(r"[\x21-\x7e]+")
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^\[\]:/?#@\\]*)(?::(\d{1,5}))?")
_STATUS = re.compile(r"HTTP/1\.[01] ([1-9]\d\d)(?: .*)?")
# Fields that are between two neighbours and go no further (RFC 9110, 7.6.1).
_HOPS = frozenset(
    "connection keep-alive proxy-connection proxy-authenticate proxy-authorization te trailer"
    " transfer-encoding upgrade".split()
)

Fields = tuple[tuple[str, str], ...]


class BadHead(ValueError):
    """It cannot be read in one way alone; the message is a sentence about the request."""


@dataclass(frozen=True, kw_only=True)
class Length:
    """How a body ends: it is not there, after `size` bytes, in chunks, or with the connection."""

    kind: Literal["none", "size", "chunks", "close"]
    size: int = 0


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request's head. `target` is what stands in its first line; names are in small letters."""

    method: str
    target: str
    version: str
    fields: Fields


@dataclass(frozen=True, kw_only=True)
class Target:
    """The place that a request names. `path` is for the host alone, and empty for a tunnel."""

    host: str
    port: int
    path: str = ""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer's head."""

    status: int
    line: str
    fields: Fields


def request(raw: bytes) -> Request:
    """The head of a request, with its blank line; BadHead when it is not to be trusted."""
    first, fields = _lines(raw)
    parts = first.split(" ")
    if len(parts) != 3 or not _TOKEN.fullmatch(parts[0]) or not _PLAIN.fullmatch(parts[1]):
        raise BadHead("The first line of the request cannot be read.")
    if parts[2] not in {"HTTP/1.0", "HTTP/1.1"}:
        raise BadHead("The proxy speaks HTTP/1.1 alone.")
    if len(_all(fields, "host")) > 1:
        raise BadHead("The request names its host twice.")
    return Request(method=parts[0], target=parts[1], version=parts[2], fields=fields)


def answer(raw: bytes) -> Answer:
    """The head of an answer."""
    first, fields = _lines(raw)
    found = _STATUS.fullmatch(first)
    if found is None:
        raise BadHead("The first line of the answer cannot be read.")
    return Answer(status=int(found[1]), line=first.partition(" ")[2], fields=fields)


def target(asked: Request) -> Target:
    """Where a request wants to go: `host:port` of CONNECT, or a whole `http://` address.

    The Host field decides nothing.
    """
    if asked.method == "CONNECT":
        if request_length(asked).kind != "none":
            raise BadHead("A tunnel is asked for without a body.")
        host, port = _authority(asked.target, None)
        return Target(host=host, port=port)
    scheme, colon, rest = asked.target.partition("://")
    if not colon or scheme.lower() != "http":
        raise BadHead(
            "This is a proxy: ask for a whole http:// address, or for a tunnel (CONNECT)."
        )
    if "#" in rest or "\\" in rest:
        raise BadHead("The address has a “#” or “\\”, which is never sent.")
    end = min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest))
    host, port = _authority(rest[:end], 80)
    path = rest[end:]
    return Target(host=host, port=port, path=path if path.startswith("/") else f"/{path}")


def request_length(asked: Request) -> Length:
    """How the body of a request ends (RFC 9112, 6.3); BadHead when it says two things."""
    codings, sizes = _all(asked.fields, "transfer-encoding"), _all(asked.fields, "content-length")
    if codings:
        if (
            sizes
            or asked.version == "HTTP/1.0"
            or [item.lower() for item in codings] != ["chunked"]
        ):
            raise BadHead("The length of the request's body is told in two ways, or in none known.")
        return Length(kind="chunks")
    return _sized(sizes) if sizes else Length(kind="none")


def answer_length(found: Answer, method: str) -> Length:
    """How the body of an answer to `method` ends."""
    if method == "HEAD" or found.status < 200 or found.status in {204, 304}:
        return Length(kind="none")
    codings, sizes = (_all(found.fields, n) for n in ("transfer-encoding", "content-length"))
    if codings:
        if [item.lower() for item in codings] != ["chunked"]:
            raise BadHead("The answer's body is packed in a way that is not known.")
        return Length(kind="chunks")
    return _sized(sizes) if sizes else Length(kind="close")


def passed_on(fields: Fields, *, without: Iterable[str] = ()) -> Fields:
    """The fields that go further: none that is between neighbours, named so, or in `without`."""
    named = {
        item.strip().lower() for value in _all(fields, "connection") for item in value.split(",")
    }
    left = _HOPS | named | set(without)
    return tuple((name, value) for name, value in fields if name not in left)


def keeps(version: str, fields: Fields) -> bool:
    """Whether the connection may carry another message (RFC 9112, 9.3)."""
    said = {
        item.strip().lower()
        for name in ("connection", "proxy-connection")
        for value in _all(fields, name)
        for item in value.split(",")
    }
    return "close" not in said and (version == "HTTP/1.1" or "keep-alive" in said)


def written(first: str, fields: Fields) -> bytes:
    """A head as bytes, with its blank line."""
    lines = [first, *(f"{name}: {value}" for name, value in fields), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def _lines(raw: bytes) -> tuple[str, Fields]:
    text = raw.decode("latin-1")
    first, *rest = text.removeprefix("\r\n").removesuffix("\r\n\r\n").split("\r\n")
    if _CONTROL.search(first):
        raise BadHead("The first line has control characters.")
    return first, tuple(map(_field, rest))


def _field(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not _TOKEN.fullmatch(name) or _CONTROL.search(value):
        raise BadHead("A header cannot be read in one way alone.")
    return name.lower(), value.strip(" \t")


def _all(fields: Fields, name: str) -> list[str]:
    return [value for found, value in fields if found == name]


def _sized(sizes: list[str]) -> Length:
    """A length is told once, or the same each time."""
    if len(set(sizes)) != 1 or not (sizes[0].isascii() and sizes[0].isdigit()):
        raise BadHead("The length of the body is not one number.")
    if len(sizes[0]) > 15:
        raise BadHead("The length of the body is too large.")
    return Length(kind="size", size=int(sizes[0]))


def _authority(text: str, port: int | None) -> tuple[str, int]:
    """Host, in its one form, and port."""
    if "@" in text:
        raise BadHead("The address has a user in it; leave it out.")
    found = _AUTHORITY.fullmatch(text)
    number = int(found[2]) if found and found[2] else port
    if found is None or number is None or not 0 < number < 65_536:
        raise BadHead("The place cannot be read; write host:port.")
    try:
        host = hosts.read(found[1].removeprefix("[").removesuffix("]"))
    except hosts.BadHost as wrong:
        raise BadHead(f"The host {wrong}") from None
    if (":" in host) != found[1].startswith("["):
        raise BadHead("The host has brackets around something that is no IPv6 address.")
    return host, number
