"""Sweeping: disks of environments that were deleted or are long unused, and bytes of no version."""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from studio.core.disks.removing import remove
from studio.core.faults import fault
from studio.core.rules.environments.environment import Environment
from studio.core.rules.errors import Refused, StudioError
from studio.core.sandboxes.contract import SandboxError
from studio.core.store import artifacts, environments
from studio.core.work.environments.locks import Locked
from studio.core.work.environments.places import Places

log = logging.getLogger("studio.worker")

EVERY_SECONDS = 300.0
COLLECT_EVERY = 12  # rounds


class Sweeping:
    """Clears what is over, a round every few minutes."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._rounds = 0

    async def run(self) -> None:
        """Go round until cancelled."""
        while True:
            try:
                await self.round()
            except Exception:
                log.exception("What is over of environments could not be cleared; tried again.")
            await asyncio.sleep(EVERY_SECONDS)

    async def round(self) -> None:
        """Delete what is long unused, clear what was deleted, collect now and then."""
        now = self.places.clock.now()
        for id in await self.places.db.read(lambda conn: environments.unused(conn, now)):
            await self._delete(id)
        for id in self._there():
            found = await self.places.find(id)
            if found is not None and found.deleted is not None:
                await self._clear(found)
        for id in self._only_locks():
            found = await self.places.find(id)
            if found is not None and found.deleted is not None:
                await self._unlock(id)
        self._rounds += 1
        if self._rounds % COLLECT_EVERY == 1:
            await self.collect()

    async def collect(self) -> None:
        """Throw away what no version of a disk, and no folder that is an artifact, holds."""
        keep = await self.places.db.read(
            lambda conn: (*environments.digests(conn), *artifacts.digests(conn))
        )
        done = await asyncio.to_thread(self.places.disks.collect, keep)
        if done.freed:
            log.info("%d bytes of removed disk versions were freed.", done.freed)

    async def _delete(self, id: str) -> None:
        with suppress(Refused):  # a turn began meanwhile
            await self.places.record(id, lambda conn, found: environments.ended(conn, found, None))

    async def _clear(self, environment: Environment) -> None:
        """End it and remove its folder, once nobody works in it any more; else the next round."""
        id = environment.id
        try:
            async with self.places.locks.alone(id, within=0):
                await self.places.destroy(environment)
                fault("environment.before_remove")
                await asyncio.to_thread(remove, self.places.folder / id)
        except Locked:
            return
        except (OSError, StudioError, SandboxError) as wrong:
            log.warning("The disk of a deleted environment could not be removed: %s", wrong)
            return
        fault("environment.before_unlock")
        await self._unlock(id)

    async def _unlock(self, id: str) -> None:
        """Remove the file of its lock: nobody works in what was deleted and has no folder."""
        with suppress(Locked):
            async with self.places.locks.alone(id, within=0):
                (self.places.folder / "locks" / f"{id}.lock").unlink(missing_ok=True)

    def _there(self) -> Iterable[str]:
        folder: Path = self.places.folder
        return sorted(one.name for one in folder.glob("env_*")) if folder.is_dir() else ()

    def _only_locks(self) -> Iterable[str]:
        """Environments of which the file of a lock is here and no folder: one that was deleted
        leaves it when its worker dies in between."""
        folder: Path = self.places.folder
        found = sorted(one.stem for one in (folder / "locks").glob("env_*.lock"))
        return [id for id in found if not (folder / id).exists()]
