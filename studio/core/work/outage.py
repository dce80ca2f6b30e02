"""Outage: a store that records nothing for a while. What a worker has in hand waits for it.

An answer from outside exists once: if it cannot be recorded now, it is kept and tried again until
it can, or until somebody else has the session. What is recorded is decided anew by a rule each
time, so trying again is safe wherever the store says that nothing of it was recorded.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from studio.core.rules.errors import Unavailable

log = logging.getLogger("studio.worker")

T = TypeVar("T")
RETRY_SECONDS = 0.5
LASTING = frozenset({"store.unsure", "store.closed"})  # of these, trying again tells nothing


class Outage:
    """Whether a worker's store answers. Said when that changes, and not oftener."""

    def __init__(self) -> None:
        self._is_on = False

    async def outlast(
        self, act: Callable[[], Awaitable[T]], *, ready: Callable[[], bool] = lambda: True
    ) -> T:
        """Do it; while the store is away, wait, and once it is back and `ready`, do it again."""
        while True:
            try:
                done = await act()
            except Unavailable as error:
                if not passes(error):
                    raise
                self.began(error)
                await _until(ready)
            else:
                self.over()
                return done

    def began(self, error: Unavailable) -> None:
        """The store failed."""
        if not self._is_on:
            self._is_on = True
            log.error("%s What this worker has in hand waits and is tried again.", error)

    def over(self) -> None:
        """The store answered."""
        if self._is_on:
            self._is_on = False
            log.warning("The store answers again; the work goes on.")


async def _until(ready: Callable[[], bool]) -> None:
    """A while, and longer until it is so: a clock has no event to wait for."""
    while True:
        await asyncio.sleep(RETRY_SECONDS)
        if ready():
            return


def passes(error: BaseException) -> bool:
    """The store is away and nothing was recorded, so the same can be tried again."""
    return (
        isinstance(error, Unavailable)
        and error.code.startswith("store.")
        and error.code not in LASTING
    )
