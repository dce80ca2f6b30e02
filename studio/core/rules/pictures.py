"""How large a picture is, read from its header alone. Nothing is decoded."""

from collections.abc import Callable

Size = tuple[int, int]
_NO_FRAME = frozenset({0xC4, 0xC8, 0xCC})  # tables and extensions among JPEG's frame markers


def size(media: str, data: bytes) -> Size | None:
    """Width and height in pixels; None when the header does not say, or is broken."""
    read = _READERS.get(media)
    try:
        found = read(data) if read else None
    except IndexError:
        return None
    return found if found and min(found) > 0 else None


def _png(data: bytes) -> Size | None:
    if data[12:16] != b"IHDR" or len(data) < 24:
        return None
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def _gif(data: bytes) -> Size | None:
    if len(data) < 10:
        return None
    return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")


def _jpeg(data: bytes) -> Size | None:
    """Go from segment to segment until a frame says how large it is."""
    at = 2
    while at + 9 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:  # a filler
            at += 1
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:
            at += 2
        elif 0xC0 <= marker <= 0xCF and marker not in _NO_FRAME:
            height, width = data[at + 5 : at + 7], data[at + 7 : at + 9]
            return int.from_bytes(width, "big"), int.from_bytes(height, "big")
        else:
            length = int.from_bytes(data[at + 2 : at + 4], "big")
            if length < 2:
                return None
            at += 2 + length
    return None


def _webp(data: bytes) -> Size | None:
    if len(data) < 30:
        return None
    if data[12:16] == b"VP8X":
        width, height = data[24:27], data[27:30]
        return int.from_bytes(width, "little") + 1, int.from_bytes(height, "little") + 1
    if data[12:16] == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = data[26:28], data[28:30]
    return int.from_bytes(width, "little") & 0x3FFF, int.from_bytes(height, "little") & 0x3FFF


_READERS: dict[str, Callable[[bytes], Size | None]] = {
    "image/png": _png, "image/gif": _gif, "image/jpeg": _jpeg, "image/webp": _webp,
}  # fmt: skip
