"""The bytes of a request, unpacked piece by piece: a gzip bomb is refused while it grows."""

import zlib

from studio.api.errors import Problem
from studio.core.rules.errors import TooLarge

PIECE = 256 * 1024
GZIP = 16 + zlib.MAX_WBITS


def too_large(most: int) -> TooLarge:
    """The refusal of a body over `most` bytes once it is unpacked."""
    return TooLarge(
        f"Unpacked the body is over {most:,} bytes. Send fewer spans at once.",
        code="body.too_large", details={"limit": most},
    )  # fmt: skip


def gunzip(data: bytes, most: int) -> bytes:
    """What is in a gzip body, of one member or several, at most `most` bytes. Blocks."""
    found, rest = bytearray(), data
    while rest:
        one = zlib.decompressobj(GZIP)
        try:
            while not one.eof:
                piece = one.decompress(rest, PIECE)
                found += piece
                if len(found) > most:
                    raise too_large(most)
                rest = one.unconsumed_tail
                if not rest and not piece and not one.eof:
                    raise _broken("it ends before its time")
        except zlib.error:
            raise _broken("its bytes are no gzip") from None
        rest = one.unused_data
    return bytes(found)


def _broken(why: str) -> Problem:
    return Problem(400, "body.broken_gzip", f"The body says that it is gzip, and {why}.")
