"""What all facts share: their base, their place in a journal, and the values they hold."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

Verdict = Literal["allow", "ask", "deny"]
WaitKind = Literal["approval", "question", "timer", "uncertain"]
Choice = Literal[
    "approve", "deny", "answer",  # a person's
    "ran", "did_not_run", "send_again",  # a person's, of an uncertain call
    "expired", "due",  # the deadline's
    "stopped", "late",  # the turn was stopped; an outcome came after all
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Content:
    """A JSON value that may be too large to keep inline.

    `value` is the whole when `stored` is false. When `stored` is true the bytes (canonical JSON, or
    the raw text when `media` is not `application/json`) lie in the blob store under `hash`, and
    `head` and `tail` (text) are what a reader sees. `size` is bytes, `hash` SHA-256 in hex.
    `room` is set when fewer bytes than usual may stand in the fact.
    """

    hash: str
    size: int
    media: str = "application/json"
    value: Any = None
    stored: bool = False
    head: str = ""
    tail: str = ""
    room: int | None = None


@dataclass(frozen=True, kw_only=True)
class FileRef:
    """One version of an artifact, as a message or a call refers to it; never its bytes."""

    artifact_id: str
    version: int
    name: str
    media: str
    size: int
    hash: str


@dataclass(frozen=True, kw_only=True)
class Caller:
    """The place in somebody's trace that a command came from (W3C Trace Context).

    `trace_id` is 32 hex characters, `span_id` 16; `state` is their `tracestate`, "" for none.
    `sampled`: they keep that trace.
    """

    trace_id: str
    span_id: str
    sampled: bool = True
    state: str = ""


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a call comes from: its kind, the server and the plugin that brought the tool."""

    kind: Literal["mcp", "http", "sandbox", "platform", "agent"]
    server: str | None = None
    plugin: str | None = None
    plugin_version: str | None = None


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What a provider said a model call took. None is unknown, never zero. `cost` is US dollars.

    `input_tokens` is all that was read: `cached_tokens` (read from a cache) and
    `cache_write_tokens` (written to one) are parts of it. `reasoning_tokens` is a part of
    `output_tokens`.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, kw_only=True)
class Limit:
    """One limit of a turn: a number, and whether reaching it stops the turn or only tells."""

    value: int
    hard: bool = True


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a turn. Times are seconds; active time leaves out waiting for people."""

    steps: Limit = field(default_factory=lambda: Limit(value=25))
    calls: Limit = field(default_factory=lambda: Limit(value=100))
    active_seconds: Limit = field(default_factory=lambda: Limit(value=600))
    total_seconds: Limit = field(default_factory=lambda: Limit(value=7 * 86_400))


@dataclass(frozen=True, kw_only=True)
class MatchedRule:
    """A rule of the policy that matched a call, as it stood then, with its words."""

    number: int
    effect: Verdict
    words: str
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """What the policy said of one call, with every rule that matched.

    `read_only` is what the tool said of itself then, so that a later dry run can ask the same.
    """

    verdict: Verdict
    policy_version: int
    read_only: bool = False
    rules: tuple[MatchedRule, ...] = ()
    approvers: int = 1
    not_own: bool = False
    expires_seconds: int | None = None


class Event:
    """Base of every fact."""

    TYPE: ClassVar[str]
    LINE: ClassVar[bool] = False
    ACTOR: ClassVar[str] = "runtime"
    EVIDENCE: ClassVar[Literal["observed", "claimed"]] = "observed"


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One line of a journal: an event with its place. `time` is milliseconds since 1970, UTC.

    `seq` counts 1, 2, 3… within a session; `position` orders all facts of the store.
    """

    session_id: str
    seq: int
    position: int
    id: str
    time: int
    actor: str
    evidence: str
    event: Event

    @property
    def turn_id(self) -> str | None:
        """The turn this fact belongs to, if any."""
        return getattr(self.event, "turn_id", None)
