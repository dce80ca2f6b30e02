"""The store of disk versions: one root folder, shared by all environments of an installation.

Several processes may use it at once. Whoever adds holds the store's lock together with others;
who takes away holds it alone; who reads needs none.
"""

import sys
from collections.abc import Collection, Iterator
from pathlib import Path

from studio.core.disks import (
    browsing,
    collecting,
    differences,
    durable,
    exporting,
    importing,
    keeping,
    parts,
    restoring,
)
from studio.core.disks.browsing import Entry, Listing, Look, Window
from studio.core.disks.collecting import Collected
from studio.core.disks.differences import TextDiff
from studio.core.disks.exporting import Form
from studio.core.disks.keeping import Kept
from studio.core.disks.limits import Limits
from studio.core.disks.objects import Objects
from studio.core.disks.parts import Change
from studio.core.disks.restoring import Owner
from studio.core.disks.tree import Version
from studio.core.disks.versions import Versions
from studio.core.rules.errors import Unavailable

LOCK = "lock"
GRACE = 3_600.0  # seconds in which a version that was just kept need not be named by anybody yet


class Disks:
    """Every verb over disk versions. All of it blocks; all of it may be called from any thread."""

    def __init__(self, root: Path) -> None:
        """Open the store, or make it: its folders are for their owner only."""
        if sys.getfilesystemencoding() != "utf-8":
            raise Unavailable(
                "Disk versions need file names in UTF-8; start with a UTF-8 locale.",
                code="disk.locale",
            )
        for folder in (root, root / "packs", root / "index", root / "versions"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = root / LOCK
        self._objects = Objects(root)
        self._versions = Versions(root / "versions")

    def keep(
        self, folder: Path, *, path: str = "", cache: Path | None = None,
        limits: Limits | None = None,
    ) -> Kept:  # fmt: skip
        """Keep what a folder holds; what is there already makes nothing, and writes nothing.

        With a `path`, what a folder below it holds; no link leads there.

        `cache` is a file of the caller's beside the folder, never in it; with it only what changed
        is read. Call it while nothing changes the folder, or look at `changed_while_kept`. Raises
        TooLarge `disk.too_large`, NotFound without a folder, Unavailable when a disk fails.
        """
        with durable.locked(self._lock, alone=False):
            return keeping.keep(
                self._objects, self._versions, folder, path, cache, limits or Limits()
            )

    def part(self, digest: str, path: str, *, limits: Limits | None = None) -> str:
        """The digest of a version of its own that is a folder of this one; no bytes are written.

        Raises NotFound `disk.no_entry`, Invalid `disk.no_folder`, TooLarge.
        """
        with durable.locked(self._lock, alone=False):
            version = parts.part(self._objects, self.version(digest), path, limits or Limits())
            self._versions.put(version)
        return version.digest

    def changed(self, digest: str, change: Change) -> str:
        """The digest of a version whose files are as `change` makes each of this one's."""
        with durable.locked(self._lock, alone=False):
            version = parts.changed(self._objects, self.version(digest), change)
            self._versions.put(version)
        return version.digest

    def same(self, a: str, b: str) -> bool:
        """Two versions hold the same, but for the times at which files were changed."""
        return a == b or all(one.what == "times" for one in self.diff(a, b))

    def version(self, digest: str) -> Version:
        """The manifest of a version; NotFound `disk.not_found`."""
        return self._versions.get(digest)

    def restore(
        self, digest: str, into: Path, *, owner: Owner | None = None, replace: bool = False
    ) -> None:
        """Make a new folder what the version is: bytes, modes, times in ns, links, empty folders.

        All is owned by `owner` (user id, group id) when it is given. With `replace` the folder may
        be there: the two are exchanged in one step, and what it was is removed. On any failure the
        target is as it was. Raises NotFound, Refused `disk.exists`, Unavailable naming the file.
        """
        version = self.version(digest)
        restoring.restore(self._objects, version, into, owner=owner, replace=replace)

    def folder(self, digest: str, path: str = "", *, after: str = "", limit: int = 200) -> Listing:
        """A page of a folder's names; NotFound `disk.no_entry`, Invalid `disk.no_folder`."""
        version = self.version(digest)
        return browsing.listing(self._objects, version, path, after=after, limit=limit)

    def entry(self, digest: str, path: str) -> Entry:
        """One name of a version, and so the hash of its bytes; NotFound `disk.no_entry`."""
        return browsing.entry(self._objects, self.version(digest), path)

    def read(self, sha: str, *, offset: int = 0, most: int = 65_536) -> Window:
        """A window of a file's bytes, by the file's hash; at most 8 MiB of it."""
        return browsing.window(self._objects, sha, offset, most)

    def pieces(self, sha: str) -> Iterator[bytes]:
        """All of a file, a piece at a time; Unavailable at its end when it was damaged."""
        return browsing.pieces(self._objects, sha)

    def look(self, sha: str, name: str) -> Look:
        """Whether a file is text, an image or neither, by its bytes; its media type."""
        return browsing.look(self._objects, sha, name)

    def check(self, digest: str) -> int:
        """Read all of a version, each file's bytes once, and say how many bytes those were.

        Raises Unavailable `disk.damaged` or `disk.missing`, naming the file.
        """
        return browsing.check(self._objects, self.version(digest))

    def diff(self, a: str, b: str) -> Iterator[differences.Change]:
        """What differs between two versions, in the order of paths."""
        return differences.diff(self._objects, self.version(a), self.version(b))

    def text_diff(self, a: str | None, b: str | None) -> TextDiff:
        """Two files by hash as a unified diff, bounded; None stands for no file."""
        return differences.text_diff(self._objects, a, b)

    def export(self, digest: str, form: Form) -> Iterator[bytes]:
        """A version as a tar.zst or zip archive, made while its pieces are taken.

        Raises Invalid `archive.name` at once when a zip cannot tell a name, NotFound.
        """
        return exporting.export(self._objects, self.version(digest), form)

    def take_in(self, archive: Path, *, limits: Limits | None = None) -> Kept:
        """Keep what a tar, tar.gz, tar.zst or zip archive holds, whole or not at all.

        Raises Invalid `archive.invalid` naming the entry and what is wrong, TooLarge.
        """
        with durable.locked(self._lock, alone=False):
            return importing.take_in(self._objects, self._versions, archive, limits or Limits())

    def collect(self, keep: Collection[str], *, grace: float = GRACE) -> Collected:
        """Forget every version but these and the newest, and free what only those needed.

        Keeps wait until it is over; reads and restores go on. When anything that is to stay cannot
        be read, nothing is taken away: Unavailable.
        """
        with durable.locked(self._lock, alone=True):
            return collecting.collect(self._objects, self._versions, keep, grace)
