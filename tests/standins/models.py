"""A stand-in that speaks the protocols of model providers over a socket, well and badly.

The path says which protocol, the model's name how it behaves. `python -m tests.standins.models
--port 0` prints its port first. `GET /_log` tells what was asked and how each answer ended.
"""

import asyncio
import contextlib
import json
import secrets
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from tests.standins.raw_http import Asked, Talk, run, served
from tests.standins.speeches import ChatSpeech, MessagesSpeech, ResponsesSpeech, Speech

ANSWER = "Hello from the stand-in."
THOUGHT, PROOF = "Two and two make four.", "c2lnbmVkLWJ5LW5vYm9keQ=="
LETTERS = "žluťoučký 🐎 €"
# One task: read, search, two calls at once, a write that is held, a structured answer.
STEPS: tuple[tuple[str, tuple[tuple[str, dict[str, Any]], ...]], ...] = (
    ("I read the notes.", (("read_notes", {"name": "žluté.md"}),)),
    ("", (("search", {"words": ["release", "1.0"]}),)),
    ("Two at once.", (("weather", {"city": "Brno"}), ("calendar", {"day": "2026-11-30"}))),
    ("Now I publish.", (("publish", {"version": "1.0", "notes": {"lines": 3}}),)),
    ('{"published": true, "version": "1.0"}', ()),
)
SPEECHES: dict[str, type[Speech]] = {
    "/v1/chat/completions": ChatSpeech,
    "/v1beta/openai/chat/completions": ChatSpeech,
    "/v1/messages": MessagesSpeech,
    "/v1/responses": ResponsesSpeech,
}
BASES = {"chat": "/v1", "google": "/v1beta/openai/", "anthropic": "", "openai": "/v1"}


class Models:
    """The stand-in's state: what was asked, and how each answer ended (`whole` or `cut`)."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.origin = ""

    @property
    def url(self) -> str:
        """The base URL of its chat completions."""
        return self.base_url("chat")

    def base_url(self, provider: str) -> str:
        """The base URL for this kind of provider."""
        return self.origin + BASES[provider]

    async def handle(self, asked: Asked, talk: Talk) -> None:
        """Answer one request."""
        if asked.path == "/_log":
            await talk.answer(json.dumps(self.asked).encode(), content_type="application/json")
            return
        kind = SPEECHES.get(asked.path)
        if kind is None:
            await talk.answer(b"<h1>Nothing here</h1>", 404, content_type="text/html")
            return
        speech = kind(talk, asked)
        entry = {
            "path": asked.path, "headers": dict(asked.headers), "body": speech.body, "ended": "",
        }  # fmt: skip
        self.asked.append(entry)
        name = str(speech.body.get("model"))
        try:
            await BEHAVIOURS.get(name, _unknown_model)(speech)
            entry["ended"] = "whole"
        except ConnectionError:
            entry["ended"] = "cut"
            raise


@contextlib.contextmanager
def models() -> Iterator[Models]:
    """A stand-in in a thread of this process."""
    standin = Models()
    with served(standin.handle) as port:
        standin.origin = f"http://127.0.0.1:{port}"
        yield standin


Behave = Callable[[Speech], Awaitable[None]]
BEHAVIOURS: dict[str, Behave] = {}


def behaviour(made: Behave) -> Behave:
    """A way to behave, known by its name to whoever asks for a model."""
    BEHAVIOURS[made.__name__.removeprefix("_").replace("_", "-")] = made
    return made


async def _error(speech: Speech, status: int, message: str, code: str = "", **headers: str) -> None:
    body = json.dumps(speech.error(message, code)).encode()
    await speech.talk.answer(body, status, content_type="application/json", **headers)


async def _unknown_model(speech: Speech) -> None:
    name = speech.body.get("model")
    await _error(speech, 404, f"The model `{name}` does not exist", "model_not_found")


# Good answers ----------------------------------------------------------------------------------


@behaviour
async def _normal(speech: Speech) -> None:
    await speech.open()
    for word in ANSWER.split(" "):
        await speech.text(word if word == "Hello" else f" {word}")
    await speech.end()


@behaviour
async def _pieces(speech: Speech) -> None:
    """Two calls whose arguments come in pieces, in turn."""
    await speech.open()
    await speech.text("Looking.")
    await speech.call(0, "", "call_a", "read")
    await speech.call(1, "", "call_b", "publish")
    for index, text in [(0, '{"na'), (1, '{"version": '), (0, 'me": "x"}'), (1, '"1.0"}')]:
        await speech.call(index, text)
    await speech.end("calls")


@behaviour
async def _odd_calls(speech: Speech) -> None:
    """Arguments that are no JSON, and none; one id twice."""
    await speech.open()
    await speech.call(0, '{"a": 1}', "call_a", "read")
    await speech.call(1, "{oops", "call_z", "read")
    await speech.call(2, "", "call_a", "read")
    await speech.end("calls")


@behaviour
async def _thinks(speech: Speech) -> None:
    await speech.open()
    await speech.think(THOUGHT, PROOF)
    await speech.text("I will look.")
    await speech.call(0, '{"name": "x"}', "call_a", "read")
    await speech.end("calls")


@behaviour
async def _ponders(speech: Speech) -> None:
    """Thinks and calls at first, then answers."""
    if len(speech.talk_since()) > 1:
        await _normal(speech)
    else:
        await _thinks(speech)


@behaviour
async def _task(speech: Speech) -> None:
    """The five steps of `STEPS`, by what has been said since the message."""
    said, calls = STEPS[speech.talk_since().count("assistant")]
    await speech.open()
    if said:
        await speech.text(said[:5])
        await speech.text(said[5:])
    for index, (name, arguments) in enumerate(calls):
        written = json.dumps(arguments)
        await speech.call(index, "", f"call_{secrets.token_hex(4)}", name)
        await speech.call(index, written[:7])
        await speech.call(index, written[7:])
    await speech.end("calls" if calls else "end")


@behaviour
async def _utf8(speech: Speech) -> None:
    """Letters of many bytes, and the end of the event, each byte on its own."""
    await speech.open()
    data = speech.text_bytes(LETTERS)
    for byte in data[:-2]:
        await speech.talk.chunk(bytes([byte]))
    await speech.talk.chunk(b"\r")
    await speech.talk.chunk(b"\n\r\n")
    await speech.end()


@behaviour
async def _pings(speech: Speech) -> None:
    await speech.open()
    await speech.ping()
    await speech.text("Still ")
    await speech.ping()
    await speech.text("here.")
    await speech.end()


@behaviour
async def _empty(speech: Speech) -> None:
    await speech.open()
    await speech.end()


@behaviour
async def _length(speech: Speech) -> None:
    await speech.open()
    await speech.text("As long as I may")
    await speech.end("length")


@behaviour
async def _no_usage(speech: Speech) -> None:
    await speech.open()
    await speech.text("Hi")
    await speech.end(usage=None)


@behaviour
async def _odd_usage(speech: Speech) -> None:
    await speech.open()
    await speech.text("Hi")
    await speech.end(usage={"read": "many"})


@behaviour
async def _slow(speech: Speech) -> None:
    await speech.open()
    for number in range(10_000):
        await speech.text(f"word{number} ")
        await asyncio.sleep(0.01)
    await speech.end()


# Bad ones --------------------------------------------------------------------------------------


@behaviour
async def _hang(speech: Speech) -> None:
    await speech.open()
    await speech.text("I think")
    await asyncio.sleep(3600)


@behaviour
async def _rate(speech: Speech) -> None:
    await _error(speech, 429, "Rate limit reached", "rate_limit_error", retry_after="7")


@behaviour
async def _rate_ms(speech: Speech) -> None:
    await _error(speech, 429, "Rate limit reached", "rate_limit_error", retry_after_ms="1500")


@behaviour
async def _quota(speech: Speech) -> None:
    if isinstance(speech, MessagesSpeech):
        await _error(speech, 400, "Your credit balance is too low", "invalid_request_error")
    else:
        await _error(speech, 429, "You exceeded your current quota", "insufficient_quota")


@behaviour
async def _server(speech: Speech) -> None:
    await _error(speech, 500, "The server had an error", "api_error")


@behaviour
async def _overloaded(speech: Speech) -> None:
    await _error(speech, 529, "Overloaded", "overloaded_error", retry_after="3")


@behaviour
async def _late(speech: Speech) -> None:
    await _error(speech, 408, "Too late")


@behaviour
async def _drop(speech: Speech) -> None:
    speech.talk.cut()


@behaviour
async def _cut(speech: Speech) -> None:
    await speech.open()
    await speech.text("Half of an ans")
    speech.talk.cut()


@behaviour
async def _short(speech: Speech) -> None:
    """Ends properly, but never says why."""
    await speech.open()
    await speech.text("Half of an ans")
    await speech.close()


@behaviour
async def _error_event(speech: Speech) -> None:
    await speech.open()
    await speech.text("Half")
    await speech.fail("The engine caught fire")


@behaviour
async def _busy_event(speech: Speech) -> None:
    """Too busy, said in the stream before anything of an answer."""
    await speech.open()
    await speech.fail("Overloaded")


@behaviour
async def _garbage(speech: Speech) -> None:
    await speech.open()
    await speech.talk.chunk(b"event: message_delta\ndata: {not json\n\n")
    await speech.close()


@behaviour
async def _odd_shapes(speech: Speech) -> None:
    await speech.open()
    for value in [[1, 2], "text", {"choices": "none"}, {"choices": [None, {"delta": 3}]}]:
        await speech.event(value, "message_delta")
    await speech.close()


@behaviour
async def _bad_utf8(speech: Speech) -> None:
    await speech.open()
    await speech.talk.chunk(b'event: message_delta\ndata: {"choices": "\xff\xfe"}\n\n')
    await speech.close()


@behaviour
async def _nothing(speech: Speech) -> None:
    await speech.open()
    await speech.close()


@behaviour
async def _huge(speech: Speech) -> None:
    """Twenty megabytes of text."""
    await speech.open()
    for _ in range(20 * 16):
        await speech.text("x" * 64 * 1024)
    await speech.end()


@behaviour
async def _huge_line(speech: Speech) -> None:
    await speech.open()
    for _ in range(20 * 16):
        await speech.talk.chunk(b"x" * 64 * 1024)
    await speech.end()


@behaviour
async def _page(speech: Speech) -> None:
    page = b"<!doctype html><h1>Welcome</h1>"
    await speech.talk.answer(page, content_type="text/html; charset=utf-8")


@behaviour
async def _json(speech: Speech) -> None:
    await speech.talk.answer(b'{"ok": true}', content_type="application/json")


@behaviour
async def _moved(speech: Speech) -> None:
    await speech.talk.answer(b"", 302, location="http://127.0.0.1:1/login")


@behaviour
async def _context(speech: Speech) -> None:
    await _error(speech, 400, "prompt is too long: 9 tokens > 8 maximum", "invalid_request_error")


@behaviour
async def _filter(speech: Speech) -> None:
    await _error(speech, 400, "Output blocked by content filtering policy", "content_filter")


@behaviour
async def _filtered(speech: Speech) -> None:
    await speech.open()
    await speech.text("Well,")
    await speech.end("filter")


@behaviour
async def _bad_request(speech: Speech) -> None:
    await _error(speech, 400, "Unknown parameter: tools[0]", "invalid_request_error")


@behaviour
async def _key(speech: Speech) -> None:
    sent = speech.asked.headers.get("authorization", "")
    await _error(speech, 401, f"Incorrect API key provided: {sent}", "authentication_error")


@behaviour
async def _refusal(speech: Speech) -> None:
    """Chat completions have a field for what the model will not do."""
    await speech.open()
    assert isinstance(speech, ChatSpeech)
    await speech.piece(refusal="I will not do that.")
    await speech.end()


@behaviour
async def _odd_indexes(speech: Speech) -> None:
    """Two whole calls under one index."""
    await speech.open()
    await speech.call(0, '{"a": 1}', "call_a", "read")
    await speech.call(0, '{"b": 2}', "call_z", "read")
    await speech.end("calls")


@behaviour
async def _forbidden(speech: Speech) -> None:
    words = "Project does not have access to this model"
    await _error(speech, 403, words, "permission_error")


@behaviour
async def _broken_error(speech: Speech) -> None:
    await speech.talk.answer(b"<html>Bad gateway</html>", 502, content_type="text/html")


if __name__ == "__main__":
    run(Models().handle)
