"""The `sandbox` kind: a hardened box on this machine, a fresh one for each command.

What holds it is told by `box.probe`; everything about files is `host_disk`.
"""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from studio.core.sandboxes.box import cgroups
from studio.core.sandboxes.box.launching import Launcher
from studio.core.sandboxes.box.preparing import Place, prepared
from studio.core.sandboxes.box.probe import Machine
from studio.core.sandboxes.box.run import Run
from studio.core.sandboxes.box.usage import FREE
from studio.core.sandboxes.contract import Command, Kind, Limits, Ran, SandboxError
from studio.core.sandboxes.host_disk import HostDisk

# Answers what a box asks of the network: its listener, and the id that tries are noted under.
Serve = Callable[[socket.socket, str], Coroutine[Any, Any, None]]


class Box(HostDisk):
    """One environment of the kind `sandbox`, on a disk that is a folder of this machine."""

    kind: Kind = "sandbox"

    def __init__(
        self, disk: Path, *, machine: Machine, launcher: Launcher, limits: Limits | None = None,
        serve: Serve | None = None, free: int = FREE,
    ) -> None:  # fmt: skip
        """`serve` answers the network of commands; without it there is none.

        `free` is what the file system must have left, in bytes, for a command to start.
        """
        super().__init__(disk, limits or Limits(), machine.user, free)
        self._machine, self._launcher, self._serve = machine, launcher, serve
        self._starting = asyncio.Lock()
        self._place: Place | None = None
        self._running: set[Run] = set()

    async def start(self) -> None:
        """Make the folder and what counts its processes."""
        async with self._starting:
            if self._place is None:
                await super().start()
                self._place = Place(
                    disk=self._disk, machine=self._machine, limits=self._limits,
                    group=_group(self._machine, self._limits),
                    with_egress=self._serve is not None
                    and self._machine.isolation == "bubblewrap",
                )  # fmt: skip

    async def stop(self) -> None:
        """End every process; the disk stays."""
        await super().stop()
        for run in self._running:
            run.end("stopped", "The environment was stopped.")
        async with self._gate.alone():
            place, self._place = self._place, None
            if place is not None and place.group is not None:
                await self._launcher.forget(place.group.joins)
                place.group.remove()

    async def shell(self, command: Command, heard: Callable[[bytes], None] = lambda _: None) -> Ran:
        """Run a line in a box of its own."""
        async with self.at_work(command.cwd):
            assert self._place is not None, "it was started, and stopping waits for us"
            command.begun()
            with prepared(command, self._place) as (plan, descriptors):
                async with self._launcher.started(plan, descriptors) as started:
                    run = Run(started, self._limits, heard)
                    return await self._followed(run, command, self._place)

    async def _followed(self, run: Run, command: Command, place: Place) -> Ran:
        seconds = self._limits.command_seconds if command.seconds is None else command.seconds
        serving = None
        if self._serve is not None and place.with_egress:
            serving = partial(self._serving, self._serve, command.egress)
        group = place.group
        killed = group.killed_for_memory() if group else 0
        self._running.add(run)
        try:
            ran = await run.follow(seconds, self._watch, serving)
        finally:
            self._running.discard(run)
        if ran.ended == "disk":
            await self._watch.look()
        if group and group.killed_for_memory() > killed:
            return run.out_of_memory(ran)
        return ran

    @staticmethod
    async def _serving(serve: Serve, label: str, listener: socket.socket) -> None:
        with listener:
            await serve(listener, label)


def _group(machine: Machine, limits: Limits) -> cgroups.Group | None:
    """What counts memory and processes together, where this machine lets us make it."""
    if machine.groups is None:
        return None
    cgroups.sweep(machine.groups)
    try:
        return cgroups.make(machine.groups, limits)
    except OSError as wrong:
        words = f"Memory cannot be bounded now: {wrong.strerror}. Nothing ran; tell an operator."
        raise SandboxError("sandbox.unavailable", words) from None
