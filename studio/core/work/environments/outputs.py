"""Outputs: what a turn left in `outputs/` becomes artifacts of its session, a version a change.

Each file in it is a file among the artifacts, each folder in it a folder, whole. What cannot be
kept is left where it is, on the disk, and said in the log; it never fails the turn.
"""

import asyncio
import hashlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from studio.core import intake
from studio.core.disks.keeping import Kept
from studio.core.faults import fault
from studio.core.folders import limits
from studio.core.rules import events as e
from studio.core.rules import files, ids
from studio.core.rules.errors import StudioError
from studio.core.rules.files import Found
from studio.core.rules.session import Session
from studio.core.sandboxes.contract import SandboxError
from studio.core.sandboxes.gate import whole
from studio.core.store import artifacts
from studio.core.store.artifacts import Named
from studio.core.work.environments import folders
from studio.core.work.environments.places import Place, Places

log = logging.getLogger("studio.worker")

FOLDER = "outputs"
MOST, MOST_KNOWN = 100, 10_000  # files, and folders, of one turn's end


async def export(
    places: Places, place: Place, session: Session, turn: e.TurnRef, *, is_still: bool = True
) -> None:
    """Keep each file and folder of `outputs/` that differs from its artifact's newest version."""
    found = await place.sandbox.glob(f"{FOLDER}/*", most=MOST)
    if found.more:
        log.warning(
            "%s has more than %d files in %s; the first are kept.", place.name, MOST, FOLDER
        )
    for path in found.paths:
        with _said(place, path):
            await _file(places, place, session, turn, path)
    if (await place.sandbox.glob(f"{FOLDER}/*/**/*", most=1)).paths:
        with _said(place, FOLDER):
            await _folders(places, place, session, turn, is_still=is_still)


@contextmanager
def _said(place: Place, path: str) -> Iterator[None]:
    """What goes wrong with one of them is said, and the others are kept."""
    try:
        yield
    except (StudioError, SandboxError) as wrong:
        log.warning("%s of %s is not kept as an artifact: %s", path, place.name, wrong)


async def _folders(
    places: Places, place: Place, session: Session, turn: e.TurnRef, *, is_still: bool
) -> None:
    kept = await folders.outputs(places, place, FOLDER, is_still=is_still)
    if kept is None:
        log.warning("%s works elsewhere, so folders in %s wait.", place.name, FOLDER)
        return
    listed = await whole(places.disks.folder, kept.digest, limit=MOST)
    for one in listed.entries:
        if one.type == "folder":
            with _said(place, f"{FOLDER}/{one.name}"):
                await _folder(places, place, session, turn, kept, one.name)


async def _folder(
    places: Places, place: Place, session: Session, turn: e.TurnRef, kept: Kept, path: str
) -> None:
    name = files.checked_name(path)
    key = f"{session.id} {path}/"
    digest = await whole(places.disks.part, kept.digest, path, limits=limits(places.limits))
    if digest == place.exported.get(key):
        return
    before = await places.db.read(lambda conn: artifacts.named(conn, session.id, name, folder=True))
    moving = tuple(
        one.removeprefix(f"{path}/")
        for one in kept.changed_while_kept
        if one == path or one.startswith(f"{path}/")
    )
    found = await folders.cleaned(
        places, digest, moving=moving, before=before.hash if before is not None else None
    )
    if found.files or before is not None:
        fault("artifact.before_fact")
        await _save(places, session, turn, name, found)
    _remember(place, key, digest)


async def _file(places: Places, place: Place, session: Session, turn: e.TurnRef, path: str) -> None:
    name = files.checked_name(path.removeprefix(f"{FOLDER}/"))
    most = places.limits.upload_bytes
    key = f"{session.id} {path}"
    if (await place.sandbox.read(path, most=0)).hash == place.exported.get(key):
        return
    read = await place.sandbox.read(path, most=most)
    if read.size > most:
        log.warning("%s has %d bytes, more than an artifact may have.", path, read.size)
        return
    data = await asyncio.to_thread(places.opening.values.mask.data, read.data)
    found = await intake.take_bytes(
        places.db, places.clock.new_id("fil"), data, name=name, declared="", at=places.clock.now()
    )
    fault("artifact.before_fact")
    await _save(places, session, turn, name, found)
    _remember(place, key, read.hash)


async def _save(places: Places, session: Session, turn: e.TurnRef, name: str, found: Found) -> None:
    """Record a version, unless the newest one is the same."""
    saved: list[e.Event] = []

    def look(conn: Any, session: Session) -> None:
        known = artifacts.named(conn, session.id, name, folder=found.is_folder)
        if known is not None and known.hash == found.hash:
            saved.clear()
            return
        given = files.new_version(*_place(turn, name, found, known), name, found)
        saved[:] = [files.saved(given, source="agent", by=session.agent, turn_id=turn.turn_id)]

    await places.journal.commit(
        session.id, lambda s: saved, at=places.clock.now(), actor=None, before=look
    )


def _place(turn: e.TurnRef, name: str, found: Found, known: Named | None) -> tuple[str, int]:
    """The artifact and the number of the version that comes next."""
    if known is not None:
        return known.id, known.latest + 1
    number = _number(f"{name}/" if found.is_folder else name)
    return files.artifact_of_call(ids.call_effect(turn.turn_id, 999, number), 1), 1


def _remember(place: Place, key: str, hash: str) -> None:
    """What lies on the disk under this name was kept."""
    place.exported[key] = hash
    while len(place.exported) > MOST_KNOWN:
        del place.exported[next(iter(place.exported))]


def _number(name: str) -> int:
    """A number for a name that is the same whatever else lies beside it."""
    return int(hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8], 16)
