"""Probes: a person asks that a worker looks at something outside; this process never does."""

from typing import Any

import sqlalchemy as sa

from studio.core.rules import access
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.errors import Refused
from studio.core.store import probes
from studio.core.verbs.parts import Verbs

MOST_OPEN = 20


class ProbeVerbs(Verbs):
    """What one may have looked at."""

    async def ask_probe(self, person: Person, kind: str, target: str, subject: Any) -> str:
        """Ask for a look at `target`; its id. While one like it is open, that one's id.

        `subject` is JSON that a worker's look of this `kind` understands; it holds no secret.
        """
        access.needs(person, "admin", "have something outside looked at")
        probe_id = self.clock.new_id("prb")

        def rule(conn: sa.Connection) -> list[e.Event]:
            nonlocal probe_id
            waiting = probes.open_ones(conn)
            same = [p for p in waiting if (p.kind, p.target, p.subject) == (kind, target, subject)]
            if same:
                probe_id = same[0].id
                return []
            if len(waiting) >= MOST_OPEN:
                raise Refused(
                    f"{MOST_OPEN} tests are under way already. Wait until one is over; if none "
                    "moves, no worker is at work.",
                    code="probe.too_many",
                )
            return [
                e.ProbeAsked(
                    probe_id=probe_id, kind=kind, target=target, subject=subject, by=person.id
                )
            ]

        await self.journal.commit_other("probes", rule, at=self.clock.now(), actor=person.actor)
        return probe_id
