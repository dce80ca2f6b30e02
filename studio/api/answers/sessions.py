"""Sessions, their turns and their facts, as programs are given them."""

from dataclasses import dataclass
from typing import Annotated

from studio.api.shapes import JSON, Time

Dollars = Annotated[float, "US dollars."]
Ms = Annotated[int, "Milliseconds."]


@dataclass(frozen=True, kw_only=True)
class Session:
    """A session. `held`, `questions` and `uncertain` count what waits for a person."""

    id: str
    number: int
    agent: str
    agent_version: int
    title: str
    owner: str
    private: bool
    status: Annotated[str, "idle, queued, running, held, waiting, completed, failed or cancelled."]
    turn_id: str | None
    turns: int
    held: int
    questions: int
    uncertain: int
    started: Time
    last: Annotated[Time, "When its newest fact was recorded."]
    ended: Time | None
    input_tokens: int
    output_tokens: int
    cost: Dollars
    cost_known: Annotated[bool, "When false, the cost is a lower bound."]
    maybe_billed: Annotated[int, "Attempts at a model that ended without word of what they cost."]
    active: Ms
    model: Annotated[str, "provider/name when it is not the one that its agent names."]
    environment_id: Annotated[str | None, "The environment it works in."]
    seq: Annotated[int, "Of its newest fact; `after` of the events."]


@dataclass(frozen=True, kw_only=True)
class Sessions:
    """A page of sessions, the one started last first."""

    items: tuple[Session, ...]
    next: str | None
    complete: Annotated[bool, "When false, the search goes on behind `next`."]


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A turn: from a message to its end."""

    id: str
    session_id: str
    number: int
    status: str
    excerpt: str
    by: str
    opened: Time
    started: Time | None
    ended: Time | None
    active: Ms
    steps: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: Dollars
    cost_known: bool
    code: Annotated[str, "Why it failed, in a word."]
    message: str


@dataclass(frozen=True, kw_only=True)
class LimitUse:
    """How much of a limit the newest turn has used."""

    name: str
    used: int
    value: int
    hard: bool
    unit: str


@dataclass(frozen=True, kw_only=True)
class SessionDetail:
    """A session with its newest turn, its newest 20 turns and its limits."""

    session: Session
    turn: Turn | None
    turns: tuple[Turn, ...]
    limits: tuple[LimitUse, ...]
    agent_latest: Annotated[int, "The newest version of its agent."]
    seq: Annotated[int, "Of the newest fact at this very read; `after` of the events."]


@dataclass(frozen=True, kw_only=True)
class Started:
    """A session was started; `turn_id` is null without a first message."""

    session_id: str
    turn_id: str | None
    warnings: Annotated[tuple[str, ...], "Which fallbacks would not be given one of its files."]


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A message was accepted and opened a turn."""

    session_id: str
    turn_id: str
    warnings: Annotated[tuple[str, ...], "Which fallbacks would not be given one of its files."]


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A turn as spans, in OTLP's JSON: ids in hex, times in nanoseconds as text."""

    resourceSpans: tuple[dict[str, JSON], ...]


@dataclass(frozen=True, kw_only=True)
class PreviewMessage:
    """One message of the talk, as the model would read it."""

    role: Annotated[str, "user, assistant or tool."]
    text: str
    calls: tuple[dict[str, JSON], ...]
    call_id: str
    name: str
    failed: bool


@dataclass(frozen=True, kw_only=True)
class Preview:
    """The request a message would send to the model. Nothing was recorded or sent.

    `digest` is recorded as `request_hash` when exactly this is sent; null until a worker has listed
    the agent's tools (`listed` says when one did).
    """

    session_id: str
    provider: str
    model: str
    instructions: str
    messages: tuple[PreviewMessage, ...]
    tools: tuple[dict[str, JSON], ...]
    output_schema: JSON
    listed: Time | None
    digest: str | None
    summarises: Annotated[str, "The part that would be summarised first; then there is no digest."]


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """A turn was stopped. `ran` names the calls that had run, `unknown` those that were out."""

    session_id: str
    turn_id: str
    ran: tuple[str, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Event:
    """One fact. `payload` is its own fields; large values are head, tail, size and hash."""

    seq: int
    position: int
    id: str
    time: Time
    type: str
    actor: str
    evidence: Annotated[str, "observed by the runtime, or claimed by someone outside."]
    turn_id: str | None
    effect_id: str | None
    payload: dict[str, JSON]


@dataclass(frozen=True, kw_only=True)
class Events:
    """Facts in order. `after` is where to go on; `more` says that there are more by now."""

    items: tuple[Event, ...]
    after: int
    more: bool
