"""A model that stands in for OpenAI's chat completions: first it calls a tool, then it answers.

It runs in the same process as the agent, so that one command shows all of it.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

QUESTION = "What is the weather in Brno?"
ANSWER = "It is sunny in Brno."
USAGE = {"prompt_tokens": 40, "completion_tokens": 9, "total_tokens": 49}


class Model(BaseHTTPRequestHandler):
    """One answer a request."""

    def do_POST(self) -> None:
        """Answer a chat completion."""
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        has_result = any(message["role"] == "tool" for message in asked["messages"])
        message = {"role": "assistant", "content": ANSWER} if has_result else _call()
        reason = "stop" if has_result else "tool_calls"
        answer = {
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1_796_000_000,
            "model": "stand-in-1", "usage": USAGE,
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        }  # fmt: skip
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _call() -> dict[str, Any]:
    function = {"name": "weather", "arguments": '{"city": "Brno"}'}
    return {
        "role": "assistant", "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }  # fmt: skip


def serve() -> str:
    """Start it; its base URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"


def weather(city: str) -> str:
    """The weather in a city."""
    return f"Sunny in {city}."
