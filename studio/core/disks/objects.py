"""Objects: bytes under their SHA-256, kept once, and read back only as what they were.

`Batch` is how objects come in: all of a batch or none. `Reader` is how they are read; it holds
packs open, so that what it began to read stays there while others tidy up.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from studio.core import faults
from studio.core.disks import durable, packs, tree
from studio.core.disks.index import Index
from studio.core.disks.packs import Damaged, Pack
from studio.core.disks.tables import Place
from studio.core.disks.tree import Row
from studio.core.rules.errors import Unavailable

MOST_OPEN = 32  # packs of one reader
TRIES = 5


class Objects:
    """The bytes of the store."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "packs"
        self.index = Index(root / "index")

    @contextmanager
    def reading(self) -> Iterator["Reader"]:
        """Read several objects."""
        reader = Reader(self)
        try:
            yield reader
        finally:
            reader.close()

    @contextmanager
    def writing(self) -> Iterator["Batch"]:
        """Add objects; they are there when the block ends, and none is when it fails."""
        batch = Batch(self)
        try:
            yield batch
            batch.commit()
        except BaseException:
            batch.discard()
            raise


class Reader:
    """Objects by hash (hex). Raises Unavailable `disk.damaged` or `disk.missing`, with the hash."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._open: dict[str, int] = {}

    def size(self, sha: str) -> int:
        """How many bytes an object has."""
        return self._place(sha)[0].size

    def whole(self, sha: str) -> bytes:
        """An object in memory, verified. For folders and for files that are known to be small."""
        place, fd = self._place(sha)
        try:
            data = packs.unpacked(os.pread(fd, place.stored, place.offset), place)
        except Damaged as wrong:
            raise _damaged(sha, str(wrong)) from None
        if hashlib.sha256(data).hexdigest() != sha:
            raise _damaged(sha, "its bytes are others")
        return data

    def pieces(self, sha: str) -> Iterator[bytes]:
        """An object a piece at a time; that it is damaged may be known only at its end."""
        if self.size(sha) <= packs.SMALL:
            yield self.whole(sha)
            return
        place, fd = self._place(sha)
        digest = hashlib.sha256()
        try:
            for piece in packs.pieces(fd, place):
                digest.update(piece)
                yield piece
        except Damaged as wrong:
            raise _damaged(sha, str(wrong)) from None
        if digest.hexdigest() != sha:
            raise _damaged(sha, "its bytes are others")

    def rows(self, sha: str) -> dict[str, Row]:
        """A folder."""
        return tree.decoded(self.whole(sha))

    def close(self) -> None:
        """Let go of the packs."""
        for fd in self._open.values():
            os.close(fd)
        self._open.clear()

    def _place(self, sha: str) -> tuple[Place, int]:
        """Where an object lies and its pack, open; what was moved meanwhile is found again."""
        for _ in range(TRIES):
            place = self._objects.index.find(bytes.fromhex(sha))
            if place is not None and (fd := self._pack(place.pack)) is not None:
                return place, fd
            self._objects.index.refresh()
        raise Unavailable(
            f"The store of disk versions does not have the bytes {sha[:12]}…; the version that"
            " names them was deleted, or the store is damaged.",
            code="disk.missing", details={"sha256": sha},
        )  # fmt: skip

    def _pack(self, name: str) -> int | None:
        if name not in self._open:
            if len(self._open) >= MOST_OPEN:
                os.close(self._open.pop(next(iter(self._open))))
            path = self._objects.folder / f"{name}{packs.END}"
            try:
                self._open[name] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return None
        return self._open[name]


class Batch:
    """Objects on their way in. `holds` may be asked from any thread, the rest is for one."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._pack: Pack | None = None
        self._full: list[Pack] = []
        self._places: dict[bytes, Place] = {}
        self.stored = 0  # bytes that this batch adds to the store

    def holds(self, sha: str) -> bool:
        """The object is in the store, or will be with this batch."""
        key = bytes.fromhex(sha)
        return key in self._places or self._objects.index.find(key) is not None

    def add(self, sha: str, packing: int, data: bytes, size: int) -> None:
        """Add a small object that `packs.packed` made."""
        if self._pack is None or self._pack.size > packs.PACK_BYTES:
            self._pack = self.new_pack()
            self._full.append(self._pack)
        self._places[bytes.fromhex(sha)] = self._pack.add(packing, data, size)
        self.stored += len(data)

    def add_bytes(self, data: bytes) -> str:
        """Add a small object as it is, when it is not there yet: its hash."""
        sha = tree.sha256(data)
        if not self.holds(sha):
            self.add(sha, *packs.packed(data), len(data))
        return sha

    def add_pieces(self, pieces: Iterable[bytes]) -> tuple[str, int]:
        """Add an object of any size: its hash and size."""
        pack = self.new_pack()
        try:
            sha, place = pack.stream(pieces)
        except BaseException:
            pack.discard()
            raise
        self.adopt(sha, place, pack)
        return sha, place.size

    def new_pack(self) -> Pack:
        """A pack for a large object, to be given to `adopt` or discarded. From any thread."""
        return Pack(self._objects.folder)

    def adopt(self, sha: str, place: Place, pack: Pack) -> None:
        """Take an object with the pack it lies in alone; when it is here already, the pack goes."""
        if self.holds(sha):
            pack.discard()
        else:
            self._full.append(pack)
            self._places[bytes.fromhex(sha)] = place
            self.stored += place.stored

    def commit(self) -> None:
        """Make all of it durable, then findable."""
        faults.fault("disk.before_pack")
        if not self._places:
            return
        for pack in self._full:
            pack.close()
        durable.sync_folder(self._objects.folder)
        faults.fault("disk.before_index")
        self._full = []  # from here on a table may name them
        self._objects.index.add(self._places)

    def discard(self) -> None:
        """Take away what was written and is in no table."""
        for pack in self._full:
            pack.discard()


def _damaged(sha: str, why: str) -> Unavailable:
    return Unavailable(
        f"The store of disk versions is damaged: the bytes {sha[:12]}… are not what was kept"
        f" ({why}). Bring the store back from a backup.",
        code="disk.damaged", details={"sha256": sha},
    )  # fmt: skip
