"""Waits and decisions."""

from typing import Any, TypedDict

from api_client.shapes.calls import CallRow
from api_client.shapes.sessions import Session


class Approval(TypedDict):
    """A wait: a held call, a question, an uncertain call or a timer."""

    id: str
    session_id: str
    turn_id: str
    effect_id: str
    kind: str
    state: str
    opened: str
    deadline: str | None
    approvers: int
    not_own: bool
    approved_by: list[str]
    prompt: str
    digest: str
    choice: str | None
    closed_by: str | None
    closed: str | None
    reason: str
    agent: str
    tool: str
    server: str | None
    plugin: str | None
    owner: str
    title: str
    call: CallRow


class Decision(TypedDict):
    """Who answered, what, when and why."""

    by: str
    choice: str
    at: str
    reason: str
    answer: Any


class ApprovalDetail(TypedDict):
    """Everything the card of a wait shows."""

    approval: Approval
    session: Session
    arguments: Any
    proposed: Any
    readable: bool
    schema: Any
    destination: str
    rules: list[str]
    policy_version: int | None
    agent_version: int
    approvals: int
    needed: int
    may_decide: bool
    why_not: str | None
    decided: Decision | None


class Decided(TypedDict):
    """A decision was recorded; `closed` is false while more people must approve."""

    wait_id: str
    session_id: str
    choice: str
    closed: bool
    approvals: int
    needed: int
