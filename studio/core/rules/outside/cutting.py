"""What of a span's values is kept: long texts are cut, and their size and hash stand for the rest.

A span's values share one budget, so that no number of attributes can make one span large.
"""

import hashlib
from typing import Any

TEXT_CHARACTERS = 64 * 1024  # of one text
SPAN_CHARACTERS = 512 * 1024  # of all texts of one span
POOR_CHARACTERS = 256  # of a text once the budget is spent
KEY_CHARACTERS = 200
ATTRIBUTES, EVENTS, LINKS = 256, 256, 128
ITEMS = 1_000  # of one list or mapping
LEVELS = 16


class Cutter:
    """The budget of one span. `cut` has the size (bytes) and SHA-256 of each text that was cut."""

    __slots__ = ("cut", "dropped", "left")

    def __init__(self) -> None:
        self.left = SPAN_CHARACTERS
        self.cut: dict[str, Any] = {}
        self.dropped = 0

    def text(self, key: str, text: str) -> str:
        """The text, or the head of it."""
        size = len(text)
        if size <= self.left and size <= TEXT_CHARACTERS:
            self.left -= size
            return text
        most = min(TEXT_CHARACTERS, max(self.left, POOR_CHARACTERS))
        if size <= most:
            return text
        self.left = max(self.left - most, 0)
        self._note(key, text.encode("utf-8", "replace"))
        return text[:most]

    def data(self, key: str, data: bytes) -> str:
        """Bytes as hex, or the head of them."""
        if 2 * len(data) <= min(self.left, TEXT_CHARACTERS):
            self.left -= 2 * len(data)
            return data.hex()
        most = min(TEXT_CHARACTERS, max(self.left, POOR_CHARACTERS))
        self.left = max(self.left - most, 0)
        self._note(key, data)
        return data[: most // 2].hex()

    def _note(self, key: str, data: bytes) -> None:
        if len(self.cut) < ATTRIBUTES:
            hash = hashlib.sha256(data).hexdigest()
            self.cut.setdefault(key[:KEY_CHARACTERS], {"size": len(data), "sha256": hash})

    def drop(self, count: int = 1) -> None:
        """Count what is left out whole: attributes, events, links, items beyond the bounds."""
        self.dropped += count
