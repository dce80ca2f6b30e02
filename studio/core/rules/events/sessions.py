"""Facts of a session and its turns: how they begin, the messages, and how turns end."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from studio.core.rules.events.base import Caller, Content, Event, FileRef, Limits


@dataclass(frozen=True, kw_only=True)
class SessionStarted(Event):
    """A person or program started a session of one agent version. First fact of every session."""

    TYPE: ClassVar[str] = "session.started"
    agent: str
    agent_version: int
    title: str
    owner: str
    private: bool = False
    limits: Limits = field(default_factory=Limits)
    model: Any = None  # {provider, name} when it is not the one its agent names
    environment_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class SessionModelChosen(Event):
    """A person chose the model of the turns to come; None is the one that the agent names."""

    TYPE: ClassVar[str] = "session.model_chosen"
    ACTOR: ClassVar[str] = "person"
    model: Any
    by: str


@dataclass(frozen=True, kw_only=True)
class MessageAccepted(Event):
    """A message was accepted and opens a turn, which is now queued. `by` is the person's id.

    `caller` is where in a trace of its sender's it came from, when that was said.
    """

    TYPE: ClassVar[str] = "message.accepted"
    LINE: ClassVar[bool] = True
    ACTOR: ClassVar[str] = "person"
    turn_id: str
    number: int
    text: Content
    by: str
    files: tuple[FileRef, ...] = ()
    caller: Caller | None = None


@dataclass(frozen=True, kw_only=True)
class TurnStarted(Event):
    """A worker took the turn up for the first time."""

    TYPE: ClassVar[str] = "turn.started"
    turn_id: str


@dataclass(frozen=True, kw_only=True)
class LimitReached(Event):
    """A limit of the turn was reached. A hard one is followed by the turn's end."""

    TYPE: ClassVar[str] = "limit.reached"
    LINE: ClassVar[bool] = True
    turn_id: str
    limit: str
    value: int
    hard: bool


@dataclass(frozen=True, kw_only=True)
class TurnFaulted(Event):
    """The studio itself failed while it moved the turn, `tries` times in a row, and tries again.

    After `most` tries the turn is ended. `fault` names it in the studio's log; `wait` is in ms.
    """

    TYPE: ClassVar[str] = "turn.faulted"
    LINE: ClassVar[bool] = True
    turn_id: str
    fault: str
    tries: int
    most: int
    wait: int


@dataclass(frozen=True, kw_only=True)
class TurnCompleted(Event):
    """The turn ended with an answer; `output` is set when the agent has an output schema."""

    TYPE: ClassVar[str] = "turn.completed"
    LINE: ClassVar[bool] = True
    turn_id: str
    output: Content | None = None


@dataclass(frozen=True, kw_only=True)
class TurnFailed(Event):
    """The turn ended without an answer, for a typed reason."""

    TYPE: ClassVar[str] = "turn.failed"
    LINE: ClassVar[bool] = True
    turn_id: str
    code: str
    message: str


@dataclass(frozen=True, kw_only=True)
class TurnCancelled(Event):
    """A person stopped the turn. `ran` names the calls that had run, `unknown` those out."""

    TYPE: ClassVar[str] = "turn.cancelled"
    LINE: ClassVar[bool] = True
    ACTOR: ClassVar[str] = "person"
    turn_id: str
    by: str
    reason: str = ""
    ran: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
