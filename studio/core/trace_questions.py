"""Questions about where time went beyond one turn: a whole session, an environment. And what a turn
has in its payloads.

As in `reader`: the person first, one read transaction each, nothing is written.
"""

import asyncio
from collections.abc import Sequence
from functools import cached_property, partial

from studio.core.disk_questions import DiskQuestions
from studio.core.projections import (
    environment_times,
    facts,
    overviews,
    pages,
    trace_words,
    views,
)
from studio.core.projections.environment_times import DAY, EnvironmentTimes
from studio.core.projections.facts import EventRow
from studio.core.projections.overviews import Overview
from studio.core.projections.trace_words import Answers, Kept, TraceWords
from studio.core.projections.views import SHARED_MOST, SeenViews, ViewRow
from studio.core.rules.access import Person


class TraceQuestions(DiskQuestions):
    """Questions whose answers are drawn on one axis."""

    @cached_property
    def _found_words(self) -> Kept:
        return Kept()

    @cached_property
    def _looking(self) -> asyncio.Lock:
        return asyncio.Lock()

    async def trace_words(
        self, person: Person, session_id: str, turn_id: str, words: Sequence[str]
    ) -> TraceWords:
        """For each word, in any letters, the effects of a turn that have it in a payload.

        Large contents are read by the window, one search's at a time, in a thread of the store: who
        asks for the same finds what another has read. A search made before reads nothing again.
        """
        kept, answers, words = self._found_words, Answers(), [word.lower() for word in words]
        known = await self._read(
            lambda conn: trace_words.beside(conn, person, session_id, turn_id, words, kept),
            session_id, turn_id, *words,
        )  # fmt: skip
        for window in trace_words.windows(known):
            look = partial(trace_words.look, window=window, words=list(known.begun), kept=kept)
            async with self._looking:
                answers |= await self._read(look)
        return trace_words.joined(known, answers, turn_id, words, kept)

    async def overview(
        self, person: Person, session_id: str, *, before: int | None = None
    ) -> Overview:
        """The newest turns of a session with their waits, or those before a turn's number."""
        place = None if before is None else pages.within(before)
        now = self._clock.now()
        return await self._read(
            lambda conn: overviews.of_session(conn, person, session_id, before=place, now=now),
            session_id,
        )

    async def turn_facts(
        self, person: Person, session_id: str, turn_id: str, *, limit: int = 200
    ) -> list[EventRow]:
        """The facts of a turn that are of none of its effects, oldest first."""
        return await self._read(
            lambda conn: facts.of_turn(conn, person, session_id, turn_id, limit),
            session_id, turn_id,
        )  # fmt: skip

    async def environment_times(
        self, person: Person, environment: str, *, since: int | None = None,
        until: int | None = None, length: int = DAY,
    ) -> EnvironmentTimes:  # fmt: skip
        """What happened in an environment between two moments (ms), without them of late.

        `length` is how many ms before the end it begins when `since` is not given.
        """
        begin, end = (None if one is None else pages.within(one) for one in (since, until))
        now = self._clock.now()
        return await self._read(
            lambda conn: environment_times.of_environment(
                conn, person, environment, since=begin, until=end, now=now, length=length
            ),
            environment,
        )

    async def views(
        self, person: Person, list: str = "", *, shared: int = SHARED_MOST
    ) -> SeenViews:
        """A person's saved views of a list (without one: of all), and those that others share.

        One's own are all there; of the others' at most `shared`.
        """
        return await self._read(lambda conn: views.rows(conn, person, list, shared), list)

    async def view(self, person: Person, view_id: str) -> ViewRow:
        """One saved view; one that was removed is there for whoever may bring it back."""
        return await self._read(lambda conn: views.one(conn, person, view_id), view_id)

    async def views_moved(self) -> int:
        """What grows whenever somebody's view changes."""
        return await self._read(views.moved)
