"""A real model answers: `make test-real-model`. Skipped unless that set one up."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from studio import app
from studio.core.providers.shelf import Shelf
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.store import facts as journals
from studio.core.worker import Worker
from studio.settings import Settings
from tests.fakes import FakeCatalog

PYTHON = os.environ.get("STUDIO_REAL_MODEL", "")
PATIENCE = 180.0
ADMIN = Person(id="alice", role="admin", via="key")
PATHS = {"chat": "/v1", "openai": "/v1", "anthropic": ""}

pytestmark = pytest.mark.skipif(not PYTHON, reason="no real model; make test-real-model has one")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    command = [PYTHON, str(Path(__file__).with_name("serve.py"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().decode().strip()
        finally:
            process.kill()


@pytest.fixture
async def parts(tmp_path: Path) -> AsyncIterator[app.Parts]:
    settings = Settings.from_env({"STUDIO_DATA": str(tmp_path), "HOME": str(tmp_path)})
    app.migrate(settings)
    async with app.parts(settings) as built:
        yield built


@pytest.mark.parametrize("provider", PATHS)
async def test_a_real_model_answers_a_message(
    parts: app.Parts, address: str, provider: str
) -> None:
    model = {
        "provider": provider, "name": "smollm2", "base_url": f"{address}{PATHS[provider]}",
        "timeout": PATIENCE, "max_output": 32, "context_window": 2048,
    }  # fmt: skip
    agent = {"name": "tiny", "instructions": "Answer in one short sentence.", "model": model}
    await parts.runtime.save_agent(ADMIN, agent)
    worker = Worker(
        db=parts.db, journal=parts.journal, feed=parts.feed, shelf=Shelf({}),
        catalog=FakeCatalog(), clock=parts.clock, name="one",
    )  # fmt: skip

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        working = group.create_task(worker.run())
        started = await parts.runtime.start_session(
            ADMIN, agent="tiny", message="What is the capital of France?"
        )
        await _over(parts, started.session_id)
        working.cancel()
    await worker.close()

    found = await parts.db.read(
        lambda conn: journals.facts(conn, started.session_id, after=0, limit=1_000)
    )
    (replied,) = [fact.event for fact in found if isinstance(fact.event, e.ModelReplied)]
    sys.stdout.write(f"\n{provider}: {replied.text.value!r} {replied.usage}\n")
    assert "Paris" in replied.text.value
    assert (replied.usage.input_tokens or 0) > 10
    assert (replied.usage.output_tokens or 0) > 3
    assert replied.usage.cost is None


async def _over(parts: app.Parts, session_id: str) -> None:
    async with parts.feed.subscribe() as growth:
        while True:
            session = await parts.journal.session(session_id)
            if session is not None and session.turn is not None and session.turn.is_over:
                assert session.status == "completed", session.turn.code
                return
            await growth.get()
