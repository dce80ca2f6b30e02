"""What a file of a session begins with, and its turns in order."""

from typing import Any

import sqlalchemy as sa

from studio.core.projections import sessions
from studio.core.rules.access import Person
from studio.core.store import tables

s, t = tables.sessions.c, tables.turns.c
HEAD = ("id", "title", "agent", "agent_version", "owner", "private", "started", "status")


def head(conn: sa.Connection, person: Person, session_id: str) -> dict[str, Any]:
    """Who and what a session is, and its newest fact (`seq`); NotFound: one statement."""
    return dict(sessions.head(conn, person, session_id, *(s[name] for name in HEAD)))


def turn_ids(conn: sa.Connection, session_id: str, *, after: int, limit: int) -> list[str]:
    """The ids of its turns behind a number, for whoever may see it: one statement."""
    query = sa.select(t.id).where(t.session_id == session_id, t.number > after)
    return list(conn.execute(query.order_by(t.number).limit(limit)).scalars())
