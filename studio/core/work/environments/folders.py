"""Folders of a disk that become artifacts: in the store of versions first, without secrets.

No link leads to one, and none in it is followed: links are kept as links. What is no file, folder
or link is not kept, and the fact says so, as it does of files that changed while they were read.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from studio.core import folders
from studio.core.disks.keeping import Kept
from studio.core.masking import GRAM, Mask
from studio.core.rules.files import Found
from studio.core.sandboxes import paths
from studio.core.sandboxes.contract import SandboxError
from studio.core.sandboxes.gate import whole
from studio.core.work.environments.places import LOCK_SECONDS, Place, Places


async def take(places: Places, place: Place, path: str, *, before: str | None) -> Found:
    """A folder of the disk by its path there. For who works in it; commands end first.

    `before` is the digest of the artifact's newest version. Raises SandboxError, StudioError.
    """
    names = [name for name in paths.parts(path) if name not in {"", "."}]
    if ".." in names:
        raise paths.outside(path)
    async with AsyncExitStack() as stack:
        try:
            async with asyncio.timeout(LOCK_SECONDS):
                disk = await stack.enter_async_context(place.sandbox.folder())
        except TimeoutError:
            words = "A command still runs on the disk, so no folder can be kept. Try again later."
            raise SandboxError("sandbox.unavailable", words) from None
        kept = await whole(
            places.disks.keep, disk, path="/".join(names), limits=folders.limits(places.limits)
        )
    return await cleaned(places, kept.digest, moving=kept.changed_while_kept, before=before)


async def cleaned(
    places: Places, digest: str, *, moving: tuple[str, ...], before: str | None
) -> Found:
    """What a kept tree is once no secret stands in its files."""
    mask = places.opening.values.mask
    if mask.longest:
        digest = await whole(places.disks.changed, digest, partial(without, mask))
    return await folders.found(places.disks, digest, moving=moving, before=before)


@asynccontextmanager
async def disk_of(place: Place, *, is_still: bool) -> AsyncIterator[Path | None]:
    """The disk as a folder; None for one that is far and moves."""
    here = place.folder / "disk"
    if not is_still:
        yield here if here.is_dir() else None
        return
    async with place.sandbox.folder() as folder:
        yield folder


async def outputs(places: Places, place: Place, path: str, *, is_still: bool) -> Kept | None:
    """All of a folder below which several lie, with a cache; None when it cannot be looked at."""
    async with disk_of(place, is_still=is_still) as disk:
        if disk is None:
            return None
        cache = place.folder / f"cache-{path}"
        return await whole(places.disks.keep, disk, path=path, cache=cache, limits=place.limits)


def without(mask: Mask, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes of a file that comes in pieces, without secrets."""
    keep, waiting = mask.longest + GRAM, b""
    for piece in pieces:
        waiting += piece
        cut = len(waiting) - keep
        if cut <= keep:
            continue
        for span in mask.spans(waiting):
            if span.start < cut < span.end:
                cut = span.start
        yield mask.data(waiting[:cut])
        waiting = waiting[cut:]
    yield mask.data(waiting)
