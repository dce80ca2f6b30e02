"""Locks of environments, over all processes of a machine: many work, or one changes the disk.

Each environment has a file that is locked with flock(2): shared while a command or a file tool
runs, alone while the disk is set up, kept, restored or thrown away. The kernel lets go of the
locks of a process that dies, so a lock never outlives its holder.
"""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

TRY_SECONDS = 0.02
LONGEST_TRY_SECONDS = 0.5


class Locked(Exception):
    """Somebody else has it, and time ran out."""


class Locks:
    """Locks below one folder, one file for each environment."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @asynccontextmanager
    async def working(
        self, environment_id: str, *, within: float | None = None
    ) -> AsyncIterator[None]:
        """Work on a disk that nobody changes as a whole meanwhile; others may work too.

        Locked when somebody still changes it after `within` seconds.
        """
        async with self._held(environment_id, fcntl.LOCK_SH, within):
            yield

    @asynccontextmanager
    async def alone(self, environment_id: str, *, within: float | None) -> AsyncIterator[None]:
        """Have the disk alone; Locked when that was not to be had `within` so many seconds."""
        async with self._held(environment_id, fcntl.LOCK_EX, within):
            yield

    @asynccontextmanager
    async def _held(
        self, environment_id: str, how: int, within: float | None
    ) -> AsyncIterator[None]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(
            self._folder / f"{environment_id}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            await _lock(file, how, within)
            yield
        finally:
            os.close(file)


async def _lock(file: int, how: int, within: float | None) -> None:
    """Ask again and again, as waiting in the kernel cannot be cancelled."""
    loop = asyncio.get_running_loop()
    end, pause = None if within is None else loop.time() + within, TRY_SECONDS
    while True:
        try:
            fcntl.flock(file, how | fcntl.LOCK_NB)
        except BlockingIOError:
            if end is not None and loop.time() >= end:
                raise Locked from None
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, LONGEST_TRY_SECONDS)
            continue
        return
