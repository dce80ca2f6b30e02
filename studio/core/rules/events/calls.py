"""Facts of calls: proposed, held and decided, sent, and what came of them."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from studio.core.rules.events.base import Choice, Content, Event, FileRef, Origin, Ruling, WaitKind


@dataclass(frozen=True, kw_only=True)
class CallProposed(Event):
    """The model proposes a call. `digest` binds everything that would run (see `rules.digests`)."""

    TYPE: ClassVar[str] = "call.proposed"
    LINE: ClassVar[bool] = True
    ACTOR: ClassVar[str] = "agent"
    EVIDENCE: ClassVar[Literal["observed", "claimed"]] = "claimed"
    turn_id: str
    effect_id: str
    step: int
    index: int
    provider_call_id: str
    tool: str
    origin: Origin
    arguments: Content
    tool_hash: str
    digest: str
    destination: str = ""
    repeatable: bool = False
    on_uncertain: Literal["ask", "tell"] = "ask"
    terminal: bool = False
    alone: bool = False
    ruling: Ruling


@dataclass(frozen=True, kw_only=True)
class WaitOpened(Event):
    """The call is held, or its turn stands on a question, a timer or an uncertain effect.

    `deadline` (ms) closes an approval or question as expired, and a timer as due. For a question
    `prompt` and `schema` say what is asked.
    """

    TYPE: ClassVar[str] = "wait.opened"
    turn_id: str
    effect_id: str
    wait_id: str
    kind: WaitKind
    deadline: int | None = None
    approvers: int = 1
    not_own: bool = False
    prompt: str = ""
    schema: Any = None


@dataclass(frozen=True, kw_only=True)
class DecisionRecorded(Event):
    """A person (or a deadline) answered a wait.

    `digest_shown` is the digest on the card that was answered; `digest_decided` binds what may now
    run, and differs only when the person edited the arguments. `closes` is false for the first of
    two approvals. `by` is a person's id, or `deadline`.
    """

    TYPE: ClassVar[str] = "decision.recorded"
    ACTOR: ClassVar[str] = "person"
    turn_id: str
    effect_id: str
    wait_id: str
    choice: Choice
    by: str
    reason: str = ""
    digest_shown: str = ""
    digest_decided: str = ""
    arguments: Content | None = None
    answer: Content | None = None
    closes: bool = True


@dataclass(frozen=True, kw_only=True)
class CallStarted(Event):
    """Intent: the call is about to be sent, for the `send`-th time under `key`."""

    TYPE: ClassVar[str] = "call.started"
    turn_id: str
    effect_id: str
    key: str
    send: int
    digest_sent: str


@dataclass(frozen=True, kw_only=True)
class CallSucceeded(Event):
    """The tool answered. Final."""

    TYPE: ClassVar[str] = "call.succeeded"
    ACTOR: ClassVar[str] = "tool"
    EVIDENCE: ClassVar[Literal["observed", "claimed"]] = "claimed"
    turn_id: str
    effect_id: str
    result: Content
    masked: int = 0
    files: tuple[FileRef, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CallFailed(Event):
    """The call did not do what was asked: bad arguments, the tool's own error, a time-out. Final.

    `settled` says that nothing happened outside, so that a new try may use a new key.
    """

    TYPE: ClassVar[str] = "call.failed"
    turn_id: str
    effect_id: str
    code: str
    message: str
    settled: bool = False
    result: Content | None = None
    masked: int = 0
    files: tuple[FileRef, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CallDenied(Event):
    """The policy or a person said no; the model is told `reason`. Final, never sent."""

    TYPE: ClassVar[str] = "call.denied"
    turn_id: str
    effect_id: str
    by: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class CallCancelled(Event):
    """The turn was stopped, or a sibling ended it, before this call was sent. Final."""

    TYPE: ClassVar[str] = "call.cancelled"
    turn_id: str
    effect_id: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class CallUncertain(Event):
    """The call was sent and nobody recorded what came of it. Never sent again by itself."""

    TYPE: ClassVar[str] = "call.uncertain"
    turn_id: str
    effect_id: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class CallSettled(Event):
    """A person said what became of an uncertain call; `send_again` re-opens it, same key."""

    TYPE: ClassVar[str] = "call.settled"
    ACTOR: ClassVar[str] = "person"
    turn_id: str
    effect_id: str
    choice: Literal["ran", "did_not_run", "send_again"]
    by: str
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class CallLate(Event):
    """An outcome came after the call was closed. It is kept for the reader and used by nobody."""

    TYPE: ClassVar[str] = "call.late"
    ACTOR: ClassVar[str] = "tool"
    EVIDENCE: ClassVar[Literal["observed", "claimed"]] = "claimed"
    turn_id: str
    effect_id: str
    outcome: Literal["succeeded", "failed"]
    message: str = ""
    result: Content | None = None
