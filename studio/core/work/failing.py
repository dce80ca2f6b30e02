"""Failing: what becomes of a session that could not be moved for a fault of the studio's own.

It is tried again, each time later, and its page says so. When nothing came of several tries in a
row, its turn is ended in words. Where that fails as well, the session is left to rare tries, and
the pages say so.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from studio.core.rules import ends
from studio.core.rules import events as e
from studio.core.rules.errors import Unavailable
from studio.core.rules.session import Session
from studio.core.store import failing
from studio.core.store.journal import LeaseLost, Rule
from studio.core.work.hold import Hold

if TYPE_CHECKING:
    from studio.core.work.driver import Driver

log = logging.getLogger("studio.worker")

SOON = 2_000  # ms until the first new try; each further one waits twice as long
LATE = 60_000  # at most


class Failing:
    """Counts for a driver; the counts are in the store, so they outlive workers."""

    def __init__(self, driver: "Driver") -> None:
        self.driver = driver

    async def note(self, hold: Hold, error: BaseException) -> int:
        """A try failed so. When (ms, UTC) the session is to be looked at again; never raises."""
        fault = self.driver.clock.new_id("flt")
        log.error(
            "Session %s could not be moved: fault %s of the studio itself.",
            hold.lease.session_id, fault, exc_info=error,
        )  # fmt: skip
        try:
            return await self._noted(hold, fault)
        except Exception:
            log.exception("The fault %s could not be noted; it is tried again.", fault)
            return self.driver.clock.now() + LATE

    async def _noted(self, hold: Hold, fault: str) -> int:
        session_id, driver = hold.lease.session_id, self.driver
        found = await driver.read(lambda conn: failing.find(conn, session_id))
        tries = found.tries + 1
        if tries >= failing.TRIES and await self._ended(hold, tries, fault):
            return driver.clock.now()
        again = driver.clock.now() + wait(tries)
        found = replace(found, tries=tries, fault=fault, again=again)
        if tries >= failing.TRIES or not await self._said(hold, found):
            await driver.outage.outlast(lambda: driver.db.touch(lambda c: failing.keep(c, found)))
        log.warning("Session %s is tried again in %d s.", session_id, wait(tries) // 1000)
        return again

    async def _said(self, hold: Hold, found: failing.Failing) -> bool:
        """Record a try that failed, together with its count."""

        def rule(session: Session) -> list[e.Event]:
            return ends.fault(
                session, found.fault, tries=found.tries, most=failing.TRIES, wait=wait(found.tries)
            )

        return await self._recorded(hold, rule, lambda conn: failing.keep(conn, found))

    async def _ended(self, hold: Hold, tries: int, fault: str) -> bool:
        """End the turn in hand."""
        return await self._recorded(
            hold, lambda session: ends.give_up(session, tries, fault),
            lambda conn: failing.forget(conn, hold.lease.session_id),
        )  # fmt: skip

    async def _recorded(self, hold: Hold, rule: Rule, also: Callable[[Any], None]) -> bool:
        """Record what a rule says of the turn in hand; false when there is none, or for a fault."""
        try:
            done = await self.driver.commit(hold, rule, also=lambda conn, *_: also(conn))
        except (LeaseLost, Unavailable):
            raise
        except Exception:
            log.exception("Session %s: that could not be recorded.", hold.lease.session_id)
            return False
        return bool(done.facts)


def wait(tries: int) -> int:
    """Milliseconds from so many failed tries to the next."""
    return min(LATE, SOON << min(tries - 1, 10))
