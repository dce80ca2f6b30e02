"""A stand-in that receives HTTP calls and writes each down before it answers, one JSON line each.

`python -m tests.standins.receiver --port 0 --log FILE` prints its port first. The first part of
the path says how it answers; any other path is a plain 200. A line holds method, path, query, key,
sha256 of the body, the body's JSON, and whether the key was new (`applied`).
"""

import argparse
import asyncio
import contextlib
import gzip
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from tests.standins.raw_http import Asked, Talk, listen, served

MEBIBYTE = 1024 * 1024


class Receiver:
    """What came, in a file that is only appended to; keys seen before are told apart."""

    def __init__(self, log: Path) -> None:
        self.log, self.url = log, ""
        self._keys = {line["key"] for line in self.lines()}

    def lines(self) -> list[dict[str, Any]]:
        """Every call that came, oldest first."""
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text("utf-8").splitlines()]

    async def handle(self, asked: Asked, talk: Talk) -> None:
        """Write the call down, then answer as its path says."""
        kind, _, rest = asked.path.strip("/").partition("/")
        if kind == "log":
            await talk.answer(json.dumps(self.lines()).encode(), content_type="application/json")
            return
        entry = self._entry(asked)
        with self.log.open("ab") as file:
            file.write(json.dumps(entry).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        await ANSWERS.get(kind, _plain)(talk, asked, rest, entry)

    def _entry(self, asked: Asked) -> dict[str, Any]:
        key = asked.headers.get("idempotency-key", "")
        applied = not key or key not in self._keys
        self._keys.add(key)
        return {
            "time": time.time(), "method": asked.method, "path": asked.path,
            "query": dict(asked.query), "key": key, "applied": applied,
            "hash": hashlib.sha256(asked.body).hexdigest(), "headers": dict(asked.headers),
            "body": _json(asked.body),
        }  # fmt: skip


@contextlib.contextmanager
def receiver(folder: Path) -> Iterator[Receiver]:
    """A stand-in in a thread of this process, with its log in a folder."""
    found = Receiver(folder / "received.jsonl")
    with served(found.handle) as port:
        found.url = f"http://127.0.0.1:{port}"
        yield found


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace") or None


# Answers: (talk, what was asked, the rest of the path, the line that was written) ----------------

Answer = Callable[[Talk, Asked, str, dict[str, Any]], Awaitable[None]]


async def _plain(talk: Talk, asked: Asked, rest: str, entry: dict[str, Any]) -> None:
    told = {name: entry[name] for name in ("method", "path", "query", "key", "applied", "body")}
    await talk.answer(json.dumps(told).encode(), content_type="application/json")


async def _echo(talk: Talk, asked: Asked, rest: str, entry: dict[str, Any]) -> None:
    await talk.answer(json.dumps(entry["headers"]).encode(), content_type="application/json")


async def _slow(talk: Talk, asked: Asked, rest: str, entry: dict[str, Any]) -> None:
    await asyncio.sleep(int(rest or "500") / 1000)
    await _plain(talk, asked, rest, entry)


async def _hang(talk: Talk, asked: Asked, rest: str, entry: dict[str, Any]) -> None:
    await asyncio.sleep(3600)


async def _drip(talk: Talk, asked: Asked, rest: str, entry: dict[str, Any]) -> None:
    await talk.head(content_type="text/plain")
    while True:
        await talk.send(b".")
        await asyncio.sleep(0.05)


async def _fail(talk: Talk, asked: Asked, rest: str, entry: dict[str, Any]) -> None:
    status, _, words = rest.partition("/")
    body = {"detail": words or "as you asked", "key": entry["key"]}
    await talk.answer(
        json.dumps(body).encode(), int(status or "500"), content_type="application/problem+json"
    )


async def _cut(talk: Talk, asked: Asked, rest: str, entry: dict[str, Any]) -> None:
    talk.cut()


async def _half(talk: Talk, asked: Asked, rest: str, entry: dict[str, Any]) -> None:
    await talk.head(content_type="application/json", content_length="1000")
    await talk.send(b'{"half": ')
    talk.cut()


async def _huge(talk: Talk, asked: Asked, rest: str, entry: dict[str, Any]) -> None:
    await talk.head(content_type=asked.query.get("type", "text/plain"))
    for _ in range(int(rest or "50") * 16):
        await talk.send(b"x" * (MEBIBYTE // 16))


async def _endless(talk: Talk, asked: Asked, rest: str, entry: dict[str, Any]) -> None:
    await talk.head(content_type="text/plain")
    while True:
        await talk.send(b"x" * 65536)


async def _zip(talk: Talk, asked: Asked, rest: str, entry: dict[str, Any]) -> None:
    body = gzip.compress(b"0" * 50 * MEBIBYTE)
    await talk.answer(body, content_type="application/json", content_encoding="gzip")


async def _typed(talk: Talk, asked: Asked, rest: str, entry: dict[str, Any]) -> None:
    """The body of the query's `body`, under the media type that the path names."""
    body = asked.query.get("body", "").encode("latin-1")
    await talk.answer(body, **({"content_type": rest} if rest else {}))


async def _deep(talk: Talk, asked: Asked, rest: str, entry: dict[str, Any]) -> None:
    depth = int(rest or "2000")
    await talk.answer(b"[" * depth + b"]" * depth, content_type="application/json")


async def _empty(talk: Talk, asked: Asked, rest: str, entry: dict[str, Any]) -> None:
    await talk.answer(b"", int(rest or "204"))


async def _away(talk: Talk, asked: Asked, rest: str, entry: dict[str, Any]) -> None:
    to = dict(asked.query).get("to", "/elsewhere")
    await talk.answer(b"", int(rest or "302"), location=to)


async def _round(talk: Talk, asked: Asked, rest: str, entry: dict[str, Any]) -> None:
    await talk.answer(b"", 307, location=asked.path)


async def _noise(talk: Talk, asked: Asked, rest: str, entry: dict[str, Any]) -> None:
    await talk.send(b"\x00\xffthis is not HTTP\r\n\r\n")


ANSWERS: dict[str, Answer] = {
    "round": _round,
    "away": _away,
    "cut": _cut,
    "deep": _deep,
    "drip": _drip,
    "echo": _echo,
    "empty": _empty,
    "endless": _endless,
    "fail": _fail,
    "half": _half,
    "hang": _hang,
    "huge": _huge,
    "noise": _noise,
    "slow": _slow,
    "typed": _typed,
    "zip": _zip,
}


def main() -> None:
    """Serve until killed; the first line printed is the port."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path, default=None)
    given = parser.parse_args()
    log = given.log or Path(tempfile.mkdtemp()) / "received.jsonl"

    async def serve() -> None:
        server = await listen(Receiver(log).handle, given.port)
        sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()
        await server.serve_forever()

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve())


if __name__ == "__main__":
    main()
