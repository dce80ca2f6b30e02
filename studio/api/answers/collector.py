"""How the export of spans stands, as programs are given it."""

from dataclasses import dataclass
from typing import Annotated

from studio.api.shapes import Time


@dataclass(frozen=True, kw_only=True)
class Backfill:
    """Past turns that are sent once more. `done` and `turns` are of turns, the rest of spans."""

    id: str
    by: str
    session_id: Annotated[str, "Empty for all sessions."]
    since: Time
    until: Time
    asked: Time
    ended: Time | None
    state: Annotated[str, "asked, running, done or given_up."]
    turns: Annotated[int, "How many there were when it was asked for."]
    done: int
    sent: int
    refused: int
    dropped: int


@dataclass(frozen=True, kw_only=True)
class BackfillAsked:
    """It was asked for; a worker takes it up."""

    id: str


@dataclass(frozen=True, kw_only=True)
class CollectorState:
    """How the export stands. Counts are of spans, but for `behind`, which is of turns."""

    state: Annotated[
        str,
        "off (no collector is set), gone (no worker exports now), "
        "failing, refusing (its newest answer took no spans) or well.",
    ]
    endpoint: Annotated[str, "Scheme, host and port of the collector."]
    sent: int
    refused: Annotated[int, "The collector did not want them."]
    dropped: Annotated[int, "They were given up."]
    behind: Annotated[int, "Turns that ended and were not sent yet, up to 1,000."]
    oldest: Annotated[Time | None, "When the first of those ended."]
    unsent_since: Annotated[
        Time | None, "While it is off: turns that ended after this were not sent."
    ]
    seen: Annotated[Time | None, "The exporter's last sign of life."]
    last_sent: Time | None
    failing_since: Time | None
    retry_at: Time | None
    error: Annotated[str, "The newest, in words."]
    error_at: Time | None
    backfill: Annotated[Backfill | None, "The one that was asked for last."]
