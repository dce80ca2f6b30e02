"""Waits and decisions, as programs are given them."""

from dataclasses import dataclass
from typing import Annotated

from studio.api.answers.calls import Call
from studio.api.answers.sessions import Session
from studio.api.shapes import JSON, Time


@dataclass(frozen=True, kw_only=True)
class Approval:
    """A wait: a held call, a question, an uncertain call or a timer."""

    id: str
    session_id: str
    turn_id: str
    effect_id: str
    kind: Annotated[str, "approval, question, uncertain or timer."]
    state: Annotated[str, "open or closed."]
    opened: Time
    deadline: Annotated[Time | None, "When it expires; a held call is then denied."]
    approvers: Annotated[int, "How many different people must approve."]
    not_own: Annotated[bool, "Nobody may approve calls of their own session."]
    approved_by: tuple[str, ...]
    prompt: str
    digest: Annotated[str, "Binds what is decided; send it as If-Match."]
    choice: str | None
    closed_by: str | None
    closed: Time | None
    reason: str
    agent: str
    tool: str
    server: str | None
    plugin: str | None
    owner: str
    title: str
    call: Call


@dataclass(frozen=True, kw_only=True)
class Approvals:
    """A page of waits."""

    items: tuple[Approval, ...]
    next: str | None
    complete: bool


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Who answered, what, when and why."""

    by: str
    choice: str
    at: Time
    reason: str
    answer: JSON


@dataclass(frozen=True, kw_only=True)
class ApprovalDetail:
    """Everything the card of a wait shows. Its ETag is the digest."""

    approval: Approval
    session: Session
    arguments: Annotated[JSON, "What would run, whole; null when it is over 10 MiB."]
    proposed: Annotated[JSON, "What the model proposed."]
    readable: Annotated[bool, "When false, the call is too large to show and can only be denied."]
    schema: Annotated[JSON, "JSON Schema of the arguments or of the answer; null when unknown."]
    destination: Annotated[str, "Where the call goes, with its arguments in the address."]
    rules: Annotated[tuple[str, ...], "Every rule that matched, in words."]
    policy_version: int | None
    agent_version: int
    approvals: int
    needed: int
    may_decide: bool
    why_not: str | None
    decided: Decision | None


@dataclass(frozen=True, kw_only=True)
class Decided:
    """A decision was recorded. `closed` is false while more people must approve."""

    wait_id: str
    session_id: str
    choice: str
    closed: bool
    approvals: int
    needed: int
