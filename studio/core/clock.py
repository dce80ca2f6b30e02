"""Time and chance, as objects that can be told."""

import secrets
import time

from studio.core.rules import ids


class Clock:
    """The real clock and the real dice."""

    def now(self) -> int:
        """Milliseconds since 1970, UTC."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    def new_id(self, prefix: str) -> str:
        """A fresh sortable id."""
        return ids.make(prefix, self.now(), secrets.token_bytes(10))
