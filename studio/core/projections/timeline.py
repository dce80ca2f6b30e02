"""The timeline of a session: one line a fact that opens one, in windows by its sequence number."""

from dataclasses import dataclass
from typing import Any

from studio.core.projections.calls import CallRow
from studio.core.projections.waits import WaitRow
from studio.core.rules.events import Content, Usage


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line. However it was fetched, the line of one `seq` is the same at the same facts.

    `kind` is person, agent, call, model_failed, model_uncertain, limit, completed, failed or
    cancelled. `text` is its words: the whole, or head and tail with a note of what is left out.
    `call` and `wait` (the call's newest) are set on a call's line; `payload` is the event's fields.
    """

    seq: int
    time: int
    kind: str
    turn_id: str
    turn_number: int
    effect_id: str | None
    text: str
    content: Content | None
    call: CallRow | None
    wait: WaitRow | None
    by: str | None
    code: str
    message: str
    usage: Usage | None
    payload: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """A window of lines, oldest first, and where it ends.

    `seq` is the session's newest fact at this very read: the cursor of the live stream. `position`
    is the position of that fact. `first_seq` is the first line's, for `before`.
    """

    lines: tuple[Line, ...]
    has_earlier: bool
    has_later: bool
    first_seq: int | None
    last_seq: int | None
    seq: int
    position: int
