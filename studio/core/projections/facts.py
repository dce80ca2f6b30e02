"""Facts of one session as they were recorded, for the record page and for programs."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class EventRow:
    """One fact. `payload` is the event's fields as JSON; large values are head, tail and hash."""

    seq: int
    position: int
    id: str
    time: int
    type: str
    actor: str
    evidence: str
    turn_id: str | None
    effect_id: str | None
    payload: dict[str, Any]
