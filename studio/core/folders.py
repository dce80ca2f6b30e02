"""Folders: a tree in the store of disk versions becomes what an artifact's version is.

The same bytes are there once, whether a disk or an artifact names them. Bytes are durable before
the fact that names them; what no fact names is collected.
"""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from studio.core.rules import media
from studio.core.rules.files import FileLimits, Found

if TYPE_CHECKING:  # its libraries are loaded when a folder is first looked into
    from studio.core.disks.disks import Disks
    from studio.core.disks.limits import Limits

MOST_NAMED = 100  # paths in a fact


def limits(of: FileLimits) -> "Limits":
    """What one folder may hold."""
    from studio.core.disks.limits import Limits

    return Limits(files=of.folder_names, bytes=of.folder_bytes)


async def found(
    disks: "Disks", digest: str, *, moving: Sequence[str] = (), before: str | None = None
) -> Found:
    """What is known of a tree. When it holds what the one `before` does, it is that one.

    So a folder whose files were only touched is the same version still.
    """

    def look() -> Found:
        is_same = before is not None and disks.same(before, digest)
        own = before if is_same and before is not None else digest
        version = disks.version(own)
        return Found(
            media=media.FOLDER, size=version.size, hash=own, files=version.files,
            skipped=tuple(f"{path} ({why})" for path, why in version.skipped[:MOST_NAMED]),
            moving=tuple(moving[:MOST_NAMED]),
        )  # fmt: skip

    return await asyncio.to_thread(look)
