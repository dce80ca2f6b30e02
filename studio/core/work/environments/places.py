"""Places: environments as this worker has them open, one sandbox each, and their way to the store.

A sandbox is opened when a session first needs it and let go when nobody has used it for long. What
its commands reach for is recorded as it happens, a batch at a time.
"""

import asyncio
import logging
import os
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from studio.core.clock import Clock
from studio.core.disks.disks import Disks
from studio.core.disks.limits import Limits
from studio.core.faults import fault
from studio.core.rules import events as e
from studio.core.rules.environments import records
from studio.core.rules.environments.environment import Environment
from studio.core.rules.errors import StudioError
from studio.core.rules.files import FileLimits
from studio.core.sandboxes.contract import Sandbox, SandboxError
from studio.core.sandboxes.egress.tried import Tried
from studio.core.store import environments
from studio.core.store.db import Db
from studio.core.store.journal import Journal
from studio.core.work.environments.locks import Locked, Locks
from studio.core.work.environments.tries import Tries
from studio.core.work.opening import Opening

log = logging.getLogger("studio.worker")

IDLE_SECONDS = 900.0
LOCK_SECONDS = 30.0  # that a call waits for a disk to be kept or put back
TELL_SECONDS = 0.25
TELL_AGAIN_SECONDS = 1.0
MOST_TOLD = 200

Told = Callable[[Tried], None]


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A sandbox, the isolation that this machine gives it, and what that does not keep.

    Some gaps are known only once it was started.
    """

    sandbox: Sandbox
    isolation: str
    gaps: Callable[[], tuple[str, ...]] = tuple


class Open(Protocol):
    """Opens sandboxes."""

    async def __call__(self, environment: Environment, folder: Path, told: Told) -> Opened:
        """The sandbox of an environment in its folder; SandboxError says why there is none."""
        ...

    async def close(self) -> None:
        """End everything that was opened."""
        ...


@dataclass(eq=False)
class Place:
    """An environment that is open here.

    `turns` are the turns whose calls are out, by effect; `past` those of the last calls, as a
    connection may end after the command that made it.
    """

    id: str
    name: str
    opened: Opened
    folder: Path
    turns: dict[str, e.TurnRef] = field(default_factory=dict)
    past: OrderedDict[str, e.TurnRef] = field(default_factory=OrderedDict)
    tried: list[e.EgressTried] = field(default_factory=list)
    tries: Tries = field(default_factory=Tries)
    used: float = 0.0
    is_started: bool = False
    limits: Limits = field(default_factory=Limits)
    most_bytes: int = Limits().bytes
    exported: dict[str, str] = field(default_factory=dict)

    @property
    def sandbox(self) -> Sandbox:
        """Where its commands run."""
        return self.opened.sandbox

    @property
    def half_put(self) -> Path:
        """A mark that another disk is being put in place."""
        return self.folder / "putting"

    @property
    def cache(self) -> Path:
        """What the store of versions remembers of the disk's files."""
        return self.folder / "cache"


class Places:
    """The environments of a worker. `folder` holds their disks, `disks` the versions of all."""

    def __init__(
        self, *, db: Db, journal: Journal, clock: Clock, opening: Opening, folder: Path,
        disks: Disks, opens: Open, worker: str, limits: FileLimits | None = None,
    ) -> None:  # fmt: skip
        self.db, self.journal, self.clock, self.opening = db, journal, clock, opening
        self.folder, self.disks, self.worker = folder, disks, worker
        self.limits = limits or FileLimits()
        self.locks = Locks(folder / "locks")
        self._opens = opens
        self._places: dict[str, Place] = {}
        self._telling = asyncio.Event()

    async def record(self, id: str, rule: Callable[[Any, Environment], Sequence[e.Event]],
                     actor: str | None = None) -> list[e.Fact]:  # fmt: skip
        """Record in an environment's journal what a rule says of it as it is."""
        return await self.journal.commit_environment(id, rule, at=self.clock.now(), actor=actor)

    async def find(self, id: str) -> Environment | None:
        """The environment as it stands, deleted or not."""
        return await self.db.read(lambda conn: environments.get(conn, id))

    async def open(self, id: str) -> Place:
        """The place of an environment; StudioError or SandboxError says why there is none."""
        place = self._places.get(id)
        if place is None:
            environment = records.alive(await self.find(id))
            await self.opening.fresh()
            folder = self.folder / id
            folder.mkdir(mode=0o711, parents=True, exist_ok=True)
            opened = await self._opens(environment, folder, lambda tried: self._tell(id, tried))
            place = Place(
                id=id, name=environment.name, folder=folder, opened=opened,
                limits=_limits(environment), most_bytes=_most_bytes(environment),
            )  # fmt: skip
            self._places.setdefault(id, place)
            place = self._places[id]
        place.used = time.monotonic()
        return place

    @asynccontextmanager
    async def at_work(self, id: str, effect_id: str, turn: e.TurnRef) -> AsyncIterator[Place]:
        """Work in an environment while nobody changes its disk as a whole; Locked after a while."""
        place = await self.open(id)
        async with self.locks.working(id, within=LOCK_SECONDS):
            await self._started_anew(place)
            await self.started(place)
            place.turns[effect_id] = turn
            try:
                yield place
            finally:
                place.past[effect_id] = place.turns.pop(effect_id)
                while len(place.past) > MOST_TOLD:
                    place.past.popitem(last=False)
                self.over(place, effect_id)
                place.used = time.monotonic()

    async def start(self, id: str) -> None:
        """Have a sandbox run before a turn needs it; Locked when its disk is not to be had."""
        place = await self.open(id)
        async with self.locks.working(id, within=LOCK_SECONDS):
            await self._started_anew(place)
            await self.started(place)

    async def _started_anew(self, place: Place) -> None:
        """Forget a start that somebody, on whatever worker, has ended since."""
        found = await self.find(place.id)
        if place.is_started and not place.turns and found is not None and found.state == "stopped":
            await place.sandbox.stop()
            place.is_started = False

    async def started(self, place: Place) -> None:
        """Have its sandbox ready, and say so the first time."""
        if place.is_started:
            return
        await place.sandbox.start()
        place.is_started = True
        isolation, gaps = place.opened.isolation, place.opened.gaps()

        def rule(conn: Any, found: Environment) -> list[e.Event]:
            if (found.state, found.isolation, found.gaps) == ("running", isolation, gaps):
                return []
            return records.note_started(found, isolation=isolation, gaps=gaps, worker=self.worker)

        await self.record(place.id, rule)

    async def stop(self, place: Place, *, by: str = "", reason: str = "") -> None:
        """End what runs in it and let go of it, for who has it alone; the next use opens it."""
        await place.sandbox.stop()
        self._places.pop(place.id, None)
        while place.tried:
            await self._tell_now(place)
        await self.record(
            place.id,
            lambda conn, found: records.note_stopped(found, by=by, reason=reason),
            by or None,
        )

    async def close(self) -> None:
        """Let go of everything."""
        await self._opens.close()

    async def destroy(self, environment: Environment) -> None:
        """End what runs in an environment that is over, wherever that is, and empty its disk."""
        place = self._places.pop(environment.id, None)
        if place is None:
            folder = self.folder / environment.id
            opened = await self._opens(environment, folder, lambda tried: None)
            place = Place(id=environment.id, name=environment.name, opened=opened, folder=folder)
        if place.sandbox.kind != "none":
            fault("environment.before_destroy")
            await place.sandbox.reset()
            fault("environment.mid_destroy")
            await place.sandbox.stop()

    async def run(self) -> None:
        """Record what was reached for, and let idle places go, until cancelled; then stop all."""
        try:
            while True:
                try:
                    async with asyncio.timeout(IDLE_SECONDS / 4):
                        await self._telling.wait()
                except TimeoutError:
                    await self._let_idle_go()
                    continue
                self._telling.clear()
                await asyncio.sleep(TELL_SECONDS)  # more of the same command comes at once
                for place in list(self._places.values()):
                    await self._tell_all(place)
        finally:
            for place in list(self._places.values()):
                await self._end(place)

    async def _let_idle_go(self) -> None:
        now = time.monotonic()
        for place in list(self._places.values()):
            if place.turns or now - place.used <= IDLE_SECONDS:
                continue
            try:
                async with self.locks.alone(place.id, within=0):
                    await self.stop(place, reason="idle")
            except Locked:  # somebody works in it, here or on another worker
                place.used = now
            except (StudioError, SandboxError, OSError) as wrong:
                log.warning("The environment %s could not be let go: %s", place.name, wrong)

    async def _end(self, place: Place) -> None:
        """The worker ends, and no process of a sandbox of its own outlives it.

        A container or a service may be another worker's at this moment; it is left as it is.
        """
        try:
            if place.sandbox.kind == "sandbox":
                await place.sandbox.stop()
            while place.tried:
                await self._tell_now(place)
        except Exception:
            log.exception("The environment %s could not be stopped in order.", place.name)

    def _tell(self, id: str, tried: Tried) -> None:
        """Keep a try to be recorded, with the turns that ran."""
        place = self._places.get(id)
        if place is None:
            return
        own = place.past.get(tried.command) or place.turns.get(tried.command)
        running = [*([own] if own is not None else []), *place.turns.values()]
        turns = tuple(dict.fromkeys(running))[: records.MOST_TURNS]
        fact = e.EgressTried(
            host=self.opening.values.mask.text(tried.host), port=tried.port,
            outcome=tried.outcome, reason=tried.reason,
            up=tried.bytes_up, down=tried.bytes_down, milliseconds=tried.milliseconds,
            turns=turns, effect_id=tried.command if tried.command.startswith("eff_") else None,
            began=self.clock.now() - tried.milliseconds,
        )  # fmt: skip
        self._wait(place, [fact] if place.tries.is_listed(fact, tried.command) else [])

    def over(self, place: Place, command: str) -> None:
        """A command ended: what of its tries was only counted is told."""
        self._wait(place, place.tries.over(command))

    def _wait(self, place: Place, tried: Sequence[e.EgressTried]) -> None:
        place.tried += [*tried, *place.tries.forgotten()]
        if place.tried:
            self._telling.set()

    async def _tell_all(self, place: Place) -> None:
        """Record all that waits; what cannot be recorded now waits on."""
        try:
            while place.tried:
                await self._tell_now(place)
        except StudioError:
            self._telling.set()
            await asyncio.sleep(TELL_AGAIN_SECONDS)

    async def _tell_now(self, place: Place) -> None:
        """Record the tries that wait; they wait on when the store is away."""
        tried, place.tried = place.tried[:MOST_TOLD], place.tried[MOST_TOLD:]
        if not tried:
            return
        try:
            await self.record(place.id, lambda conn, found: records.note_egress(tried))
        except StudioError as wrong:
            place.tried[:0] = tried[-MOST_TOLD:]
            log.warning("What %s reached for is not recorded yet: %s", place.name, wrong)
            raise


def _most_bytes(environment: Environment) -> int:
    """What its disk may hold, which nothing may bring more of."""
    mib = environment.definition.get("limits", {}).get("disk_mib")
    return Limits().bytes if mib is None else int(mib) * 1024**2


def _limits(environment: Environment) -> Limits:
    """What one version of its disk may hold: all that the disk may."""
    mib = int(environment.definition.get("limits", {}).get("disk_mib", 0))
    return Limits(bytes=max(Limits().bytes, mib * 1024**2))


def owner_of(folder: Path) -> tuple[int, int] | None:
    """The user and group that a disk is given to; None when this process cannot give it."""
    if os.geteuid() != 0:
        return None
    found = folder.stat()
    return found.st_uid, found.st_gid
