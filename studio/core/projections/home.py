"""The first page: what needs a person, what runs, what failed, and the numbers of the day."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.projections import sessions, waits
from studio.core.projections.sessions import SessionRow
from studio.core.projections.waits import WaitRow
from studio.core.rules.access import Person
from studio.core.store import tables

SHOWN = 5
LISTED = 10

s, t = tables.sessions.c, tables.turns.c


@dataclass(frozen=True, kw_only=True)
class Home:
    """Counts of open waits, the oldest five of them, and the turns since `since`.

    `running` are the newest ten sessions with a turn in hand, `failed_today` the last ten whose
    newest turn failed since then. `turns` are those that ended since then and those in hand now;
    tokens and cost are of the ended ones. With `cost_known` false the cost is a lower bound.
    `oldest_wait` is when it opened (ms).
    """

    held: int
    questions: int
    uncertain: int
    needs: tuple[WaitRow, ...]
    running: tuple[SessionRow, ...]
    failed_today: tuple[SessionRow, ...]
    since: int
    turns: int
    in_hand: int
    completed: int
    failed: int
    cancelled: int
    input_tokens: int
    output_tokens: int
    cost: float
    cost_known: bool
    oldest_wait: int | None


def view(conn: sa.Connection, person: Person, since: int) -> Home:
    """The first page: four statements."""
    counted = waits.count(conn, person)
    running, failed = _listed(conn, person, since)
    return Home(
        held=counted.pending.held, questions=counted.pending.questions,
        uncertain=counted.pending.uncertain, oldest_wait=counted.oldest,
        needs=waits.oldest(conn, person, SHOWN), running=running, failed_today=failed,
        since=since, **_numbers(conn, person, since),
    )  # fmt: skip


def _listed(
    conn: sa.Connection, person: Person, since: int
) -> tuple[tuple[SessionRow, ...], tuple[SessionRow, ...]]:
    """Sessions in hand and sessions that failed, in one statement."""
    seen = sessions.visible(person)
    running = (
        sa.select(*sessions.COLUMNS, sa.literal(0).label("failed"), s.first_position.label("place"))
        .where(s.status.in_(sessions.IN_HAND), *seen)
        .order_by(s.first_position.desc())
        .limit(LISTED)
    )
    failed = (
        sa.select(*sessions.COLUMNS, sa.literal(1).label("failed"), t.ended.label("place"))
        .join_from(tables.turns, tables.sessions, s.turn_id == t.id)
        .where(t.ended >= since, t.status == "failed", s.id == t.session_id, *seen)
        .order_by(t.ended.desc())
        .limit(LISTED)
    )
    both = sa.union_all(sa.select(running.subquery()), sa.select(failed.subquery()))
    found = sorted(conn.execute(both).mappings(), key=lambda row: row["place"], reverse=True)
    return (
        tuple(sessions.of(row) for row in found if not row["failed"]),
        tuple(sessions.of(row) for row in found if row["failed"]),
    )


def _numbers(conn: sa.Connection, person: Person, since: int) -> dict[str, Any]:
    """What ended since then, over an index that holds all of it, and what is in hand."""
    in_hand = (
        sa.select(sa.func.count())
        .where(s.status.in_(sessions.IN_HAND), *sessions.visible(person))
        .scalar_subquery()
    )
    ended = [
        sa.func.count().filter(t.status == status)
        for status in ("completed", "failed", "cancelled")
    ]
    row = conn.execute(
        sa.select(
            in_hand, *ended,
            *(sa.func.coalesce(sa.func.sum(column), 0)
              for column in (t.input_tokens, t.output_tokens, t.cost)),
            sa.func.coalesce(sa.func.min(t.cost_known), 1),
        ).where(t.ended >= since, *sessions.visible(person, t.private, t.owner))
    ).one()  # fmt: skip
    hand, completed, failed, cancelled, tokens_in, tokens_out, cost, known = row
    return {
        "turns": hand + completed + failed + cancelled, "in_hand": hand, "completed": completed,
        "failed": failed, "cancelled": cancelled, "input_tokens": int(tokens_in),
        "output_tokens": int(tokens_out), "cost": float(cost), "cost_known": bool(known),
    }  # fmt: skip
