"""Whether to try again, and after how long. Pure: the clients sleep.

Only what does no harm twice is tried again, and only when no answer came or the server said
"later" (429, 502, 503, 504). Its Retry-After is kept to; else the pauses double.
"""

from dataclasses import dataclass
from typing import Any

from api_client.call import Call
from api_client.errors import ApiError, NotReached, StudioError

LATER = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, kw_only=True)
class Retries:
    """How often at most, the first pause, and the longest one (seconds)."""

    most: int = 4
    first: float = 0.2
    longest: float = 20.0

    def pause(self, call: Call[Any], attempt: int, error: StudioError) -> float | None:
        """Seconds to wait before the next attempt (the first is 1), or None to give up."""
        if not call.is_safe or attempt > self.most or not is_passing(error):
            return None
        asked = error.retry_after if isinstance(error, ApiError) else None
        if asked is not None:
            return asked if asked <= self.longest else None
        return min(self.longest, self.first * 2.0 ** (attempt - 1))


def is_passing(error: StudioError) -> bool:
    """Whether the same request may fare better later."""
    return isinstance(error, NotReached) or (isinstance(error, ApiError) and error.status in LATER)
