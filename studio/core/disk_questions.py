"""Questions about what kept disks hold: folders, files, differences, archives, and operations.

The bytes come from the store of disk versions, which every process of an installation reads.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from studio.core.projections import environments as views
from studio.core.projections import operations as asked
from studio.core.projections.operations import OperationRow
from studio.core.questions import EnvironmentQuestions
from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from studio.core.store import environments
from studio.core.store.environments import DiskVersion

if TYPE_CHECKING:
    from studio.core.disks.browsing import Entry, Listing, Look
    from studio.core.disks.differences import Change, TextDiff
    from studio.core.disks.disks import Disks

    DiskEntry: TypeAlias = Entry
    DiskListing: TypeAlias = Listing
    DiskChange: TypeAlias = Change
    DiskTextDiff: TypeAlias = TextDiff

T = TypeVar("T")
MOST_CHANGES = 2_000
PREVIEW_BYTES = 50 * 1024
FORMS = ("tar.zst", "zip")


@dataclass(frozen=True, kw_only=True)
class DiskFolder:
    """A page of a folder of a kept version."""

    version: DiskVersion
    path: str
    listing: "Listing"


@dataclass(frozen=True, kw_only=True)
class DiskFile:
    """A file of a kept version: what it is, and some of its bytes from `offset` on."""

    version: DiskVersion
    entry: "DiskEntry"
    look: "Look"
    data: bytes
    offset: int


@dataclass(frozen=True, kw_only=True)
class DiskDiff:
    """How two versions differ, at most 2,000 paths; `counts` are over all of them, by `what`."""

    before: DiskVersion
    after: DiskVersion
    changes: tuple["DiskChange", ...]
    counts: dict[str, int]
    more: bool


class DiskQuestions(EnvironmentQuestions):
    """Questions about kept disks. `environment` is a name or an id, a version is its number."""

    @cached_property
    def _disks(self) -> "Disks":
        from studio.core.disks.disks import Disks  # its libraries are loaded when first asked

        return Disks(self._data / "versions")

    async def disk_folder(
        self, person: Person, environment: str, version: int, path: str = "", *, after: str = "",
        limit: int = 200,
    ) -> DiskFolder:  # fmt: skip
        """A page of a folder, by name; `after` is the last name of the page before."""
        found = await self._version(person, environment, version)
        listing = await self._ask(
            lambda: self._disks.folder(found.digest, path, after=after, limit=limit)
        )
        return DiskFolder(version=found, path=path.strip("/"), listing=listing)

    async def disk_file(
        self, person: Person, environment: str, version: int, path: str, *, offset: int = 0,
        most: int = PREVIEW_BYTES,
    ) -> DiskFile:  # fmt: skip
        """A file and a window of its bytes; NotFound when it is none."""
        found = await self._version(person, environment, version)

        part = await self._ask(lambda: read(self._disks, found.digest, path, offset, most))
        return DiskFile(version=found, **part)

    def disk_bytes(self, entry: "DiskEntry") -> AsyncIterator[bytes]:
        """All bytes of a file, as they are read."""
        return apace(self._disks.pieces(entry.hash))

    async def disk_diff(
        self, person: Person, environment: str, before: int, after: int
    ) -> DiskDiff:
        """How a version differs from an earlier one, in the order of paths."""
        old = await self._version(person, environment, before)
        new = await self._version(person, environment, after)
        found = await self._ask(lambda: diff(self._disks, old.digest, new.digest))
        return DiskDiff(before=old, after=new, **found)

    async def disk_text_diff(
        self, person: Person, environment: str, before: int, after: int, path: str
    ) -> "DiskTextDiff":
        """How one file differs between two versions, line by line, as far as it is text."""
        old = await self._version(person, environment, before)
        new = await self._version(person, environment, after)
        return await self._ask(
            lambda: self._disks.text_diff(
                hash_of(self._disks, old.digest, path), hash_of(self._disks, new.digest, path)
            )
        )

    async def disk_archive(
        self, person: Person, environment: str, version: int, form: Literal["tar.zst", "zip"]
    ) -> AsyncIterator[bytes]:
        """A version as an archive, as it is packed; Invalid when a zip cannot tell a name."""
        found = await self._version(person, environment, version)
        return await self._packed(found.digest, form)

    async def operation(self, person: Person, operation_id: str) -> OperationRow:
        """Something that was asked of a disk, and how it stands."""
        return await self._read(lambda conn: asked.one(conn, operation_id), operation_id)

    async def operations(
        self, person: Person, environment: str, *, limit: int = 10
    ) -> tuple[OperationRow, ...]:
        """The newest of what was asked of a disk, the last one first."""
        return await self._read(
            lambda conn: asked.of_environment(conn, environment, limit), environment
        )

    async def _version(self, person: Person, environment: str, number: int) -> DiskVersion:
        def find(conn: Any) -> DiskVersion:
            it = views.one(conn, environment)
            found = environments.version(conn, it.id, number)
            if found is None:
                raise NotFound("The disk has no such version.", code="disk.not_found")
            return found

        if not 0 < number < 2**53:
            raise NotFound("The disk has no such version.", code="disk.not_found")
        return await self._read(find, environment)

    async def _packed(self, digest: str, form: Literal["tar.zst", "zip"]) -> AsyncIterator[bytes]:
        """A tree as an archive."""

        def begun() -> Iterator[bytes]:
            pieces = self._disks.export(digest, form)
            return chain([next(pieces)], pieces)  # whatever is refused, is so before it is sent

        return apace(await self._ask(begun))

    async def _ask(self, act: Callable[[], T]) -> T:
        """Ask the store of versions, beside the loop."""
        return await asyncio.to_thread(act)


def hash_of(disks: "Disks", digest: str, path: str) -> str | None:
    """The bytes of a file of a tree; None when it has no such file."""
    try:
        entry = disks.entry(digest, path)
    except NotFound:
        return None
    return entry.hash if entry.type == "file" else None


def read(disks: "Disks", digest: str, path: str, offset: int, most: int) -> dict[str, Any]:
    """A file of a tree as what a page shows of it: `entry`, `look`, `data`, `offset`."""
    entry = disks.entry(digest, path)
    if entry.type != "file":
        raise NotFound("This is no file of that version.", code="disk.no_file")
    window = disks.read(entry.hash, offset=offset, most=most)
    look = disks.look(entry.hash, entry.name)
    return {"entry": entry, "look": look, "data": window.data, "offset": window.offset}


def diff(disks: "Disks", old: str, new: str, *, times: bool = True) -> dict[str, Any]:
    """How two trees differ, in `times` too: `changes`, `counts`, `more`."""
    kept, counts = list["DiskChange"](), dict[str, int]()
    for change in disks.diff(old, new):
        if change.what == "times" and not times:
            continue
        counts[change.what] = counts.get(change.what, 0) + 1
        if len(kept) < MOST_CHANGES:
            kept.append(change)
    return {"changes": tuple(kept), "counts": counts, "more": sum(counts.values()) > len(kept)}


async def apace(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """An iterator that blocks, asked beside the loop. A piece may be empty; the end is None."""
    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
        if piece:
            yield piece
