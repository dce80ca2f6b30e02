"""MCP servers to connect to: a good one made with the SDK, and those of `mcp_plain`.

`python -m tests.standins.mcp_server --mode sdk|plain|garbage|mute|quits|old [--transport http]`.
Over HTTP it prints its port first.
"""

import argparse
import asyncio
import contextlib
import json
import os
import socket
import sys
import threading
from collections.abc import Iterator
from typing import Any

from tests.standins.mcp_plain import OBJECT, PlainHttp, run_plain
from tests.standins.raw_http import listen


class Sdk:
    """A server of the newest protocol, made with the official SDK."""

    def __init__(self) -> None:
        import mcp_types as t
        from mcp.server.lowlevel.server import Server
        from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler

        self._bus = InMemorySubscriptionBus()
        sums = {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]}
        reads = t.ToolAnnotations(read_only_hint=True, idempotent_hint=True)
        self._tools = [
            t.Tool(name="add", description="Adds.", input_schema=OBJECT, output_schema=sums,
                   annotations=reads),
            t.Tool(name="wrong_sum", input_schema=OBJECT, output_schema=sums),
            *(
                t.Tool(name=name, input_schema=OBJECT)
                for name in [*"say parts fails meta slow asks change".split(), "do it!/now"]
            ),
        ]  # fmt: skip
        self.server = Server(
            "stand-in", version="1", on_list_tools=self._list, on_call_tool=self._call,
            on_subscriptions_listen=ListenHandler(self._bus),
        )  # fmt: skip

    async def _list(self, context: Any, params: Any) -> Any:
        """Two tools a page."""
        import mcp_types as t

        start = int(params.cursor) if params and params.cursor else 0
        more = str(start + 2) if start + 2 < len(self._tools) else None
        return t.ListToolsResult(tools=self._tools[start : start + 2], next_cursor=more)

    async def _call(self, context: Any, params: Any) -> Any:
        behave = getattr(self, f"_{params.name}", None)
        if behave is None:
            return _structured({"called": params.name})
        return await behave(context, params.arguments or {})

    async def _add(self, context: Any, given: dict[str, Any]) -> Any:
        return _structured({"sum": given.get("a", 0) + given.get("b", 0)})

    async def _wrong_sum(self, context: Any, given: dict[str, Any]) -> Any:
        return _structured({"sum": "many"})

    async def _say(self, context: Any, given: dict[str, Any]) -> Any:
        return _text(given.get("text", "hi"))

    async def _fails(self, context: Any, given: dict[str, Any]) -> Any:
        return _text("disk full", is_error=True)

    async def _meta(self, context: Any, given: dict[str, Any]) -> Any:
        return _structured(dict(context.meta or {}))

    async def _parts(self, context: Any, given: dict[str, Any]) -> Any:
        import mcp_types as t

        inside = t.TextResourceContents(uri="file:///a.txt", text="inside", mime_type="text/plain")
        return t.CallToolResult(
            content=[
                t.TextContent(text="a picture"),
                t.ImageContent(data="AAAA", mime_type="image/png"),
                t.EmbeddedResource(resource=inside),
            ]
        )

    async def _slow(self, context: Any, given: dict[str, Any]) -> Any:
        steps = int(given.get("steps", 3))
        for step in range(steps):
            await context.session.report_progress(step + 1, steps, f"step {step + 1}")
            await asyncio.sleep(float(given.get("seconds", 0.01)))
        return _structured({"steps": steps})

    async def _asks(self, context: Any, given: dict[str, Any]) -> Any:
        import mcp_types as t

        asked = t.ElicitRequestFormParams(
            message="Your name?", requested_schema={"type": "object", "properties": {}}
        )
        return t.InputRequiredResult(
            request_state="1", input_requests={"q": t.ElicitRequest(params=asked)}
        )

    async def _change(self, context: Any, given: dict[str, Any]) -> Any:
        import mcp_types as t
        from mcp.shared.subscriptions import ToolsListChanged

        number = sum(tool.name.startswith("extra") for tool in self._tools)
        self._tools.append(t.Tool(name=f"extra{number}", input_schema=OBJECT))
        await self._bus.publish(ToolsListChanged())
        return _structured({"tools": len(self._tools)})


def _text(text: str, **more: Any) -> Any:
    import mcp_types as t

    return t.CallToolResult(content=[t.TextContent(text=text)], **more)


def _structured(value: dict[str, Any]) -> Any:
    return _text(json.dumps(value), structured_content=value)


@contextlib.contextmanager
def sdk_http() -> Iterator[str]:
    """The SDK's server over streamable HTTP in a thread of this process; gives its URL."""
    import uvicorn

    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    app = Sdk().server.streamable_http_app()
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none", lifespan="on"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        server.force_exit = True
        thread.join(10)
        listening.close()


def run_broken(mode: str) -> None:
    """Servers that never become one."""
    if mode == "quits":
        sys.stderr.write("ModuleNotFoundError: No module named 'ledger'\n")
        sys.exit(7)
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if mode in ("tells", "tells_late") and "id" in message:
            sys.stdout.write(json.dumps(_indiscreet(message, late=mode == "tells_late")) + "\n")
        elif mode == "garbage":
            sys.stdout.write("Welcome to my server!\n")
        elif mode == "old" and "id" in message:
            told = {"protocolVersion": "1999-01-01", "capabilities": {},
                    "serverInfo": {"name": "old", "version": "0"}}  # fmt: skip
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": told}
            sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _indiscreet(message: dict[str, Any], *, late: bool) -> dict[str, Any]:
    """An error with the environment's TOKEN in it, at once or when the tools are listed."""
    if late and message["method"] == "initialize":
        told = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "tells", "version": "0"}}  # fmt: skip
        return {"jsonrpc": "2.0", "id": message["id"], "result": told}
    words = f"{'x' * 160} bad token: {os.environ.get('TOKEN')} {'y' * 300}"
    return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32050, "message": words}}


async def run_sdk() -> None:
    """The SDK's server over standard input and output."""
    from mcp.server.stdio import stdio_server

    server = Sdk().server
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


async def run_http(mode: str, port: int) -> None:
    """Either server over HTTP; the first line printed is the port."""
    if mode == "plain":
        server = await listen(PlainHttp().handle, port)
        sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()
        await server.serve_forever()
    else:
        import uvicorn

        listening = socket.create_server(("127.0.0.1", port))
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sys.stdout.write(f"{listening.getsockname()[1]}\n")
        sys.stdout.flush()
        config = uvicorn.Config(Sdk().server.streamable_http_app(), log_level="critical")
        await uvicorn.Server(config).serve(sockets=[listening])


def main() -> None:
    """Serve as told until the input ends, or until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", default="sdk")
    parser.add_argument("--transport", default="stdio", choices=["stdio", "http"])
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    if given.transport == "http":
        asyncio.run(run_http(given.mode, given.port))
    elif given.mode == "sdk":
        asyncio.run(run_sdk())
    elif given.mode == "plain":
        run_plain()
    else:
        run_broken(given.mode)


if __name__ == "__main__":
    main()
