"""Spans from outside: taken piece by piece, off the event loop, and kept a batch a transaction."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from studio.core.rules import access
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from studio.core.rules.outside import claims
from studio.core.rules.outside.claims import Claim, Refusal
from studio.core.rules.outside.recognising import recognised
from studio.core.store import outside, outside_sweeping
from studio.core.store.outside import Kept, Ready
from studio.core.verbs.parts import Verbs

BATCH = 512  # spans of one transaction: what exporters send at once
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
    """What one may do with traces from outside: send spans of them, and forget one."""

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
            found = outside_sweeping.forget(conn, trace_id) if trace_id.isalnum() else None
            if found is None:
                raise NotFound(
                    "There is no such trace from outside. It may have been swept or forgotten.",
                    code="outside_trace.not_found",
                )
            forgotten = e.OutsideTraceForgotten(
                trace_id=trace_id, sent_by=found[0], spans=found[1], by=person.id
            )
            return (forgotten,)

        await self.journal.commit_other(
            "outside", rule, at=self.clock.now(), actor=person.actor
        )  # fmt: skip
        while await self.db.touch(lambda conn: outside_sweeping.take_away(conn, trace_id)):
            pass  # what a death leaves here goes with the next sweep

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

        return await self.db.touch(act)


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
