"""Places for OTLP requests, which may be large: each key has its own, so that none keeps the others
out, and slow senders least of all.

A body that arrives has a place of its key and takes, of what all bodies in memory may have, no more
than came of it. Once it is there it has one of the places of all keys, and is worked on in turn.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from studio.api.errors import Problem
from studio.core.rules.access import Person

AT_WORK = 2  # requests that are decoded and written at once; the others wait
SHARE = 4  # of what all bodies in memory may have, one key has a quarter


class Takings:
    """The OTLP requests in hand: `each` of one key, `most` of all whose body is there."""

    def __init__(self, *, each: int, most: int) -> None:
        self._each, self.most, self.here = each, most, 0
        self._held: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.worked = asyncio.Semaphore(AT_WORK)

    @contextmanager
    def place(self, person: Person, size: int) -> "Iterator[Taking]":
        """Hold a place for one request, which may have so many bytes; Problem 429 without one."""
        key = person.actor
        if self._held[key] >= self._each:
            raise _busy(
                429, f"This key has {self._each} OTLP requests in hand. Send this one again."
            )
        self._held[key] += 1
        taking = Taking(self, key, size)
        try:
            yield taking
        finally:
            self._held[key] -= 1
            self.bytes[key] -= taking.came
            if not self._held[key]:
                del self._held[key], self.bytes[key]


class Taking:
    """One request that arrives. `came` counts its bytes."""

    def __init__(self, of: Takings, key: str, size: int) -> None:
        self._of, self._key, self._size, self.came = of, key, size, 0

    def arrived(self, count: int) -> None:
        """So many bytes more are in memory, if there is room; Problem 429 or 503."""
        of, most = self._of, self._of.most * self._size
        if of.bytes[self._key] + count > max(most // SHARE, self._size):
            raise _busy(429, "This key has many large OTLP requests in hand. Send this one again.")
        if of.bytes.total() + count > most:
            raise _busy(503, "Many large OTLP requests are being taken. Send this one again.")
        of.bytes[self._key] += count
        self.came += count

    @asynccontextmanager
    async def work(self) -> AsyncIterator[None]:
        """Its body is there: wait for its turn, and work on it. Problem 503 when too many wait."""
        if self._of.here >= self._of.most:
            raise _busy(503, "Many OTLP requests are being taken. Send this one again.")
        self._of.here += 1
        try:
            async with self._of.worked:
                yield
        finally:
            self._of.here -= 1


def _busy(status: int, words: str) -> Problem:
    return Problem(
        status, "otlp.busy", words, headers={"Retry-After": "1"}, details={"retry_after": 1}
    )
