"""Sessions, their turns and their facts."""

from typing import Any, TypedDict


class Session(TypedDict):
    """A session. `held`, `questions` and `uncertain` count what waits for a person."""

    id: str
    number: int
    agent: str
    agent_version: int
    title: str
    owner: str
    private: bool
    status: str
    turn_id: str | None
    turns: int
    held: int
    questions: int
    uncertain: int
    started: str
    last: str
    ended: str | None
    input_tokens: int
    output_tokens: int
    cost: float
    cost_known: bool
    maybe_billed: int
    active: int
    model: str
    environment_id: str | None
    seq: int


class Turn(TypedDict):
    """A turn: from a message to its end."""

    id: str
    session_id: str
    number: int
    status: str
    excerpt: str
    by: str
    opened: str
    started: str | None
    ended: str | None
    active: int
    steps: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float
    cost_known: bool
    code: str
    message: str


class LimitUse(TypedDict):
    """How much of a limit the newest turn has used."""

    name: str
    used: int
    value: int
    hard: bool
    unit: str


class SessionDetail(TypedDict):
    """A session with its newest turns and limits."""

    session: Session
    turn: Turn | None
    turns: list[Turn]
    limits: list[LimitUse]
    agent_latest: int
    seq: int


class Started(TypedDict):
    """A session was started."""

    session_id: str
    turn_id: str | None
    warnings: list[str]


class Sent(TypedDict):
    """A message opened a turn; `warnings` say which fallbacks would not be given a file of it."""

    session_id: str
    turn_id: str
    warnings: list[str]


class Trace(TypedDict):
    """A turn as spans, in OTLP's JSON."""

    resourceSpans: list[dict[str, Any]]


class PreviewMessage(TypedDict):
    """One message of the talk, as the model would read it."""

    role: str
    text: str
    calls: list[dict[str, Any]]
    call_id: str
    name: str
    failed: bool


class Preview(TypedDict):
    """The request a message would send; `digest` is None until the agent's tools were listed."""

    session_id: str
    provider: str
    model: str
    instructions: str
    messages: list[PreviewMessage]
    tools: list[dict[str, Any]]
    output_schema: Any
    listed: str | None
    digest: str | None
    summarises: str


class Stopped(TypedDict):
    """A turn was stopped."""

    session_id: str
    turn_id: str
    ran: list[str]
    unknown: list[str]


class Event(TypedDict):
    """One fact of a session."""

    seq: int
    position: int
    id: str
    time: str
    type: str
    actor: str
    evidence: str
    turn_id: str | None
    effect_id: str | None
    payload: dict[str, Any]


class Events(TypedDict):
    """Facts in order; `after` is where to go on."""

    items: list[Event]
    after: int
    more: bool
