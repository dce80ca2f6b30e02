"""Spans: the shapes of a turn's trace, and their ids.

Times are ms, UTC. Ids are a keyed hash of the turn and the place in it, so that every read and
every export of one turn gives the same.
"""

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from studio.core.rules.events import Caller

Kind = Literal["agent", "model", "tool", "wait", "environment", "other"]
State = Literal[
    "running", "succeeded", "failed", "denied", "cancelled", "uncertain", "waiting", "expired",
]  # fmt: skip


class Mark(NamedTuple):
    """One fact of the turn without its payload. `time` is ms, UTC, `first_token` ms."""

    seq: int
    type: str
    time: int
    effect_id: str | None
    first_token: int | None = None


class Work(NamedTuple):
    """One effect of the turn: a model attempt (`kind` is `model`) or a call.

    There are tens of thousands of these and of marks in a large turn, so both are tuples.
    """

    id: str
    kind: str
    tool: str
    step: int
    state: str
    server: str | None = None
    plugin: str | None = None
    plugin_version: str | None = None
    code: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None
    message: str = ""
    skill: str | None = None


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
    calls: int = 0
    caller: Caller | None = None
    environment_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A setup that the turn stood on. `finished` is None while it runs.

    `seq` is that of its first fact, `last` of the one that ended it.

    `runs` are (command, when it began, ms it took, exit, why it was ended early).
    """

    seq: int
    started: int
    finished: int | None = None
    ok: bool = True
    problem: str = ""
    runs: Sequence[tuple[str, int, int, int, str]] = ()
    last: int | None = None


@dataclass(frozen=True, kw_only=True)
class Keep:
    """A version of the disk that was kept for the turn: `ended` ms UTC, after `took` ms.

    `seq` is that of the fact that says so, here and in a try.
    """

    version: int
    ended: int
    took: int
    reason: str
    added: int = 0
    files: int = 0
    seq: int | None = None


@dataclass(frozen=True, kw_only=True)
class Try:
    """A connection that was tried out of the environment while the turn ran.

    `turns` ran at that moment; `effect_id` is the call whose command it was, where that is known.
    """

    seq: int
    host: str
    port: int
    outcome: str
    began: int
    took: int
    reason: str = ""
    up: int = 0
    down: int = 0
    turns: int = 1
    effect_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Around:
    """What the environment did for the turn. `before` is the disk's version when it began."""

    before: int | None = None
    setups: Sequence[Setup] = ()
    keeps: Sequence[Keep] = ()
    tries: Sequence[Try] = ()


NOTHING: Mapping[str, str | int | float | bool] = {}


@dataclass(kw_only=True, slots=True)
class Span:
    """One span. Times are ms, UTC; `end` is None while it is open.

    It is finished while its trace is made, and never changed after.

    `what` is the tool, the model, the kind of the wait, or what the environment did (setup,
    command, keep, connect); `origin` the kind of a call (mcp, http and so on); `who` decided a
    wait. `attempt` counts sends of a call and attempts of a step. `first_token` is ms from the
    start. `is_critical`: the turn would have ended sooner without. `is_cut`: it reached beyond its
    parent and is drawn within. `loose` says why a span from outside stands under the root: orphan
    (its parent never came) or ring (it and its parents stand in one). `facts` are the seqs of what
    its environment recorded of it. `more` are further attributes by their names.
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
    first_token: int | None = None
    skill: str | None = None
    environment_id: str | None = None
    disk_version: int | None = None
    is_cut: bool = False
    loose: str = ""
    facts: tuple[int, ...] = ()
    more: Mapping[str, str | int | float | bool] = field(default_factory=lambda: NOTHING)

    def lasted(self, now: int) -> int:
        """Milliseconds, up to now while it is open."""
        return max((now if self.end is None else self.end) - self.start, 0)


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Where the time of a turn went, in ms; each moment is counted once.

    While a model writes it is the model's; else, while a tool is out, the tool's; else, while the
    environment is set up or kept, the environment's; else, while a person is awaited, the person's;
    else a timer's or a retry's; what is left is our own overhead.
    """

    total: int
    model: int = 0
    tool: int = 0
    environment: int = 0
    person: int = 0
    timer: int = 0
    overhead: int = 0

    @property
    def waiting(self) -> int:
        """While nothing worked: people, timers and retries were awaited."""
        return self.person + self.timer

    @property
    def active(self) -> int:
        """What is left of the whole."""
        return self.total - self.waiting


@dataclass(frozen=True, kw_only=True, eq=False)
class Trace:
    """A turn's spans as a tree: each behind its parent, siblings by their start; the root first."""

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
        return hmac.digest(self._key, data, "sha256").hex()
