"""The bytes of a request, unpacked piece by piece: a gzip bomb is refused while it grows.

What takes two bytes to send may take a hundred in memory, so parts are counted before they are
made.
"""

import zlib

from studio.api.errors import Problem
from studio.core.rules.errors import TooLarge

PIECE = 256 * 1024
PARTS = 250_000  # resources, scopes and spans that one request may have
SPAN_PARTS = 50_000  # values that one span may have
SPAN_BYTES = 256 * 1024  # a smaller one needs no count
GZIP = 16 + zlib.MAX_WBITS
MEMBERS = 1_000  # that one gzip body may have; each costs more than its bytes


def too_large(most: int) -> TooLarge:
    """The refusal of a body over `most` bytes once it is unpacked."""
    return TooLarge(
        f"Unpacked the body is over {most:,} bytes. Send fewer spans at once.",
        code="body.too_large", details={"limit": most},
    )  # fmt: skip


def too_many() -> TooLarge:
    """The refusal of a body whose frame alone would fill the memory."""
    return TooLarge(
        f"The body has over {PARTS:,} resources, scopes and spans. Send fewer spans at once.",
        code="otlp.too_many", details={"limit": PARTS},
    )  # fmt: skip


def gunzip(data: bytes, most: int) -> bytes:
    """What is in a gzip body, of one member or several, at most `most` bytes. Blocks."""
    found, whole, at = bytearray(), memoryview(data), 0
    for _ in range(MEMBERS):
        if at >= len(data):
            return bytes(found)
        at = _member(whole, at, found, most)
    if at < len(data):
        raise _broken(f"it has more than {MEMBERS:,} members")
    return bytes(found)


def _member(data: memoryview, at: int, found: bytearray, most: int) -> int:
    """Unpack the member that begins there; the place behind it. A piece is looked at at once."""
    one, rest = zlib.decompressobj(GZIP), b""
    try:
        while not one.eof:
            if not rest:
                rest = bytes(data[at : at + PIECE])
                at += len(rest)
            is_over = not rest
            piece = one.decompress(rest, PIECE)
            found += piece
            if len(found) > most:
                raise too_large(most)
            rest = one.unconsumed_tail
            if is_over and not piece and not one.eof:
                raise _broken("it ends before its time")
    except zlib.error:
        raise _broken("its bytes are no gzip") from None
    return at - len(one.unused_data)


def _broken(why: str) -> Problem:
    return Problem(400, "body.broken_gzip", f"The body says that it is gzip, and {why}.")
