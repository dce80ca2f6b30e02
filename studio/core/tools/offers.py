"""Names for tools: each once over the whole agent, in letters that every model takes."""

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from studio.core import schemas
from studio.core.rules import ids
from studio.core.tools import platform
from studio.core.tools.mcp.calls import McpTool
from studio.core.tools.mcp.connection import Connection
from studio.core.tools.servers import Source
from studio.core.tools.tool import Gap, Tool, ToolSpec

LONGEST_NAME = 64


class Names:
    """The tools of an agent by the names the model sees. The first to come keeps its name."""

    def __init__(self) -> None:
        self.tools: dict[str, Tool] = {}

    def add(self, tool: Tool, gaps: list[Gap]) -> None:
        """Add a tool under its own name, which must be free."""
        name = tool.spec.name
        if name in platform.TOOLS:
            gaps.append(Gap(source=name, message=f"{name} is the name of a tool of the studio."))
        elif name in self.tools:
            gaps.append(Gap(source=name, message=f"{name} is described twice."))
        elif not name or plain(name) != name:
            words = f"“{name}” is no name: letters, digits, “_” and “-”, {LONGEST_NAME} at most."
            gaps.append(Gap(source=name, message=words))
        else:
            self.tools[name] = tool

    def add_listed(
        self, entry: Any, source: Source, connection: Connection, gaps: list[Gap]
    ) -> None:
        """Add a tool that a server lists, under its name or `<server>_<tool>`."""
        only = source.entry.get("only")
        if isinstance(only, list) and entry.name not in only:
            return
        name = self._free(entry.name, source.name)
        given = source.entry.get("tools")
        overrides = given.get(entry.name) if isinstance(given, Mapping) else None
        wrong = schemas.problem(entry.input_schema, foreign=True) or (
            schemas.problem(entry.output_schema, foreign=True)
            if entry.output_schema is not None
            else None
        )
        if name is None or wrong:
            words = f"its schema {wrong}" if wrong else "its name is taken"
            place = f"{source.name}: {entry.name}"
            gaps.append(Gap(source=source.name, message=f"{place} is left out: {words}"))
            return
        spec = spec_of(
            entry, name, source, connection, overrides if isinstance(overrides, Mapping) else {}
        )
        self.tools[name] = McpTool(spec, entry.name, connection)

    def _free(self, tool: str, server: str) -> str | None:
        """The name a server's tool gets: the last part is kept when it must be shortened."""
        for name in (plain(tool), plain(f"{server}_{tool}")):
            if name and name not in self.tools and name not in platform.TOOLS:
                return name
        return None


def plain(name: str) -> str:
    """A name in letters that every model takes."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[-LONGEST_NAME:]


def spec_of(
    entry: Any, name: str, source: Source, connection: Connection, given: Mapping[str, Any]
) -> ToolSpec:
    """A server's definition as a spec; the manifest's overrides weigh more than its claims."""
    hints = entry.annotations
    on_uncertain: Literal["ask", "tell"] = "tell" if given.get("on_uncertain") == "tell" else "ask"
    return ToolSpec(
        name=name,
        description=entry.description or entry.title or "",
        schema=entry.input_schema,
        origin=source.origin,
        hash=definition_hash(entry, given),
        destination=connection.server.destination,
        output_schema=entry.output_schema,
        read_only=bool(given.get("read_only", bool(hints and hints.read_only_hint))),
        repeatable=bool(given.get("repeatable", bool(hints and hints.idempotent_hint))),
        parallel=bool(given.get("parallel", True)),
        terminal=bool(given.get("terminal", False)),
        on_uncertain=on_uncertain,
        timeout=float(given.get("timeout", connection.server.timeout)),
        secrets=source.secrets,
    )


def definition_hash(entry: Any, given: Mapping[str, Any]) -> str:
    """SHA-256 of what a server says of a tool and what the manifest says of it."""
    told = json.loads(
        entry.model_dump_json(
            by_alias=True, exclude_none=True,
            include={"name", "title", "description", "input_schema", "output_schema",
                     "annotations"},
        )
    )  # fmt: skip
    return ids.digest({"kind": "mcp", "definition": told, "overrides": dict(given)})
