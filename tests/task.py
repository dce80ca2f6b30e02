"""One task of five steps, done by an agent whose model speaks one of the protocols.

`python -m tests.task` prints a table: what each protocol took for the same work.
"""

import asyncio
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from studio import app
from studio.core.providers.shelf import Shelf
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.events import Fact
from studio.core.rules.session import Session
from studio.core.store import facts as journals
from studio.core.worker import Worker
from studio.settings import Settings
from tests.fakes import FakeCatalog, tool
from tests.standins.models import STEPS, Models, models

PROTOCOLS = ("scripted", "chat", "google", "anthropic", "openai")
PRICES = {"input": 3, "output": 15, "cached": 0.3, "cache_write": 3.75}
ADMIN = Person(id="alice", role="admin", via="key")
FORM = {
    "type": "object",
    "properties": {"published": {"type": "boolean"}, "version": {"type": "string"}},
    "required": ["published", "version"],
    "additionalProperties": False,
}
# What differs from one protocol to another, and from one session to another.
_OWN = frozenset({
    "turn_id", "effect_id", "wait_id", "provider_call_id", "key", "provider", "model", "usage",
    "request_hash", "digest", "digest_sent", "digest_shown", "digest_decided", "agent_version",
    "by", "agent", "title", "ran", "effects", "first_token",
})  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Played:
    """What one protocol took."""

    protocol: str
    session: Session
    facts: tuple[Fact, ...]
    calls: tuple[tuple[str, Any], ...]


def agent(protocol: str, server: Models) -> dict[str, Any]:
    """An agent for the task."""
    return {
        "name": f"task-{protocol}",
        "instructions": "Do the task.",
        "model": _model(protocol, server),
        "output_schema": FORM,
    }


def _model(protocol: str, server: Models) -> dict[str, Any]:
    if protocol != "scripted":
        base_url = server.base_url(protocol)
        return {"provider": protocol, "name": "task", "base_url": base_url, "prices": PRICES}
    steps = [
        {"say": said, "calls": [{"tool": name, "arguments": given} for name, given in asked]}
        for said, asked in STEPS
    ]
    return {"provider": "scripted", "name": "task", "script": [{"when": "", "steps": steps}]}


def tools() -> FakeCatalog:
    """The tools of the task: all but one only read."""
    reads = [tool(name, read_only=True) for name in ("read_notes", "search", "weather", "calendar")]
    return FakeCatalog(*reads, tool("publish"))


async def play(parts: app.Parts, server: Models, protocol: str) -> Played:
    """Do the task once, with a worker of its own; the held write is approved."""
    catalog = tools()
    worker = Worker(
        db=parts.db, journal=parts.journal, feed=parts.feed, shelf=Shelf({}), catalog=catalog,
        clock=parts.clock, name=protocol,
    )  # fmt: skip
    await parts.runtime.save_agent(ADMIN, agent(protocol, server))
    started = await parts.runtime.start_session(
        ADMIN, agent=f"task-{protocol}", message="Publish 1.0."
    )
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        working = group.create_task(worker.run())
        session = await _until_it_stands(parts, started.session_id)
        assert session.turn is not None
        (wait,) = session.turn.open_waits()
        await parts.runtime.decide(
            ADMIN, wait.id, "approve", digest=session.turn.calls[wait.effect_id].decided
        )
        session = await _until_it_stands(parts, started.session_id, is_over=True)
        working.cancel()
    await worker.close()
    found = await parts.db.read(
        lambda conn: journals.facts(conn, started.session_id, after=0, limit=10_000)
    )
    asked = tuple(
        (name, arguments)
        for name, item in sorted(catalog.tools.items())
        for arguments, _ in getattr(item, "calls", ())
    )
    return Played(protocol=protocol, session=session, facts=tuple(found), calls=asked)


async def _until_it_stands(parts: app.Parts, session_id: str, *, is_over: bool = False) -> Session:
    async with parts.feed.subscribe() as growth:
        while True:
            session = await parts.journal.session(session_id)
            assert session is not None
            assert session.turn is not None
            if session.turn.is_over or (session.turn.open_waits() and not is_over):
                return session
            await growth.get()


def journal(played: Played) -> list[tuple[str, Any]]:
    """The facts without what is each protocol's own; calls that ran side by side in one order."""
    found = [(fact.event.TYPE, _bare(vars(fact.event))) for fact in played.facts]
    return _in_order(found)


def _bare(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _bare(item) for name, item in value.items() if name not in _OWN}
    elif isinstance(value, list | tuple):
        return [_bare(item) for item in value]
    elif hasattr(value, "__dataclass_fields__"):
        return _bare(vars(value))
    return value


def _in_order(found: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Intents and outcomes of one moment may come in either order: sort each run of them."""
    ordered: list[tuple[str, Any]] = []
    run: list[tuple[str, Any]] = []
    for item in found:
        if item[0] in ("call.started", "call.succeeded"):
            run.append(item)
        else:
            ordered += [*sorted(run, key=repr), item]
            run = []
    return [*ordered, *sorted(run, key=repr)]


def table(played: Iterable[Played]) -> str:
    """One row a protocol, in Markdown."""
    head = ["protocol", "steps", "calls", "input", "cached", "to cache", "output", "thinking",
            "US$", "end"]  # fmt: skip
    rows = [head, ["---", *["--:"] * (len(head) - 2), "---"]]
    for one in played:
        turn = one.session.turn
        assert turn is not None
        usage = [f.event.usage for f in one.facts if isinstance(f.event, e.ModelReplied)]
        counts = [
            _sum(getattr(item, name) for item in usage)
            for name in ("input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens",
                         "reasoning_tokens")
        ]  # fmt: skip
        cost = f"{one.session.cost:.4f}" if one.session.cost_known else "unknown"
        rows.append(
            [one.protocol, str(turn.step), str(len(turn.calls)), *counts, cost, turn.status]
        )
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _sum(values: Iterable[int | None]) -> str:
    found = list(values)
    known = [value for value in found if value is not None]
    return f"{sum(known):,}" if len(known) == len(found) else "unknown"


async def main() -> str:
    """The table, made on a store of its own."""
    with tempfile.TemporaryDirectory() as folder, models() as server:
        environ = {"STUDIO_DATA": folder, "HOME": folder}
        settings = Settings.from_env(environ)
        app.migrate(settings)
        async with app.parts(settings) as parts:
            return table([await play(parts, server, protocol) for protocol in PROTOCOLS])


if __name__ == "__main__":
    sys.stdout.write(asyncio.run(main()) + "\n")
