"""Backfills: what past turns are sent to the collector once more."""

import sqlalchemy as sa

from studio.core.rules import access
from studio.core.rules.access import Person
from studio.core.rules.errors import Invalid, NotFound, Refused
from studio.core.store import backfills, collector
from studio.core.verbs.parts import Verbs


class BackfillVerbs(Verbs):
    """What one may have exported."""

    async def ask_backfill(
        self, person: Person, *, since: int = 0, until: int | None = None, session_id: str = ""
    ) -> str:
        """Have turns that ended from `since` to before `until` (ms) sent again; its id.

        Of one session, or of all. The worker that exports takes it up; Refused when none does.
        """
        access.needs(person, "admin", "send past turns to the collector")
        now = self.clock.now()
        until = now if until is None else until
        if since >= until:
            words = "`since` must lie before `until`."
            raise Invalid(words, code="backfill.empty", fields={"since": words})
        row = await self.db.read(collector.read)
        if row is None or not row.is_worked(now):
            raise Refused(
                "No worker exports spans now. Set OTEL_EXPORTER_OTLP_ENDPOINT for it, start it, "
                "and ask again.",
                code="export.off",
            )
        if session_id:
            await self._known(session_id)
        turns = await self.db.read(lambda conn: backfills.count(conn, session_id, since, until))
        if turns > backfills.MOST_TURNS:
            words = f"These are more than {backfills.MOST_TURNS:,} turns. Ask for a shorter time."
            raise Invalid(words, code="backfill.too_large", fields={"since": words})
        id = self.clock.new_id("bkf")

        def ask(conn: sa.Connection) -> None:
            if len(backfills.open_ones(conn)) >= backfills.MOST_OPEN:
                raise Refused(
                    f"{backfills.MOST_OPEN} backfills are under way already. Wait until one ends.",
                    code="backfill.too_many",
                )
            backfills.ask(
                conn, id, by=person.id, session_id=session_id, since=since, until=until, now=now,
                turns=turns,
            )  # fmt: skip

        await self.db.touch(ask)
        return id

    async def _known(self, session_id: str) -> None:
        if await self.journal.session(session_id) is None:
            raise NotFound("There is no such session.", code="session.not_found")
