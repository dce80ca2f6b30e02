"""One session as its page shows it: newest turns, what is used of its limits, its agent."""

import json
from dataclasses import dataclass, fields
from typing import Any

import sqlalchemy as sa

from studio.core.projections import agents, sessions
from studio.core.projections.agents import AgentBrief
from studio.core.projections.sessions import SessionRow, TurnRow
from studio.core.rules.access import Person
from studio.core.store import tables

TURNS_SHOWN = 20
COUNTS = ("steps", "calls")

s, t, e = tables.sessions.c, tables.turns.c, tables.events.c


@dataclass(frozen=True, kw_only=True)
class LimitUse:
    """How much of a limit the newest turn has used, from recorded facts alone.

    `name` is steps, calls, active_seconds or total_seconds; `unit` is steps, calls or seconds. Of
    seconds `exact` has milliseconds, of others it is `used`.
    """

    name: str
    used: int
    exact: int
    value: int
    hard: bool
    unit: str


@dataclass(frozen=True, kw_only=True)
class SessionHead:
    """What a session is and how it stands: its row, newest turn and agent.

    `seq` is the session's newest fact at this very read, `position` the store's. `environment` is
    the name of the one that it works in, "" without one.
    """

    row: SessionRow
    turn: TurnRow | None
    agent: AgentBrief
    seq: int
    position: int
    environment: str = ""


@dataclass(frozen=True, kw_only=True)
class SessionView(SessionHead):
    """A session's page: its head, limits and newest 20 turns (newest first)."""

    limits: tuple[LimitUse, ...]
    turns: tuple[TurnRow, ...]


_TURN_COLUMNS = [t[field.name] for field in fields(TurnRow)]


def head(conn: sa.Connection, person: Person, session_id: str) -> SessionHead:
    """How the session stands: three statements."""
    row = _row(conn, person, session_id)
    turns = _turns(conn, session_id, 1)
    return SessionHead(turn=turns[0] if turns else None, **_about(conn, row))


def view(conn: sa.Connection, person: Person, session_id: str) -> SessionView:
    """The session's page: four statements."""
    row = _row(conn, person, session_id)
    turns = _turns(conn, session_id, TURNS_SHOWN)
    turn = turns[0] if turns else None
    about = _about(conn, row)
    return SessionView(turn=turn, turns=turns, limits=_limits(conn, about["row"], turn), **about)


def _row(conn: sa.Connection, person: Person, session_id: str) -> sa.RowMapping:
    newest = sa.select(tables.positions.c.last).scalar_subquery().label("newest")
    name = sa.select(tables.environments.c.name).where(tables.environments.c.id == s.environment_id)
    place = name.scalar_subquery().label("place")
    row = (
        conn.execute(
            sa.select(*sessions.COLUMNS, newest, place).where(
                s.id == session_id, *sessions.visible(person)
            )
        )
        .mappings()
        .one_or_none()
    )
    if row is None:
        raise sessions.not_found()
    return row


def _about(conn: sa.Connection, row: sa.RowMapping) -> dict[str, Any]:
    session = sessions.of(row)
    return {
        "row": session, "seq": session.seq, "position": row["newest"],
        "agent": agents.brief(conn, session.agent, session.agent_version),
        "environment": row["place"] or "",
    }  # fmt: skip


def _turns(conn: sa.Connection, session_id: str, limit: int) -> tuple[TurnRow, ...]:
    query = sa.select(*_TURN_COLUMNS).where(t.session_id == session_id)
    rows = sessions.rows(conn, query.order_by(t.number.desc()).limit(limit))
    return tuple(TurnRow(**{**row, "cost_known": bool(row["cost_known"])}) for row in rows)


def _limits(conn: sa.Connection, session: SessionRow, turn: TurnRow | None) -> tuple[LimitUse, ...]:
    """The limits stand in the session's first fact."""
    payload = conn.execute(
        sa.select(e.payload).where(e.session_id == session.id, e.seq == 1)
    ).scalar_one()
    allowed: dict[str, dict[str, Any]] = json.loads(payload).get("limits", {})
    used = {
        "steps": turn.steps if turn else 0,
        "calls": turn.calls if turn else 0,
        "active_seconds": turn.active if turn else 0,
        "total_seconds": (turn.ended or session.last) - turn.opened if turn else 0,
    }
    return tuple(
        LimitUse(
            name=name, used=used[name] if name in COUNTS else used[name] // 1000, exact=used[name],
            value=limit["value"], hard=limit["hard"], unit=name if name in COUNTS else "seconds",
        )
        for name, limit in ((name, allowed.get(name)) for name in used)
        if limit is not None
    )  # fmt: skip
