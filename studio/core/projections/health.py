"""How the store does, in figures a person or a monitor can act on."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from studio.core.store import failing, tables
from studio.core.store.db import Db

CLOCK_SLACK = 1_000  # ms a fact may be ahead of our clock before that is said
DISK_FLOOR = 256 * 1024 * 1024  # bytes
MOST_STUCK = 20  # sessions that are counted and named
WAKE_LAG = 20_000  # ms a due wake may wait before we say that nobody works
# The words stand still while it lasts, so that they are read out once: figures go by steps.
FREE = (256, 128, 64, 32, 16, 8, 4, 2, 1)  # MiB
LAGS = ((3600, "an hour"), (600, "10 minutes"), (60, "a minute"), (20, "20 seconds"))


async def figures(db: Db, now: int, folder: Path) -> dict[str, Any]:
    """What `Db.health` tells, and: `position` (newest), `wake_lag` (ms the longest due wake waits
    for a worker), `clock_behind` (our clock is behind the newest fact), `disk_free` (bytes),
    `stuck` (`failing.Failing`s: sessions that no worker can move or end).
    """
    position, newest, due, stuck = await db.read(_read)
    return {
        **db.health(),
        "position": position,
        "wake_lag": max(0, now - due) if due is not None else 0,
        "clock_behind": newest is not None and now < newest - CLOCK_SLACK,
        "disk_free": shutil.disk_usage(folder).free,
        "stuck": stuck,
    }


def trouble(figures: Mapping[str, Any], role: str = "viewer") -> str:
    """What a person should know on every page while it lasts; "" when all is well.

    Admins are told which sessions it is about, as some may be private.
    """
    if figures["last_error"]:
        return f"Nothing can be recorded at the moment: {figures['last_error']}"
    if figures["disk_free"] < DISK_FLOOR:
        free = min(step for step in FREE if figures["disk_free"] < step * 2**20)
        return (
            f"The disk is almost full: less than {free} MiB are left. "
            "Make room before decisions fail."
        )
    if figures["clock_behind"]:
        return (
            "This machine's clock is behind the newest fact, so deadlines and times are off until "
            "it has caught up. Set the clock right."
        )
    if figures["wake_lag"] > WAKE_LAG:
        lag = next(words for seconds, words in LAGS if figures["wake_lag"] >= seconds * 1000)
        return f"No worker has moved a session for over {lag}. Start one: studio work."
    if figures["stuck"]:
        return _stuck(figures["stuck"], role)
    return ""


def _stuck(stuck: Sequence[failing.Failing], role: str) -> str:
    count = f"{len(stuck)} session{'' if len(stuck) == 1 else 's'}"
    if role != "admin":
        return f"The studio itself fails over {count}, which cannot move. Tell an admin."
    names = ", ".join(one.session_id for one in stuck)
    return (
        f"The studio itself fails over {count}, which cannot move: {names}. Its log says why; "
        "studio doctor says where in the log."
    )


def position(conn: sa.Connection) -> int:
    """The newest position, 0 in an empty store."""
    return conn.execute(sa.select(tables.positions.c.last)).scalar() or 0


def _read(
    conn: sa.Connection,
) -> tuple[int, int | None, int | None, tuple[failing.Failing, ...]]:
    w = tables.wakes.c
    newest = _newest().scalar_subquery()
    due = sa.select(sa.func.min(w.due)).where(w.due.is_not(None), w.owner.is_(None))
    row = conn.execute(sa.select(newest, due.scalar_subquery())).one()
    return position(conn), row[0], row[1], failing.stuck(conn, MOST_STUCK)


def _newest() -> sa.Select[tuple[int]]:
    c = tables.events.c
    return sa.select(c.time).order_by(c.position.desc()).limit(1)
