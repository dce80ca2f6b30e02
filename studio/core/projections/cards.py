"""The card: everything one person is shown before they answer one wait."""

from dataclasses import dataclass
from typing import Any

from studio.core.projections.calls import CallRow
from studio.core.projections.sessions import SessionRow
from studio.core.projections.waits import WaitRow

READABLE_BYTES = 10 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Who answered, what, when and why; `answer` is the value given to a question."""

    by: str
    choice: str
    at: int
    reason: str
    answer: Any = None


@dataclass(frozen=True, kw_only=True)
class Card:
    """A wait with its call, session, rules and what this person may do about it.

    `arguments_value` is what would run (JSON), loaded from the blob store when it is large;
    `readable` is false when it is over 10 MiB, and then the call can only be denied.
    `proposed_value` is what the model proposed, and differs after an edit. `schema` is the tool's
    schema of arguments (for a question: of the answer) or None when it is not known. `rules` are
    the words of every rule that matched. `approvals` of `needed` people have approved. `why_not`
    says in a sentence why `may_decide` is false.
    """

    wait: WaitRow
    call: CallRow
    session: SessionRow
    schema: Any
    arguments_value: Any
    proposed_value: Any
    readable: bool
    rules: tuple[str, ...]
    policy_version: int | None
    agent_version: int
    approvals: int
    needed: int
    may_decide: bool
    why_not: str | None
    decided: Decision | None
