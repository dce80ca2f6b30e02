"""The `sandbox` kind: a hardened box on this machine, a fresh one for each command.

What holds it is told by `box.probe`; everything about files is `files`.
"""

import asyncio
import socket
import stat
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from studio.core.sandboxes import files, paths, searching
from studio.core.sandboxes.box import cgroups, folders
from studio.core.sandboxes.box.launching import Launcher
from studio.core.sandboxes.box.preparing import Place, prepared
from studio.core.sandboxes.box.probe import Machine
from studio.core.sandboxes.box.run import Run
from studio.core.sandboxes.box.usage import FREE, Watch
from studio.core.sandboxes.contract import (
    Command,
    Found,
    Kind,
    Limits,
    Ran,
    Read,
    SandboxError,
    Written,
)  # fmt: skip
from studio.core.sandboxes.gate import Gate, whole

# Answers what a box asks of the network: its listener, and the id that tries are noted under.
Serve = Callable[[socket.socket, str], Coroutine[Any, Any, None]]


class Box:
    """One environment of the kind `sandbox`, on a disk that is a folder of this machine."""

    kind: Kind = "sandbox"

    def __init__(
        self, disk: Path, *, machine: Machine, launcher: Launcher, limits: Limits | None = None,
        serve: Serve | None = None, free: int = FREE,
    ) -> None:  # fmt: skip
        """`serve` answers the network of commands; without it there is none.

        `free` is what the file system must have left, in bytes, for a command to start.
        """
        self._disk, self._machine, self._launcher = disk.absolute(), machine, launcher
        self._limits, self._serve = limits or Limits(), serve
        self._watch = Watch(self._disk, self._limits, free=free)
        self._gate = Gate()
        self._places = asyncio.Semaphore(self._limits.commands)
        self._starting = asyncio.Lock()
        self._place: Place | None = None
        self._running: set[Run] = set()
        self._stops = 0

    async def start(self) -> None:
        """Make the folder and what counts its processes."""
        async with self._starting:
            if self._place is None:
                await folders.make(self._disk, self._machine.user)
                self._place = Place(
                    disk=self._disk, machine=self._machine, limits=self._limits,
                    group=_group(self._machine, self._limits),
                    with_egress=self._serve is not None
                    and self._machine.isolation == "bubblewrap",
                )  # fmt: skip

    async def stop(self) -> None:
        """End every process; the disk stays."""
        self._stops += 1
        for run in self._running:
            run.end("stopped", "The environment was stopped.")
        async with self._gate.alone():
            place, self._place = self._place, None
            if place is not None and place.group is not None:
                place.group.remove()

    async def reset(self) -> None:
        """End every process and leave an empty disk."""
        await self.stop()
        await self.start()
        async with self._gate.alone():
            await folders.empty(self._disk)
            await self._watch.look()

    async def read(self, path: str, *, offset: int = 0, most: int = 8 * 1024**2) -> Read:
        """A file's bytes."""
        await self.start()
        return await asyncio.to_thread(files.read, self._disk, path, offset=offset, most=most)

    async def write(self, path: str, data: bytes, *, known: str | None = None) -> Written:
        """Write a file whole."""
        await self._check_room(len(data))
        async with self._gate.shared():
            written = await whole(
                files.write, self._disk, path, data, known=known, owner=self._machine.user
            )
        self._watch.wrote(written.size)
        return written

    async def edit(
        self, path: str, old: str, new: str, *, known: str, every: bool = False
    ) -> Written:
        """Replace a text in a file."""
        await self._check_room(len(new))
        async with self._gate.shared():
            written = await whole(
                files.edit, self._disk, path, old, new, known=known, every=every,
                owner=self._machine.user,
            )  # fmt: skip
        self._watch.wrote(written.size)
        return written

    async def glob(self, pattern: str, *, most: int = 1_000) -> Found:
        """Files whose path matches."""
        await self.start()
        return await asyncio.to_thread(files.glob, self._disk, pattern, most=most)

    async def grep(self, pattern: str, *, within: str = "**/*", most: int = 500) -> Found:
        """Lines that match."""
        await self.start()
        return await searching.grep(self._disk, pattern, within=within, most=most)

    async def shell(self, command: Command, heard: Callable[[bytes], None] = lambda _: None) -> Ran:
        """Run a line in a box of its own."""
        stops = self._stops
        async with self._places, self._gate.shared():
            if self._stops != stops:
                words = "The environment was stopped before the command began. Nothing ran."
                raise SandboxError("sandbox.unavailable", words)
            await self.start()
            assert self._place is not None, "it was started, and stopping waits for us"
            if full := self._watch.no_room():
                raise SandboxError("disk.full", full)
            await asyncio.to_thread(self._check_folder, command.cwd)
            with prepared(command, self._place) as (plan, descriptors):
                async with self._launcher.started(plan, descriptors) as started:
                    run = Run(started, self._limits, heard)
                    return await self._followed(run, command, self._place)

    @asynccontextmanager
    async def folder(self, *, changing: bool = False) -> AsyncIterator[Path]:
        """The disk, while no command runs."""
        await self.start()
        async with self._gate.alone():
            try:
                yield self._disk
            finally:
                if changing:
                    await folders.make(self._disk, None)
                    if self._machine.user is not None:
                        await folders.own(self._disk, self._machine.user)
                    await self._watch.look()

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

    def _check_folder(self, cwd: str) -> None:
        with paths.found(self._disk, cwd) as place:
            if place.kind is None:
                raise paths.missing(cwd)
            if place.kind != stat.S_IFDIR:
                raise SandboxError("path.kind", f"{cwd} is no folder, so nothing can run in it.")

    async def _check_room(self, size: int) -> None:
        """Refuse a write for which there is no room."""
        await self.start()
        if size > self._limits.file:
            words = f"A file may have {self._limits.file:,} bytes; this one has {size:,}."
            raise SandboxError("file.too_large", words)
        usage = self._watch.last or await self._watch.look()
        if usage.size + size > self._limits.disk or usage.entries >= self._limits.entries:
            usage = await self._watch.look()
        if usage.size + size > self._limits.disk or usage.entries >= self._limits.entries:
            words = f"The disk may hold {self._limits.disk:,} bytes in {self._limits.entries:,}"
            raise SandboxError("disk.full", f"{words} entries. Delete something, then try again.")
        if full := self._watch.no_room():
            raise SandboxError("disk.full", full)


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
