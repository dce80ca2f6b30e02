"""Reader: every question one may ask. It reads and never writes; access is part of each answer.

Every question takes the person first. What a person may not see does not exist for them: NotFound,
and absent from every list and count. One question is one read transaction of at most four
statements, so rows and cursors agree.
"""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from studio.core.projections.agents import (
    AgentBrief,
    AgentRow,
    AgentView,
    GapView,
    ToolView,
    VersionRow,
)
from studio.core.projections.calls import CallRow, RecordedCall
from studio.core.projections.cards import Card, Decision
from studio.core.projections.facts import EventRow
from studio.core.projections.home import Home
from studio.core.projections.pages import Page
from studio.core.projections.people import KeyRow
from studio.core.projections.policy import PolicyView, RuleRow
from studio.core.projections.sessions import LimitUse, SessionRow, SessionView, TurnRow
from studio.core.projections.timeline import Line, Timeline
from studio.core.projections.waits import Pending, WaitRow
from studio.core.rules.access import Person
from studio.core.rules.events import Fact

if TYPE_CHECKING:
    from studio.core.store.db import Db
    from studio.core.store.feed import Feed
    from studio.core.store.journal import Journal

__all__ = [
    "AgentBrief", "AgentRow", "AgentView", "CallRow", "Card", "Decision", "EventRow", "Follow",
    "GapView", "Home", "KeyRow", "LimitUse", "Line", "Page", "Pending", "PolicyView", "Reader",
    "RecordedCall", "RuleRow", "SessionRow", "SessionView", "Timeline", "ToolView", "TurnRow",
    "VersionRow", "WaitRow",
]  # fmt: skip


class Follow(Protocol):
    """What `follow()` gives: the sessions that grew."""

    async def get(self) -> set[str]:
        """Wait until something grew; the ids of every session that did since the last call."""
        ...


class Reader:
    """Questions over one store. `now` gives the time in ms, UTC; `folder` holds the data."""

    def __init__(
        self, db: "Db", journal: "Journal", feed: "Feed", *, now: Callable[[], int], folder: Path
    ) -> None:
        self._db, self._journal, self._feed = db, journal, feed
        self._now, self._folder = now, folder

    # What needs a person ----------------------------------------------------------------------

    async def home(self, person: Person, *, since: int | None = None) -> Home:
        """The first page. `since` (ms) is where the day began; without it, 24 hours ago."""
        raise NotImplementedError

    async def pending(self, person: Person) -> Pending:
        """How much waits for people; cheap enough for every page."""
        raise NotImplementedError

    async def waits(
        self, person: Person, *, state: str = "open", kind: str = "", agent: str = "",
        tool: str = "", plugin: str = "", older_than_ms: int | None = None, q: str = "",
        session_id: str | None = None, limit: int = 50, cursor: str | None = None,
    ) -> Page[WaitRow]:  # fmt: skip
        """Waits with light calls: the oldest first while open, the newest first once closed.

        Without `kind`: everything that stands on a person (timers only when asked for).
        """
        raise NotImplementedError

    async def wait(self, person: Person, wait_id: str) -> Card:
        """Everything the card of this wait shows to this person."""
        raise NotImplementedError

    async def cards(self, person: Person, session_id: str) -> list[Card]:
        """The open waits of a session that stand on a person, in the order they opened."""
        raise NotImplementedError

    # Sessions ---------------------------------------------------------------------------------

    async def sessions(
        self, person: Person, *, q: str = "", agent: str = "", status: str = "", needs: str = "",
        limit: int = 50, cursor: str | None = None,
    ) -> Page[SessionRow]:  # fmt: skip
        """Sessions, the one started last first: an order that never changes under a cursor.

        `needs`: held, questions, uncertain, or any of the three ("any").
        """
        raise NotImplementedError

    async def session(self, person: Person, session_id: str) -> SessionView:
        """One session with its newest turns, limits and agent."""
        raise NotImplementedError

    async def timeline(
        self, person: Person, session_id: str, *, before: int | None = None,
        after: int | None = None, limit: int = 100,
    ) -> Timeline:  # fmt: skip
        """A window of lines, oldest first: the newest, those before, or those after a seq."""
        raise NotImplementedError

    async def lines(
        self, person: Person, session_id: str, effects: Collection[str], seqs: Collection[int]
    ) -> list[Line]:
        """Snapshots of the lines of these effects (calls) and of these seqs, oldest first."""
        raise NotImplementedError

    async def calls(
        self, person: Person, session_id: str, *, before: int | None = None, limit: int = 200
    ) -> list[CallRow]:
        """The newest calls of a session (before that seq), light, oldest first."""
        raise NotImplementedError

    async def call(self, person: Person, effect_id: str) -> CallRow:
        """One effect with its contents."""
        raise NotImplementedError

    async def events(
        self, person: Person, session_id: str, *, after: int = 0, limit: int = 200
    ) -> list[EventRow]:
        """Facts with a seq above `after`, oldest first."""
        raise NotImplementedError

    async def events_before(
        self, person: Person, session_id: str, *, before: int | None = None, limit: int = 200
    ) -> list[EventRow]:
        """The newest facts, or those with a seq below `before`; oldest first."""
        raise NotImplementedError

    async def blob(self, person: Person, hash: str, session_id: str) -> bytes:
        """The bytes of a large value that a fact of this session refers to."""
        raise NotImplementedError

    # Agents, policy, keys -----------------------------------------------------------------------

    async def agents(self, person: Person) -> list[AgentRow]:
        """The newest version of every agent, by name."""
        raise NotImplementedError

    async def agent(self, person: Person, name: str, version: int | None = None) -> AgentView:
        """One version of an agent (without `version` the newest) with its tools as last found."""
        raise NotImplementedError

    async def policy(self, person: Person, version: int | None = None) -> PolicyView:
        """One version of the policy, without `version` the one in force."""
        raise NotImplementedError

    async def recorded_calls(self, person: Person, *, limit: int = 1000) -> list[RecordedCall]:
        """The newest calls over all sessions, for a dry run of the policy."""
        raise NotImplementedError

    async def keys(self, person: Person) -> list[KeyRow]:
        """Every application key, the newest first; for admins."""
        raise NotImplementedError

    # Live -----------------------------------------------------------------------------------------

    @asynccontextmanager
    async def follow(self) -> AsyncIterator[Follow]:
        """Follow the store: `await it.get()` gives the ids of the sessions that grew."""
        async with self._feed.subscribe() as subscription:
            yield subscription

    def draft(self, session_id: str) -> tuple[str, str] | None:
        """(effect id, text) of the reply that is being written, or None. Not a fact."""
        return self._feed.draft(session_id)

    async def facts_after(self, session_id: str, seq: int, limit: int = 200) -> list[Fact]:
        """Facts of a session behind `seq`, for a stream that checked the person when it opened."""
        raise NotImplementedError

    async def position(self) -> int:
        """The position of the store's newest fact."""
        raise NotImplementedError

    async def health(self) -> dict[str, Any]:
        """How the store does, in figures."""
        raise NotImplementedError

    async def ready(self) -> dict[str, Any]:
        """Whether requests can be answered: {"ready": bool, "why": sentence or None}."""
        raise NotImplementedError
