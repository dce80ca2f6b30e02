"""A running studio for the commands to ask, with one agent whose only tool is held."""

from collections.abc import Iterator
from typing import Any

import pytest

from api_client.shapes import Approval
from tests.live import Live, live

HELPER: dict[str, Any] = {
    "name": "helper", "description": "Helps.", "instructions": "Help.",
    "model": {"provider": "scripted", "name": "scripted"},
    "tools": [
        {"name": "notify", "kind": "http", "description": "Tell the team.", "method": "POST",
         "url": "http://127.0.0.1:9/notices", "input": {"type": "object"}},
    ],
}  # fmt: skip


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """One for all tests of the commands; each works in a session of its own."""
    with live(tmp_path_factory.mktemp("cli") / "data") as running:
        with running.client() as client:
            client.agents.save("helper", HELPER)
        yield running


@pytest.fixture
def held(studio: Live) -> Approval:
    """A call that waits for a person."""
    return hold(studio, 'call notify {"text": "hello"}')


def hold(studio: Live, message: str) -> Approval:
    """What a message makes the helper wait for."""
    with studio.client() as client:
        session_id = client.sessions.start("helper", message=message)["session_id"]
        for event in client.sessions.follow(session_id):
            assert not event["type"].startswith("turn.c"), "the turn ended and nothing was held"
            if event["type"] == "wait.opened":
                break
        return next(client.approvals.list(session=session_id))
