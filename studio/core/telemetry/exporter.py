"""Exporter: follows the journal and sends the spans of every turn that ended to a collector.

One worker at a time exports, by a lease. Its place moves when the collector answered, so after any
death it goes on with what was in hand, under the same ids. The journal is the only queue: a turn
never waits for a collector, and memory holds one batch. Spans that waited too long are given up.
"""

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from studio import __version__
from studio.core.clock import Clock
from studio.core.faults import fault
from studio.core.rules.errors import Unavailable
from studio.core.store import backfills, collector
from studio.core.store.collector import Came, NotOurs, Place
from studio.core.store.db import Db
from studio.core.store.feed import Feed
from studio.core.telemetry import messages
from studio.core.telemetry.batch import Batch, Filler
from studio.core.telemetry.sending import Sender, Target
from studio.core.telemetry.sources import Live, Past, Source

log = logging.getLogger("studio.export")

LEASE_SECONDS = 15.0
RENEW_SECONDS = 4.0
HOUR = 3_600_000


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Seconds: how long a batch waits for more, how often one looks, how long after a failure."""

    linger: float = 2.0
    look: float = 0.25
    idle: float = 2.0
    first_rest: float = 1.0
    longest_rest: float = 60.0


class Exporter:
    """Exports for one store until cancelled. `hours` is how long spans wait for their collector.

    `kinds` of content go along; `hide` takes secrets out of a text; `key` is that of the ids.
    """

    def __init__(
        self, *, db: Db, feed: Feed, clock: Clock, owner: str, target: Target, key: bytes,
        service: str, hours: int, kinds: frozenset[str], hide: Callable[[str], str],
        pace: Pace | None = None,
    ) -> None:  # fmt: skip
        self._db, self._feed, self._clock, self._owner = db, feed, clock, owner
        self._target, self._service, self._keep = target, service, hours * HOUR
        self._pace = pace or Pace()
        self._sender = Sender(target, hide=hide, now=clock.now)
        self._filler = Filler(
            db, key=key, kinds=kinds, hide=hide, now=clock.now, monotonic=clock.monotonic
        )  # fmt: skip
        self._failures = 0

    async def run(self) -> None:
        """Export whenever no other worker does. Never raises but when it is cancelled."""
        try:
            while True:
                try:
                    await self._once()
                except Unavailable as error:
                    log.warning("Spans are not exported now: %s", error)
                except Exception:
                    log.exception("The export broke; it goes on from its place.")
                await asyncio.sleep(RENEW_SECONDS)
        finally:
            await self._sender.close()
            with suppress(Unavailable):
                await collector.leave(self._db, self._owner)

    async def _once(self) -> None:
        """Export for as long as this worker has the lease."""
        place = await collector.take(
            self._db, self._owner, self._clock.now(), int(LEASE_SECONDS * 1000), self._target.place
        )
        if place is None:
            return
        self._filler.forget()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._renew(), name="export.renew")
                await self._follow(place)
        except* NotOurs:
            log.info("Another worker exports spans now.")
        except* Unavailable as found:
            log.warning("Spans are not exported now: %s", found.exceptions[0])

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            try:
                await collector.renew(
                    self._db, self._owner, self._clock.now(), int(LEASE_SECONDS * 1000)
                )
            except Unavailable as error:
                log.warning("The lease of the export could not be kept: %s", error)

    async def _follow(self, place: Place) -> None:
        """Live turns first, then a batch of a backfill, then what has come since."""
        live = Live(self._db, self._clock, self._owner, place, self._keep)
        batch = Batch(place=place)
        while True:
            more = await self._filler.fill(live, batch)
            waits = self._waits(batch)
            if not batch.empty and waits <= 0:
                await self._deliver(live, batch)
                batch = Batch(place=live.place)
            elif batch.empty and batch.place.at - live.place.at >= collector.FACTS:
                await live.move(batch.place, 0, Came())
            if more:
                continue
            if not await self._fill_back():
                await self._rest(batch)

    def _waits(self, batch: Batch) -> float:
        """Seconds until a batch goes out as it is."""
        if batch.full or batch.since is None:
            return 0.0
        return batch.since + self._pace.linger - self._clock.monotonic()

    async def _rest(self, batch: Batch) -> None:
        """Until there may be something to do."""
        if not batch.empty:
            await asyncio.sleep(min(max(self._waits(batch), 0.0), self._pace.look))
            return
        await asyncio.sleep(self._pace.look)  # not for every fact of a busy studio
        await self._feed.wait(batch.place.at, self._pace.idle)

    async def _fill_back(self) -> bool:
        """One batch of the oldest backfill; whether there was one."""
        waiting = await self._db.read(backfills.open_ones)
        if not waiting:
            return False
        past = Past(self._db, self._clock, self._owner, waiting[0], self._keep)
        batch = Batch(place=past.place)
        more = await self._filler.fill(past, batch)
        if batch.place != past.place:
            await self._deliver(past, batch)
        if not more:
            await past.end()
        return True

    async def _deliver(self, source: Source, batch: Batch) -> None:
        """Send a batch until it is answered or given up; then its place is durable."""
        came = Came()
        if batch.spans:
            body = await asyncio.to_thread(
                messages.request, batch.spans, version=__version__, service=self._service
            )
            came = await self._sent(source, batch, body)
        words = came.words
        if batch.late:
            words = f"{batch.late:,} spans waited for longer than {self._keep // HOUR:,} h."
        if batch.lost:
            words = f"{batch.lost:,} turns could not be told as spans; the log says why."
        dropped = came.dropped + batch.late + batch.lost
        fault("export.before_place")
        await source.move(
            batch.place, batch.turns,
            Came(sent=came.sent, refused=came.refused, dropped=dropped, heard=came.heard,
                 words=words),
        )  # fmt: skip
        fault("export.after_place")

    async def _sent(self, source: Source, batch: Batch, body: bytes) -> Came:
        """What became of a batch's spans."""
        count = len(batch.spans)
        while True:
            fault("export.before_send")
            answer = await self._sender.send(body)
            fault("export.after_send")
            if not answer.again:
                self._failures = 0
                refused = count if answer.refused is None else min(answer.refused, count)
                return Came(sent=count - refused, refused=refused, heard=True, words=answer.words)
            now = self._clock.now()
            if source.is_late(batch.oldest or now, now):
                words = f"{count:,} spans waited for longer than {self._keep // HOUR:,} h."
                return Came(dropped=count, words=f"{words} {answer.words}")
            rest = self._rests(answer.rest)
            await collector.failing(
                self._db, self._owner, answer.words, now, now + int(rest * 1000)
            )
            await asyncio.sleep(rest)

    def _rests(self, asked: float | None) -> float:
        """Seconds until the next try: twice as long each time, and never less than asked for."""
        self._failures += 1
        rest = self._pace.first_rest * 2.0 ** min(self._failures - 1, 20)
        rest = min(rest, self._pace.longest_rest) * random.uniform(0.8, 1.2)  # noqa: S311
        return max(rest, asked or 0.0)
