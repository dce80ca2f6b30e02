"""How large a picture is, from its header."""

import struct

import pytest

from studio.core.rules import pictures


def png(width: int, height: int) -> bytes:
    return (
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x06\0\0\0"
    )


def jpeg(width: int, height: int, *, before: int = 0) -> bytes:
    """A frame behind `before` bytes of somebody's own."""
    own = b"\xff\xe1" + struct.pack(">H", before + 2) + b"x" * before if before else b""
    table = b"\xff\xc4\x00\x04ab"
    frame = b"\xff\xff\xc2" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\0"
    return b"\xff\xd8\xff\xe0\x00\x04ab" + own + table + frame + b"\xff\xd9"


def webp(kind: bytes, rest: bytes) -> bytes:
    return b"RIFF\0\0\0\0WEBP" + kind + b"\0\0\0\0" + rest + b"\0" * 20


CASES = {
    "png": ("image/png", png(640, 480), (640, 480)),
    "gif": ("image/gif", b"GIF89a" + struct.pack("<HH", 3, 70_00) + b"\0", (3, 7_000)),
    "jpeg": ("image/jpeg", jpeg(1_024, 768), (1_024, 768)),
    "jpeg behind much": ("image/jpeg", jpeg(5, 6, before=60_000), (5, 6)),
    "webp": ("image/webp", webp(b"VP8 ", b"\0" * 6 + struct.pack("<HH", 320, 200)), (320, 200)),
    "webp lossless": (
        "image/webp", webp(b"VP8L", b"\x2f" + ((99) | (49 << 14)).to_bytes(4, "little")), (100, 50),
    ),
    "webp extended": (
        "image/webp", webp(b"VP8X", b"\0\0\0\0" + b"\x0f\0\0" + b"\x1f\0\0"), (16, 32),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_header_says_how_large_a_picture_is(name: str) -> None:
    media, data, size = CASES[name]

    assert pictures.size(media, data) == size


@pytest.mark.parametrize("name", CASES)
def test_a_header_that_is_cut_says_nothing_and_breaks_nothing(name: str) -> None:
    media, data, size = CASES[name]

    for length in range(len(data)):
        assert pictures.size(media, data[:length]) in (None, size)


def test_no_size_is_none() -> None:
    assert pictures.size("image/png", png(0, 9)) is None
    assert pictures.size("text/plain", b"hello") is None
    assert pictures.size("image/jpeg", b"\xff\xd8\xff\xe0\x00\x00" + b"\0" * 20) is None
