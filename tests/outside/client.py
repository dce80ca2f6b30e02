"""Our connection to an MCP server, as the conformance suite starts it: `python client.py URL`.

It does what a worker does: the tools of an agent with this one server are offered, and each is
called once. What the scenario wants called, and with what, comes in the environment.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from studio.core.tools.catalog import LiveCatalog
from studio.core.tools.plugins import Plugins
from studio.core.tools.tool import Kit, Tool, ToolError

SAMPLES: dict[str, Any] = {
    "string": "text", "number": 2, "integer": 2, "boolean": True, "array": [], "object": {},
    "null": None,
}  # fmt: skip
ECHO = "json_schema_echo"


def arguments(tool: Tool) -> dict[str, Any]:
    """Arguments that fit a tool's schema well enough."""
    properties = tool.spec.schema.get("properties", {})
    return {name: _sample(schema) for name, schema in properties.items()}


def _sample(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return None
    if "default" in schema:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "string")
    return SAMPLES.get(kind[0] if isinstance(kind, list) else kind)


def wanted(offered: dict[str, Tool]) -> list[tuple[Tool, dict[str, Any]]]:
    """What to call: as the scenario says, else every tool of the server once."""
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    listed = context.get("toolCalls") or context.get("tool_calls") or []
    if listed:
        return [(offered[call["name"]], call.get("arguments") or {}) for call in listed
                if call["name"] in offered]  # fmt: skip
    if ECHO in offered:  # it is given the schema of the other, as we kept it
        schemas = [tool.spec.schema for name, tool in offered.items() if name != ECHO]
        return [(offered[ECHO], {"schema": dict(schema)}) for schema in schemas]
    return [(tool, arguments(tool)) for tool in offered.values()]


async def main(url: str) -> int:
    """Be offered the server's tools, and call them."""
    place = urlsplit(url).netloc
    with tempfile.TemporaryDirectory() as folder:
        catalog = LiveCatalog(Plugins([]), {}, frozenset({place}), Path(folder))
        try:
            entry = {"name": "suite", "transport": "http", "url": url, "timeout": 20}
            found = await catalog.offered({"servers": [entry]})
            missing = [gap.message for gap in found.gaps if gap.kind == "missing"]
            tools = {n: t for n, t in found.tools.items() if t.spec.origin.kind == "mcp"}
            for number, (tool, given) in enumerate(wanted(tools)):
                await _call(tool, given, number)
        finally:
            await catalog.close()
    for words in missing:
        sys.stderr.write(f"missing: {words}\n")
    return 0 if found.servers[0].is_up else 1


async def _call(tool: Tool, given: dict[str, Any], number: int) -> None:
    kit = Kit(key=f"{number:064x}", deadline=time.monotonic() + 20, session_id="s", effect_id="e")
    try:
        came = await tool.call(given, kit)
        sys.stderr.write(f"{tool.spec.name}: {came.text or came.value}\n")
    except ToolError as error:
        sys.stderr.write(f"{tool.spec.name}: {error.code}: {error.message}\n")


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[-1])))
