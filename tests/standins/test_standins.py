"""The stand-ins run by themselves, as a bench or a browser test starts them."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def started(*arguments: str) -> Iterator[int]:
    """A stand-in as a process; gives the port that it prints first."""
    process = subprocess.Popen(
        [sys.executable, "-m", *arguments, "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.communicate()


def post(port: int, path: str, value: object, **headers: str) -> bytes:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", json.dumps(value).encode(), headers
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return bytes(answer.read())


def get(port: int, path: str) -> list[dict[str, object]]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        found: list[dict[str, object]] = json.load(answer)
        return found


@pytest.mark.parametrize(
    "path,end",
    [
        ("/v1/chat/completions", b"data: [DONE]"),
        ("/v1/messages", b'data: {"type": "message_stop"}'),
        ("/v1/responses", b"event: response.completed"),
    ],
)
def test_the_models_answer_and_tell_what_they_were_asked(path, end):
    question = {"model": "normal", "stream": True}
    with started("tests.standins.models") as port:
        body = post(port, path, question)

        assert b"stand-in" in body
        assert end in body
        assert [line["ended"] for line in get(port, "/_log")] == ["whole"]


def test_the_receiver_counts_a_key_once(tmp_path):
    log = str(tmp_path / "log.jsonl")
    with started("tests.standins.receiver", "--log", log) as port:
        for _ in range(2):
            post(port, "/notify", {"text": "hi"}, **{"Idempotency-Key": "k1"})

        assert [line["applied"] for line in get(port, "/log")] == [True, False]

    with started("tests.standins.receiver", "--log", log) as port:
        post(port, "/notify", {"text": "hi"}, **{"Idempotency-Key": "k1"})

        assert [line["applied"] for line in get(port, "/log")] == [True, False, False]


@pytest.mark.parametrize("mode", ["plain", "sdk"])
def test_the_mcp_server_answers_over_http(mode):
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    with started("tests.standins.mcp_server", "--transport", "http", "--mode", mode) as port:
        body = post(
            port,
            "/mcp",
            hello,
            **{
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
            },
        )

    assert b"serverInfo" in body
