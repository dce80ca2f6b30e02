"""Operations: what people asked to be done to disks, carried out one at a time for each of them.

Who records `operation.started` does it. All of them can be begun anew: an operation whose worker
died is taken up by the next one, and what it had made by then is only found again.
"""

import asyncio
import logging
from contextlib import suppress
from typing import Any

from studio.core.faults import fault
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.environments import operations as rule_of
from studio.core.rules.environments import records
from studio.core.rules.environments.environment import Environment
from studio.core.rules.errors import Gone, StudioError
from studio.core.sandboxes.contract import SandboxError
from studio.core.store import environments, files, operations, probes
from studio.core.store.feed import Feed
from studio.core.store.operations import Operation
from studio.core.work.environments import keeping, setup
from studio.core.work.environments.locks import Locked
from studio.core.work.environments.places import Place, Places

log = logging.getLogger("studio.worker")

POLL_SECONDS = 2.0
LOCK_SECONDS = 30.0  # a command that runs longer makes the operation fail, in words
AT_ONCE = 4
NOBODY = Person(id="", role="viewer", via="key")  # to whom private sessions have no names


class Operations:
    """Takes what is asked for."""

    def __init__(self, places: Places, feed: Feed) -> None:
        self.places, self._feed = places, feed
        self._out: set[str] = set()

    async def run(self) -> None:
        """Do what is asked until cancelled; what is out then is begun anew by the next worker."""
        async with self._feed.subscribe() as growth, asyncio.TaskGroup() as group:
            while True:
                try:
                    await self._round(group)
                except Exception:
                    log.exception("What people asked of disks could not be read; tried again.")
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_SECONDS):
                        while not any(id.startswith("env_") for id in await growth.get()):
                            pass

    async def _round(self, group: asyncio.TaskGroup) -> None:
        waiting = await self.places.db.read(operations.open_ones)
        if not waiting:
            return
        alive = await self.places.db.read(probes.workers)
        for operation in waiting:
            if len(self._out) >= AT_ONCE or operation.id in self._out:
                continue
            if self._may_take(operation, alive) and await self._claim(operation):
                self._out.add(operation.id)
                group.create_task(self._do(operation), name=f"operation {operation.id}")

    def _may_take(self, operation: Operation, alive: frozenset[str]) -> bool:
        """Nobody has it; or who had it is gone."""
        if operation.state == "asked" or operation.worker == self.places.worker:
            return True
        return self.places.db.kind == "sqlite" or operation.worker not in alive

    async def _claim(self, operation: Operation) -> bool:
        """Record that this worker does it; False when it became impossible, or another has it."""
        worker = self.places.worker

        def rule(conn: Any, environment: Environment) -> list[e.Event]:
            found = operations.get(conn, operation.id)
            if found is None or found.ended is not None or found.worker != operation.worker:
                return []
            try:
                busy = environments.busy(conn, environment.id, NOBODY)
                rule_of.still_possible(environment, operation.act, busy)
            except StudioError as wrong:
                return [_failed(operation, wrong.code, str(wrong))]
            return [e.OperationStarted(operation_id=operation.id, worker=worker)]

        fault("operation.before_intent")
        facts = await self.places.record(operation.environment_id, rule)
        fault("operation.after_intent")
        return any(isinstance(fact.event, e.OperationStarted) for fact in facts)

    async def _do(self, operation: Operation) -> None:
        try:
            ended = await self._done(operation)
            fault("operation.before_outcome")
            await self.places.record(
                operation.environment_id,
                lambda conn, found: [ended] if self._is_ours(conn, operation) else [],
            )
        except Exception:
            log.exception("The end of an operation could not be recorded; it is begun anew.")
        finally:
            self._out.discard(operation.id)

    def _is_ours(self, conn: Any, operation: Operation) -> bool:
        """It is open, and nobody took it over from us."""
        found = operations.get(conn, operation.id)
        return found is not None and found.ended is None and found.worker == self.places.worker

    async def _done(self, operation: Operation) -> e.OperationEnded:
        """What came of it; whatever happens is a fact."""
        try:
            place = await self.places.open(operation.environment_id)
            if operation.act == "start":
                return await self._started(place, operation)
            async with self.places.locks.alone(place.id, within=LOCK_SECONDS):
                version = await self._act(place, operation)
            return e.OperationEnded(operation_id=operation.id, ok=True, version=version)
        except Locked:
            words = f"A command of it ran for longer than {LOCK_SECONDS:.0f} s. Try again."
            return _failed(operation, "environment_busy", words)
        except (StudioError, SandboxError) as wrong:
            words = self.places.opening.values.mask.text(wrong.message)
            return _failed(operation, wrong.code, words)
        except Exception as wrong:
            log.exception("To %s a disk failed in a way it should not.", operation.act)
            return _failed(operation, "operation.broken", f"It broke: {type(wrong).__name__}.")

    async def _started(self, place: Place, operation: Operation) -> e.OperationEnded:
        """Set up and running, as a turn would have it; the setup takes the disk alone by itself."""
        words = await setup.ready(self.places, place.id)
        if words:
            return _failed(operation, "setup.failed", words)
        await self.places.start(place.id)
        return e.OperationEnded(operation_id=operation.id, ok=True)

    async def _act(self, place: Place, operation: Operation) -> int | None:
        match operation.act:
            case "keep":
                kept = await keeping.keep(
                    self.places, place, "hand", note=operation.note, by=operation.by
                )
                return kept.version if kept is not None else None
            case "restore":
                assert operation.source is not None, "a restore names a version"
                return await keeping.restore(self.places, place, operation.source, by=operation.by)
            case "import":
                return await self._import(place, operation)
            case "reset":
                return await self._reset(place, operation)
            case _:
                await self.places.stop(place, by=operation.by)
                return None

    async def _reset(self, place: Place, operation: Operation) -> int | None:
        environment = records.alive(await self.places.find(place.id))
        kept = None
        if environment.setup == "ok" and environment.state != "lost":
            note = "Before the environment was reset."
            kept = await keeping.keep(self.places, place, "hand", note=note, by=operation.by)
        await place.sandbox.reset()
        place.is_started = False
        await self.places.record(
            place.id,
            lambda conn, found: records.note_reset(
                found, environments.busy(conn, place.id, NOBODY), by=operation.by
            ),
            operation.by,
        )
        return kept.version if kept is not None else None

    async def _import(self, place: Place, operation: Operation) -> int:
        db, hash = self.places.db, operation.archive
        size = await db.read(lambda conn: files.size(conn, hash))
        if size is None:
            raise Gone("The archive waited too long and is not here any more. Send it again.")
        archive = place.folder / "archive"  # one at a time: its lock is held
        try:
            with archive.open("wb") as file:
                async for piece in files.stream(db, hash, 0, size):
                    await asyncio.to_thread(file.write, piece)
            return await keeping.take_in(
                self.places, place, archive, name=operation.archive_name, by=operation.by
            )
        finally:
            archive.unlink(missing_ok=True)


def _failed(operation: Operation, code: str, message: str) -> e.OperationEnded:
    return e.OperationEnded(operation_id=operation.id, ok=False, code=code, message=message)
