"""What is told of a server beside its tools: how it was found, and a look at it beforehand."""

from typing import Any

from studio.core.rules import servers as rule
from studio.core.tools import offers
from studio.core.tools.mcp.connection import Connection
from studio.core.tools.servers import Source
from studio.core.tools.tool import Gap, ServerSeen

SHOWN_TOOLS, SHOWN_BYTES = 200, 256 * 1024
LONGEST_WORDS = 2_000


def found(source: Source, connection: Connection, listed: tuple[Any, ...]) -> ServerSeen:
    """A server that answered."""
    return ServerSeen(
        **_who(source), is_up=True, said=connection.words().strip(),
        latency=round(connection.latency * 1000), age=connection.listed_ago,
        tools=tuple(str(tool.name) for tool in listed),
    )  # fmt: skip


def missing(source: Source, gap: Gap) -> ServerSeen:
    """A server that did not, and why."""
    return ServerSeen(**_who(source), error=gap.message)


def _who(source: Source) -> dict[str, Any]:
    return {
        "id": source.id, "name": source.name, "plugin": source.plugin,
        "plugin_version": source.version,
        "transport": str(source.entry.get("transport", "stdio")),
        "destination": rule.destination(source.entry),
    }  # fmt: skip


def preview(source: Source, connection: Connection, listed: tuple[Any, ...]) -> dict[str, Any]:
    """What a server would bring, as JSON: who it says it is, and every tool with its hints."""
    left = SHOWN_BYTES
    tools = list[dict[str, Any]]()
    names = set[str]()
    for entry in listed[:SHOWN_TOOLS]:
        told, size = _tool(entry, source, connection, names, left)
        left -= size
        tools.append(told)
    return {
        "about": connection.about, "took_ms": round(connection.latency * 1000),
        "said": connection.words().strip(), "tools": tools, "count": len(listed),
    }  # fmt: skip


def _tool(
    entry: Any, source: Source, connection: Connection, names: set[str], left: int
) -> tuple[dict[str, Any], int]:
    hints = entry.annotations
    called = offers.plain(entry.name)
    problem = offers.problem(entry) or (
        f"its name is {called} for models, which another tool of this server has."
        if called in names
        else ""
    )
    names.add(called)
    given = offers.wanted(entry.name, source.entry) or {}
    spec = offers.spec_of(entry, called, source, connection, given)
    size = len(str(entry.input_schema)) + len(str(entry.output_schema or ""))
    is_shown = size <= left
    told = {
        "name": str(entry.name)[:200], "called": called, "title": (entry.title or "")[:200],
        "description": (entry.description or "")[:LONGEST_WORDS],
        "schema": entry.input_schema if is_shown else None,
        "output": entry.output_schema if is_shown else None,
        "read_only": hints.read_only_hint if hints else None,
        "destructive": hints.destructive_hint if hints else None,
        "idempotent": hints.idempotent_hint if hints else None,
        "open_world": hints.open_world_hint if hints else None,
        "hash": spec.hash, "problem": problem,
    }  # fmt: skip
    return told, size if is_shown else 0
