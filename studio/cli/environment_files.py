"""Folders beside an environment manifest, sent as bytes and named in it by their hashes."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from api_client import Client
from studio.cli.manifests import Fault, File
from studio.core.rules.environments.files import FILE_BYTES, MOST_HASHED


class Sending:
    """Sends each file once, however often it is named."""

    def __init__(self, studio: Client) -> None:
        self._studio, self._sent = studio, dict[str, str]()

    def filled(self, file: File) -> tuple[File, list[Fault]]:
        """The manifest with `{"path": …, "folder": name}` entries as files by hash, and faults."""
        value = file.value
        entries = value.get("files") if isinstance(value, Mapping) else None
        if not isinstance(entries, list):
            return file, []
        made, faults = [], []
        for index, entry in enumerate(entries):
            try:
                made.append(self._entry(file, index, entry))
            except _Bad as bad:
                faults.append(file.fault(f"files[{index}].folder", bad.words))
        return replace(file, value={**value, "files": made}), faults

    def _entry(self, file: File, index: int, entry: Any) -> Any:
        if not isinstance(entry, Mapping) or "folder" not in entry:
            return entry
        here = file.path.parent.resolve()
        folder = (here / str(entry["folder"])).resolve()
        if not folder.is_relative_to(here) or not folder.is_dir():
            raise _Bad("must be a folder below that of its manifest.")
        rest = {name: item for name, item in entry.items() if name != "folder"}
        return {**rest, "files": {name: self._hash(path) for name, path in _within(folder)}}

    def _hash(self, path: Path) -> str:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise _Bad(f"has {path.name}, which cannot be read: {error.strerror}.") from error
        if len(data) > FILE_BYTES:
            raise _Bad(f"has {path.name}, which is over {FILE_BYTES:,} bytes.")
        key = hashlib.sha256(data).hexdigest()
        if key not in self._sent:
            self._sent[key] = self._studio.environment_manifests.keep_file(data)["hash"]
        return self._sent[key]


class _Bad(Exception):
    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


def _within(folder: Path) -> Iterator[tuple[str, Path]]:
    """Every plain file below a folder by its relative name; links are not followed."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    if not 1 <= len(found) <= MOST_HASHED:
        raise _Bad(f"must have 1 to {MOST_HASHED:,} files, and has {len(found):,}.")
    for path in found:
        if path.resolve().is_relative_to(folder):
            yield path.relative_to(folder).as_posix(), path
