"""Waits: what stands on a person (approvals, questions, uncertain calls) or on time."""

from dataclasses import dataclass

from studio.core.projections.calls import CallRow


@dataclass(frozen=True, kw_only=True)
class WaitRow:
    """A wait with its call. `kind`: approval, question, timer, uncertain; `state`: open, closed.

    `digest` is the one on its card. `approved_by` holds those of `approvers` who said yes so far.
    `owner`, `agent` and `title` are the session's.
    """

    id: str
    session_id: str
    turn_id: str
    effect_id: str
    kind: str
    state: str
    opened: int
    deadline: int | None
    approvers: int
    not_own: bool
    approved_by: tuple[str, ...]
    prompt: str
    digest: str
    choice: str | None
    closed_by: str | None
    closed: int | None
    reason: str
    agent: str
    tool: str
    server: str | None
    plugin: str | None
    owner: str
    title: str
    call: CallRow


@dataclass(frozen=True, kw_only=True)
class Pending:
    """How much waits for people, for the frame of every page."""

    held: int
    questions: int
    uncertain: int
    total: int
