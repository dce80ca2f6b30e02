"""A session's turns with their waits, for one axis: three statements from derived rows alone."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import sqlalchemy as sa

from studio.core.projections import pages, sessions
from studio.core.projections.sessions import IN_HAND, TurnRow
from studio.core.rules.access import Person
from studio.core.store import tables

WINDOW = 100  # turns that are shown at once
WAITS = 5_000  # waits of a window that are looked at

s, t, w = tables.sessions.c, tables.turns.c, tables.waits.c


@dataclass(frozen=True, kw_only=True)
class Waited:
    """One wait of a turn: approval, question, timer or uncertain. Times are ms, UTC."""

    kind: str
    opened: int
    closed: int | None


@dataclass(frozen=True, kw_only=True)
class OverviewTurn:
    """A turn with its waits in the order they opened."""

    turn: TurnRow
    waits: tuple[Waited, ...]


@dataclass(frozen=True, kw_only=True)
class Overview:
    """A window of a session's turns, the oldest first. `total` counts all turns it has.

    `earlier` is what `before` must be for the window before this one, None when there is none; with
    `is_newest` nothing follows. `complete` is false when some waits were too many to be looked at.
    """

    session_id: str
    title: str
    status: str
    total: int
    turns: tuple[OverviewTurn, ...]
    earlier: int | None
    is_newest: bool
    complete: bool
    seq: int
    now: int

    @property
    def is_moving(self) -> bool:
        """A turn is in hand."""
        return self.status in IN_HAND


_COLUMNS = [t[field.name] for field in fields(TurnRow)]


def of_session(
    conn: sa.Connection, person: Person, session_id: str, *, before: int | None, now: int,
    limit: int = WINDOW,
) -> Overview:  # fmt: skip
    """The newest turns of a session, or those before a number."""
    head = sessions.head(conn, person, session_id, s.title, s.status, s.turns)
    query = sa.select(*_COLUMNS).where(t.session_id == session_id)
    if before is not None:
        query = query.where(t.number < before)
    rows = sessions.rows(conn, query.order_by(t.number.desc()).limit(pages.size(limit) + 1))
    turns = [TurnRow(**{**row, "cost_known": bool(row["cost_known"])}) for row in rows[:limit]]
    turns.reverse()
    waits = _waits(conn, session_id, turns)
    of: dict[str, list[Waited]] = {}
    for turn_id, wait in waits[:WAITS]:
        of.setdefault(turn_id, []).append(wait)
    last = turns[-1].number if turns else 0
    return Overview(
        session_id=session_id, title=head["title"], status=head["status"], total=head["turns"],
        turns=tuple(OverviewTurn(turn=one, waits=tuple(of.get(one.id, ()))) for one in turns),
        earlier=turns[0].number if len(rows) > limit else None,
        is_newest=before is None or last >= head["turns"], complete=len(waits) <= WAITS,
        seq=head["seq"], now=now,
    )  # fmt: skip


def _waits(
    conn: sa.Connection, session_id: str, turns: Sequence[TurnRow]
) -> list[tuple[str, Waited]]:
    """The waits of these turns, by the index of a session's waits in time."""
    if not turns:
        return []
    query = sa.select(w.turn_id, w.kind, w.opened, w.closed).where(
        w.session_id == session_id,
        w.opened >= turns[0].opened,
        w.turn_id.in_([turn.id for turn in turns]),
    )
    if turns[-1].ended is not None:
        query = query.where(w.opened <= turns[-1].ended)
    found = conn.execute(query.order_by(w.opened).limit(WAITS + 1))
    return [
        (turn_id, Waited(kind=kind, opened=opened, closed=closed))
        for turn_id, kind, opened, closed in found
    ]
