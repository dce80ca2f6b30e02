"""What is told of each try to reach a place: where, how it ended, how much. Never what was said."""

import time
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["allowed", "refused", "failed"]


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One try, ended. `host` is in its one form, or empty when no host could be read.

    `allowed`: it was connected to. `refused`: nothing was sent. `failed`: it was allowed, and there
    was no connection or no answer that can be read. `bytes_up` were sent to the host, `bytes_down`
    came from it; `started` is milliseconds since 1970, UTC. `command` is `Command.egress`.
    """

    host: str
    port: int
    outcome: Outcome
    reason: str = ""
    bytes_up: int = 0
    bytes_down: int = 0
    started: int
    milliseconds: int
    command: str = ""


class Attempt:
    """A try that goes on. `up` and `down` count bytes."""

    def __init__(self, started: int, command: str) -> None:
        self.host, self.port = "", 0
        self.outcome: Outcome = "failed"
        self.reason = "It was not decided."
        self.up = self.down = 0
        self._started, self._command = started, command
        self._begun = time.monotonic()

    def became(self, outcome: Outcome, reason: str = "") -> None:
        """Note how it stands; the last word counts."""
        self.outcome, self.reason = outcome, reason

    def ended(self) -> Tried:
        """What is told of it."""
        return Tried(
            host=self.host, port=self.port, outcome=self.outcome, reason=self.reason,
            bytes_up=self.up, bytes_down=self.down, started=self._started,
            milliseconds=round((time.monotonic() - self._begun) * 1000), command=self._command,
        )  # fmt: skip
