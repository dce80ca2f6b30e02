"""What happened in an environment between two moments: turns, milestones of its journal, egress.

Six statements of bounded answers, whatever the window holds: the newest of each, and whether that
is all. Turns of private sessions are only there for those who may see them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.projections import environments, sessions
from studio.core.projections.sessions import IN_HAND
from studio.core.rules.access import Person
from studio.core.store import tables

DAY = 86_400_000
MOST = 500  # turns, and milestones
TRIES = 60  # that are shown one by one; more are counted in stretches
STRETCHES = 120
COUNTED = 200_000  # tries of a window that are counted

s, t = tables.sessions.c, tables.turns.c
e, x, n = tables.events.c, tables.egress.c, tables.environments.c


@dataclass(frozen=True, kw_only=True)
class EnvironmentTurn:
    """A turn of a session that works in it. Times are ms, UTC; `ended` is None while in hand."""

    session_id: str
    title: str
    number: int
    status: str
    opened: int
    ended: int | None


@dataclass(frozen=True, kw_only=True)
class Milestone:
    """A fact of its journal: what happened (its type), when, who wrote it, and its fields."""

    seq: int
    type: str
    time: int
    actor: str
    payload: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Tries:
    """Connections that were tried from `start` to `end` (ms), by what came of them.

    `seq` is the newest of their facts; `host` is named when there is one try alone.
    """

    start: int
    end: int
    allowed: int
    refused: int
    failed: int
    seq: int
    host: str = ""

    @property
    def count(self) -> int:
        """All of them."""
        return self.allowed + self.refused + self.failed


@dataclass(frozen=True, kw_only=True)
class EnvironmentTimes:
    """The window from `since` to `until` (ms, UTC), oldest first; `made` is when it all began.

    With `is_newest` the window ends where the last thing happened, or now while a turn is in hand
    (`is_moving`). `complete` is false when only the newest of something is there.
    """

    since: int
    until: int
    made: int
    is_newest: bool
    is_moving: bool
    turns: tuple[EnvironmentTurn, ...]
    milestones: tuple[Milestone, ...]
    tries: tuple[Tries, ...]
    complete: bool
    now: int


def of_environment(
    conn: sa.Connection, person: Person, word: str, *, since: int | None, until: int | None,
    now: int, length: int = DAY,
) -> EnvironmentTimes:  # fmt: skip
    """What happened; without `until` up to the last thing, without `since` for `length` ms."""
    it = environments.one(conn, word)
    row = conn.execute(sa.select(n.made, n.last).where(n.id == it.id)).one()
    moved, in_hand = _sessions(conn, person, it.id)
    last = now if in_hand else max(row.last, moved)
    end = last + 1 if until is None else until
    begin = max(row.made, end - length) if since is None else since
    begin = min(begin, end - 1)
    turns = _turns(conn, person, it.id, begin, end, now)
    milestones = _milestones(conn, person, it.id, begin, end)
    tries, counted = _tries(conn, it.id, begin, end)
    whole = max(len(turns), len(milestones)) <= MOST and counted
    return EnvironmentTimes(
        since=begin, until=end, made=row.made, is_newest=until is None or until > last,
        is_moving=in_hand, turns=tuple(turns[-MOST:]), milestones=tuple(milestones[-MOST:]),
        tries=tuple(tries), complete=whole, now=now,
    )  # fmt: skip


def _sessions(conn: sa.Connection, person: Person, id: str) -> tuple[int, bool]:
    """When a session in it last moved (ms), and whether one of them has a turn in hand."""
    in_hand = sa.func.sum(sa.case((s.status.in_(IN_HAND), 1), else_=0))
    query = sa.select(sa.func.max(s.last), in_hand)
    moved, count = conn.execute(
        query.where(s.environment_id == id, *sessions.visible(person))
    ).one()
    return moved or 0, bool(count)


def _turns(
    conn: sa.Connection, person: Person, id: str, since: int, until: int, now: int
) -> list[EnvironmentTurn]:
    in_hand = t.ended.is_(None) if since <= now else sa.false()  # it has lasted until now
    query = (
        sa.select(t.session_id, s.title, t.number, t.status, t.opened, t.ended)
        .join_from(tables.sessions, tables.turns, t.session_id == s.id)
        .where(s.environment_id == id, *sessions.visible(person))
        .where(s.started < until, sa.or_(s.last >= since, s.status.in_(IN_HAND)))
        .where(t.opened < until, sa.or_(in_hand, t.ended >= since))
        .order_by(t.opened.desc(), t.id.desc())
        .limit(MOST + 1)
    )
    found = [EnvironmentTurn(**row) for row in sessions.rows(conn, query)]
    return found[::-1]


def _milestones(
    conn: sa.Connection, person: Person, id: str, since: int, until: int
) -> list[Milestone]:
    query = (
        sa.select(e.seq, e.type, e.time, e.actor, e.payload)
        .where(e.session_id == id, e.time >= since, e.time < until, sa.text(tables.MILESTONES))
        .order_by(e.time.desc(), e.seq.desc())
        .limit(MOST + 1)
    )
    rows = [{**row, "payload": json.loads(row["payload"])} for row in sessions.rows(conn, query)]
    named = {row["payload"]["turn"]["session_id"] for row in rows if row["payload"].get("turn")}
    seen = _visible(conn, person, sorted(named))
    for row in rows:
        turn = row["payload"].get("turn")
        if turn and turn["session_id"] not in seen:
            row["payload"]["turn"] = None
    return [Milestone(**row) for row in reversed(rows)]


def _visible(conn: sa.Connection, person: Person, ids: Sequence[str]) -> set[str]:
    query = sa.select(s.id).where(s.id.in_(ids), *sessions.visible(person))
    return set(conn.execute(query).scalars()) if ids else set()


def _tries(conn: sa.Connection, id: str, since: int, until: int) -> tuple[list[Tries], bool]:
    """Each try while they are few, else counted in stretches of equal length; and if all are."""
    mine = (x.environment_id == id, x.time >= since, x.time < until)
    few = sa.select(x.seq, x.time, x.outcome, x.host).where(*mine)
    found = conn.execute(few.order_by(x.time.desc()).limit(TRIES + 1)).all()
    if len(found) <= TRIES:
        return [_one(*row) for row in reversed(found)], True
    wide = max((until - since) // STRETCHES, 1)
    newest = sa.select(x.seq, x.time, x.outcome).where(*mine)
    of = newest.order_by(x.time.desc()).limit(COUNTED).subquery().c
    stretch = (of.time - since) // wide
    query = sa.select(stretch, of.outcome, sa.func.count(), sa.func.max(of.seq))
    counts: dict[int, dict[str, int]] = {}
    for place, outcome, count, seq in conn.execute(query.group_by(stretch, of.outcome)):
        into = counts.setdefault(int(place), {"seq": 0})
        into[outcome], into["seq"] = count, max(into["seq"], seq)
    told = [
        Tries(
            start=since + place * wide, end=min(since + (place + 1) * wide, until),
            seq=of_place["seq"], allowed=of_place.get("allowed", 0),
            refused=of_place.get("refused", 0), failed=of_place.get("failed", 0),
        )
        for place, of_place in sorted(counts.items())
    ]  # fmt: skip
    return told, sum(one.count for one in told) < COUNTED


def _one(seq: int, time: int, outcome: str, host: str) -> Tries:
    allowed, refused, failed = (int(outcome == one) for one in ("allowed", "refused", "failed"))
    return Tries(
        start=time, end=time, seq=seq, host=host, allowed=allowed, refused=refused, failed=failed
    )
