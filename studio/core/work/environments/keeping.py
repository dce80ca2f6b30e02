"""Keeping and restoring: the disk of an environment and its versions, with the facts that tell.

Bytes first, then the fact: who dies in between leaves bytes that no version names, which are
collected. A restore keeps what was there before, so nothing is lost by it.
"""

from dataclasses import replace
from pathlib import Path

from studio.core.faults import fault
from studio.core.rules import events as e
from studio.core.rules.environments import records
from studio.core.rules.environments.environment import Environment
from studio.core.rules.environments.records import Kept, Reason
from studio.core.rules.errors import NotFound
from studio.core.sandboxes.gate import whole
from studio.core.store import environments
from studio.core.work.environments.places import Place, Places, owner_of

BOUND = "what this environment's disk may hold (disk_mib). Take less, or fork it with more"


async def keep(
    places: Places, place: Place, reason: Reason, *, turn: e.TurnRef | None = None, note: str = "",
    by: str = "", is_still: bool = True,
) -> e.DiskKept | None:  # fmt: skip
    """Keep the disk as it is; None when it is as the newest version. For who holds its lock.

    One that is not still is kept while commands run: files that changed meanwhile are named.
    """
    kept = await look(places, place, is_still=is_still)
    if kept is None:
        return None
    fault("disk.before_fact")
    facts = await places.record(
        place.id,
        lambda conn, found: records.note_kept(found, kept, reason, turn=turn, note=note, by=by),
        by or None,
    )
    return next((f.event for f in facts if isinstance(f.event, e.DiskKept)), None)


async def look(places: Places, place: Place, *, is_still: bool = True) -> Kept | None:
    """The disk as it is, in the store of versions; None for one that is far and moves."""
    here, begun = place.folder / "disk", places.clock.monotonic()
    if is_still:
        async with place.sandbox.folder() as folder:
            found = await whole(places.disks.keep, folder, cache=place.cache, limits=place.limits)
    elif here.is_dir():
        found = await whole(places.disks.keep, here, cache=place.cache, limits=place.limits)
    else:
        return None
    return Kept(
        digest=found.digest,
        files=found.version.files,
        folders=found.version.folders,
        bytes=found.version.size,
        added=found.stored,
        skipped=tuple(f"{path} ({why})" for path, why in found.version.skipped),
        moving=found.changed_while_kept,
        milliseconds=round((places.clock.monotonic() - begun) * 1000),
    )


async def restore(places: Places, place: Place, version: int, *, by: str) -> int:
    """Put a version in the disk's place, keeping first what is there; the version that makes.

    For who holds the lock alone.
    """
    source = await places.db.read(lambda conn: environments.version(conn, place.id, version))
    if source is None:
        raise NotFound("That version was removed meanwhile.", code="disk.not_found")
    environment = await places.find(place.id)
    if environment is not None and environment.setup == "ok":
        await keep(places, place, "hand", note=f"Before version {version} was restored.", by=by)
    await put(places, place, source.digest)
    fault("disk.before_restored")
    kept = Kept(
        digest=source.digest, files=source.files, folders=source.folders, bytes=source.bytes
    )
    facts = await places.record(
        place.id, lambda conn, found: records.note_restored(found, version, kept, by=by), by or None
    )
    return _made(facts)


async def put(places: Places, place: Place, digest: str) -> None:
    """Make the disk what a version in the store is."""
    await place.sandbox.stop()
    place.is_started = False
    place.half_put.touch()  # until it is whole, what lies there is taken for nothing
    async with place.sandbox.folder(changing=True) as folder:
        await whole(_put, places, digest, folder)
    place.half_put.unlink()


async def first(places: Places, place: Place, environment: Environment) -> None:
    """A fork's disk begins as the version it was forked from."""
    assert environment.disk is not None, "a fork that has a disk"
    await put(places, place, environment.disk.digest)


async def take_in(places: Places, place: Place, archive: Path, *, name: str, by: str) -> int:
    """Put what an archive holds in the disk's place, keeping first what is there."""
    limits = replace(place.limits, bytes=place.most_bytes, bound=BOUND)
    brought = await whole(places.disks.take_in, archive, limits=limits)
    await keep(places, place, "hand", note=f"Before {name} was imported.", by=by)
    await put(places, place, brought.digest)
    fault("disk.before_fact")
    kept = Kept(
        digest=brought.digest,
        files=brought.version.files,
        folders=brought.version.folders,
        bytes=brought.version.size,
        added=brought.stored,
    )
    facts = await places.record(
        place.id,
        lambda conn, found: records.note_kept(found, kept, "import", note=name, by=by),
        by or None,
    )
    return _made(facts)


def _put(places: Places, digest: str, folder: Path) -> None:
    places.disks.restore(digest, folder, owner=owner_of(folder), replace=True)


def _made(facts: list[e.Fact]) -> int:
    return next(f.event.version for f in facts if isinstance(f.event, e.DiskKept))
