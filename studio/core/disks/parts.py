"""Versions made of versions: one folder of another, or the same with other bytes in its files.

Nothing is read from a disk. What a version names is in the store as long as it is; who calls holds
the store's lock, together with others.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from studio.core.disks import packs, tree
from studio.core.disks.browsing import row_of
from studio.core.disks.limits import Count, Limits
from studio.core.disks.objects import Batch, Objects, Reader
from studio.core.disks.planting import Folder, plant
from studio.core.disks.tree import Row, Version, shown
from studio.core.rules.errors import Invalid

Change = Callable[[Iterator[bytes]], Iterator[bytes]]


def part(objects: Objects, version: Version, path: str, limits: Limits) -> Version:
    """A folder of a version as one; what was skipped below it is skipped in it."""
    path = path.strip("/")
    with objects.reading() as reader:
        row = row_of(reader, version, path)
        if row.kind != tree.FOLDER:
            raise Invalid(f"{shown(path)} is no folder.", code="disk.no_folder")
        found = _Counted(reader, Count(limits, "The folder"))
        found.below("", row.ref, 0)
    above = f"{path}/" if path else ""
    skipped = [(at.removeprefix(above), why) for at, why in version.skipped if at.startswith(above)]
    return Version(
        mode=row.mode, tree=row.ref, files=found.files, folders=found.folders, links=found.links,
        size=row.size, skipped=tuple(skipped),
    )  # fmt: skip


@dataclass(kw_only=True)
class _Sums:
    files: int = 0
    folders: int = 0
    links: int = 0


class _Counted(_Sums):
    """What lies below a folder, held to the limits."""

    def __init__(self, reader: Reader, count: Count) -> None:
        super().__init__()
        self._reader, self._count = reader, count

    def below(self, prefix: str, sha: str, depth: int) -> None:
        """Count a folder."""
        self._count.depth(prefix, depth)
        for name, row in self._reader.rows(sha).items():
            path = prefix + name
            self._count.add(path, row.size if row.kind == tree.FILE else 0)
            if row.kind == tree.FOLDER:
                self.folders += 1
                self.below(f"{path}/", row.ref, depth + 1)
            elif row.kind == tree.LINK:
                self.links += 1
            else:
                self.files += 1


def changed(objects: Objects, version: Version, change: Change) -> Version:
    """The version with each file as `change` gives its bytes; itself when that changes none."""
    with objects.reading() as reader, objects.writing() as batch:
        made = _Made(reader, batch, change)
        top = Folder(path="", mode=version.mode, mtime_ns=0)
        made.fill(top, version.tree)
        return plant(top, batch, list(version.skipped)) if made.any else version


@dataclass(kw_only=True)
class _Seen:
    files: dict[str, tuple[str, int]] = field(default_factory=dict)
    any: bool = False


class _Made(_Seen):
    """A tree on its way to be another."""

    def __init__(self, reader: Reader, batch: Batch, change: Change) -> None:
        super().__init__()
        self._reader, self._batch, self._change = reader, batch, change

    def fill(self, folder: Folder, sha: str) -> None:
        """Put into a folder what the one of this hash holds, changed."""
        for name, row in self._reader.rows(sha).items():
            path = folder.path + name
            if row.kind == tree.FOLDER:
                inner = Folder(path=f"{path}/", mode=row.mode, mtime_ns=row.mtime_ns)
                self.fill(inner, row.ref)
                folder.folders[name] = inner
            else:
                folder.rows[name] = self._row(row) if row.kind == tree.FILE else row

    def _row(self, row: Row) -> Row:
        if row.ref not in self.files:
            self.files[row.ref] = self._file(row)
        ref, size = self.files[row.ref]
        self.any |= ref != row.ref
        return row._replace(ref=ref, size=size)

    def _file(self, row: Row) -> tuple[str, int]:
        """The hash and size of what a file becomes; it is read twice only when that is another."""
        digest = hashlib.sha256()
        for piece in self._change(self._reader.pieces(row.ref)):
            digest.update(piece)
        if digest.hexdigest() == row.ref:
            return row.ref, row.size
        pieces = self._change(self._reader.pieces(row.ref))
        if row.size > packs.SMALL:
            return self._batch.add_pieces(pieces)
        data = b"".join(pieces)
        return self._batch.add_bytes(data), len(data)
