"""Probing: looks at something outside that a person asked for, each of them sent once at most.

Who records `probe.started` has the look, as all appends are one line; it is recorded before
anything is sent. A look whose worker is gone is lost: shown as unknown, and never sent again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from studio.core.clock import Clock
from studio.core.faults import fault
from studio.core.rules import events as e
from studio.core.store import probes
from studio.core.store.db import Db
from studio.core.store.feed import Feed
from studio.core.store.journal import Journal
from studio.core.store.probes import Probe
from studio.core.work.opening import Opening

log = logging.getLogger("studio.worker")

LOOK_SECONDS = 90.0  # the longest that a look may take
GRACE_SECONDS = 15.0
STALE_SECONDS = 600.0  # nobody waits for an answer any more
POLL_SECONDS = 2.0
AT_ONCE = 4

Look = Callable[[Any], Awaitable[Any]]


class LookError(Exception):
    """It could not be looked at: a stable code, and a sentence for the person."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class Probing:
    """Takes what is asked for. `looks` maps a kind to what looks at a subject and gives JSON."""

    def __init__(
        self, *, db: Db, journal: Journal, feed: Feed, clock: Clock, opening: Opening,
        worker: str, looks: Mapping[str, Look],
    ) -> None:  # fmt: skip
        self._db, self._journal, self._feed, self._clock = db, journal, feed, clock
        self._opening, self._worker, self._looks = opening, worker, dict(looks)
        self._out: set[str] = set()

    async def run(self) -> None:
        """Look for what is asked until cancelled; what is out then is lost."""
        async with self._feed.subscribe() as growth, asyncio.TaskGroup() as group:
            while True:
                try:
                    await self._round(group)
                except Exception:
                    log.exception("Tests that people asked for could not be read; tried again.")
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_SECONDS):
                        while "probes" not in await growth.get():
                            pass

    async def _round(self, group: asyncio.TaskGroup) -> None:
        waiting = await self._db.read(probes.open_ones)
        if not waiting:
            return
        alive = await self._db.read(probes.workers)
        for probe in waiting:
            if probe.state == "started":
                await self._lose(probe, alive)
            elif self._may_look(probe) and await self._claim(probe):
                self._out.add(probe.id)
                group.create_task(self._look(probe), name=f"probe {probe.id}")

    def _may_look(self, probe: Probe) -> bool:
        return len(self._out) < AT_ONCE and probe.kind in self._looks

    async def _claim(self, probe: Probe) -> bool:
        """Record that this worker looks; False when another one does, or nobody waits."""
        now = self._clock.now()
        until = now + _ms(LOOK_SECONDS + GRACE_SECONDS)

        def rule(conn: Any) -> list[e.Event]:
            found = probes.get(conn, probe.id)
            if found is None or found.state != "asked":
                return []
            if now - found.asked > _ms(STALE_SECONDS):
                words = "No worker took it for ten minutes, so it was not sent. Ask again."
                return [e.ProbeFailed(probe_id=probe.id, code="probe.stale", message=words)]
            return [e.ProbeStarted(probe_id=probe.id, worker=self._worker, until=until)]

        fault("probe.before_intent")
        facts = await self._journal.commit_other("probes", rule, at=now, actor=None)
        fault("probe.after_intent")
        return any(isinstance(fact.event, e.ProbeStarted) for fact in facts)

    async def _look(self, probe: Probe) -> None:
        try:
            came = await self._found(probe)
            fault("probe.before_outcome")
            await self._end(probe, came)
        except Exception:
            log.exception("What a test found could not be recorded.")
        finally:
            self._out.discard(probe.id)

    async def _found(self, probe: Probe) -> e.Event:
        """What came of it; whatever happens is a fact, and no secret is in it."""
        mask = self._opening.values.mask
        try:
            await self._opening.fresh()
            async with asyncio.timeout(LOOK_SECONDS):
                answer = await self._looks[probe.kind](probe.subject)
        except LookError as error:
            return _failed(probe, error.code, mask.text(error.message))
        except TimeoutError:
            words = f"No answer within {LOOK_SECONDS:.0f} s."
            return _failed(probe, "probe.timeout", words)
        except Exception as error:
            log.exception("A test of the kind %s failed in a way it should not.", probe.kind)
            return _failed(probe, "probe.broken", f"The test broke: {type(error).__name__}.")
        hidden = mask.hide(answer)
        return e.ProbeAnswered(probe_id=probe.id, answer=hidden.value, masked=hidden.count)

    async def _lose(self, probe: Probe, alive: frozenset[str]) -> None:
        """A look of a worker that is gone, or that took far too long."""
        if probe.id in self._out:
            return
        is_ours_alone = self._db.kind == "sqlite"
        is_late = probe.until is not None and self._clock.now() > probe.until
        if is_ours_alone or is_late or probe.worker not in alive:
            await self._end(probe, e.ProbeLost(probe_id=probe.id))

    async def _end(self, probe: Probe, event: e.Event) -> None:
        """Record the end of a look, unless it has one."""

        def rule(conn: Any) -> list[e.Event]:
            found = probes.get(conn, probe.id)
            return [event] if found is not None and found.ended is None else []

        await self._journal.commit_other("probes", rule, at=self._clock.now(), actor=None)


def _failed(probe: Probe, code: str, message: str) -> e.ProbeFailed:
    return e.ProbeFailed(probe_id=probe.id, code=code, message=message)


def _ms(seconds: float) -> int:
    return int(seconds * 1000)
