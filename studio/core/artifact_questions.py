"""Questions about artifacts: lists, versions, what a folder holds, differences, links.

Bytes of files come from the store, trees of folders from that of disk versions.
"""

from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from studio.core import disk_questions as disks
from studio.core.disk_questions import DiskQuestions
from studio.core.projections import artifacts, pages
from studio.core.projections.artifacts import ArtifactRow, ArtifactView, VersionView
from studio.core.projections.pages import Page
from studio.core.rules.access import Person
from studio.core.rules.errors import Invalid
from studio.core.store import files, links
from studio.core.store.links import Link, Linked

if TYPE_CHECKING:
    from studio.core.disk_questions import DiskChange, DiskEntry, DiskTextDiff
    from studio.core.disks.browsing import Listing, Look

Form = Literal["tar.zst", "zip"]
MOST_LINKS = 20  # the newest, of one artifact


@dataclass(frozen=True, kw_only=True)
class ArtifactFolder:
    """A page of a folder of an artifact; `path` is "" at its top.

    `skipped` are the (path, why) of what could not be kept of all of it.
    """

    artifact: ArtifactView
    path: str
    listing: "Listing"
    skipped: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class ArtifactFile:
    """A file of an artifact that is a folder, and some of its bytes from `offset` on."""

    artifact: ArtifactView
    entry: "DiskEntry"
    look: "Look"
    data: bytes
    offset: int


@dataclass(frozen=True, kw_only=True)
class ArtifactDiff:
    """How two versions of a folder differ, at most 2,000 paths; `counts` are by `what`, of all."""

    row: ArtifactRow
    before: VersionView
    after: VersionView
    changes: tuple["DiskChange", ...]
    counts: dict[str, int]
    more: bool


@dataclass(frozen=True, kw_only=True)
class LinkRow(Link):
    """A link as a list shows it."""

    state: Literal["open", "revoked", "over"]


class ArtifactQuestions(DiskQuestions):
    """Questions about artifacts. Without a version the newest is meant."""

    async def artifacts(
        self, person: Person, session_id: str, *, limit: int = 50, cursor: str | None = None
    ) -> Page[ArtifactRow]:
        """The artifacts of a session, the one made last first."""
        return await self._read(
            lambda conn: artifacts.page(conn, person, session_id, limit=limit, cursor=cursor),
            session_id,
        )

    async def artifact(
        self, person: Person, artifact_id: str, version: int | None = None, *, limit: int = 50,
        cursor: str | None = None,
    ) -> ArtifactView:  # fmt: skip
        """One artifact, as it is in this version (without one: the newest), and a page of all."""
        number = None if version is None else pages.within(version)
        return await self._read(
            lambda conn: artifacts.view(
                conn, person, artifact_id, number, limit=limit, cursor=cursor
            ),
            artifact_id,
        )

    def file(self, version: VersionView | Linked, begin: int, end: int) -> AsyncIterator[bytes]:
        """The bytes of a version that `artifact` answered with, a piece at a time."""
        return files.stream(self._db, version.hash, begin, end)

    async def artifact_folder(
        self, person: Person, artifact_id: str, version: int | None = None, path: str = "", *,
        after: str = "", limit: int = 200,
    ) -> ArtifactFolder:  # fmt: skip
        """A page of a folder, by name; `after` is the last name of the page before."""
        found = await self._tree(person, artifact_id, version)
        digest = found.version.hash
        listing = await self._ask(
            lambda: self._disks.folder(digest, path, after=after, limit=limit)
        )
        skipped = (await self._ask(lambda: self._disks.version(digest))).skipped
        return ArtifactFolder(
            artifact=found, path=path.strip("/"), listing=listing, skipped=skipped
        )

    async def artifact_file(
        self, person: Person, artifact_id: str, version: int | None, path: str, *, offset: int = 0,
        most: int = disks.PREVIEW_BYTES,
    ) -> ArtifactFile:  # fmt: skip
        """A file of a folder and a window of its bytes; NotFound when it is none."""
        found = await self._tree(person, artifact_id, version)
        part = await self._ask(
            lambda: disks.read(self._disks, found.version.hash, path, offset, most)
        )
        return ArtifactFile(artifact=found, **part)

    async def artifact_diff(
        self, person: Person, artifact_id: str, before: int, after: int
    ) -> ArtifactDiff:
        """How a version of a folder differs from an earlier one, in the order of paths.

        When files were changed is no difference: it makes no version either.
        """
        old = await self._tree(person, artifact_id, before)
        new = await self._tree(person, artifact_id, after)
        found = await self._ask(
            lambda: disks.diff(self._disks, old.version.hash, new.version.hash, times=False)
        )
        return ArtifactDiff(row=old.row, before=old.version, after=new.version, **found)

    async def artifact_text_diff(
        self, person: Person, artifact_id: str, before: int, after: int, path: str = ""
    ) -> "DiskTextDiff":
        """How a file differs, line by line: the artifact itself, or the one at `path` in it."""
        old = await self.artifact(person, artifact_id, before, limit=1)
        new = await self.artifact(person, artifact_id, after, limit=1)
        if old.row.kind == "folder":
            a, b = old.version.hash, new.version.hash
            return await self._ask(
                lambda: self._disks.text_diff(
                    disks.hash_of(self._disks, a, path), disks.hash_of(self._disks, b, path)
                )
            )
        return await self._compared(old.version, new.version)

    async def artifact_archive(
        self, person: Person, artifact_id: str, version: int | None,
        form: Form,
    ) -> AsyncIterator[bytes]:  # fmt: skip
        """A folder as an archive, as it is packed; Invalid when a zip cannot tell a name."""
        found = await self._tree(person, artifact_id, version)
        return await self._packed(found.version.hash, form)

    async def linked_archive(self, linked: Linked) -> tuple[Form, AsyncIterator[bytes]]:
        """The folder that a link leads to, as a zip; as tar.zst where that cannot tell a name."""
        try:
            return "zip", await self._packed(linked.hash, "zip")
        except Invalid:
            return "tar.zst", await self._packed(linked.hash, "tar.zst")

    async def artifact_links(self, person: Person, artifact_id: str) -> tuple[LinkRow, ...]:
        """The links to an artifact that were made last, the newest first, and how they stand."""
        await self.artifact(person, artifact_id, limit=1)
        found = await self._read(
            lambda conn: links.of_artifact(conn, artifact_id, MOST_LINKS), artifact_id
        )
        now = self._clock.now()
        return tuple(LinkRow(**asdict(link), state=_state(link, now)) for link in found)

    async def _tree(self, person: Person, artifact_id: str, version: int | None) -> ArtifactView:
        """An artifact that is a folder."""
        found = await self.artifact(person, artifact_id, version, limit=1)
        if found.row.kind != "folder":
            raise Invalid(
                "This artifact is a file; only a folder has files in it.", code="artifact.no_folder"
            )
        return found

    async def _compared(self, old: VersionView, new: VersionView) -> "DiskTextDiff":
        from studio.core.disks import differences  # its libraries are loaded when first asked

        if old.hash == new.hash:
            return differences.TextDiff(state="same")
        if max(old.size, new.size) > differences.MOST_TEXT:
            return differences.TextDiff(state="too_large")
        before = await files.whole(self._db, old.hash, old.size)
        after = await files.whole(self._db, new.hash, new.size)
        return await self._ask(lambda: differences.compared(before, after))


def _state(link: Link, now: int) -> Literal["open", "revoked", "over"]:
    if link.revoked is not None:
        return "revoked"
    return "open" if link.expires > now else "over"
