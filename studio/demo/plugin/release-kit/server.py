"""An MCP server over stdio that keeps a small ledger of releases in SQLite.

Started by the studio as a process of its own. `publish_release` and `upload_artifact` honour the
idempotency key in `_meta`: the same key is applied once and answered alike. Every effect is also
one row of `applied`, so that effects can be counted from outside.
"""

import asyncio
import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

LEDGER = Path(os.environ["LEDGER_PATH"])
KEY = "studio/idempotency-key"
CHANGES = {
    "4.2.0": ["Import is three times faster.", "Dates in exports keep their time zone."],
    "4.1.0": ["Reports can be sent by mail.", "The search box understands quotes."],
}
CHECKS = ("unit tests", "browser tests", "licences", "signatures")
SCHEMA = """
CREATE TABLE IF NOT EXISTS releases (
    version TEXT NOT NULL, channel TEXT NOT NULL, notes TEXT NOT NULL, notify TEXT NOT NULL,
    percent INTEGER NOT NULL, canary INTEGER NOT NULL, at REAL NOT NULL, withdrawn REAL,
    PRIMARY KEY (version, channel));
CREATE TABLE IF NOT EXISTS applied (
    id INTEGER PRIMARY KEY, tool TEXT NOT NULL, key TEXT NOT NULL, at REAL NOT NULL,
    what TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL);
"""

server = MCPServer("ledger", instructions="A ledger of releases.")


class Rollout(BaseModel):
    """How a release is brought to people."""

    percent: Annotated[int, Field(ge=1, le=100, description="Share of people who get it")] = 100
    canary: Annotated[bool, Field(description="Watch a first group before the rest")] = False


@contextmanager
def ledger() -> Iterator[sqlite3.Connection]:
    """The ledger in one transaction."""
    LEDGER.parent.mkdir(parents=True, exist_ok=True)
    conn = sqlite3.connect(LEDGER, timeout=10, isolation_level=None)
    try:
        conn.execute("PRAGMA journal_mode=WAL")
        conn.executescript(SCHEMA)
        conn.execute("BEGIN IMMEDIATE")
        yield conn
        conn.execute("COMMIT")
    finally:
        conn.close()


def key_of(context: Context[Any, Any]) -> str:
    """The idempotency key of this request, or ""."""
    meta: Mapping[str, Any] = context.request_context.meta or {}
    return str(meta.get(KEY, ""))


def apply(conn: sqlite3.Connection, tool: str, key: str, what: Any) -> None:
    """Count one effect."""
    row = (tool, key, time.time(), json.dumps(what, ensure_ascii=False))
    conn.execute("INSERT INTO applied (tool, key, at, what) VALUES (?, ?, ?, ?)", row)


def answered(conn: sqlite3.Connection, key: str) -> dict[str, Any] | None:
    """What this key was answered before."""
    row = conn.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
    return json.loads(row[0]) if row and key else None


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def list_releases() -> dict[str, Any]:
    """List every release in the ledger, newest first."""
    with ledger() as conn:
        rows = conn.execute(
            "SELECT version, channel, notes, percent, withdrawn FROM releases ORDER BY at DESC"
        ).fetchall()
    return {
        "releases": [
            {"version": v, "channel": c, "notes": n, "percent": p, "withdrawn": w is not None}
            for v, c, n, p, w in rows
        ]
    }


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def read_changelog(version: str) -> dict[str, Any]:
    """Read what changed in a version."""
    if version not in CHANGES:
        raise ToolError(f"There is no change log of {version}; there are {', '.join(CHANGES)}.")
    return {"version": version, "changes": CHANGES[version]}


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def run_checks(version: str, context: Context[Any, Any]) -> dict[str, Any]:
    """Run the checks of a version; takes a few seconds and tells how far it is."""
    for done, check in enumerate(CHECKS):
        await context.report_progress(done, len(CHECKS), check)
        await asyncio.sleep(0.5)
    return {"version": version, "passed": list(CHECKS), "failed": []}


@server.tool(annotations=ToolAnnotations(idempotent_hint=True, destructive_hint=False))
def publish_release(
    version: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$", description="Such as 4.2.0")],
    channel: Literal["staging", "production"],
    notes: Annotated[str, Field(max_length=2000)],
    context: Context[Any, Any],
    notify: Annotated[list[str], Field(description="Addresses that are told")] = [],  # noqa: B006
    rollout: Rollout = Rollout(),  # noqa: B008
) -> dict[str, Any]:
    """Publish a version to a channel. People get it at once."""
    key = key_of(context)
    with ledger() as conn:
        before = answered(conn, key)
        if before is not None:
            return before
        conn.execute(
            "INSERT INTO releases VALUES (?, ?, ?, ?, ?, ?, ?, NULL) "
            "ON CONFLICT (version, channel) DO UPDATE SET notes = excluded.notes, "
            "notify = excluded.notify, percent = excluded.percent, canary = excluded.canary, "
            "at = excluded.at, withdrawn = NULL",
            (version, channel, notes, json.dumps(notify), rollout.percent, rollout.canary,
             time.time()),
        )  # fmt: skip
        apply(conn, "publish_release", key, {"version": version, "channel": channel})
        answer = {"published": version, "channel": channel, "percent": rollout.percent}
        if key:
            conn.execute("INSERT INTO answers VALUES (?, ?)", (key, json.dumps(answer)))
    return answer


@server.tool(annotations=ToolAnnotations(idempotent_hint=False, destructive_hint=True))
async def withdraw_release(
    version: str, channel: Literal["staging", "production"], context: Context[Any, Any]
) -> dict[str, Any]:
    """Withdraw a version from a channel. Takes a few seconds; doing it twice mails people twice."""
    await asyncio.sleep(4.0)
    with ledger() as conn:
        done = conn.execute(
            "UPDATE releases SET withdrawn = ? WHERE version = ? AND channel = ?",
            (time.time(), version, channel),
        ).rowcount
        apply(conn, "withdraw_release", key_of(context), {"version": version, "channel": channel})
    return {"withdrawn": version, "channel": channel, "was_published": done > 0}


@server.tool()
def upload_artifact(version: str) -> dict[str, Any]:
    """Upload the artifact of a version to the mirror. The mirror is down."""
    raise ToolError(f"The mirror refused the upload of {version}: 503 Service Unavailable.")


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def delete_everything(context: Context[Any, Any]) -> dict[str, Any]:
    """Delete every release from the ledger."""
    with ledger() as conn:
        gone = conn.execute("DELETE FROM releases").rowcount
        apply(conn, "delete_everything", key_of(context), {"gone": gone})
    return {"deleted": gone}


if __name__ == "__main__":
    server.run("stdio")
