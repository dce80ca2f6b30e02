"""How the store does, in figures a person or a monitor can act on."""

import shutil
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from studio.core.store import tables
from studio.core.store.db import Db

CLOCK_SLACK = 1_000  # ms a fact may be ahead of our clock before that is said


async def figures(db: Db, now: int, folder: Path) -> dict[str, Any]:
    """What `Db.health` tells, and: `position` (newest), `wake_lag` (ms the longest due wake waits
    for a worker), `clock_behind` (our clock is behind the newest fact), `disk_free` (bytes).
    """
    position, newest, due = await db.read(_read)
    return {
        **db.health(),
        "position": position,
        "wake_lag": max(0, now - due) if due is not None else 0,
        "clock_behind": newest is not None and now < newest - CLOCK_SLACK,
        "disk_free": shutil.disk_usage(folder).free,
    }


def position(conn: sa.Connection) -> int:
    """The newest position, 0 in an empty store."""
    return conn.execute(sa.select(tables.positions.c.last)).scalar() or 0


def _read(conn: sa.Connection) -> tuple[int, int | None, int | None]:
    c, w = tables.events.c, tables.wakes.c
    newest = sa.select(c.time).order_by(c.position.desc()).limit(1).scalar_subquery()
    due = sa.select(sa.func.min(w.due)).where(w.due.is_not(None), w.owner.is_(None))
    row = conn.execute(sa.select(newest, due.scalar_subquery())).one()
    return position(conn), row[0], row[1]
