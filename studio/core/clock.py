"""Time and chance, as objects that can be told."""

import secrets
import threading
import time

from studio.core.rules import ids

DRAWN = 4_000  # bytes of chance that are asked of the system at once
TAKEN = 10


class Clock:
    """The real clock and the real dice."""

    def now(self) -> int:
        """Milliseconds since 1970, UTC."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    def new_id(self, prefix: str) -> str:
        """A fresh sortable id. Any thread may ask."""
        return ids.make(prefix, self.now(), _dice.taken())


class Dice:
    """Chance from the system, drawn for many ids at once: asking lets another thread go first."""

    def __init__(self) -> None:
        self._lock, self._left = threading.Lock(), b""

    def taken(self) -> bytes:
        """Ten bytes that nobody had before."""
        with self._lock:
            if not self._left:
                self._left = secrets.token_bytes(DRAWN)
            taken, self._left = self._left[:TAKEN], self._left[TAKEN:]
        return taken


_dice = Dice()
