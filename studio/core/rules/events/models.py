"""Facts of what a turn asks of a model: replies, and summaries of long talks."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from studio.core.rules.events.base import Content, Event, Usage


@dataclass(frozen=True, kw_only=True)
class ModelRequested(Event):
    """Intent: this request is about to be sent to the model. Recorded before the send.

    `candidate` is the model's place in the agent's chain: 0 is its own, 1 the first fallback.
    """

    TYPE: ClassVar[str] = "model.requested"
    turn_id: str
    effect_id: str
    step: int
    attempt: int
    provider: str
    model: str
    request_hash: str
    candidate: int = 0


@dataclass(frozen=True, kw_only=True)
class ModelReplied(Event):
    """The whole reply, its usage; the calls it proposes follow in the same transaction.

    `provider`, `model` and `candidate` say who answered. `summary` is what the provider wrote for
    people about the thinking. `state` is what it wants back unchanged (`contents.OPAQUE`): its
    bytes go to that provider alone and are shown to nobody.
    """

    TYPE: ClassVar[str] = "model.replied"
    LINE: ClassVar[bool] = True
    ACTOR: ClassVar[str] = "agent"
    EVIDENCE: ClassVar[Literal["observed", "claimed"]] = "claimed"
    turn_id: str
    effect_id: str
    text: Content
    calls: int
    usage: Usage
    stop: str = "end"
    provider: str = ""
    model: str = ""
    candidate: int = 0
    summary: Content | None = None
    state: Content | None = None
    masked: int = 0  # secrets that were taken out of what it says and proposes
    first_token: int | None = None  # ms from the request; the last field, `traces` reads it there


@dataclass(frozen=True, kw_only=True)
class ModelFailed(Event):
    """The attempt failed. `permanent` ends the turn; else the next attempt follows `retry_at`.

    `maybe_billed` says that the model may have begun to work, and nobody told what that cost.
    `successor` is the candidate that is asked next in place of this one; `account` says that the
    failure is of the account or the address, so that no candidate with the same is asked again in
    this turn.
    """

    TYPE: ClassVar[str] = "model.failed"
    LINE: ClassVar[bool] = True
    turn_id: str
    effect_id: str
    code: str
    message: str
    permanent: bool
    usage: Usage = field(default_factory=Usage)
    retry_at: int | None = None
    maybe_billed: bool = False
    successor: int | None = None
    account: bool = False
    first_token: int | None = None  # as in `ModelReplied`, where it broke off after that


@dataclass(frozen=True, kw_only=True)
class ModelUncertain(Event):
    """The worker died while the model call was out: it may have been billed. It is asked again."""

    TYPE: ClassVar[str] = "model.uncertain"
    LINE: ClassVar[bool] = True
    turn_id: str
    effect_id: str


@dataclass(frozen=True, kw_only=True)
class SummaryRequested(Event):
    """Intent: the model is about to be asked to summarise the older part of the talk.

    That part is all turns before `before_turn`, and the first `replies` steps of that one; `tokens`
    is about how large the next request would be without the summary.
    """

    TYPE: ClassVar[str] = "summary.requested"
    turn_id: str
    effect_id: str
    attempt: int
    step: int
    provider: str
    model: str
    request_hash: str
    before_turn: int
    replies: int
    tokens: int


@dataclass(frozen=True, kw_only=True)
class ContextCompacted(Event):
    """The model is shown `text` from now on instead of what lies before the place.

    The place is as in `SummaryRequested`. The talk itself stays in the journal, whole.
    """

    TYPE: ClassVar[str] = "context.compacted"
    LINE: ClassVar[bool] = True
    ACTOR: ClassVar[str] = "agent"
    EVIDENCE: ClassVar[Literal["observed", "claimed"]] = "claimed"
    turn_id: str
    effect_id: str
    before_turn: int
    replies: int
    text: Content
    usage: Usage
    tokens_before: int
    tokens_after: int
    first_token: int | None = None  # as in `ModelReplied`, the last field too


@dataclass(frozen=True, kw_only=True)
class SummaryFailed(Event):
    """There is no summary. It is asked for `again`, or the turn goes on with the newest part alone.

    `maybe_billed` is as in `ModelFailed`. One that would have been no shorter than what it stands
    for had about so many `tokens`.
    """

    TYPE: ClassVar[str] = "summary.failed"
    LINE: ClassVar[bool] = True
    turn_id: str
    effect_id: str
    code: str
    message: str
    again: bool = False
    usage: Usage = field(default_factory=Usage)
    maybe_billed: bool = False
    tokens: int = 0
    first_token: int | None = None  # as in `ModelFailed`
