"""Files of an environment whose disk is a folder of this machine, whatever runs its commands."""

import asyncio
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from studio.core.sandboxes import files, paths, searching
from studio.core.sandboxes.box import folders
from studio.core.sandboxes.box.usage import FREE, Watch
from studio.core.sandboxes.contract import Found, Limits, Read, SandboxError, Written
from studio.core.sandboxes.gate import Gate, whole


class HostDisk:
    """The half of a kind that is about files; the other half starts, stops and runs commands.

    `owner` is the user id that everything on the disk belongs to, None for the studio's own. `free`
    is what the file system must have left, in bytes, for anything to be written.
    """

    def __init__(self, disk: Path, limits: Limits, owner: int | None, free: int = FREE) -> None:
        self._disk, self._limits, self._owner = disk.absolute(), limits, owner
        self._watch = Watch(self._disk, limits, free=free)
        self._gate = Gate()
        self._places = asyncio.Semaphore(limits.commands)
        self._stops = 0

    async def start(self) -> None:
        """Make the folder. A kind does more."""
        await folders.make(self._disk, self._owner)

    async def stop(self) -> None:
        """Let no command begin that waits for its turn. A kind does more."""
        self._stops += 1

    async def reset(self) -> None:
        """End every process and leave an empty disk."""
        await self.stop()
        await folders.make(self._disk, self._owner)
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
                files.write, self._disk, path, data, known=known, owner=self._owner
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
                files.edit, self._disk, path, old, new, known=known, every=every, owner=self._owner
            )
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

    @asynccontextmanager
    async def folder(self, *, changing: bool = False) -> AsyncIterator[Path]:
        """The disk, while no command runs. Who changes it may put another folder in its place, so
        nothing is started for them that would hold the one that goes."""
        if not changing:
            await self.start()
        async with self._gate.alone():
            await folders.make(self._disk, self._owner)
            try:
                yield self._disk
            finally:
                if changing:
                    await folders.make(self._disk, None)
                    if self._owner is not None:
                        await folders.own(self._disk, self._owner)
                    await self.renewed()
                    await self._watch.look()

    async def renewed(self) -> None:
        """The disk may be another folder now. A kind lets go of what holds the old one."""

    @asynccontextmanager
    async def at_work(self, cwd: str) -> AsyncIterator[None]:
        """A command's place: beside others, started, with room, in a folder that is there."""
        stops = self._stops
        async with self._places, self._gate.shared():
            if self._stops != stops:
                words = "The environment was stopped before the command began. Nothing ran."
                raise SandboxError("sandbox.unavailable", words)
            await self.start()
            if full := self._watch.no_room():
                raise SandboxError("disk.full", full)
            if paths.parts(cwd):  # the root is there
                await asyncio.to_thread(_check_folder, self._disk, cwd)
            yield

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


def _check_folder(disk: Path, cwd: str) -> None:
    with paths.found(disk, cwd) as place:
        if place.kind is None:
            raise paths.missing(cwd)
        if place.kind != stat.S_IFDIR:
            raise SandboxError("path.kind", f"{cwd} is no folder, so nothing can run in it.")
