"""How each MCP server was found when a worker last asked it; kept by workers, never a fact."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.store.tables import servers

MOST_NAMES = 1_000
KEPT = 30 * 86_400_000  # ms; one that nobody asked for so long is forgotten


@dataclass(frozen=True, kw_only=True)
class ServerState:
    """One server as it was last found. `state` is up or down; times are ms, UTC.

    `said` is the last line that it wrote beside the protocol. `changed` is when its state last
    became another.
    """

    id: str
    name: str
    plugin: str | None = None
    plugin_version: str | None = None
    transport: str
    destination: str
    state: str
    error: str = ""
    said: str = ""
    latency: int | None = None
    tools: tuple[str, ...] = ()
    listed: int | None = None
    asked: int
    changed: int
    worker: str = ""


def save(conn: sa.Connection, found: Sequence[ServerState], at: int) -> None:
    """Keep these in place of what was known; an older look changes nothing."""
    for one in found:
        row = {**one.__dict__, "tools": json.dumps(one.tools[:MOST_NAMES])}
        conn.execute(_upsert(conn), row)
    conn.execute(sa.delete(servers).where(servers.c.asked < at - KEPT))


def every(conn: sa.Connection) -> tuple[ServerState, ...]:
    """All that are known, by name."""
    rows = conn.execute(sa.select(servers).order_by(servers.c.name, servers.c.id)).mappings()
    return tuple(ServerState(**{**row, "tools": tuple(json.loads(row["tools"]))}) for row in rows)


def _upsert(conn: sa.Connection) -> Any:
    if conn.dialect.name == "sqlite":
        from sqlalchemy.dialects.sqlite import insert
    else:
        from sqlalchemy.dialects.postgresql import insert  # type: ignore[assignment]
    statement = insert(servers)
    new = statement.excluded
    kept = ("name", "plugin", "plugin_version", "transport", "destination", "state", "error",
            "said", "latency", "tools", "asked", "worker")  # fmt: skip
    same = sa.and_(servers.c.state == new.state, servers.c.error == new.error)
    return statement.on_conflict_do_update(
        index_elements=["id"],
        set_={
            **{name: new[name] for name in kept},
            "listed": sa.func.coalesce(new.listed, servers.c.listed),
            "changed": sa.case((same, servers.c.changed), else_=new.changed),
        },
        where=servers.c.asked <= new.asked,
    )
