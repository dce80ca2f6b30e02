"""One command in a container, followed from its start until nothing of it is left."""

import asyncio
import time
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from studio.core.sandboxes.box.usage import Usage, Watch
from studio.core.sandboxes.containers.cli import unavailable
from studio.core.sandboxes.containers.script import told as told_by
from studio.core.sandboxes.contract import Ended, Limits, Ran
from studio.core.sandboxes.output import Output

FLOOD = 64  # times the output that is kept: who writes more is ended
_GRACE = 10.0  # seconds until what was killed must be gone
_PIECE = 64 * 1024
_KILLED = -9


class ContainerRun:
    """A command that was started. `ending` kills by its mark whatever it started.

    `is_left` says afterwards that something of it may still run.
    """

    def __init__(
        self, process: Process, limits: Limits, heard: Callable[[bytes], None],
        ending: Callable[[], Awaitable[Any]],
    ) -> None:  # fmt: skip
        self._process, self._limits, self._ending = process, limits, ending
        self._output, self._error = Output(limits.output, heard), bytearray()
        self._why: Ended | None = None
        self._words = ""
        self._asked = asyncio.Event()
        self.is_left = False

    def end(self, why: Ended, words: str) -> None:
        """End it and all it started; the first reason stands."""
        if self._why is None:
            self._why, self._words = why, words
            self._asked.set()

    async def follow(self, script: bytes, seconds: float, watch: Watch) -> Ran:
        """Give it its script and wait until it ends, or is ended after `seconds`."""
        begun = time.monotonic()
        words = f"It ran for {seconds:g} seconds, which is its limit, and was ended."
        late = asyncio.get_running_loop().call_later(seconds, partial(self.end, "timeout", words))
        try:
            async with asyncio.TaskGroup() as group:
                others = [
                    group.create_task(self._watched(watch, watch.last)),
                    group.create_task(self._ended()),
                ]
                await self._talk(script)
                for task in others:
                    task.cancel()
        except asyncio.CancelledError:
            await self._give_up()
            raise
        finally:
            late.cancel()
            self._let_go()
        return self._ran(time.monotonic() - begun)

    async def _talk(self, script: bytes) -> None:
        """Give the script, and take all that comes back."""
        stdin = self._process.stdin
        assert stdin is not None, "it was started with pipes"
        async with asyncio.TaskGroup() as group:
            group.create_task(self._read())
            group.create_task(self._read_error())
            try:
                stdin.write(script)
                await stdin.drain()  # and it stays open: its end would end the command
            except ConnectionError:
                self._error += b"\nIt ended before it could be told what to do."
        await self._process.wait()

    async def _read(self) -> None:
        assert self._process.stdout is not None, "it was started with pipes"
        while piece := await self._process.stdout.read(_PIECE):
            self._output.hear(piece)
            if self._output.size > FLOOD * self._limits.output:
                words = f"It wrote more than {FLOOD * self._limits.output:,} bytes and was ended."
                self.end("output", words)

    async def _read_error(self) -> None:
        assert self._process.stderr is not None, "it was started with pipes"
        while piece := await self._process.stderr.read(_PIECE):
            self._error = (self._error + piece)[-_PIECE:]

    async def _watched(self, watch: Watch, before: Usage | None) -> None:
        while True:
            await asyncio.sleep(watch.period)
            if words := await watch.over(before):
                self.end("disk", words)

    async def _ended(self) -> None:
        """Once it is to end: kill by its mark; what does not end then is left, and said to be."""
        await self._asked.wait()
        done = await self._ending()
        self.is_left = done.code != 0
        await asyncio.sleep(_GRACE)
        self.is_left = True
        self._process.kill()

    async def _give_up(self) -> None:
        """We were cancelled: it must be gone all the same before we leave."""
        self.end("stopped", "It was stopped.")
        done = await self._ending()
        self.is_left = done.code != 0

    def _let_go(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        transport: Any = getattr(self._process, "_transport", None)
        if transport is not None:
            transport.close()

    def _ran(self, seconds: float) -> Ran:
        told = told_by(bytes(self._error))
        self.is_left |= told.is_left
        if told.exit is None and self._why is None:
            if not told.begun:
                said = self._error.decode("utf-8", "replace").strip()[-500:]
                raise unavailable(f"The command could not be given to it: {said}.")
            self.end("lost", "The container ended with the command in it; how far it came is open.")
        return Ran(
            exit=_KILLED if told.exit is None or self._why is not None else told.exit,
            output=self._output.kept, size=self._output.size, seconds=seconds, ended=self._why,
            words=self._words,
        )  # fmt: skip
