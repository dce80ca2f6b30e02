"""What of a span's values is kept: long texts are cut, and their size and hash stand for the rest.

A span's values share one budget, so that no number of attributes can make one span large.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

TEXT_CHARACTERS = 64 * 1024  # of one text
SPAN_CHARACTERS = 512 * 1024  # of all texts of one span
RESOURCE_CHARACTERS = 16 * 1024  # of a resource as JSON, as it is kept with each of its spans
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


class Resources:
    """What is kept of resources, each made once: it stands before every scope and goes along with
    every span, so that a large one would count many times."""

    def __init__(self) -> None:
        self._of: object = None
        self._made: tuple[dict[str, Any], str] | Exception = {}, ""

    def of(self, resource: object, make: Callable[[], Mapping[str, Any]]) -> tuple[Any, str]:
        """Of this very resource the attributes that fit, in their order, and the service's name."""
        if self._of is not resource:
            self._of = resource
            try:
                said = make()
                self._made = _fitting(said), str(said.get("service.name", ""))
            except Exception as error:  # noqa: BLE001 - the same again for its next scope
                self._made = error
        if isinstance(self._made, Exception):
            raise self._made.with_traceback(None)
        return self._made


def _fitting(said: Mapping[str, Any]) -> dict[str, Any]:
    found, left = dict[str, Any](), RESOURCE_CHARACTERS
    for key, value in said.items():
        size = len(key) + len(json.dumps(value, ensure_ascii=False))
        if size <= left:
            found[key], left = value, left - size
    return found
