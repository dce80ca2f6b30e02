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
    in_hand = [_in_hand(person, status) for status in sessions.IN_HAND]
    parts = sa.union_all(
        *(sa.select(part.subquery()) for part in (*in_hand, _failed(person, since)))
    )
    found = sorted(conn.execute(parts).mappings(), key=lambda row: row["place"], reverse=True)
    return (
        tuple(sessions.of(row) for row in found if not row["failed"])[:LISTED],
        tuple(sessions.of(row) for row in found if row["failed"]),
    )


def _in_hand(person: Person, status: str) -> sa.Select[Any]:
    """The newest of one status: all of them in one question might have to be sorted."""
    columns = (sa.literal(0).label("failed"), s.first_position.label("place"))
    query = sa.select(*sessions.COLUMNS, *columns)
    query = query.where(s.status == status, *sessions.visible(person))
    return query.order_by(s.first_position.desc()).limit(LISTED)


def _failed(person: Person, since: int) -> sa.Select[Any]:
    columns = (sa.literal(1).label("failed"), t.ended.label("place"))
    query = sa.select(*sessions.COLUMNS, *columns).join_from(
        tables.turns, tables.sessions, s.turn_id == t.id
    )
    query = query.where(
        t.ended >= since, t.status == "failed", s.id == t.session_id, *sessions.visible(person)
    )
    return query.order_by(t.ended.desc()).limit(LISTED)


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
        "output_tokens": int(tokens_out), "cost": round(float(cost), 9), "cost_known": bool(known),
    }  # fmt: skip
