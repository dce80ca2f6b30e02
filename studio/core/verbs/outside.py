"""Traces from outside: their spans are taken piece by piece, off the event loop, and kept a batch a
transaction; an admin forgets one trace, or those of a sender, a batch a transaction too.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from studio.core import faults
from studio.core.rules import access
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.errors import Invalid
from studio.core.rules.outside import claims
from studio.core.rules.outside.claims import Claim, Refusal
from studio.core.rules.outside.recognising import recognised
from studio.core.store import outside, outside_forgetting, outside_sweeping
from studio.core.store.outside import Kept, Ready
from studio.core.store.outside_forgetting import InHand, Place, Sum
from studio.core.verbs.parts import Verbs

BATCH = 512  # spans of one transaction: what exporters send at once
TRACES = outside_forgetting.BATCH  # that are forgotten in one transaction
PIECES = 40  # that whoever forgets waits for; the sweep takes away what is left then
MS = 1_000_000  # ns


@dataclass(slots=True)
class TakenSpans:
    """What came of a request: how many spans are new, how many were here, which were refused.

    `advice` says what makes room, where its sender has none.
    """

    new: int = 0
    here: int = 0
    refused: list[Refusal] = field(default_factory=list)
    advice: str = ""

    @property
    def refused_count(self) -> int:
        """How many spans were refused."""
        return sum(one.count for one in self.refused)


class OutsideVerbs(Verbs):
    """What one may do with traces from outside: send spans of them, forget one, or a sender's."""

    @cached_property
    def is_to_clear(self) -> asyncio.Event:
        """Set when what was forgotten is for the sweep to take away, soon."""
        return asyncio.Event()

    async def take_spans(self, person: Person, spans: Iterator[Claim | Refusal]) -> TakenSpans:
        """Keep the spans that are sound; again is no error. Each refused one is named.

        `spans` is walked in a thread, so it may decode as it goes. While one batch is written the
        next is read.
        """
        access.needs_to_send_spans(person)
        now, taken = self.clock.now(), TakenSpans()
        ready = await asyncio.to_thread(_ready, spans, now)
        while ready is not None:
            batch, refused = ready
            kept, ready = await asyncio.gather(
                self._keep(batch, refused, now, person), asyncio.to_thread(_ready, spans, now)
            )
            taken.new, taken.here = taken.new + kept.new, taken.here + kept.here
            taken.refused += [*refused, *kept.refused]
        if any(one.code == "sender_full" for one in taken.refused):
            crowd = await self.db.read(lambda conn: outside.room(conn, person.actor))
            taken.advice = crowd.told(self.outside, now)
        return taken

    async def forget_outside_trace(self, person: Person, trace_id: str) -> None:
        """Take a trace away with all its spans, which makes room for its senders. What comes of it
        later is a trace anew."""
        access.needs(person, "admin", "forget a trace from outside")

        def rule(conn: outside.Connection) -> tuple[e.Event, ...]:
            is_one = claims.is_trace_id(trace_id)
            found = outside_forgetting.mark(conn, trace_id) if is_one else None
            if found is None:
                raise outside_forgetting.missing(conn, trace_id)
            forgotten = e.OutsideTraceForgotten(
                trace_id=trace_id, sent_by=found[0], spans=found[1], by=person.id
            )
            return (forgotten,)

        while True:
            try:
                await self._record_forgotten(person, rule)
                break
            except InHand as busy:
                await self._until_free(busy.traces)
        await self._take_outside_away(trace_id)

    async def forget_outside_sender(
        self, person: Person, sent_by: str, *, before: int | None = None
    ) -> Sum:
        """Take away the traces that a sender began and whose last span came before a time (ms), or
        before now: each whole, whoever sent spans of it. How much was forgotten.

        Again does no harm and goes on where it was cut off. A trace that gets a span while this is
        under way stays, unless it was forgotten before the span came: then that span begins it
        anew.
        """
        access.needs(person, "admin", "forget the traces of a sender")
        if not sent_by or not sent_by.isprintable():
            words = "Name the sender, as its traces name it: application:weather-bot."
            raise Invalid(words, code="outside_sender.missing", fields={"sent_by": words})
        now = self.clock.now()
        before = now + 1 if before is None else min(before, now + 1)
        done, place, pieces = Sum(), outside_forgetting.BEGINNING, PIECES
        while found := await self._next_of_sender(sent_by, before, place):
            done += await self._forget_some(person, [id for _, id in found], sent_by, before)
            place = found[-1]
        while pieces and await self.db.touch(outside_sweeping.take_away_marked):
            faults.fault("outside.mid_clearing")
            pieces -= 1
        if not pieces:
            self.is_to_clear.set()
        return done

    async def _next_of_sender(self, sent_by: str, before: int, place: Place) -> list[Place]:
        return await self.db.read(
            lambda conn: outside_forgetting.after(conn, sent_by, before, place, TRACES)
        )

    async def _forget_some(
        self, person: Person, traces: list[str], sent_by: str, before: int
    ) -> Sum:
        """Mark some traces and record it, in one transaction, or in more where they were in hand;
        then open pages hear of it."""
        done, left = Sum(), traces

        def rule(conn: outside.Connection) -> tuple[e.Event, ...]:
            nonlocal done, left
            marked, sum_of, left = outside_forgetting.mark_many(conn, left, sent_by, before)
            done += sum_of
            forgotten = e.OutsideSenderForgotten(
                sent_by=sent_by, before=before, trace_ids=marked, spans=sum_of.spans,
                bytes=sum_of.bytes, by=person.id,
            )  # fmt: skip
            return (forgotten,) if marked else ()

        await self._record_forgotten(person, rule)
        while left:
            await self._until_free(left)
            await self._record_forgotten(person, rule)
        await self.db.touch(lambda conn: outside.moved(conn, {sent_by: (0, 0)}))
        return done

    async def _record_forgotten(
        self, person: Person, rule: Callable[[outside.Connection], tuple[e.Event, ...]]
    ) -> None:
        await self.journal.commit_other("outside", rule, at=self.clock.now(), actor=person.actor)
        faults.fault("outside.forgotten")

    async def _until_free(self, traces: Sequence[str]) -> None:
        await self.db.touch(lambda conn: outside_forgetting.wait(conn, traces))

    async def _take_outside_away(self, trace_id: str) -> None:
        """What a death leaves here goes with the next sweep."""
        while await self.db.touch(lambda conn: outside_sweeping.take_away(conn, trace_id)):
            faults.fault("outside.mid_clearing")

    async def _keep(
        self, batch: list[Ready], refused: list[Refusal], now: int, person: Person
    ) -> Kept:
        if not batch and not refused:
            return Kept()

        def act(conn: outside.Connection) -> Kept:
            kept = outside.keep(conn, batch, at=now, sent_by=person.actor, limits=self.outside)
            outside.refuse(
                conn, [*refused, *kept.refused], at=now, sent_by=person.actor
            )  # fmt: skip
            return kept

        while True:
            try:
                return await self.db.touch(act)
            except outside.StillGoing as going:
                for trace_id in going.traces:
                    await self._take_outside_away(trace_id)


def _ready(spans: Iterator[Claim | Refusal], now: int) -> tuple[list[Ready], list[Refusal]] | None:
    """The next batch, and what was refused on the way; None at the end."""
    batch, refused, count = list[Ready](), list[Refusal](), 0
    for one in islice(spans, BATCH):
        count += 1
        if isinstance(one, Refusal):
            refused.append(one)
        elif code := claims.wrong_with(one, now * MS):
            refused.append(Refusal(code, claims.named(one)))
        else:
            known = recognised(one)
            batch.append(Ready(known=known, payload=outside.pack(known)))
    return (batch, refused) if count else None
