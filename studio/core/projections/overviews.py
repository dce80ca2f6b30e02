"""A session's turns with their waits, for one axis: five statements from derived rows alone."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import sqlalchemy as sa

from studio.core.projections import pages, sessions
from studio.core.projections.sessions import IN_HAND, TurnRow
from studio.core.rules.access import Person
from studio.core.store import tables

WINDOW = 100  # turns that are shown at once
WAITS = 5_000  # waits, pauses and calls of a window that are looked at, of each

s, t, w, f = tables.sessions.c, tables.turns.c, tables.waits.c, tables.effects.c


@dataclass(frozen=True, kw_only=True)
class Waited:
    """One wait of a turn: approval, question, timer, uncertain or retry. Times are ms, UTC."""

    kind: str
    opened: int
    closed: int | None


@dataclass(frozen=True, kw_only=True)
class OverviewTurn:
    """A turn with its waits in the order they opened.

    `calls` are those that were out while something was awaited: from when to when (ms, UTC; None
    while they are out), as nobody is waited for while a call works.
    """

    turn: TurnRow
    waits: tuple[Waited, ...]
    calls: tuple[tuple[int, int | None], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Overview:
    """A window of a session's turns, the oldest first. `total` counts all turns it has; tokens
    (in and out) and the cost (US dollars) are of all of them, too.

    `earlier` is what `before` must be for the window before this one, None when there is none; with
    `is_newest` nothing follows. `complete` is false when waits, or what stands beside them, were
    too many to be looked at.
    """

    session_id: str
    title: str
    status: str
    total: int
    tokens: int
    cost: float
    cost_known: bool
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
    head = sessions.head(
        conn, person, session_id, s.title, s.status, s.turns, s.input_tokens, s.output_tokens,
        s.cost, s.cost_known,
    )  # fmt: skip
    query = sa.select(*_COLUMNS).where(t.session_id == session_id)
    if before is not None:
        query = query.where(t.number < before)
    rows = sessions.rows(conn, query.order_by(t.number.desc()).limit(pages.size(limit) + 1))
    turns = [TurnRow(**{**row, "cost_known": bool(row["cost_known"])}) for row in rows[:limit]]
    turns.reverse()
    waits, pauses, calls = (
        (_waits(conn, session_id, turns), _pauses(conn, turns), _calls(conn, turns, now))
        if turns
        else ([], [], [])
    )
    of: dict[str, list[Waited]] = {}
    for turn_id, wait in [*waits[:WAITS], *pauses[:WAITS]]:
        of.setdefault(turn_id, []).append(wait)
    out: dict[str, list[tuple[int, int | None]]] = {}
    for turn_id, begun, ended in calls[:WAITS]:
        out.setdefault(turn_id, []).append((begun, ended))
    last = turns[-1].number if turns else 0
    return Overview(
        session_id=session_id, title=head["title"], status=head["status"], total=head["turns"],
        tokens=head["input_tokens"] + head["output_tokens"], cost=head["cost"],
        cost_known=bool(head["cost_known"]),
        turns=tuple(
            OverviewTurn(
                turn=one, waits=tuple(sorted(of.get(one.id, ()), key=lambda wait: wait.opened)),
                calls=tuple(out.get(one.id, ())),
            )
            for one in turns
        ),
        earlier=turns[0].number if len(rows) > limit else None,
        is_newest=before is None or last >= head["turns"],
        complete=max(len(waits), len(pauses), len(calls)) <= WAITS,
        seq=head["seq"], now=now,
    )  # fmt: skip


def _waits(
    conn: sa.Connection, session_id: str, turns: Sequence[TurnRow]
) -> list[tuple[str, Waited]]:
    """The waits of these turns, by the index of a session's waits in time."""
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


def _pauses(conn: sa.Connection, turns: Sequence[TurnRow]) -> list[tuple[str, Waited]]:
    """What followed the failed model attempts of these turns: until the next one, if any came."""
    n = tables.effects.alias().c
    following = (
        sa.select(sa.func.min(n.started_at))
        .where(n.turn_id == f.turn_id, n.kind == "model", n.id != f.id)
        .where(n.started_at >= f.ended_at)
        .scalar_subquery()
    )
    query = sa.select(f.turn_id, f.ended_at, following).where(
        f.turn_id.in_([turn.id for turn in turns]), f.kind == "model", f.state == "failed"
    )
    return [
        (turn_id, Waited(kind="retry", opened=opened, closed=closed))
        for turn_id, opened, closed in conn.execute(query.limit(WAITS + 1))
        if opened != closed
    ]


def _calls(
    conn: sa.Connection, turns: Sequence[TurnRow], now: int
) -> list[tuple[str, int, int | None]]:
    """The calls that were out between a turn's first wait and its last.

    What became of an uncertain call is told when it is settled: until then it is awaited itself.
    """
    awaited = (
        sa.select(
            w.turn_id, sa.func.min(w.opened).label("opened"),
            sa.func.max(sa.func.coalesce(w.closed, now)).label("closed"),
        )
        .where(w.session_id == turns[0].session_id, w.opened >= turns[0].opened)
        .where(w.turn_id.in_([turn.id for turn in turns]))
        .group_by(w.turn_id)
        .subquery()
    ).c  # fmt: skip
    unknown = sa.exists().where(w.effect_id == f.id, w.kind == "uncertain")
    query = sa.select(f.turn_id, f.started_at, f.ended_at).where(
        f.turn_id == awaited.turn_id, f.kind != "model", f.started_at < awaited.closed,
        sa.func.coalesce(f.ended_at, now) > awaited.opened, ~unknown,
    )  # fmt: skip
    return [(row[0], row[1], row[2]) for row in conn.execute(query.limit(WAITS + 1))]
