"""Worker: which sessions are moved, and by whom. How one is moved is `studio.core.work`.

A session is moved by one worker at a time (a lease); every write checks the lease's fence, so a
worker that was given up can record nothing and, at the gate, send nothing.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any

from studio.core.clock import Clock
from studio.core.faults import fault
from studio.core.providers.shelf import Shelf
from studio.core.rules.errors import Unavailable
from studio.core.rules.files import FileLimits
from studio.core.store import wakes
from studio.core.store.db import Db
from studio.core.store.feed import Feed
from studio.core.store.journal import Journal, LeaseLost
from studio.core.store.presence import Presence
from studio.core.tools.tool import Catalog
from studio.core.tools.values import Values
from studio.core.work.driver import Driver
from studio.core.work.environments.operations import Operations
from studio.core.work.environments.places import Places
from studio.core.work.environments.sweeping import Sweeping
from studio.core.work.environments.turns import Turns
from studio.core.work.failing import SOON, Failing
from studio.core.work.hold import Hold
from studio.core.work.opening import Opening
from studio.core.work.probing import Look, Probing

log = logging.getLogger("studio.worker")

LEASE_SECONDS = 10.0
HEARTBEAT_SECONDS = 3.0
WATCH_SECONDS = 0.3
TIDY_SECONDS = 60.0
POLL_SECONDS = 1.0


class Worker:
    """Moves up to `concurrency` sessions at once until it is stopped.

    What stands `beside` it runs for as long as it does, and never fails.
    """

    def __init__(
        self, *, db: Db, journal: Journal, feed: Feed, shelf: Shelf, catalog: Catalog,
        clock: Clock, name: str, concurrency: int = 256, opening: Opening | None = None,
        looks: Mapping[str, Look] | None = None, trace_key: bytes = b"",
        limits: FileLimits | None = None, places: Places | None = None,
        beside: Sequence[Callable[[], Coroutine[Any, Any, None]]] = (),
    ) -> None:  # fmt: skip
        self.db, self.feed, self.clock = db, feed, clock
        self.shelf, self.catalog = shelf, catalog
        self.opening = opening or Opening(db=db, feed=feed, clock=clock, values=Values({}))
        self.driver = Driver(
            db=db, journal=journal, feed=feed, shelf=shelf, catalog=catalog, clock=clock,
            opening=self.opening, trace_key=trace_key, limits=limits,
            environments=Turns(places) if places is not None else None,
        )  # fmt: skip
        self.places, self.beside = places, beside
        self.outage, self.failing = self.driver.outage, Failing(self.driver)
        self.name, self.concurrency = name, concurrency
        self.probing = Probing(
            db=db, journal=journal, feed=feed, clock=clock, opening=self.opening, worker=name,
            looks=looks or {},
        )  # fmt: skip
        self.presence = Presence(db, name, _ms(LEASE_SECONDS))
        self.holds: dict[str, Hold] = {}
        self._hinted: set[str] = set()
        self._wake = asyncio.Event()

    async def run(self) -> None:
        """Work until cancelled; what is out then is left for the next worker to recover."""
        await self.presence.start()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._listen(), name="worker.listen")
                group.create_task(self._heartbeat(), name="worker.heartbeat")
                group.create_task(self.probing.run(), name="worker.probing")
                if self.places is not None:
                    operations = Operations(self.places, self.feed)
                    group.create_task(self.places.run(), name="worker.places")
                    group.create_task(operations.run(), name="worker.operations")
                    group.create_task(Sweeping(self.places).run(), name="worker.sweeping")
                for other in self.beside:
                    group.create_task(other(), name="worker.beside")
                if self.db.kind == "postgresql":
                    group.create_task(self._watch(), name="worker.watch")
                group.create_task(self._prepare(), name="worker.prepare")
                group.create_task(self._tidy(), name="worker.tidy")
                await self._claim_forever(group)
        finally:
            await self.presence.close()

    async def _prepare(self) -> None:
        try:
            await self.catalog.prepare()
        except Exception:
            log.exception("The plugins could not be looked at; the first session tries again.")

    async def _tidy(self) -> None:
        """Now and then let go of what nobody needs any more."""
        while True:
            await asyncio.sleep(TIDY_SECONDS)
            try:
                await self.shelf.let_go()
                await self.catalog.tidy()
            except Exception:
                log.exception("What is not needed could not be let go; it is tried again.")

    async def close(self) -> None:
        """Let go of providers and tool servers."""
        await self.shelf.close()
        await self.catalog.close()
        if self.places is not None:
            await self.places.close()

    async def _listen(self) -> None:
        async with self.feed.subscribe() as growth:
            while True:
                for session_id in await growth.get():
                    hold = self.holds.get(session_id)
                    if hold is not None:
                        hold.grew.set()
                    else:
                        self._hinted.add(session_id)
                        self._wake.set()

    async def _heartbeat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            asked = self.clock.monotonic()
            try:
                renewed = await wakes.renew(
                    self.db, self.name, self.clock.now(), _ms(LEASE_SECONDS)
                )
            except Unavailable as error:
                self.outage.began(error)
                continue
            except Exception:
                log.exception("The heartbeat failed; leases run out unless the next one succeeds.")
                continue
            self.outage.over()
            for session_id, hold in list(self.holds.items()):
                if session_id in renewed.extended:
                    hold.good_until = asked + LEASE_SECONDS
                elif (
                    session_id not in renewed.ours
                    and hold.task is not None
                    and self.clock.monotonic() > hold.good_until
                ):
                    hold.task.cancel()

    async def _watch(self) -> None:
        """Take over from workers that died: their sessions may move again at once."""
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            try:
                freed = await self.presence.free_dead()
            except Unavailable as error:
                self.outage.began(error)
                continue
            except Exception:
                log.exception("The other workers could not be looked at; leases still run out.")
                continue
            if freed:
                self._hinted.update(freed)
                self._wake.set()

    async def _claim_forever(self, group: asyncio.TaskGroup) -> None:
        backlog = True
        until = 0.0
        while True:
            free = self.concurrency - len(self.holds)
            hinted = [s for s in self._hinted if s not in self.holds]
            self._hinted.clear()
            self._wake.clear()
            if self.clock.monotonic() >= until:
                backlog = True
            if free > 0 and (hinted or backlog):
                only = None if backlog else hinted
                asked, leases = await self.outage.outlast(lambda: self._claim(free, only))  # noqa: B023 - awaited here
                fault("lease.claimed") if leases else None
                for lease in leases:
                    self._take(group, lease, asked)
                if backlog:
                    until = self.clock.monotonic() + await self._rest()
                backlog = len(leases) >= free
                continue
            wait = max(0.0, until - self.clock.monotonic())
            with suppress(TimeoutError):  # not wait_for: in 3.11 it can swallow a cancellation
                async with asyncio.timeout(wait if free > 0 else POLL_SECONDS):
                    await self._wake.wait()

    async def _claim(self, free: int, only: list[str] | None) -> tuple[float, list[wakes.Lease]]:
        """Take what may move, and when it was asked for, which is what its leases run from."""
        asked = self.clock.monotonic()
        leases = await wakes.claim(
            self.db, self.name, free, self.clock.now(), _ms(LEASE_SECONDS), only=only
        )
        return asked, leases

    async def _rest(self) -> float:
        """Seconds until the next known timer, at most one poll."""
        now = self.clock.now()
        soon = await self.outage.outlast(lambda: wakes.soon(self.db, now, _ms(POLL_SECONDS)))
        return min([POLL_SECONDS, *((due - now) / 1000 + 0.001 for _, due in soon)])

    def _take(self, group: asyncio.TaskGroup, lease: wakes.Lease, asked: float) -> None:
        if lease.session_id in self.holds:
            return
        hold = Hold(lease=lease, good_until=asked + LEASE_SECONDS)
        self.holds[lease.session_id] = hold
        hold.task = group.create_task(self._keep(hold), name=f"session {lease.session_id}")

    async def _keep(self, hold: Hold) -> None:
        """Move one session until it rests; a fault of ours is tried again, never lost."""
        session_id = hold.lease.session_id
        try:
            async with hold.out:
                await self.driver.move(hold)
        except* Exception as group:  # noqa: BLE001 - it is told below
            await self._give_up(hold, await self._later(hold, group))
        finally:
            self.holds.pop(session_id, None)
            if hold.grew.is_set():  # it may have grown after the rules were last asked
                self._hinted.add(session_id)
                self._wake.set()

    async def _later(self, hold: Hold, group: BaseExceptionGroup[Any]) -> int:
        """When (ms, UTC) a session is tried again that could not be moved, by the reason."""
        session_id, (_, ours) = hold.lease.session_id, group.split((LeaseLost, Unavailable))
        if ours is not None:
            return await self.failing.note(hold, ours)
        elif group.subgroup(LeaseLost) is not None:
            log.warning("Session %s could not be kept: its lease ran out.", session_id)
        else:
            words = "Session %s could not be moved; it is tried again."
            log.error(words, session_id, exc_info=group)
        return self.clock.now() + SOON

    async def _give_up(self, hold: Hold, later: int) -> None:
        """Let the session go until then.

        Nobody can take it while the store says that we hold it. A store that cannot record an
        outcome seldom records this at once, so it is tried until it does. A lease that somebody
        else has by now is not touched.
        """
        while True:
            try:
                again = await wakes.release(self.db, hold.lease, later)
            except Unavailable as error:
                self.outage.began(error)
                await asyncio.sleep(POLL_SECONDS)
                continue
            except Exception:
                log.exception("Session %s could not be let go yet.", hold.lease.session_id)
                await asyncio.sleep(POLL_SECONDS)
                continue
            if again is None:
                return
            hold.lease = again


def _ms(seconds: float) -> int:
    return int(seconds * 1000)
