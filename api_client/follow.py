"""Following a session over any number of connections; the network is the clients' part.

`after` is the last fact that was given out. A connection that breaks is opened again behind it, so
nothing is missed and nothing comes twice.
"""

import json
from dataclasses import dataclass, field

from api_client.call import part
from api_client.errors import NotReached, StudioError
from api_client.retry import Retries, is_passing
from api_client.shapes import Event
from api_client.stream import Decoder

PATIENCE = 3  # who follows waits longer than who asks: a server that restarts comes back
QUIET_SECONDS = 45.0  # the server says something every 15


@dataclass(kw_only=True)
class Following:
    """Where one reader is in one session."""

    session_id: str
    after: int
    retries: Retries
    _failures: int = 0
    _decoder: Decoder = field(default_factory=Decoder)

    @property
    def path(self) -> str:
        """The stream's path."""
        return f"/v1/sessions/{part(self.session_id)}/events"

    def headers(self) -> dict[str, str]:
        """The headers of the next connection."""
        self._decoder = Decoder()
        return {"Accept": "text/event-stream", "Last-Event-ID": str(self.after)}

    def take(self, data: bytes) -> list[Event]:
        """The new facts that these bytes complete."""
        found: list[Event] = []
        for message in self._decoder.feed(data):
            self._failures = 0
            event: Event = json.loads(message.data)
            if event["seq"] > self.after:
                self.after = event["seq"]
                found.append(event)
        return found

    def pause(self, error: StudioError | None) -> float:
        """Seconds until the next connection, after one ended or broke; raises to give up."""
        if error is None:
            error = NotReached("The stream ended.")
        elif not is_passing(error):
            raise error
        self._failures += 1
        if self._failures > PATIENCE * self.retries.most:
            raise error
        if self._failures == 1 and self._decoder.retry is not None:
            return min(self.retries.longest, self._decoder.retry / 1000)
        return min(self.retries.longest, self.retries.first * 2.0 ** (self._failures - 1))
