"""Pace: how often an address may be wrong before it has to wait.

It is kept in this process alone and forgets: it slows guessing down, and shuts out nobody for good.
"""

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable

MOST_ADDRESSES = 10_000
LINK_TRIES, LINK_SECONDS = 20, 60  # wrong links of one address


class Pace:
    """At most `tries` wrong ones in `seconds`, for each address."""

    def __init__(
        self, tries: int, seconds: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._tries, self._seconds, self._now = tries, seconds, now
        self._wrong: OrderedDict[str, deque[float]] = OrderedDict()

    def wait(self, address: str) -> int:
        """How many seconds this address has to wait; 0 when it may try."""
        times = self._recent(address)
        if len(times) < self._tries:
            return 0
        return max(1, math.ceil(times[0] + self._seconds - self._now()))

    def note(self, address: str) -> None:
        """It was wrong once more."""
        times = self._recent(address)
        times.append(self._now())
        self._wrong[address] = times
        self._wrong.move_to_end(address)
        while len(self._wrong) > MOST_ADDRESSES:
            self._wrong.popitem(last=False)

    def _recent(self, address: str) -> deque[float]:
        times = self._wrong.get(address, deque(maxlen=self._tries))
        while times and times[0] <= self._now() - self._seconds:
            times.popleft()
        return times
