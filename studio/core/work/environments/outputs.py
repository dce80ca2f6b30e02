"""Outputs: what a turn left in `outputs/` becomes artifacts of its session, a version a change.

A path keeps its folders in the artifact's name, so equal names do not meet. What cannot be kept is
left where it is, on the disk, and said in the log; it never fails the turn.
"""

import asyncio
import hashlib
import logging

from studio.core import intake
from studio.core.rules import events as e
from studio.core.rules import files, ids
from studio.core.rules.errors import StudioError
from studio.core.rules.session import Session
from studio.core.sandboxes.contract import SandboxError
from studio.core.store import artifacts
from studio.core.work.environments.places import Place, Places

log = logging.getLogger("studio.worker")

FOLDER = "outputs/"
MOST, MOST_KNOWN = 100, 10_000


async def export(places: Places, place: Place, session: Session, turn: e.TurnRef) -> None:
    """Keep each file of `outputs/` that differs from its artifact's newest version."""
    found = await place.sandbox.glob(f"{FOLDER}**/*", most=MOST)
    if found.more:
        log.warning(
            "%s has more than %d files in %s; the first are kept.", place.name, MOST, FOLDER
        )
    for path in found.paths:
        try:
            await _one(places, place, session, turn, path)
        except (StudioError, SandboxError) as wrong:
            log.warning("%s of %s is not kept as an artifact: %s", path, place.name, wrong)


async def _one(places: Places, place: Place, session: Session, turn: e.TurnRef, path: str) -> None:
    name = files.checked_name(path.removeprefix(FOLDER))
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
    saved: list[e.Event] = []

    def look(conn: object, session: Session) -> None:
        known = artifacts.named(conn, session.id, name)  # type: ignore[arg-type]
        artifact_id = files.artifact_of_call(ids.call_effect(turn.turn_id, 999, _number(name)), 1)
        version = 1
        if known is not None:
            artifact_id, latest = known
            kept = artifacts.bytes_of(conn, artifact_id, latest)  # type: ignore[arg-type]
            if kept is not None and kept[0] == found.hash:
                return
            version = latest + 1
        saved[:] = [
            e.ArtifactSaved(
                artifact_id=artifact_id, version=version, name=name, media=found.media,
                size=found.size, hash=found.hash, source="agent", by=session.agent,
                turn_id=turn.turn_id, width=found.width, height=found.height,
                pages=max(found.pages, 0),
            )
        ]  # fmt: skip

    await places.journal.commit(
        session.id, lambda s: saved, at=places.clock.now(), actor=None, before=look
    )
    place.exported[key] = read.hash
    while len(place.exported) > MOST_KNOWN:
        del place.exported[next(iter(place.exported))]


def _number(name: str) -> int:
    """A number for a name that is the same whatever else lies beside it."""
    return int(hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8], 16)
