"""Files that a manifest puts on a new disk: inline, from an artifact, or by the hash of bytes."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from studio.core.rules.reading import Reader

ARTIFACT = re.compile(r"art_[0-9a-z]{26,60}")  # an agent's are longer than a person's
HASH = re.compile(r"sha256:([0-9a-f]{64})")
MOST, MOST_HASHED = 16, 1_000
LONGEST_PATH = 400
TEXT_BYTES = 256 * 1024
FILE_BYTES = 10 * 1024 * 1024  # of each file by hash


def read(reader: Reader) -> tuple[dict[str, Any], ...]:
    """The entries, as {path, text}, {path, artifact, version} or {path, files}."""
    found, seen = [], set[str]()
    for entry in reader.objects("files", most=MOST):
        entry.known("path", "text", "artifact", "version", "files")
        path = entry.text("path", most=LONGEST_PATH, needed=True)
        if path is not None:
            if fault := path_fault(path):
                entry.fault("path", fault)
            elif path in seen:
                entry.fault("path", "is the path of another entry too.")
            seen.add(path)
        _content(entry)
        found.append({name: item for name, item in entry.value.items() if item is not None})
    return tuple(found)


def path_fault(path: str) -> str | None:
    """What is wrong with a path on the disk, as a sentence without its subject."""
    parts = path.split("/")
    if path.startswith("/") or "\\" in path or "\0" in path:
        return "must be a path on the disk: relative, with / between its parts."
    if any(part in ("", ".", "..") for part in parts):
        return "must not have empty parts, . or .. in it."
    if any(len(part.encode("utf-8", "replace")) > 255 for part in parts):
        return "has a part of more than 255 bytes."
    return None


def hashes(files: Any) -> Iterator[tuple[str, str]]:
    """(path in the manifest, hash in hex) of every file that is named by its bytes."""
    for index, entry in enumerate(files or ()):
        for name, given in (entry.get("files") or {}).items():
            yield f"files[{index}].files.{name}", given.removeprefix("sha256:")


def artifacts(files: Any) -> Iterator[tuple[str, str, int]]:
    """(path in the manifest, artifact, version) of every file that is taken from an artifact."""
    for index, entry in enumerate(files or ()):
        if entry.get("artifact"):
            yield f"files[{index}].artifact", entry["artifact"], entry["version"]


def _content(entry: Reader) -> None:
    given = [name for name in ("text", "artifact", "files") if entry.has(name)]
    if len(given) != 1:
        entry.fault("path", "needs exactly one of text, artifact and files beside it.")
        return
    if given == ["artifact"]:
        artifact = entry.text("artifact", most=64)
        if artifact is not None and not ARTIFACT.fullmatch(artifact):
            entry.fault("artifact", "must be the id of an artifact: art_….")
        entry.whole("version", 1, 1_000_000_000)
        if not entry.has("version"):
            entry.fault("version", "is needed: a new disk is the same every time.")
        return
    if entry.has("version"):
        entry.fault("version", "goes with an artifact only.")
    if given == ["text"]:
        text = entry.text("text", most=TEXT_BYTES, least=0)
        if text is not None and len(text.encode("utf-8", "replace")) > TEXT_BYTES:
            entry.fault("text", f"is larger than {TEXT_BYTES:,} bytes; send it by its hash.")
    else:
        _hashed(entry)


def _hashed(entry: Reader) -> None:
    files = entry.object("files")
    if files is None:
        return
    if not 1 <= len(files.value) <= MOST_HASHED:
        words = f"must have 1 to {MOST_HASHED:,} files, and has {len(files.value):,}."
        entry.fault("files", words)
        return
    for name, given in files.value.items():
        if len(name) > LONGEST_PATH:
            files.fault(name, f"is a path of more than {LONGEST_PATH} characters.")
        elif fault := path_fault(name):
            files.fault(name, fault)
        elif not isinstance(given, str) or not HASH.fullmatch(given):
            files.fault(name, "must be sha256: and 64 hex characters.")
    _nested(files, files.value)


def _nested(files: Reader, named: Mapping[str, Any]) -> None:
    """A file cannot be a folder of another."""
    for name in named:
        above = name.rpartition("/")[0]
        while above:
            if above in named:
                files.fault(name, f"lies below {above}, which is a file.")
            above = above.rpartition("/")[0]
