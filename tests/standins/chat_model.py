"""A stand-in that speaks chat completions over a socket; the model's name says how it behaves.

`python -m tests.standins.chat_model --port 0` prints its port first. `GET /_log` tells what was
asked and how each answer ended.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from tests.standins.raw_http import Asked, Talk, run, served

ANSWER = "Hello from the stand-in."
USAGE = {
    "prompt_tokens": 100, "completion_tokens": 40, "total_tokens": 140,
    "prompt_tokens_details": {"cached_tokens": 60},
}  # fmt: skip


class ChatModel:
    """The stand-in's state: what was asked, and how each answer ended (`whole` or `cut`)."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.url = ""

    async def handle(self, asked: Asked, talk: Talk) -> None:
        """Answer one request."""
        if asked.path == "/_log":
            await talk.answer(json.dumps(self.asked).encode(), content_type="application/json")
            return
        body = json.loads(asked.body or b"{}")
        entry = {"path": asked.path, "headers": dict(asked.headers), "body": body, "ended": ""}
        self.asked.append(entry)
        model = str(body.get("model"))
        behave = BEHAVIOURS.get(model)
        try:
            if behave is None:
                await _error(talk, 404, f"The model `{model}` does not exist", "model_not_found")
            else:
                await behave(talk, asked)
            entry["ended"] = "whole"
        except ConnectionError:
            entry["ended"] = "cut"
            raise


@contextlib.contextmanager
def chat_model() -> Iterator[ChatModel]:
    """A stand-in in a thread of this process; `url` is its base URL."""
    model = ChatModel()
    with served(model.handle) as port:
        model.url = f"http://127.0.0.1:{port}/v1"
        yield model


# What is sent ----------------------------------------------------------------------------------


async def _open(talk: Talk) -> None:
    await talk.head(content_type="text/event-stream", transfer_encoding="chunked")


async def _data(talk: Talk, value: Any) -> None:
    await talk.chunk(b"data: " + json.dumps(value).encode() + b"\n\n")


async def _piece(talk: Talk, finish: str | None = None, **delta: Any) -> None:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    await _data(talk, _chunk(choices=[choice]))


def _chunk(**fields: Any) -> dict[str, Any]:
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {**head, "choices": [], **fields}


async def _end(talk: Talk, finish: str | None = "stop", usage: Any = USAGE) -> None:
    if finish:
        await _piece(talk, finish)
    if usage:
        await _data(talk, _chunk(usage=usage))
    await talk.chunk(b"data: [DONE]\n\n")
    await talk.chunk(b"")


async def _error(
    talk: Talk, status: int, message: str, code: str | None = None, **headers: str
) -> None:
    body = {"error": {"message": message, "type": "error", "code": code}}
    await talk.answer(json.dumps(body).encode(), status, content_type="application/json", **headers)


async def _call_piece(talk: Talk, index: Any, arguments: str, **first: Any) -> None:
    function = {"arguments": arguments, **({"name": first.pop("name")} if "name" in first else {})}
    await _piece(talk, tool_calls=[{"index": index, "function": function, **first}])


# Behaviours ------------------------------------------------------------------------------------


async def _normal(talk: Talk, asked: Asked) -> None:
    await _open(talk)
    await _piece(talk, role="assistant", content="")
    for word in ANSWER.split(" "):
        await _piece(talk, content=word if word == "Hello" else f" {word}")
    await _end(talk)


async def _pieces(talk: Talk, asked: Asked) -> None:
    await _open(talk)
    await _piece(talk, role="assistant", content="Looking.")
    await _call_piece(talk, 0, "", name="read", id="call_a", type="function")
    await _call_piece(talk, 1, "", name="publish", id="call_b", type="function")
    for index, text in [(0, '{"na'), (1, '{"version": '), (0, 'me": "x"}'), (1, '"1.0"}')]:
        await _call_piece(talk, index, text)
    await _end(talk, "tool_calls")


async def _odd_calls(talk: Talk, asked: Asked) -> None:
    """Two whole calls under one index and one id; a third without any; arguments that are none."""
    await _open(talk)
    await _call_piece(talk, 0, '{"a": 1}', name="read", id="call_a")
    await _call_piece(talk, 0, "{oops", name="read", id="call_z")
    await _call_piece(talk, 2, "", name="read", id="call_a")
    await _end(talk, "tool_calls")


async def _utf8(talk: Talk, asked: Asked) -> None:
    await _open(talk)
    data = "data: " + json.dumps(
        _chunk(choices=[{"index": 0, "delta": {"content": "žluťoučký 🐎 €"}}]), ensure_ascii=False
    )
    for byte in data.encode():
        await talk.chunk(bytes([byte]))
    await talk.chunk(b"\r")
    await talk.chunk(b"\n\r\n")
    await _end(talk)


async def _slow(talk: Talk, asked: Asked) -> None:
    await _open(talk)
    for number in range(10_000):
        await _piece(talk, content=f"word{number} ")
        await asyncio.sleep(0.01)
    await _end(talk)


async def _hang(talk: Talk, asked: Asked) -> None:
    await _open(talk)
    await _piece(talk, content="I think")
    await asyncio.sleep(3600)


async def _rate(talk: Talk, asked: Asked) -> None:
    await _error(talk, 429, "Rate limit reached", "rate_limit_exceeded", retry_after="7")


async def _rate_ms(talk: Talk, asked: Asked) -> None:
    await _error(talk, 429, "Rate limit reached", retry_after_ms="1500")


async def _quota(talk: Talk, asked: Asked) -> None:
    await _error(talk, 429, "You exceeded your current quota", "insufficient_quota")


async def _server(talk: Talk, asked: Asked) -> None:
    await _error(talk, 500, "The server had an error")


async def _overloaded(talk: Talk, asked: Asked) -> None:
    await _error(talk, 529, "Overloaded", "overloaded_error")


async def _drop(talk: Talk, asked: Asked) -> None:
    talk.cut()


async def _cut(talk: Talk, asked: Asked) -> None:
    await _open(talk)
    await _piece(talk, content="Half of an ans")
    talk.cut()


async def _short(talk: Talk, asked: Asked) -> None:
    """Ends properly, but never says why."""
    await _open(talk)
    await _piece(talk, content="Half of an ans")
    await talk.chunk(b"")


async def _error_event(talk: Talk, asked: Asked) -> None:
    await _open(talk)
    await _piece(talk, content="Half")
    await _data(talk, {"error": {"message": "The engine caught fire", "code": "server_error"}})
    await talk.chunk(b"")


async def _garbage(talk: Talk, asked: Asked) -> None:
    await _open(talk)
    await talk.chunk(b"data: {not json\n\n")
    await talk.chunk(b"")


async def _odd_shapes(talk: Talk, asked: Asked) -> None:
    await _open(talk)
    for value in [[1, 2], "text", {"choices": "none"}, {"choices": [None, {"delta": 3}]}]:
        await _data(talk, value)
    await talk.chunk(b"")


async def _bad_utf8(talk: Talk, asked: Asked) -> None:
    await _open(talk)
    await talk.chunk(b'data: {"choices": "\xff\xfe"}\n\n')
    await talk.chunk(b"")


async def _no_usage(talk: Talk, asked: Asked) -> None:
    await _open(talk)
    await _piece(talk, content="Hi")
    await _end(talk, usage=None)


async def _odd_usage(talk: Talk, asked: Asked) -> None:
    await _open(talk)
    await _piece(talk, content="Hi")
    await _end(talk, usage={"prompt_tokens": "many", "completion_tokens": -1})


async def _empty(talk: Talk, asked: Asked) -> None:
    await _open(talk)
    await _end(talk)


async def _nothing(talk: Talk, asked: Asked) -> None:
    await _open(talk)
    await talk.chunk(b"data: [DONE]\n\n")
    await talk.chunk(b"")


async def _huge(talk: Talk, asked: Asked) -> None:
    await _open(talk)
    for _ in range(20 * 16):
        await _piece(talk, content="x" * 64 * 1024)
    await _end(talk)


async def _huge_line(talk: Talk, asked: Asked) -> None:
    await _open(talk)
    for _ in range(20 * 16):
        await talk.chunk(b"x" * 64 * 1024)
    await _end(talk)


async def _length(talk: Talk, asked: Asked) -> None:
    await _open(talk)
    await _piece(talk, content="As long as I may")
    await _end(talk, "length")


async def _page(talk: Talk, asked: Asked) -> None:
    await talk.answer(b"<!doctype html><h1>Welcome</h1>", content_type="text/html; charset=utf-8")


async def _moved(talk: Talk, asked: Asked) -> None:
    await talk.answer(b"", 302, location="http://127.0.0.1:1/login")


async def _context(talk: Talk, asked: Asked) -> None:
    words = "This model's maximum context length is 8 tokens"
    await _error(talk, 400, words, "context_length_exceeded")


async def _filter(talk: Talk, asked: Asked) -> None:
    await _error(talk, 400, "The response was filtered", "content_filter")


async def _filtered(talk: Talk, asked: Asked) -> None:
    await _open(talk)
    await _piece(talk, content="Well,")
    await _end(talk, "content_filter")


async def _refusal(talk: Talk, asked: Asked) -> None:
    await _open(talk)
    await _piece(talk, refusal="I will not do that.")
    await _end(talk)


async def _bad_request(talk: Talk, asked: Asked) -> None:
    await _error(talk, 400, "Unknown parameter: tools[0]")


async def _key(talk: Talk, asked: Asked) -> None:
    sent = asked.headers.get("authorization", "")
    await _error(talk, 401, f"Incorrect API key provided: {sent}", "invalid_api_key")


async def _forbidden(talk: Talk, asked: Asked) -> None:
    await _error(talk, 403, "Project does not have access to this model")


async def _broken_error(talk: Talk, asked: Asked) -> None:
    await talk.answer(b"<html>Bad gateway</html>", 502, content_type="text/html")


BEHAVIOURS: dict[str, Callable[[Talk, Asked], Awaitable[None]]] = {
    "normal": _normal,
    "pieces": _pieces,
    "odd-calls": _odd_calls,
    "utf8": _utf8,
    "slow": _slow,
    "hang": _hang,
    "rate": _rate,
    "rate-ms": _rate_ms,
    "quota": _quota,
    "server": _server,
    "overloaded": _overloaded,
    "drop": _drop,
    "cut": _cut,
    "short": _short,
    "error-event": _error_event,
    "garbage": _garbage,
    "odd-shapes": _odd_shapes,
    "bad-utf8": _bad_utf8,
    "no-usage": _no_usage,
    "odd-usage": _odd_usage,
    "empty": _empty,
    "nothing": _nothing,
    "huge": _huge,
    "huge-line": _huge_line,
    "length": _length,
    "page": _page,
    "moved": _moved,
    "context": _context,
    "filter": _filter,
    "filtered": _filtered,
    "refusal": _refusal,
    "bad-request": _bad_request,
    "key": _key,
    "forbidden": _forbidden,
    "broken-error": _broken_error,
}


if __name__ == "__main__":
    run(ChatModel().handle)
