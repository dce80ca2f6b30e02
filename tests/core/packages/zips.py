"""Zip archives for tests, good and hostile: bytes that a stranger could send."""

import io
import json
import stat
import struct
import warnings
import zipfile
from typing import Any

DESCRIBED: dict[str, Any] = {
    "name": "kit", "version": "1.2.0", "description": "Helps.",
    "servers": [
        {"name": "ledger", "transport": "stdio", "command": ["${python}", "${plugin}/x.py"]}
    ],
    "skills": ["skills/notes"],
}  # fmt: skip
SKILL = "---\nname: notes\ndescription: Writes notes.\n---\n# Notes\n\nShort ones.\n"
LINK, PIPE, DEVICE = stat.S_IFLNK | 0o777, stat.S_IFIFO | 0o644, stat.S_IFCHR | 0o644


def files(described: Any = None, **more: Any) -> dict[str, bytes]:
    """The files of a good plugin, with some of its description changed (None takes a field out)."""
    value = described if described is not None else {**DESCRIBED, **more}
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if item is not None}
    text = value if isinstance(value, str) else json.dumps(value)
    return {
        "plugin.json": text.encode(),
        "x.py": b"print('hello')\n",
        "skills/notes/SKILL.md": SKILL.encode(),
        "skills/notes/examples/long.md": b"# An example\n",
    }


def packed(found: dict[str, bytes] | None = None, **entries: bytes) -> bytes:
    """An archive of these files."""
    return zipped([*(files() if found is None else found).items(), *entries.items()])


def zipped(entries: list[Any]) -> bytes:
    """An archive of (name or ZipInfo, bytes) in this order, doubles and all."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name that stands twice is what some tests are about
        for name, data in entries:
            entry = name if isinstance(name, zipfile.ZipInfo) else zipfile.ZipInfo(name)
            if not entry.filename.endswith("/"):
                entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return made.getvalue()


def special(name: str, mode: int) -> zipfile.ZipInfo:
    """An entry that says it is a link, a pipe or a device."""
    entry = zipfile.ZipInfo(name)
    entry.create_system = 3
    entry.external_attr = mode << 16
    return entry


def renamed(data: bytes, old: bytes, new: bytes) -> bytes:
    """The archive with a name replaced by another of the same length, as bytes."""
    assert len(old) == len(new)
    return data.replace(old, new)


def flagged(data: bytes, bits: int) -> bytes:
    """The archive with flag bits set in every entry, such as 1 for encrypted."""
    return _patched(data, {b"PK\x03\x04": 6, b"PK\x01\x02": 8}, bits)


def of_method(data: bytes, method: int) -> bytes:
    """The archive with another way of packing named in every entry."""
    made = bytearray(data)
    for mark, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = made.find(mark)
        while at >= 0:
            made[at + offset : at + offset + 2] = struct.pack("<H", method)
            at = made.find(mark, at + 1)
    return bytes(made)


def lying(data: bytes, size: int) -> bytes:
    """The archive with another size told of every entry's contents."""
    made = bytearray(data)
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = made.find(mark)
        while at >= 0:
            made[at + offset : at + offset + 4] = struct.pack("<I", size)
            at = made.find(mark, at + 1)
    return bytes(made)


def _patched(data: bytes, places: dict[bytes, int], bits: int) -> bytes:
    made = bytearray(data)
    for mark, offset in places.items():
        at = made.find(mark)
        while at >= 0:
            made[at + offset] |= bits
            at = made.find(mark, at + 1)
    return bytes(made)
