"""Many at once or one alone: commands side by side, or one who needs the disk to be still."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Gate:
    """`shared` by many, or held `alone`. Who waits to be alone is not overtaken."""

    def __init__(self) -> None:
        self._door = asyncio.Lock()  # held by who is alone, and for a moment by who comes in
        self._inside = 0
        self._empty = asyncio.Event()
        self._empty.set()

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        """Be inside beside others."""
        async with self._door:
            self._inside += 1
            self._empty.clear()
        try:
            yield
        finally:
            self._inside -= 1
            if not self._inside:
                self._empty.set()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Be inside without others: those inside are waited for, others wait."""
        async with self._door:
            await self._empty.wait()
            yield
