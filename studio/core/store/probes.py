"""Looks at something outside that a person asked for: what is open, what was found."""

import json
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.store import raw

COLUMNS = (
    "id, kind, target, subject, by, state, asked, started, until, ended, worker, answer, masked, "
    "code, message"
)
ONE = f"SELECT {COLUMNS} FROM probes WHERE id = ?"  # noqa: S608
OPEN = f"SELECT {COLUMNS} FROM probes WHERE ended IS NULL ORDER BY asked, id"  # noqa: S608
LAST = (
    "FROM (SELECT max(id) AS last FROM probes WHERE kind = ? GROUP BY target) AS found "
    "JOIN probes ON id = last"
)
NEWEST = f"SELECT {COLUMNS} {LAST}"
MOVES = "SELECT count(*), count(started), count(ended) FROM probes WHERE kind = ?"
SWEEP = (
    "DELETE FROM probes WHERE id IN (SELECT id FROM probes WHERE ended < ? AND EXISTS (SELECT 1 "
    "FROM probes AS newer WHERE newer.kind = probes.kind AND newer.target = probes.target "
    "AND newer.id > probes.id) LIMIT ?)"
)
WORKERS = "SELECT id FROM workers"


@dataclass(frozen=True, kw_only=True)
class Probe:
    """One look. `state` is asked, started, answered, failed or lost; times are ms."""

    id: str
    kind: str
    target: str
    subject: Any
    by: str
    state: str
    asked: int
    started: int | None
    until: int | None
    ended: int | None
    worker: str | None
    answer: Any
    masked: int
    code: str
    message: str


def get(conn: sa.Connection, probe_id: str) -> Probe | None:
    """One look."""
    row = raw.one(conn, ONE, (probe_id,))
    return None if row is None else _probe(row)


def open_ones(conn: sa.Connection) -> tuple[Probe, ...]:
    """Those that nobody has ended, the oldest first."""
    return tuple(_probe(row) for row in raw.every(conn, OPEN))


def newest(conn: sa.Connection, kind: str) -> tuple[Probe, ...]:
    """The newest of a kind for each target."""
    return tuple(_probe(row) for row in raw.every(conn, NEWEST, (kind,)))


def moves(conn: sa.Connection, kind: str) -> tuple[int, int, int]:
    """How many of a kind there are, were started and have ended: others when any of them moved."""
    asked, started, ended = raw.one(conn, MOVES, (kind,)) or (0, 0, 0)
    return asked, started, ended


def workers(conn: sa.Connection) -> frozenset[str]:
    """The workers that are known to live; on SQLite nobody keeps that list."""
    return frozenset(row[0] for row in raw.every(conn, WORKERS))


def _probe(row: Any) -> Probe:
    names = COLUMNS.split(", ")
    found = dict(zip(names, row, strict=True))
    answer = found.pop("answer")
    return Probe(
        **{**found, "subject": json.loads(found["subject"])},
        answer=None if answer is None else json.loads(answer),
    )
