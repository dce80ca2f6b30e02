"""Where turns to export come from: the journal as it grows, and past turns that were asked for."""

from typing import Any, Protocol

from studio.core.clock import Clock
from studio.core.store import backfills, collector, late
from studio.core.store.backfills import Backfill
from studio.core.store.collector import Came, Place, Window
from studio.core.store.db import Db

TURNS = 100  # that are looked at in one go


class Source(Protocol):
    """Turns in an order, and the durable place in it."""

    place: Place

    def look(self, conn: Any, after: Place) -> Window:
        """The next turns behind a place."""
        ...

    def is_late(self, ended: int, now: int) -> bool:
        """A turn that ended then is given up by now."""
        ...

    async def move(self, after: Place, done: int, came: Came) -> None:
        """Everything up to there, `done` turns of it, is over; durable when this comes back."""
        ...


class Live:
    """Turns as they end, and what comes of them later; what is older than `keep` ms is given up."""

    def __init__(self, db: Db, clock: Clock, owner: str, place: Place, keep: int) -> None:
        self._db, self._clock, self._owner, self._keep = db, clock, owner, keep
        self.place = place

    def look(self, conn: Any, after: Place) -> Window:
        """The next turns that ended, and what came of those that had."""
        return late.coming(conn, after, TURNS)

    def is_late(self, ended: int, now: int) -> bool:
        """Its collector had its time."""
        return now - ended > self._keep

    async def move(self, after: Place, done: int, came: Came) -> None:
        """Move the place in the journal."""
        await collector.move(self._db, self._owner, self.place, after, came, self._clock.now())
        self.place = after


class Past:
    """The turns of one backfill, however old; all are given up `keep` ms after it was asked for."""

    def __init__(self, db: Db, clock: Clock, owner: str, of: Backfill, keep: int) -> None:
        self._db, self._clock, self._owner, self._keep = db, clock, owner, keep
        self.of = of
        self.place = Place(at=of.place, id=of.place_id, part=of.part)

    def look(self, conn: Any, after: Place) -> Window:
        """Its next turns."""
        return backfills.turns(conn, self.of, after, TURNS)

    def is_late(self, ended: int, now: int) -> bool:
        """Nobody waits for it any more."""
        return now - self.of.asked > self._keep

    async def move(self, after: Place, done: int, came: Came) -> None:
        """Move its own place."""
        now = self._clock.now()
        await backfills.move(self._db, self._owner, self.of.id, self.place, after, done, came, now)
        self.place = after

    async def end(self) -> None:
        """There is no more."""
        now = self._clock.now()
        state = "given_up" if self.is_late(0, now) else "done"
        await backfills.end(self._db, self.of.id, state, now)
