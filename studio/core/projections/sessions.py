"""Sessions: the list, one of them with its turns, and what is used of its limits."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from studio.core.projections.agents import AgentBrief


@dataclass(frozen=True, kw_only=True)
class SessionRow:
    """A session in a list. Times are ms UTC; `active` is ms; `cost` is US dollars.

    `status` is idle, queued, running, held, waiting, completed, failed or cancelled. `held`,
    `questions` and `uncertain` count what waits for a person. With `cost_known` false the cost is a
    lower bound. `number` is its place in the order of starting; `seq` that of its newest fact.
    """

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
    started: int
    last: int
    ended: int | None
    input_tokens: int
    output_tokens: int
    cost: float
    cost_known: bool
    active: int
    seq: int


@dataclass(frozen=True, kw_only=True)
class TurnRow:
    """A turn. `excerpt` is the beginning of its message, `by` the person who sent it."""

    id: str
    session_id: str
    number: int
    status: str
    excerpt: str
    by: str
    opened: int
    started: int | None
    ended: int | None
    active: int
    steps: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float
    cost_known: bool
    code: str
    message: str


@dataclass(frozen=True, kw_only=True)
class LimitUse:
    """How much of a limit the newest turn has used, from recorded facts alone.

    `name` is steps, calls, active_seconds or total_seconds; `unit` is steps, calls or seconds.
    """

    name: str
    used: int
    value: int
    hard: bool
    unit: str


@dataclass(frozen=True, kw_only=True)
class SessionView:
    """A session's page: its row, newest turn, limits, agent, newest 20 turns (newest first).

    `seq` is the session's newest fact at this very read, `position` the store's.
    """

    row: SessionRow
    turn: TurnRow | None
    limits: tuple[LimitUse, ...]
    agent: "AgentBrief"
    turns: tuple[TurnRow, ...]
    seq: int
    position: int
