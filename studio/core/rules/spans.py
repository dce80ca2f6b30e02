"""Spans: the shapes of a turn's trace, and their ids.

Times are ms, UTC. Ids are a keyed hash of the turn and the place in it, so that every read and
every export of one turn gives the same.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from studio.core.rules.events import Caller

Kind = Literal["agent", "model", "tool", "wait", "other"]
State = Literal[
    "running", "succeeded", "failed", "denied", "cancelled", "uncertain", "waiting", "expired",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One fact of the turn without its payload. `time` is ms, UTC."""

    seq: int
    type: str
    time: int
    effect_id: str | None


@dataclass(frozen=True, kw_only=True)
class Work:
    """One effect of the turn: a model attempt (`kind` is `model`) or a call."""

    id: str
    kind: str
    tool: str
    step: int
    state: str
    server: str | None = None
    plugin: str | None = None
    plugin_version: str | None = None
    code: str = ""
    message: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True, kw_only=True)
class Stand:
    """One wait of the turn."""

    id: str
    effect_id: str
    kind: str
    tool: str
    opened: int
    closed: int | None
    choice: str | None
    closed_by: str | None
    reason: str
    plugin: str | None = None


@dataclass(frozen=True, kw_only=True)
class Told:
    """The turn itself. `ended` is None while it is in hand; `caller` began the trace it is in."""

    id: str
    session_id: str
    number: int
    agent: str
    agent_version: int
    status: str
    opened: int
    ended: int | None
    code: str = ""
    message: str = ""
    caller: Caller | None = None


@dataclass(frozen=True, kw_only=True)
class Span:
    """One span. Times are ms, UTC; `end` is None while it is open.

    `what` is the tool, the model, or the kind of the wait; `origin` the kind of a call (mcp, http
    and so on); `who` decided a wait. `attempt` counts
    sends of a call and attempts of a step. `is_critical`: the turn would have ended sooner without.
    """

    id: str
    parent: str
    name: str
    kind: Kind
    what: str
    state: State
    start: int
    end: int | None
    depth: int = 1
    effect_id: str | None = None
    wait_id: str | None = None
    step: int | None = None
    attempt: int = 1
    origin: str = ""
    server: str | None = None
    plugin: str | None = None
    plugin_version: str | None = None
    who: str | None = None
    choice: str | None = None
    words: str = ""
    code: str = ""
    is_critical: bool = False
    is_slowest: bool = False
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None

    def lasted(self, now: int) -> int:
        """Milliseconds, up to now while it is open."""
        return max((now if self.end is None else self.end) - self.start, 0)


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Where the time of a turn went, in ms; each moment is counted once.

    While a model writes it is the model's; else, while a tool is out, the tool's; else, while a
    person is awaited, the person's; else a timer's or a retry's; what is left is our own overhead.
    """

    total: int
    model: int = 0
    tool: int = 0
    person: int = 0
    timer: int = 0
    overhead: int = 0


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A turn's spans, the root first, then by their start."""

    id: str
    turn: Told
    spans: tuple[Span, ...]
    shares: Shares
    now: int
    kinds: Mapping[str, int] = field(default_factory=dict)

    @property
    def root(self) -> Span:
        """The turn itself."""
        return self.spans[0]


class Names:
    """Ids of one trace: 32 hex characters for it, 16 for each span (W3C Trace Context).

    A turn that a caller's command opened is a part of the caller's trace; its spans keep their ids.
    """

    def __init__(self, key: bytes, turn_id: str, caller: Caller | None = None) -> None:
        self._key, self._turn = key, turn_id
        self._caller = caller
        self._flags = "01" if caller is None or caller.sampled else "00"
        self.state = (caller.state or None) if caller else None  # the `tracestate` that goes along

    @cached_property
    def trace(self) -> str:
        """The id of the trace."""
        return self._caller.trace_id if self._caller else self._hash("trace")[:32]

    @cached_property
    def root(self) -> str:
        """The id of the turn's own span."""
        return self.span("root")

    def span(self, place: str) -> str:
        """The id of the span at this place of the turn."""
        return self._hash(f"span {place}")[:16]

    def parent(self, place: str) -> str:
        """The `traceparent` header (W3C Trace Context) of what is sent from the span there."""
        return f"00-{self.trace}-{self.span(place)}-{self._flags}"

    def _hash(self, text: str) -> str:
        data = f"{self._turn} {text}".encode()
        return hmac.new(self._key, data, hashlib.sha256).hexdigest()
