"""Calls and model attempts, one row an effect: light for lists, full where one is looked at."""

from dataclasses import dataclass
from typing import Any

from studio.core.rules.events import Content, Origin, Ruling


@dataclass(frozen=True, kw_only=True)
class CallRow:
    """One effect: a tool call, or an attempt at a model call (`kind` is `model`).

    Lists carry light rows: `arguments`, `proposed` and `result` are None there and `full` is
    false; `peek` (first 300 characters of the arguments) and `size` (their bytes) are always set.
    `digest` binds what was proposed, `decided` what may run, `sent` what was sent ("" while
    nothing was). `took` is ms from first send to end. `settled`: an uncertain call was cleared up.
    """

    id: str
    session_id: str
    turn_id: str
    step: int
    index: int
    kind: str
    tool: str
    server: str | None
    plugin: str | None
    plugin_version: str | None
    state: str
    verdict: str | None
    digest: str
    decided: str
    sent: str
    peek: str
    size: int
    full: bool
    arguments: Content | None
    proposed: Content | None
    result: Content | None
    message: str
    code: str
    ruling: Ruling | None
    edited_by: str | None
    decided_by: str | None
    choice: str | None
    decided_at: int | None
    sends: int
    key: str | None
    proposed_at: int
    started_at: int | None
    ended_at: int | None
    took: int | None
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    settled: bool
    seq: int


@dataclass(frozen=True, kw_only=True)
class RecordedCall:
    """A call as the policy would see it again in a dry run. `arguments` is None when kept apart."""

    effect_id: str
    session_id: str
    agent: str
    tool: str
    origin: Origin
    arguments: Any
    verdict: str
    proposed_at: int
