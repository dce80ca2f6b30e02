"""The manifests of the versions there are, one small file each; a version is there when its is."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from studio.core import faults
from studio.core.disks import durable, tree
from studio.core.disks.tree import Version
from studio.core.rules.errors import NotFound, Unavailable

END = ".json"
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Versions:
    """Manifests by digest."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, version: Version) -> bool:
        """Write a manifest, durably: whether it is new. One that is there counts as new again."""
        path = self._path(version.digest)
        if path.exists():
            os.utime(path)  # so that its grace begins anew
            return False
        faults.fault("disk.before_manifest")
        durable.write(path, version.encoded())
        return True

    def get(self, digest: str) -> Version:
        """The manifest, verified; NotFound when there is no such version."""
        if not _DIGEST.fullmatch(digest):
            raise NotFound("There is no disk version of this name.", code="disk.not_found")
        try:
            data = self._path(digest).read_bytes()
        except FileNotFoundError:
            raise NotFound(
                f"There is no disk version {digest[:12]}…; it was deleted, or never kept here.",
                code="disk.not_found",
            ) from None
        if tree.sha256(data) != digest:
            raise Unavailable(
                f"The manifest of disk version {digest[:12]}… is damaged; bring the store back"
                " from a backup.",
                code="disk.damaged",
            )
        return tree.version(data)

    def all(self) -> Iterator[tuple[str, float]]:
        """Every digest with when it was last kept, in seconds since 1970."""
        for path in self._folder.glob(f"*{END}"):
            yield path.stem, path.stat().st_mtime

    def remove(self, digests: list[str]) -> None:
        """Forget versions, durably; also what a crash left half written."""
        for digest in digests:
            self._path(digest).unlink(missing_ok=True)
        for part in self._folder.glob(f"*{durable.PART}"):
            part.unlink()
        durable.sync_folder(self._folder)

    def _path(self, digest: str) -> Path:
        return self._folder / f"{digest}{END}"
