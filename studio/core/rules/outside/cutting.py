"""What of a span's values is kept: long texts are cut, and their size and hash stand for the rest.

A `Cutter` bounds texts while a span is read. What a span says in full is measured as it is kept,
as JSON with every key, value, event and link: beyond the bound `fitting` leaves values out.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

TEXT_BYTES = 64 * 1024  # of one text
SPAN_BYTES = 512 * 1024  # of all that one span says, as JSON; and of its texts by themselves
NOTES_BYTES = 64 * 1024  # of that, for what is said of texts that were cut
RESOURCE_BYTES = 16 * 1024  # of a resource as JSON, as it is kept with each of its spans
KEY_CHARACTERS = 200
ATTRIBUTES, EVENTS, LINKS = 256, 256, 128
ITEMS = 1_000  # of one list or mapping
LEVELS = 16
ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)

Said = Mapping[str, Any]


class Cutter:
    """The budget of one span's texts. `cut` has the size (bytes) and SHA-256 of each text that was
    cut; once the budget is spent nothing else is left of a text."""

    __slots__ = ("cut", "dropped", "left")

    def __init__(self) -> None:
        self.left = SPAN_BYTES
        self.cut: dict[str, Any] = {}
        self.dropped = 0

    def text(self, key: str, text: str) -> str:
        """The text, or the head of it."""
        if text.isascii() and len(text) <= self.left and len(text) <= TEXT_BYTES:
            self.left -= len(text)
            return text
        data = text.encode("utf-8", "replace")
        most = min(TEXT_BYTES, self.left)
        if len(data) <= most:
            self.left -= len(data)
            return text
        self.left -= most
        self._note(key, data)
        return data[:most].decode("utf-8", "ignore")

    def data(self, key: str, data: bytes) -> str:
        """Bytes as hex, or the head of them."""
        most = min(TEXT_BYTES, self.left)
        if 2 * len(data) > most:
            self._note(key, data)
        found = data[: most // 2].hex()
        self.left -= len(found)
        return found

    def key(self, text: str) -> str:
        """The name of a value, or the head of it."""
        if len(text) <= KEY_CHARACTERS:
            return text
        head = text[:KEY_CHARACTERS]
        self._note(f"{head} (its name)", text.encode("utf-8", "replace"))
        return head

    def _note(self, key: str, data: bytes) -> None:
        if len(self.cut) < ATTRIBUTES:
            self.cut.setdefault(key[: 2 * KEY_CHARACTERS], noted(data))
        else:
            self.drop()

    def drop(self, count: int = 1) -> None:
        """Count what is left out whole: attributes, events, links, items beyond the bounds."""
        self.dropped += count


def written(value: Any) -> bytes:
    """A value as JSON, as it is kept."""
    return ENCODER.encode(value).encode("utf-8", "replace")


def noted(data: bytes) -> dict[str, Any]:
    """What stands for bytes that are not here."""
    return {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def fitting(said: Said) -> dict[str, Any]:
    """Of all that a span says as much as is kept of one, in its order; the rest is counted, and
    each attribute that is left out has its size and SHA-256 as JSON among what was cut."""
    fit = _Fit(said)
    return {
        "resource": said["resource"], "attributes": fit.values(said["attributes"], ""),
        "events": list(fit.parts(said["events"], "name")),
        "links": list(fit.parts(said["links"], "")), "cut": fit.cut, "dropped": fit.dropped,
    }  # fmt: skip


class _Fit:
    """The bytes of one span, spent on each value as it stands in JSON."""

    FRAME = 256  # bytes for the names of the parts, brackets and numbers

    def __init__(self, said: Said) -> None:
        self.dropped = int(said["dropped"])
        self.cut: dict[str, Any] = {}
        self._notes = NOTES_BYTES
        for key, note in said["cut"].items():
            self.dropped += 0 if self._note(key, note) else 1
        self._left = SPAN_BYTES - NOTES_BYTES - self.FRAME - len(written(said["resource"]))

    def values(self, said: Said, place: str) -> dict[str, Any]:
        """The attributes that fit."""
        found = dict[str, Any]()
        for key, value in said.items():
            data = written(value)
            if self._spend(len(written(key)) + len(data)):
                found[key] = value
            else:
                self.dropped += 1
                self._note(place + key, noted(data))
        return found

    def parts(self, parts: Iterable[Said], name: str) -> Iterable[dict[str, Any]]:
        """The events or links that fit, each with the attributes that do."""
        for part in parts:
            bare = {**part, "attributes": {}}
            if self._spend(len(written(bare))):
                place = f"{part[name][:KEY_CHARACTERS]} " if name else "link "
                yield {**bare, "attributes": self.values(part["attributes"], place)}
            else:
                self.dropped += 1

    def _spend(self, size: int) -> bool:
        fits = size + 2 <= self._left  # a colon and a comma
        self._left -= size + 2 if fits else 0
        return fits

    def _note(self, key: str, note: Any) -> bool:
        size = len(written(key)) + len(written(note)) + 2
        fits = size <= self._notes and key not in self.cut
        if fits:
            self.cut[key], self._notes = note, self._notes - size
        return fits


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
    found, left = dict[str, Any](), RESOURCE_BYTES
    for key, value in said.items():
        size = len(written(key)) + len(written(value)) + 2
        if size <= left:
            found[key], left = value, left - size
    return found
