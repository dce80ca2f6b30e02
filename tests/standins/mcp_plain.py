"""A hand-made MCP server of an older protocol that misbehaves, over stdio and over HTTP.

It writes each call, with the meta it came with, and each cancel into the file that the
environment's CALLS names, one JSON line each.
"""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.standins.raw_http import Asked, Talk, served

MEBIBYTE = 1024 * 1024
OBJECT = {"type": "object"}


class Plain:
    """Answers JSON-RPC of 2025-11-25. `send` takes a message, or bytes as they are.

    `about` describes tools by their names; one that is "gone" is not listed.
    """

    TOOLS = (
        "echo dies hangs noise garbage halved worded huge deep nan shapeless wrong_id error refuses"
        " twice change spawn env ignores secret flood"
    ).split()

    def __init__(self, send: Callable[[Any], None], calls: Path | None = None) -> None:
        self._send, self._calls = send, calls
        self._extra, self.about = 0, dict[str, str]()

    def take(self, message: dict[str, Any]) -> None:
        """Take one message of the client."""
        method, params = message.get("method"), message.get("params") or {}
        if method == "initialize":
            told = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "plain", "version": "1"},
            }
            self._answer(message, told)
        elif method == "tools/list":
            names = [*self.TOOLS, *(f"extra{number}" for number in range(self._extra))]
            tools = [
                {"name": name, "inputSchema": OBJECT, "description": self.about.get(name, "")}
                for name in names
                if self.about.get(name) != "gone"
            ]
            self._answer(message, {"tools": tools})
        elif method == "tools/call":
            self._note({"tool": params.get("name"), "meta": params.get("_meta")})
            self._call(message, params)
        elif method == "notifications/cancelled":
            self._note({"cancelled": params.get("requestId")})
        elif "id" in message:
            error = {"code": -32601, "message": "Method not found"}
            self._send({"jsonrpc": "2.0", "id": message["id"], "error": error})

    def _call(self, message: dict[str, Any], params: dict[str, Any]) -> None:
        name, given = params.get("name", ""), params.get("arguments") or {}
        behave = getattr(self, f"_{name}", None)
        if behave is None:
            self._text(message, json.dumps({"echo": given}))
        else:
            behave(message, given)

    def _dies(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        sys.stderr.write("I cannot go on\n")
        sys.stderr.flush()
        os._exit(3)

    def _hangs(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        pass

    def _noise(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        self._send(b"DEBUG: thinking about it\n\n{}\n")
        self._text(message, "after the noise")

    def _garbage(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        self._send(b"\xff\xfe not a message\n")

    def _halved(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        self._send({"jsonrpc": "2.0", "id": message["id"], "result": {"content": "\ud800"}})

    def _worded(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        self._send({"jsonrpc": "2.0", "id": message["id"], "result": "it went well"})

    def _huge(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        self._text(message, "x" * int(given.get("mebibytes", 50)) * MEBIBYTE)

    def _deep(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        self._text(
            message, "[" * 500 + "]" * 500, structured={"deep": json.loads("[" * 150 + "]" * 150)}
        )

    def _nan(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        self._text(message, "", structured={"n": float("nan")})

    def _shapeless(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        self._answer(message, {"content": "none"})

    def _wrong_id(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        self._text({"id": 987_654}, "for somebody else")

    def _error(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        error = {"code": -32050, "message": "No room on the disk"}
        self._send({"jsonrpc": "2.0", "id": message["id"], "error": error})

    def _refuses(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        error = {"code": -32602, "message": "Unknown tool"}
        self._send({"jsonrpc": "2.0", "id": message["id"], "error": error})

    def _twice(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        self._text(message, "first")
        self._text(message, "second")

    def _change(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        self._extra += 1
        self._send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        self._text(message, "changed")

    def _spawn(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        child = subprocess.Popen(["sleep", "1000"])
        self._text(message, json.dumps({"pid": child.pid, "own": os.getpid()}))

    def _env(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        self._text(message, json.dumps(dict(os.environ)))

    def _secret(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        sys.stderr.write(f"the token is {os.environ.get('TOKEN')}\n")
        sys.stderr.flush()
        self._text(message, f"it is {os.environ.get('TOKEN')}", isError=bool(given.get("fail")))

    def _flood(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        """Say a great deal on both ways before the answer."""
        note = {"level": "info", "data": "x" * 200}
        for _ in range(2_000):
            self._send({"jsonrpc": "2.0", "method": "notifications/message", "params": note})
            sys.stderr.write("y" * 200 + "\n")
        sys.stderr.flush()
        self._text(message, "after the flood")

    def _ignores(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        """From now on no signal but the last one ends it."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self._text(message, json.dumps({"own": os.getpid()}))
        threading.Thread(target=threading.Event().wait).start()

    def _text(
        self, message: dict[str, Any], text: str, structured: Any = None, **more: Any
    ) -> None:
        result = {"content": [{"type": "text", "text": text}], **more}
        if structured is not None:
            result["structuredContent"] = structured
        self._answer(message, result)

    def _answer(self, message: dict[str, Any], result: Any) -> None:
        self._send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _note(self, entry: dict[str, Any]) -> None:
        if self._calls is not None:
            with self._calls.open("a") as file:
                file.write(json.dumps(entry) + "\n")


def run_plain() -> None:
    """The hand-made server over standard input and output; the file ABOUT describes its tools."""
    calls = os.environ.get("CALLS")

    def send(message: Any) -> None:
        data = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    server = Plain(send, Path(calls) if calls else None)
    about = Path(os.environ.get("ABOUT", ""))
    if about.is_file():
        server.about = json.loads(about.read_text())
    for line in sys.stdin.buffer:
        server.take(json.loads(line))


class PlainHttp:
    """The hand-made server over HTTP. `tokens`, when set, are the only Authorizations it takes."""

    def __init__(self, calls: Path | None = None) -> None:
        self.url, self.tokens = "", set[str]()
        self.asked: list[Asked] = []
        self.session, self.about = "session-1", dict[str, str]()
        self._calls = calls

    async def handle(self, asked: Asked, talk: Talk) -> None:
        """Answer one POST; streams that only listen are not offered."""
        self.asked.append(asked)
        if asked.method != "POST":
            await talk.answer(b"", 405)
            return
        message = json.loads(asked.body)
        told = asked.headers.get("mcp-session-id")
        if self.tokens and asked.headers.get("authorization") not in self.tokens:
            await talk.answer(b"who are you", 401, content_type="text/plain")
        elif told is not None and told != self.session:
            await talk.answer(b"no such session", 404, content_type="text/plain")
        elif "id" not in message:
            await talk.answer(b"", 202)
        else:
            await self._answer(message, talk)

    async def _answer(self, message: dict[str, Any], talk: Talk) -> None:
        name = (message.get("params") or {}).get("name")
        match name:
            case "hangs":
                await asyncio.sleep(3600)
            case "cut":
                talk.cut()
            case "half":
                await talk.head(content_type="application/json", content_length="500")
                await talk.send(b'{"jsonrpc"')
                talk.cut()
            case "status":
                status = message["params"]["arguments"]["status"]
                await talk.answer(b"<h1>no</h1>", status, content_type="text/html")
            case _:
                sent = list[Any]()
                plain = Plain(sent.append, self._calls)
                plain.about = self.about
                plain.take(message)
                body = json.dumps(sent[-1]).encode()
                await talk.answer(
                    body, content_type="application/json", mcp_session_id=self.session
                )


@contextlib.contextmanager
def plain_http(calls: Path | None = None) -> Iterator[PlainHttp]:
    """The hand-made server over HTTP in a thread of this process."""
    server = PlainHttp(calls)
    with served(server.handle) as port:
        server.url = f"http://127.0.0.1:{port}/mcp"
        yield server
