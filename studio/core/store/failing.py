"""Sessions that could not be moved for a fault of the studio's own: how often in a row, and since.

A row counts while the session's wake is the one that the failed try left, or an earlier one: who
moves the session well sets a later wake or none. Tries are in a row while nothing came of them:
facts that a try records as it begins something, or of what was left behind, are no progress.
"""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.rules import events as e
from studio.core.store import raw

TRIES = 5  # then its turn is ended; a session that has more is stuck

_BEGUN = ", ".join(
    f"'{event.TYPE}'"
    for event in (
        e.ModelRequested, e.ModelUncertain, e.SummaryRequested, e.SummaryFailed, e.CallStarted,
        e.TurnFaulted,
    )
)  # fmt: skip
PROGRESS = (
    f"SELECT seq FROM events WHERE session_id = ? AND type NOT IN ({_BEGUN}) "  # noqa: S608 - our own words
    "ORDER BY seq DESC LIMIT 1"
)
STANDING = (
    "SELECT f.session_id, f.tries, f.seq, f.fault, f.again FROM failing AS f "
    "JOIN wakes AS w ON w.session_id = f.session_id AND w.due <= f.again"
)
ONE = f"{STANDING} WHERE f.session_id = ?"
STUCK = f"{STANDING} WHERE f.tries >= {TRIES} ORDER BY f.session_id LIMIT ?"
KEEP = (
    "INSERT INTO failing (session_id, tries, seq, fault, again) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (session_id) DO UPDATE SET tries = excluded.tries, seq = excluded.seq, "
    "fault = excluded.fault, again = excluded.again"
)
FORGET = "DELETE FROM failing WHERE session_id = ?"
SWEEP = (
    "DELETE FROM failing WHERE session_id IN "
    "(SELECT session_id FROM failing WHERE again < ? LIMIT ?)"
)


@dataclass(frozen=True, kw_only=True)
class Failing:
    """A session that could not be moved `tries` times in a row. `again` is in ms, UTC."""

    session_id: str
    tries: int
    seq: int
    fault: str
    again: int


def find(conn: sa.Connection, session_id: str) -> Failing:
    """How a session stands; with no tries when it does well or has come on since."""
    row = raw.one(conn, PROGRESS, (session_id,))
    seq = row[0] if row is not None else 0
    found = raw.one(conn, ONE, (session_id,))
    if found is None or found[2] != seq:
        return Failing(session_id=session_id, tries=0, seq=seq, fault="", again=0)
    return _failing(found)


def keep(conn: sa.Connection, failing: Failing) -> None:
    """Remember a failed try, in place of the one before."""
    values = (failing.session_id, failing.tries, failing.seq, failing.fault, failing.again)
    raw.put(conn, KEEP, values)


def forget(conn: sa.Connection, session_id: str) -> None:
    """Its turn was ended, so that what comes is not in a row with what was."""
    raw.put(conn, FORGET, (session_id,))


def stuck(conn: sa.Connection, limit: int) -> tuple[Failing, ...]:
    """Those whose turn could not even be ended."""
    return tuple(_failing(row) for row in raw.every(conn, STUCK, (limit,)))


def _failing(row: Any) -> Failing:
    session_id, tries, seq, fault, again = row
    return Failing(session_id=session_id, tries=tries, seq=seq, fault=fault, again=again)
