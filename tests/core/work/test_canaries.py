"""Forty secrets, each sent back in some form by a tool or a model: none of them is in any sink."""

import asyncio
import base64
import json
import logging
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from studio.core.masking import MaskedFormatter
from studio.core.providers.provider import (
    ProposedCall,
    ProviderError,
    Reply,
    Request,
    TextDelta,
)
from studio.core.providers.shelf import Shelf
from studio.core.rules import events as e
from studio.core.store import raw, tables
from studio.core.tools.catalog import LiveCatalog
from studio.core.tools.plugins import Plugins
from studio.core.tools.tool import Gap, Kit, Offered, Result, ResultFile, ServerSeen, ToolError
from studio.core.tools.values import Values
from studio.core.work.opening import Opening
from studio.core.worker import Worker
from tests.core.conftest import ALICE, BOB, Core
from tests.core.work.test_health import server
from tests.fakes import tool

FORMS = {
    "raw": lambda s: s,
    "base64": lambda s: base64.b64encode(b"u:" + s.encode()).decode(),
    "base64 for urls": lambda s: base64.urlsafe_b64encode(b"?" + s.encode() + b"!").decode(),
    "url": lambda s: quote(s, safe=""),
    "json": lambda s: json.dumps(s)[1:-1],
    "hex": lambda s: s.encode().hex(),
}
SECRETS = {f"CANARY_{n}": f'cän"ary/{n:02d}&{n * 7919 + 104729}+{n * 31337:x}' for n in range(40)}
CHANNELS = ("value", "text", "parts", "error", "broken", "progress", "file", "say", "call", "fail")


def told(channel: str) -> list[str]:
    """The forms that this channel is to leak: each secret in some channel, each form in many."""
    mine = [value for n, value in enumerate(SECRETS.values()) if CHANNELS[n % 10] == channel]
    return [make(value) for value in mine for make in FORMS.values()]


def pieces(text: str, size: int = 7) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


class Leaky:
    """A model that says, proposes and fails with secrets, in small pieces."""

    name = "leaky"

    async def stream(self, request: Request) -> AsyncIterator[TextDelta | Reply]:
        asked = request.messages[-1]
        if asked.role == "tool":
            words = " and ".join(told("say"))
            for piece in pieces(words):
                yield TextDelta(text=piece)
                await asyncio.sleep(0.003)
            yield Reply(text=words, stop=words)
        elif asked.text == "fail":
            raise ProviderError(
                "model.refused", "No.", permanent=True, words=" ".join(told("fail"))
            )
        else:
            arguments = {"leaked": told("call"), "pieces": pieces(SECRETS["CANARY_8"])}
            calls = [
                ProposedCall(id=f"c{n}", name=name, arguments=arguments)
                for n, name in enumerate(("value", "text", "parts", "error", "broken", "file"))
            ]
            yield Reply(text="", calls=tuple(calls))

    async def close(self) -> None:
        """Nothing was opened."""


class LeakyShelf(Shelf):
    """Has one model."""

    async def get(self, model: Mapping[str, Any]) -> Any:
        return Leaky()


async def value(arguments: Any, kit: Kit) -> Any:
    for piece in pieces(" ".join(told("progress")), 11):
        kit.progress(1, None, piece)
    return {"found": told("value"), told("value")[0]: {"deep": [told("value")]}}


async def text(arguments: Any, kit: Kit) -> Any:
    return Result(text="\n".join(told("text")), media="text/plain")


async def parts(arguments: Any, kit: Kit) -> Any:
    return [{"type": "text", "text": piece} for piece in pieces(" ".join(told("parts")), 20)]


async def error(arguments: Any, kit: Kit) -> Any:
    raise ToolError("tool.failed", " ".join(told("error")), result={"said": told("error")})


async def broken(arguments: Any, kit: Kit) -> Any:
    raise RuntimeError(" ".join(told("broken")))


async def file(arguments: Any, kit: Kit) -> Any:
    data = "\n".join(told("file")).encode()
    return Result(value="see it", files=(ResultFile(data=data, media="text/plain"),))


class Seen(logging.Handler):
    """What a process would write to its standard error."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the line."""
        self.lines.append(self.format(record))


async def dump(core: Core) -> str:
    """Every row of every table, and on SQLite the file itself."""

    def read(conn: Any) -> str:
        rows = [raw.every(conn, f'SELECT * FROM "{t.name}"') for t in tables.metadata.sorted_tables]
        return "\n".join(_plain(cell) for table in rows for row in table for cell in row)

    found = await core.parts.db.read(read)
    for path in Path(core.parts.settings.data).glob("studio.db*"):
        found += path.read_bytes().decode("utf-8", "replace")
    return found


def _plain(cell: Any) -> str:
    if isinstance(cell, bytes | memoryview):
        return bytes(cell).decode("utf-8", "replace")
    return str(cell)


def leaks(sink: str) -> list[str]:
    """The secrets that are in a sink, in any form, whole or but for a few letters."""
    found = []
    for name, value in SECRETS.items():
        cores = [base64.b64encode(b"u:" + value.encode()).decode()[4:-4],
                 base64.urlsafe_b64encode(b"?" + value.encode() + b"!").decode()[3:-4],
                 quote(value, safe=""), json.dumps(value)[1:-1], value, value.encode().hex(),
                 json.dumps(json.dumps(value)[1:-1])[1:-1]]  # fmt: skip
        if any(core in sink or core[2:-2] in sink for core in cores):
            found.append(name)
    return found


async def watched(core: Core, session_id: str, seen: list[str]) -> None:
    """Everything that open pages are pushed which is no fact."""
    async with core.parts.feed.subscribe() as growth:
        while True:
            await growth.get()
            draft = core.parts.feed.draft(session_id)
            seen.append(draft[1] if draft else "")
            seen += [words for _, _, words in core.parts.feed.progress(session_id).values()]


async def test_no_secret_is_in_any_sink(core: Core) -> None:
    for name, value_of in SECRETS.items():
        await core.runtime.set_secret(ALICE, name, value_of)
    for name, act in (("value", value), ("text", text), ("parts", parts), ("error", error),
                      ("broken", broken), ("file", file)):  # fmt: skip
        core.offer(tool(name, act, read_only=True))
    values = Values({})
    log, pushed = Seen(), list[str]()
    log.setFormatter(MaskedFormatter(logging.Formatter(), values.mask))
    logging.getLogger("studio").addHandler(log)
    parts_ = core.parts
    worker = Worker(
        db=parts_.db, journal=parts_.journal, feed=parts_.feed, shelf=LeakyShelf({}),
        catalog=core.catalog, clock=core.clock, name="one",
        opening=Opening(db=parts_.db, feed=parts_.feed, clock=core.clock, values=values,
                        seals=parts_.seals),
    )  # fmt: skip
    async with asyncio.TaskGroup() as group:
        running = group.create_task(worker.run())
        session_id = await core.start()
        watching = group.create_task(watched(core, session_id, pushed))
        for message in ("go", "fail"):
            await core.runtime.send_message(BOB, session_id, message)
            await core.over(session_id)
        running.cancel()
        watching.cancel()
    logging.getLogger("studio").removeHandler(log)

    facts = [fact.event for fact in await core.facts(session_id)]
    answered = [x for x in facts if isinstance(x, e.CallSucceeded | e.CallFailed)]
    api = json.dumps([str(row) for row in await parts_.reader.events(BOB, session_id, limit=200)])
    assert len(answered) == 6
    assert sum(fact.masked for fact in answered) >= 4 * 6 * 3
    assert any("RuntimeError" in line for line in log.lines)
    assert leaks(await dump(core)) == []
    assert leaks(api) == []
    assert leaks("\n".join(pushed)) == []
    assert leaks("".join(pushed)) == []
    assert leaks("\n".join(log.lines)) == []
    assert "[masked: CANARY_8]" in api


@pytest.mark.parametrize("mode", ["tells", "tells_late"])
async def test_a_server_that_tells_its_secret_in_an_error_is_masked(
    mode: str, tmp_path: Path
) -> None:
    catalog = LiveCatalog(Plugins([]), SECRETS, frozenset(), tmp_path)
    entry = server("s", mode)
    entry["env"]["TOKEN"] = {"setting": "CANARY_7"}
    try:
        offered = await catalog.offered({"servers": [entry]})
    finally:
        await catalog.close()

    (gap,) = offered.gaps
    (seen,) = offered.servers
    assert "bad token: [masked: " in gap.message
    assert leaks(gap.message + seen.error) == []
    assert len(gap.message) < 400


async def test_what_is_told_of_servers_and_gaps_is_masked_again(core: Core) -> None:
    for name, value_of in SECRETS.items():
        await core.runtime.set_secret(ALICE, name, value_of)
    every = " ".join(make(secret) for secret in SECRETS.values() for make in FORMS.values())
    seen = ServerSeen(id="s", name="s", transport="stdio", destination="s", error=every,
                      said=every, tools=(SECRETS["CANARY_3"],))  # fmt: skip
    core.offer(tool("pay"))

    class Telling:
        async def offered(self, manifest: Any, lends: Any = None) -> Offered:
            found = await core.catalog.offered(manifest)
            return Offered(tools=found.tools, gaps=found.gaps, servers=(seen,))

        async def prepare(self) -> None: ...

        async def tidy(self) -> None: ...

        async def close(self) -> None: ...

    parts_, values = core.parts, Values({})
    worker = Worker(
        db=parts_.db, journal=parts_.journal, feed=parts_.feed, shelf=Shelf({}),
        catalog=Telling(), clock=core.clock, name="one",
        opening=Opening(db=parts_.db, feed=parts_.feed, clock=core.clock, values=values,
                        seals=parts_.seals),
    )  # fmt: skip
    async with asyncio.TaskGroup() as group:
        running = group.create_task(worker.run())
        session_id = await core.start("call pay {}")
        session = await core.held(session_id)
        (wait,) = session.turn.open_waits()
        card = await parts_.reader.wait(ALICE, wait.id)
        del core.catalog.tools["pay"]
        core.catalog.gaps = (Gap(source="fake", message=every),)
        await core.runtime.decide(ALICE, wait.id, "approve", digest=card.wait.digest)
        await core.over(session_id)
        running.cancel()

    failed = [f.event for f in await core.facts(session_id) if isinstance(f.event, e.CallFailed)]
    assert [event.code for event in failed] == ["tool.missing"]
    assert "[masked: CANARY_" in failed[0].message
    assert leaks(await dump(core)) == []
