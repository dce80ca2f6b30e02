"""Tells the worker and open pages that journals grew. Carries names and positions, no content.

All of it is a hint: the journal is the truth and can be read at any time. Between processes the
hint goes through PostgreSQL's NOTIFY, after the commit and on a connection of its own (inside the
transaction it would make all commits wait for each other); once a second the journal itself is
asked, so a lost hint costs a second. Drafts and progress are not facts: they live in memory only.
"""

import asyncio
from types import TracebackType

from studio.core.store import raw
from studio.core.store.db import Db
from studio.core.store.wire import Said, Wire

DRAFT_SECONDS = 60.0  # a draft of another process that is not heard of any more

Progress = tuple[float, float | None, str]


class Subscription:
    """What grew since one last looked. Never holds up whoever publishes."""

    def __init__(self, feed: "Feed") -> None:
        self._feed = feed
        self._grown: set[str] = set()
        self._event = asyncio.Event()

    async def get(self) -> set[str]:
        """Wait until something grew; the ids of all sessions that did since the last call."""
        await self._event.wait()
        self._event.clear()
        grown, self._grown = self._grown, set()
        return grown

    def add(self, session_id: str) -> None:
        """This one grew."""
        self._grown.add(session_id)
        self._event.set()

    async def __aenter__(self) -> "Subscription":
        self._feed._subscriptions.add(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._feed._subscriptions.discard(self)


class Feed:
    """The hints of one process, and on PostgreSQL of all."""

    def __init__(self, db: Db) -> None:
        self._db = db
        self._newest = 0
        self._marks: dict[str, int] = {}  # of journals that are few, how often they grew
        self._told: dict[str, int] = {}  # positions told of that the journal was not asked for yet
        self._subscriptions: set[Subscription] = set()
        self._waiting: set[asyncio.Event] = set()
        self._drafts: dict[str, tuple[str, str, float]] = {}
        self._progress: dict[str, dict[str, Progress]] = {}
        self._wire: Wire | None = None

    async def start(self) -> None:
        """Begin at the journal's newest position."""
        row = await self._db.read(lambda c: raw.one(c, "SELECT last FROM positions WHERE id = 1"))
        self._newest = max(self._newest, row[0])
        if self._db.kind == "postgresql":
            loop = asyncio.get_running_loop()
            self._wire = Wire(self._db, self._newest, loop, self._heard)
            await asyncio.to_thread(self._wire.start)

    async def close(self) -> None:
        """Stop hearing and telling."""
        if self._wire is not None:
            await asyncio.to_thread(self._wire.close)
            self._wire = None

    # Journals -------------------------------------------------------------------------------------

    def publish(self, session_id: str, position: int) -> None:
        """A journal grew, durably, up to this position. On the event loop only."""
        self._grew(session_id, position)
        if self._wire is not None:
            self._told[session_id] = position
            self._wire.tell_grown(session_id, position)

    async def wait(self, after: int, timeout: float) -> int:
        """The newest position, as soon as it is beyond `after`, at the latest after `timeout` s."""
        if self._newest > after:
            return self._newest
        event = asyncio.Event()
        self._waiting.add(event)
        try:
            async with asyncio.timeout(timeout):
                while self._newest <= after:
                    event.clear()
                    await event.wait()
        except TimeoutError:
            pass
        finally:
            self._waiting.discard(event)
        return self._newest

    def mark(self, journal_id: str) -> int:
        """Another number whenever this journal grew; for journals other than sessions'."""
        return self._marks.get(journal_id, 0)

    def subscribe(self) -> Subscription:
        """`async with feed.subscribe() as grown:` then `await grown.get()`, again and again."""
        return Subscription(self)

    # Drafts and progress --------------------------------------------------------------------------

    def set_draft(self, session_id: str, effect_id: str, text: str | None) -> None:
        """The answer as far as it is written; None when it is recorded or given up."""
        self._draft(session_id, effect_id, text, until=float("inf"))
        if self._wire is not None:
            self._wire.tell_draft(session_id, effect_id, text)

    def draft(self, session_id: str) -> tuple[str, str] | None:
        """The effect and the text that it is writing."""
        found = self._drafts.get(session_id)
        if found is None or found[2] < asyncio.get_running_loop().time():
            return None
        return found[:2]

    def set_progress(
        self, session_id: str, effect_id: str, done: float, total: float | None, words: str
    ) -> None:
        """How far a call has come, in its own words."""
        self._progress.setdefault(session_id, {})[effect_id] = (done, total, words)
        self._mark(session_id)
        if self._wire is not None:
            self._wire.tell_progress(session_id, effect_id, (done, total, words))

    def clear_progress(self, session_id: str, effect_id: str) -> None:
        """The call has its outcome."""
        if self._forget_progress(session_id, effect_id) and self._wire is not None:
            self._wire.tell_progress(session_id, effect_id, None)

    def progress(self, session_id: str) -> dict[str, Progress]:
        """By effect: how much is done, of how much, and words."""
        return dict(self._progress.get(session_id, {}))

    # ----------------------------------------------------------------------------------------------

    def _heard(self, said: Said) -> None:
        """From other processes, and from the journal itself. On the event loop."""
        for session_id, position in said.grown:
            if position > self._told.get(session_id, 0):
                self._told[session_id] = position
                self._grew(session_id, position)
        if said.asked:
            left = {key: at for key, at in self._told.items() if at > said.asked}
            self._told = left
        for session_id, effect_id, text in said.drafts:
            until = asyncio.get_running_loop().time() + DRAFT_SECONDS
            self._draft(session_id, effect_id, text, until=until)
        for session_id, effect_id, progress in said.progress:
            if progress is None:
                self._forget_progress(session_id, effect_id)
            else:
                self._progress.setdefault(session_id, {})[effect_id] = progress
                self._mark(session_id)

    def _grew(self, session_id: str, position: int) -> None:
        self._newest = max(self._newest, position)
        if "_" not in session_id:  # no session's
            self._marks[session_id] = self._marks.get(session_id, 0) + 1
        for event in self._waiting:
            event.set()
        self._mark(session_id)

    def _mark(self, session_id: str) -> None:
        for subscription in self._subscriptions:
            subscription.add(session_id)

    def _draft(self, session_id: str, effect_id: str, text: str | None, *, until: float) -> None:
        if text is not None:
            self._drafts[session_id] = (effect_id, text, until)
        else:
            found = self._drafts.get(session_id)
            if found is None or found[0] != effect_id:
                return
            del self._drafts[session_id]
        self._mark(session_id)

    def _forget_progress(self, session_id: str, effect_id: str) -> bool:
        of_session = self._progress.get(session_id, {})
        gone = of_session.pop(effect_id, None) is not None
        if not of_session:
            self._progress.pop(session_id, None)
        if gone:
            self._mark(session_id)
        return gone
