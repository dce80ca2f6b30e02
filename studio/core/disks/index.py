"""The index of the store: a short list of tables, replaced whole, and what they say together.

Everything the list names is durable before the list is, so a crash leaves the list of before or
the list of after. The list holds the store's *epoch* too, a word that changes whenever objects are
taken away: who remembers that something was kept asks again when the epoch is another.
"""

import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from studio.core.disks import durable, tables
from studio.core.disks.tables import Place, Table
from studio.core.rules.errors import Unavailable

LIST, LOCK = "list.json", "lock"
END = ".table"
MOST_TABLES = 8  # beyond that, small ones are made one
TRIES = 20  # to open what a list names, while others replace it


@dataclass(frozen=True, kw_only=True)
class _Listed:
    epoch: str
    names: tuple[str, ...]


class Index:
    """Where every object lies. Safe for threads and for several processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._listed = _Listed(epoch="", names=())
        self._tables: dict[str, Table] = {}
        with durable.locked(folder / LOCK, alone=True):
            if not (folder / LIST).exists():
                self._write(_Listed(epoch=durable.name(), names=()))
        self.refresh()

    @property
    def epoch(self) -> str:
        """The word that changes when objects are taken away, as of the last look."""
        return self._listed.epoch

    def find(self, sha: bytes) -> Place | None:
        """Where an object lies, as of the last look; None when nobody has put it there."""
        for table in self._tables.values():
            if place := table.find(sha):
                return place
        return None

    def refresh(self) -> None:
        """Look again: others may have put objects here, or moved them."""
        with self._lock:
            for _ in range(TRIES):
                listed = self._read()
                if listed == self._listed:
                    return
                try:
                    opened = {name: self._opened(name) for name in listed.names}
                except FileNotFoundError:
                    continue  # the list was replaced after we read it
                self._listed, self._tables = listed, opened
                return
        raise Unavailable("The store of disk versions changes too fast to be read; try again.")

    def all(self) -> dict[bytes, Place]:
        """Every object and where it lies, as of the last look."""
        return dict(row for table in self._tables.values() for row in table.rows())

    def add(self, places: Mapping[bytes, Place]) -> None:
        """Make objects findable, durably. Their packs must be durable already."""
        with durable.locked(self._folder / LOCK, alone=True):
            self.refresh()
            name = self._make(places)
            names = (*self._listed.names, name)
            gone = self._small(names) if len(names) > MOST_TABLES else ()
            if gone:
                merged = self._make(self._together(gone))
                names = (*(name for name in names if name not in gone), merged)
            self._write(_Listed(epoch=self._listed.epoch, names=names))
            self._remove(gone)
        self.refresh()

    def replace(self, places: Mapping[bytes, Place]) -> None:
        """From now on these objects are all there are. Only for who holds the store alone."""
        with durable.locked(self._folder / LOCK, alone=True):
            names = (self._make(places),) if places else ()
            self._write(_Listed(epoch=durable.name(), names=names))
        self.refresh()

    def sweep(self) -> None:
        """Remove tables that the list does not name, and what a crash left half written."""
        with durable.locked(self._folder / LOCK, alone=True):
            kept = {*self._read().names, LIST, LOCK}
            self._remove(path.name for path in self._folder.iterdir() if path.name not in kept)

    def _small(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Tables worth making one: each at most twice as large as all smaller ones together."""
        sizes = sorted(((self._folder / name).stat().st_size, name) for name in names)
        chosen = [sizes[0][1], sizes[1][1]]
        total = sizes[0][0] + sizes[1][0]
        for size, name in sizes[2:]:
            if size > 2 * total:
                break
            chosen.append(name)
            total += size
        return tuple(chosen)

    def _together(self, names: tuple[str, ...]) -> dict[bytes, Place]:
        return dict(row for name in names for row in self._opened(name).rows())

    def _make(self, places: Mapping[bytes, Place]) -> str:
        name = f"{durable.name()}{END}"
        tables.write(self._folder / name, places)
        return name

    def _opened(self, name: str) -> Table:
        try:
            return self._tables.get(name) or Table(self._folder / name)
        except tables.Broken:
            raise Unavailable(
                f"The index of disk versions is damaged (index/{name}); bring the store back from"
                " a backup.",
                code="disk.damaged",
            ) from None

    def _read(self) -> _Listed:
        try:
            value = json.loads((self._folder / LIST).read_bytes())
            return _Listed(epoch=value["epoch"], names=tuple(value["tables"]))
        except (ValueError, KeyError, TypeError, FileNotFoundError):
            raise Unavailable(
                "The index of disk versions cannot be read (index/list.json); bring the store back"
                " from a backup.",
                code="disk.damaged",
            ) from None

    def _write(self, listed: _Listed) -> None:
        value = {"epoch": listed.epoch, "tables": listed.names}
        durable.write(self._folder / LIST, json.dumps(value).encode())

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            (self._folder / name).unlink(missing_ok=True)
