"""One command, followed from its start until nothing of it is left."""

import asyncio
import socket
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any

from studio.core.faults import fault
from studio.core.sandboxes.box.launching import Started
from studio.core.sandboxes.box.usage import Watch
from studio.core.sandboxes.contract import Ended, Limits, Ran, SandboxError

# Answers what a box asks of the network, for one command.
Serving = Callable[[socket.socket], Coroutine[Any, Any, None]]
FLOOD = 64  # times the output that is kept: who writes more is ended
_GRACE = 5.0  # seconds until what was killed must be gone
_KILLED = -9
_LOST = "What ran the command ended, and the command with it."


class Run:
    """A command that was started. `end` may be called by whoever has a reason."""

    def __init__(self, started: Started, limits: Limits, heard: Callable[[bytes], None]) -> None:
        self._started, self._limits, self._heard = started, limits, heard
        self._kept, self._size = bytearray(), 0
        self._ended: Ended | None = None
        self._words = ""
        self._exit: int | None = None
        self._refused: str | None = None
        self._told = False

    def end(self, why: Ended, words: str) -> None:
        """End it and all it started; the first reason stands."""
        if self._exit is None and self._ended is None:
            self._ended, self._words = why, words
            self._started.end()

    async def follow(self, seconds: float, watch: Watch, serving: Serving | None) -> Ran:
        """Wait until it ends, or is ended after `seconds`.

        SandboxError `sandbox.unavailable`: it could not be started, and nothing ran.
        """
        began = time.monotonic()
        words = f"It ran for {seconds:g} seconds, which is its limit, and was ended."
        late = asyncio.get_running_loop().call_later(seconds, partial(self.end, "timeout", words))
        try:
            async with asyncio.TaskGroup() as group:
                output = group.create_task(self._read())
                watching = group.create_task(self._watch(watch))
                await self._events(group, serving)
                watching.cancel()
                await _at_most(_GRACE, output)
        finally:
            late.cancel()
            if self._exit is None:
                await self._gone()
        return self._ran(time.monotonic() - began)

    def out_of_memory(self, ran: Ran) -> Ran:
        """What ran while the kernel ended a process of its environment for its memory."""
        if ran.ended is not None or ran.exit == 0:
            return ran
        most = f"{self._limits.memory / 2**20:,.0f} MiB"
        words = f"The environment used up its {most} of memory, so a process was ended."
        return replace(ran, ended="memory", words=words)

    async def _events(self, group: asyncio.TaskGroup, serving: Serving | None) -> None:
        """Hear the launcher until the command is gone; answer its network meanwhile."""
        served: asyncio.Task[None] | None = None
        while self._exit is None:
            event = await self._started.event()
            self._refused = event.get("refused") or self._refused
            if "started" in event:
                fault("sandbox.spawned")
            elif "listening" in event and serving is not None:
                served = group.create_task(serving(event["listening"]))
                self._started.go()
            elif "exit" in event:
                self._exit, self._told = event["exit"], event["told"]
            elif not event:
                self.end("lost", _LOST)
                self._exit = _KILLED
            elif self._refused is not None:
                self._started.end()
        if served is not None:
            served.cancel()

    async def _read(self) -> None:
        async for piece in self._started.output():
            fits = piece[: self._limits.output - len(self._kept)]
            self._size += len(piece)
            if fits:
                self._kept += fits
                self._heard(fits)
            if self._size > FLOOD * self._limits.output:
                words = f"It wrote more than {FLOOD * self._limits.output:,} bytes and was ended."
                self.end("output", words)

    async def _watch(self, watch: Watch) -> None:
        before = watch.last
        while True:
            await asyncio.sleep(watch.period)
            if words := await watch.over(before):
                self.end("disk", words)

    async def _gone(self) -> None:
        """We were cancelled: it must be gone all the same before we leave."""
        self.end("stopped", "It was stopped.")
        async with asyncio.timeout(_GRACE):
            while (event := await self._started.event()) and "exit" not in event:
                continue

    def _ran(self, seconds: float) -> Ran:
        assert self._exit is not None, "its end was awaited"
        if self._ended is None and not self._told and self._exit < 0:
            self._ended, self._words = "lost", _LOST
        if self._ended is None and not self._told:
            why = self._refused or self._kept.decode("utf-8", "replace").strip()
            words = f"The box cannot be set up on this machine: {why[-500:]}. Nothing ran."
            raise SandboxError("sandbox.unavailable", words)
        return Ran(
            exit=self._exit, output=bytes(self._kept), size=self._size, seconds=seconds,
            ended=self._ended, words=self._words,
        )  # fmt: skip


async def _at_most(seconds: float, task: asyncio.Task[None]) -> None:
    """Wait for what must end by itself; TimeoutError when it does not."""
    async with asyncio.timeout(seconds):
        await task
