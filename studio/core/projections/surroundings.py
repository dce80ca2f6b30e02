"""What an environment did for a turn, out of its own journal: four statements, or none."""

import json
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from studio.core.rules import events as e
from studio.core.rules.spans import Around, Keep, Setup, Told, Try
from studio.core.store import codec, tables

MOST_TRIES = 5_000
LATE_MS = 600_000  # what an environment has to say of a turn is said by then

c, v, t = tables.events.c, tables.disk_versions.c, tables.egress.c


def newest(conn: sa.Connection, turn: Told, now: int) -> tuple[int, int]:
    """What changes when there is more to say: of the environment, and of what was kept."""
    if turn.environment_id is None:
        return 0, 0
    kept = sa.select(sa.func.max(v.version)).where(v.turn_id == turn.id)
    version = int(conn.execute(kept).scalar() or 0)
    if turn.ended is not None and now - turn.ended > LATE_MS:
        return 0, version
    seq = sa.select(tables.environments.c.seq).where(
        tables.environments.c.id == turn.environment_id
    )
    return int(conn.execute(seq).scalar() or 0), version


def of(conn: sa.Connection, turn: Told, now: int) -> Around:
    """All that names the turn."""
    if turn.environment_id is None:
        return Around()
    setups = _setups(conn, turn)
    return Around(
        before=_before(conn, turn, setups), setups=setups, keeps=_keeps(conn, turn, setups),
        tries=_tries(conn, turn, now),
    )  # fmt: skip


def _setups(conn: sa.Connection, turn: Told) -> list[Setup]:
    query = sa.select(c.seq, c.type, c.time, c.payload).where(
        c.turn_id == turn.id, c.type.in_(("setup.started", "setup.finished"))
    )
    found = list[Setup]()
    for seq, kind, at, payload in conn.execute(query.order_by(c.seq)):
        event = codec.event(kind, payload)
        if isinstance(event, e.SetupStarted):
            found.append(Setup(seq=seq, started=at))
        elif isinstance(event, e.SetupFinished) and found:
            begun = found.pop()
            runs = _runs(event.runs, at)
            found.append(
                Setup(seq=begun.seq, started=begun.started, finished=at, ok=event.ok,
                      problem=event.problem, runs=runs, last=seq)
            )  # fmt: skip
    return found


def _runs(runs: Sequence[e.SetupRun], end: int) -> list[tuple[str, int, int, int, str]]:
    """The commands with when they began; those that do not say ended one after the other."""
    found = list[tuple[str, int, int, int, str]]()
    for run in reversed(runs):
        took = round(run.seconds * 1000)
        began = run.began if run.began is not None else end - took
        found.append((run.run, began, took, run.exit, run.words))
        end = began
    return found[::-1]


def _keeps(conn: sa.Connection, turn: Told, setups: Sequence[Setup]) -> list[Keep]:
    mine = [v.turn_id == turn.id]
    mine += [
        sa.and_(v.reason == "setup", v.time >= one.started, v.time <= one.finished)
        for one in setups if one.finished is not None
    ]  # fmt: skip
    query = (
        sa.select(v.version, v.time, v.reason, v.added, v.files, v.seq, c.payload)
        .join(tables.events, sa.and_(c.session_id == v.environment_id, c.seq == v.seq))
        .where(v.environment_id == turn.environment_id, sa.or_(*mine))
        .order_by(v.version)
    )
    return [
        Keep(
            version=row.version, ended=row.time, took=_took(row.payload), reason=row.reason,
            added=row.added, files=row.files, seq=row.seq,
        )
        for row in conn.execute(query)
    ]  # fmt: skip


def _took(payload: str) -> int:
    return int(json.loads(payload).get("milliseconds", 0))


def _before(conn: sa.Connection, turn: Told, setups: Sequence[Setup]) -> int | None:
    """The version of the disk that the turn began with, or that its setup made."""
    begun = max(turn.opened, *(one.finished or 0 for one in setups), 0)
    query = sa.select(sa.func.max(v.version)).where(
        v.environment_id == turn.environment_id, v.time <= begun
    )
    found = conn.execute(query).scalar()
    return int(found) if found is not None else None


def _tries(conn: sa.Connection, turn: Told, now: int) -> list[Try]:
    end = (now if turn.ended is None else turn.ended) + LATE_MS
    query = (
        sa.select(
            t.seq, t.host, t.port, t.outcome, t.reason, t.up, t.down, t.milliseconds, t.turns,
            t.time, c.payload,
        )
        .join(tables.events, sa.and_(c.session_id == t.environment_id, c.seq == t.seq))
        .where(
            t.environment_id == turn.environment_id, t.time >= turn.opened, t.time <= end,
            t.turns.contains(f'"{turn.id}"', autoescape=True),
        )
        .order_by(t.seq)
    )  # fmt: skip
    found = [_try(row, turn) for row in conn.execute(query.limit(MOST_TRIES))]
    return [one for one in found if one is not None]


def _try(row: Any, turn: Told) -> Try | None:
    """A try that was this turn's, or may have been."""
    said, turns = json.loads(row.payload), json.loads(row.turns)
    effect_id = said.get("effect_id")
    if effect_id is not None and turns[0]["turn_id"] != turn.id:
        return None
    began = said.get("began")
    return Try(
        seq=row.seq, host=row.host, port=row.port, outcome=row.outcome, reason=row.reason,
        up=row.up, down=row.down, took=row.milliseconds, turns=len(turns), effect_id=effect_id,
        began=row.time - row.milliseconds if began is None else began,
    )  # fmt: skip
