"""Many at once or one alone: commands side by side, or one who needs the disk to be still."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


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


async def whole(call: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Call in a thread and wait for its end, also when nobody wants the answer any more."""
    loop = asyncio.get_running_loop()
    calling = loop.run_in_executor(None, partial(call, *given, **named))
    try:
        return await asyncio.shield(calling)
    except asyncio.CancelledError:
        await asyncio.wait([calling])
        raise
