"""A worker without a collector says so, once no other one exports; the page need not count then."""

import asyncio
import logging

from studio.core.clock import Clock
from studio.core.rules.errors import Unavailable
from studio.core.store import collector
from studio.core.store.db import Db

log = logging.getLogger("studio.export")

AGAIN_SECONDS = 15.0  # as long as the lease of a worker that is gone may hold


async def say(db: Db, clock: Clock, *, rest: float = AGAIN_SECONDS) -> None:
    """Write it down, if it was not before. Never raises but when it is cancelled."""
    while True:
        try:
            row = await db.read(collector.read)
            if row is None or not row.endpoint or await collector.unset(db, clock.now()):
                return
        except Unavailable as error:
            log.warning("That no collector is set could not be written down: %s", error)
        await asyncio.sleep(rest)
