"""Questions about traces from outside: which there are, one of them, one span of it, all of it.

As in `reader`: the person first, one read transaction each, nothing is written.
"""

from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from functools import cached_property

from studio.core.projections import outside, outside_words
from studio.core.projections.outside import (
    AskedOutside,
    OutsideRow,
    OutsideSender,
    OutsideSpan,
    OutsideTrace,
    RefusalRow,
)
from studio.core.projections.pages import Page
from studio.core.questions import Questions
from studio.core.rules.access import Person

SPANS_KEPT = 40_000
SEARCHES_KEPT = 16


class Arranged:
    """Large traces as they were last arranged, so that a look at a span of one costs a look.

    A trace that grew is another. Bounded by spans; the one looked at longest ago goes first.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, OutsideTrace] = OrderedDict()

    def get(self, head: OutsideRow) -> OutsideTrace | None:
        """The trace of this row, if it is still what it was."""
        found = self._kept.get(head.id)
        if found is None or found.row != head:
            return None
        self._kept.move_to_end(head.id)
        return found

    def put(self, trace: OutsideTrace) -> None:
        """Keep it, and let go of others."""
        self._kept[trace.row.id] = trace
        self._kept.move_to_end(trace.row.id)
        while sum(len(one.trace.spans) for one in self._kept.values()) > SPANS_KEPT:
            self._kept.popitem(last=False)


class OutsideQuestions(Questions):
    """Questions about traces from outside. Ids are 32 hex characters of a trace, 16 of a span."""

    @cached_property
    def _arranged(self) -> Arranged:
        return Arranged()

    @cached_property
    def _searched(self) -> OrderedDict[tuple[OutsideRow, tuple[str, ...]], list[frozenset[str]]]:
        return OrderedDict()

    async def outside_traces(
        self, person: Person, asked: AskedOutside, *, limit: int = 50, cursor: str | None = None
    ) -> Page[OutsideRow]:
        """Traces from outside, the one whose first span came last first."""
        return await self._read(
            lambda conn: outside.page(conn, asked, limit=limit, cursor=cursor),
            asked.service, asked.agent,
        )  # fmt: skip

    async def outside_names(self, person: Person) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Services and agents that traces from outside name."""
        return await self._read(outside.names)

    async def outside_refusals(self, person: Person) -> list[RefusalRow]:
        """Spans that were sent and not kept, by sender and reason."""
        return await self._read(outside.refusals)

    async def outside_moves(self) -> int:
        """A number that grows whenever spans came, were refused or went."""
        return await self._read(outside.moves)

    async def outside_row(self, trace_id: str) -> OutsideRow | None:
        """The same, if it is here: what an open page asks again and again."""
        return await self._read(lambda conn: outside.row(conn, trace_id), trace_id)

    async def outside_sender(self, person: Person, sent_by: str, before: int) -> OutsideSender:
        """What is here of a sender, and the sum of its traces whose last span came before a time
        (ms)."""
        return await self._read(lambda conn: outside.sender(conn, sent_by, before), sent_by)

    async def outside_senders(self, person: Person) -> list[tuple[str, int, int]]:
        """The senders of which most is kept, fifty at most: names, spans and bytes."""
        return await self._read(outside.senders)

    async def outside_head(self, person: Person, trace_id: str) -> OutsideRow:
        """One trace without its spans; Gone when it was forgotten."""
        return await self._read(lambda conn: outside.head(conn, trace_id), trace_id)

    async def outside_trace(self, person: Person, trace_id: str) -> OutsideTrace:
        """One trace with its spans as a tree, without what they say in full."""
        head = await self.outside_head(person, trace_id)
        found = self._arranged.get(head)
        if found is None:
            found = await self._read(lambda conn: outside.one(conn, trace_id))
            self._arranged.put(found)
        return found

    async def outside_words(
        self, person: Person, trace_id: str, words: Sequence[str]
    ) -> list[frozenset[str]]:
        """For each word the ids of the spans that have it in an attribute, an event or a link.

        Searches that were made lately are kept, so that going from hit to hit reads nothing again.
        """
        looked = (await self.outside_head(person, trace_id), tuple(words))
        found = self._searched.get(looked)
        if found is None:
            found = await self._read(
                lambda conn: outside_words.found(conn, trace_id, words), *words
            )
            self._searched[looked] = found
            while len(self._searched) > SEARCHES_KEPT:
                self._searched.popitem(last=False)
        return found

    async def outside_span(self, person: Person, trace_id: str, span_id: str) -> OutsideSpan:
        """What one span says in full."""
        return await self._read(
            lambda conn: outside.span(conn, trace_id, span_id), trace_id, span_id
        )

    async def outside_spans(
        self, person: Person, trace_id: str
    ) -> AsyncIterator[list[OutsideSpan]]:
        """Every span of a trace in full, by id, in windows; NotFound before the first."""
        await self._read(lambda conn: outside.head(conn, trace_id), trace_id)
        after = ""
        while True:
            found = await self._read(
                lambda conn, after=after: outside.window(conn, trace_id, after)  # type: ignore[misc]
            )
            if not found:
                return
            yield found
            after = found[-1].id
