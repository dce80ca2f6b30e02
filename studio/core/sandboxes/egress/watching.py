"""The time that a connection has: as long as bytes move, up to a total."""

import asyncio
from types import TracebackType

from studio.core.sandboxes.egress.tried import Attempt


class Watch:
    """Counts what moves for an attempt; as a block, raises TimeoutError when its time is over."""

    def __init__(self, attempt: Attempt, idle_seconds: float, total_seconds: float) -> None:
        self._attempt, self._idle, self._total = attempt, idle_seconds, total_seconds
        self._limit = asyncio.timeout(min(idle_seconds, total_seconds))
        self._end = asyncio.get_running_loop().time() + total_seconds

    async def __aenter__(self) -> "Watch":
        await self._limit.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        await self._limit.__aexit__(kind, error, trace)

    def up(self, count: int) -> None:
        """So many bytes went to the host."""
        self._attempt.up += count
        self._put_off()

    def down(self, count: int) -> None:
        """So many bytes came from it."""
        self._attempt.down += count
        self._put_off()

    def words(self) -> str:
        """Why the time was over."""
        if asyncio.get_running_loop().time() >= self._end:
            return f"It was ended after {self._total:g} s."
        return f"Nothing moved for {self._idle:g} s, so it was ended."

    def _put_off(self) -> None:
        if not self._limit.expired():
            soon = asyncio.get_running_loop().time() + self._idle
            self._limit.reschedule(min(soon, self._end))
