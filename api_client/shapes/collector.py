"""How the export of spans stands."""

from typing import TypedDict


class Backfill(TypedDict):
    """Past turns that are sent once more; `state` is asked, running, done or given_up."""

    id: str
    by: str
    session_id: str
    since: str
    until: str
    asked: str
    ended: str | None
    state: str
    turns: int
    done: int
    sent: int
    refused: int
    dropped: int


class BackfillAsked(TypedDict):
    """A backfill that was asked for."""

    id: str


class CollectorState(TypedDict):
    """How it stands; `state` is off, gone, failing, refusing or well, `behind` counts turns."""

    state: str
    endpoint: str
    sent: int
    refused: int
    dropped: int
    behind: int
    oldest: str | None
    unsent_since: str | None
    seen: str | None
    last_sent: str | None
    failing_since: str | None
    retry_at: str | None
    error: str
    error_at: str | None
    backfill: Backfill | None
