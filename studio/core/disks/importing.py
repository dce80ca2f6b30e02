"""An archive as a version: each entry goes into the store as it comes, and all or none stays.

Nothing is unpacked to a disk, so there is nothing to lead out of; what the archive says is held to
the rules of `archives` all the same, because it will be a disk one day.
"""

from collections.abc import Iterator
from pathlib import Path

from studio.core import faults
from studio.core.archives import opening
from studio.core.archives.entries import Bad, Entry
from studio.core.archives.layout import Layout
from studio.core.disks import packs, tree
from studio.core.disks.keeping import Kept, failed
from studio.core.disks.limits import Count, Limits
from studio.core.disks.objects import Batch, Objects
from studio.core.disks.planting import Folder, plant
from studio.core.disks.tree import Row, Version, shown
from studio.core.disks.versions import Versions
from studio.core.rules.errors import Invalid

FOLDER_MODE = 0o755  # of a folder that the archive does not tell of


def take_in(objects: Objects, versions: Versions, archive: Path, limits: Limits) -> Kept:
    """Keep what an archive holds. For who holds the store's lock, together with others."""
    objects.index.refresh()
    try:
        with archive.open("rb") as file, objects.writing() as batch:
            taking = _Taking(batch, Count(limits, "The archive"))
            version = taking.version(opening.entries(file, limits.files))
    except Bad as wrong:
        place = shown(wrong.place)
        words = f"The archive cannot be used: {f'{place} ' if place else 'it '}{wrong.words}"
        raise Invalid(words, code="archive.invalid", fields={place: wrong.words}) from None
    except OSError as failure:
        raise failed(failure) from failure
    new = versions.put(version)
    return Kept(
        digest=version.digest, version=version, new=new, stored=batch.stored,
        files_read=version.files, stripped=tuple(sorted(taking.stripped)),
    )  # fmt: skip


class _Taking:
    """The tree of one archive while it comes."""

    def __init__(self, batch: Batch, count: Count) -> None:
        self._batch, self._count = batch, count
        self._layout = Layout()
        self._top = Folder(path="", mode=FOLDER_MODE, mtime_ns=0)
        self.stripped: list[str] = []

    def version(self, entries: Iterator[Entry]) -> Version:
        """Everything in the archive, with its objects in the batch."""
        for entry in entries:
            self._count.depth(entry.path, entry.path.count("/"))
            self._layout.add(entry)
            faults.fault("disk.mid_import")
            self._take(entry)
        return plant(self._top, self._batch, [])

    def _take(self, entry: Entry) -> None:
        mode = entry.mode & tree.MODES
        if entry.mode & 0o6000:
            self.stripped.append(entry.path)
        *above, name = entry.path.split("/")
        if entry.type == "folder":
            folder = self._folder(entry.path.split("/") if entry.path else [])
            folder.mode, folder.mtime_ns = mode, entry.mtime_ns
            return
        rows = self._folder(above).rows
        self._count.add(entry.path, entry.size)
        if entry.type == "file":
            sha, size = self._contents(entry)
            rows[name] = Row(tree.FILE, mode, entry.mtime_ns, size, sha)
        elif entry.type == "twin":
            *beside, twin = entry.target.split("/")
            rows[name] = self._folder(beside).rows[twin]
            self._count.add(entry.path, rows[name].size)
        else:
            size = len(entry.target.encode("utf-8", "surrogateescape"))
            rows[name] = Row(tree.LINK, 0o777, entry.mtime_ns, size, entry.target)

    def _folder(self, names: list[str]) -> Folder:
        """A folder by its names from the top, made where it is not there yet."""
        folder = self._top
        for name in names:
            path = f"{folder.path}{name}/"
            inner = folder.folders.get(name)
            if inner is None:
                self._count.add(path)
                self._count.depth(path, path.count("/"))
                inner = Folder(path=path, mode=FOLDER_MODE, mtime_ns=0)
                folder.folders[name] = inner
            folder = inner
        return folder

    def _contents(self, entry: Entry) -> tuple[str, int]:
        """What a file holds, into the store; `size` was told, and is what comes or Bad."""
        if entry.size > packs.SMALL:
            return self._batch.add_pieces(entry.pieces)
        data = b"".join(entry.pieces)
        return self._batch.add_bytes(data), len(data)
