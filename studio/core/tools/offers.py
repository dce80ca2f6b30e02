"""Names for tools: each once over the whole agent, in letters that every model takes."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from studio.core import schemas
from studio.core.rules import ids, sources
from studio.core.tools import platform, skills
from studio.core.tools.mcp.calls import McpTool
from studio.core.tools.mcp.connection import Connection
from studio.core.tools.servers import Source
from studio.core.tools.tool import Gap, Tool, ToolSpec

LONGEST_NAME = 64
OURS = frozenset({*platform.TOOLS, *skills.NAMES})


class Names:
    """The tools of an agent by the names the model sees. The first to come keeps its name."""

    def __init__(self) -> None:
        self.tools: dict[str, Tool] = {}

    def add(self, tool: Tool, gaps: list[Gap]) -> None:
        """Add a tool under its own name, which must be free."""
        name = tool.spec.name
        if name in OURS:
            words = f"{name} is the name of a tool of the studio."
        elif name in self.tools:
            words = f"{name} is described twice."
        elif fault := sources.name_fault(name):
            words = f"{name} {fault}"
        elif not name or plain(name) != name:
            words = f"“{name}” is no name: letters, digits, “_” and “-”, {LONGEST_NAME} at most."
        else:
            self.tools[name] = tool
            return
        gaps.append(Gap(source=name, message=words))

    def add_listed(
        self, entry: Any, source: Source, connection: Connection, gaps: list[Gap]
    ) -> None:
        """Add a tool that a server lists, under its name or, when that is taken, with its server's.

        What the manifest does not want is passed over; what cannot be is a gap.
        """
        given = wanted(entry.name, source.entry)
        if given is None:
            return
        place = f"{source.name}: {entry.name or 'a tool'}"
        name = self._free(entry.name, source.name)
        words = problem(entry)
        if name is None or words:
            words = words or "its name is taken, and so is the one with its server's."
            gaps.append(Gap(source=source.name, message=f"{place} is left out: {words}"))
            return
        spec = spec_of(entry, name, source, connection, given)
        self.tools[name] = McpTool(spec, entry.name, connection, hash_in(entry.name, source, given))
        short = plain(entry.name)
        if name != short:
            words = f"{place} is called {name} here, because {self._holder(short)} has that name."
            gaps.append(Gap(source=source.name, message=words, kind="renamed"))

    def _free(self, tool: str, server: str) -> str | None:
        """The name that a server's tool gets, if there is one."""
        for name in (plain(tool), plain(f"{server}_{tool}")):
            if name and name not in self.tools and name not in OURS:
                return name
        return None

    def _holder(self, name: str) -> str:
        if name in OURS:
            return "a tool of the studio"
        origin = self.tools[name].spec.origin
        if origin.kind != "mcp":
            return "an HTTP tool of the agent"
        plugin = f" of the plugin {origin.plugin}" if origin.plugin else ""
        return f"the server {origin.server}{plugin}"


def wanted(name: str, entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What the manifest says of a server's tool, or None when the tool is not to be offered.

    `only` lists what may be offered, so an empty list offers nothing. In `tools`, `*` stands for
    every tool, and what is said of one by its name weighs more.
    """
    only = entry.get("only")
    if isinstance(only, list) and name not in only:
        return None
    said = entry.get("tools")
    found = dict[str, Any]()
    for key in ("*", name):
        one = said.get(key) if isinstance(said, Mapping) else None
        found |= {
            k: v for k, v in (one if isinstance(one, Mapping) else {}).items() if v is not None
        }
    return found if found.pop("enabled", True) else None


def problem(entry: Any) -> str:
    """Why a server's tool cannot be offered under any name; "" when it can."""
    if not entry.name:
        return "it has no name."
    if fault := sources.name_fault(entry.name):
        return f"its name {fault.partition(';')[0].rstrip('.')}."
    wrong = schemas.problem(entry.input_schema, foreign=True) or (
        schemas.problem(entry.output_schema, foreign=True)
        if entry.output_schema is not None
        else None
    )
    return f"its schema {wrong}" if wrong else ""


def plain(name: str) -> str:
    """A name in letters that every model takes; one that is too long ends in its digest."""
    found = re.sub(r"[^A-Za-z0-9-]+", "_", name)
    if len(found) <= LONGEST_NAME:
        return found
    return f"{found[: LONGEST_NAME - 9]}_{ids.digest(name)[:8]}"


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
        hash=definition_hash(entry, given, source),
        destination=connection.server.destination,
        output_schema=entry.output_schema,
        read_only=bool(given.get("read_only", bool(hints and hints.read_only_hint))),
        repeatable=bool(given.get("repeatable", bool(hints and hints.idempotent_hint))),
        parallel=bool(given.get("parallel", True)),
        terminal=bool(given.get("terminal", False)),
        on_uncertain=on_uncertain,
        timeout=float(given.get("timeout", connection.server.timeout)),
        secrets=source.secrets,
        lent=(source.lent.name,) if source.lent is not None else (),
    )


def hash_in(
    name: str, source: Source, given: Mapping[str, Any]
) -> Callable[[Iterable[Any]], str | None]:
    """What finds a server's tool by its own name in a list, and gives its hash as in its spec."""

    def found(listed: Iterable[Any]) -> str | None:
        entry = next((entry for entry in listed if entry.name == name), None)
        return None if entry is None else definition_hash(entry, given, source)

    return found


def definition_hash(entry: Any, given: Mapping[str, Any], source: Source) -> str:
    """SHA-256 of what a server says of a tool, what the manifest says of it, and of its plugin.

    Other files of the plugin are another tool, and so is one with a secret of an environment.
    """
    told = json.loads(
        entry.model_dump_json(
            by_alias=True, exclude_none=True,
            include={"name", "title", "description", "input_schema", "output_schema",
                     "annotations"},
        )
    )  # fmt: skip
    more: dict[str, Any] = {"plugin": source.hash} if source.hash else {}
    if source.lent is not None:
        more["lent"] = [source.lent.environment_id, source.lent.name]
    return ids.digest({"kind": "mcp", "definition": told, "overrides": dict(given), **more})
