"""From the click on Approve, as the server gets it, until the tool has been called."""

import asyncio
import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from api_client import AsyncClient
from bench.figures import Figure, spread
from e2e.studio import Studio

REPEATS = 300
ARRIVED: dict[str, float] = {}


class Receiver(BaseHTTPRequestHandler):
    """Notes when each call arrives."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Take a call."""
        at = time.perf_counter()
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        ARRIVED[body["n"]] = at
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


async def run() -> list[Figure]:
    """One click after another, over HTTP, on SQLite with synchronous=FULL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"127.0.0.1:{server.server_port}"
    try:
        with Studio.new(STUDIO_HTTP_ALLOW=address) as studio:
            key = (studio.data / "cli.key").read_text().strip()
            async with AsyncClient(studio.url, key=key) as api:
                await api.agents.save("clicker", _agent(address))
                times = [await _click(api, str(number)) for number in range(REPEATS)]
    finally:
        server.shutdown()
    return spread("approve → tool called, SQLite FULL", times[20:], "ms", p50=15, p99=60)


async def _click(api: AsyncClient, number: str) -> float:
    message = f'call take {{"n": "{number}"}}'
    started = await api.sessions.start("clicker", message=message)
    while True:
        waits = [w async for w in api.approvals.list(session=started["session_id"])]
        if waits:
            break
        await asyncio.sleep(0.005)
    wait = waits[0]
    began = time.perf_counter()
    await api.approvals.decide(wait["id"], "approve", digest=wait["digest"])
    while number not in ARRIVED:
        await asyncio.sleep(0.001)
    return (ARRIVED[number] - began) * 1000


def _agent(address: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]}
    tool = {
        "name": "take", "kind": "http", "description": "Takes a number.", "method": "POST",
        "url": f"http://{address}/take", "input": schema,
    }  # fmt: skip
    return {
        "name": "clicker", "description": "For the bench.", "instructions": "Be quick.",
        "model": {"provider": "scripted", "name": "scripted"}, "tools": [tool],
    }  # fmt: skip
