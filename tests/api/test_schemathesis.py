"""Schemathesis, a stranger to this code, holds the running API to its own document."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from api_client import Client
from tests.live import Live, live

CONFIG = Path(__file__).with_name("schemathesis.toml")


HELPER = {
    "name": "helper", "description": "Helps.", "instructions": "Help.",
    "model": {"provider": "scripted", "name": "scripted"},
    "tools": [
        {"name": "notify", "kind": "http", "description": "Tell the team.", "method": "POST",
         "url": "http://127.0.0.1:9/notices", "input": {"type": "object"}},
    ],
}  # fmt: skip


@pytest.fixture
def studio(tmp_path: Path):
    """A running studio with an agent, an environment, and a session whose call is held."""
    folder = tmp_path / "data"
    folder.mkdir()
    with live(folder) as running:
        with running.client() as client:
            client.agents.save("helper", HELPER)
            client.environment_manifests.save("plain", {"name": "plain"})
            client.environments.make("desk", "plain")
            hold_a_call(client)
        yield running


def hold_a_call(client: Client) -> None:
    """A session that stands on an approval."""
    started = client.sessions.start("helper", message='call notify {"text": "hello"}')
    for event in client.sessions.follow(started["session_id"]):
        if event["type"] == "wait.opened":
            return


@pytest.mark.timeout(900)
@pytest.mark.slow
def test_the_api_does_what_its_document_says(studio: Live, tmp_path: Path):
    options = [
        "--checks", "all", "--max-examples", "4", "--generation-deterministic",
        "--exclude-operation-id", "revoke_key",  # it would revoke its own
        "--exclude-operation-id", "preview_server",  # it would start what it makes up
        "--exclude-operation-id", "put_plugin",  # it makes up no archives
        "--exclude-operation-id", "save_skill",
        "--phases", "coverage,fuzzing,stateful", "--workers", "1", "--continue-on-failure",
        "--no-color", "--header", f"Authorization: Bearer {studio.key}",
    ]  # fmt: skip

    done = subprocess.run(
        [str(Path(sys.executable).with_name("st")), "--config-file", str(CONFIG), "run",
         f"{studio.url}/v1/openapi.json", *options],
        capture_output=True, text=True, cwd=tmp_path, timeout=420, check=False,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )  # fmt: skip

    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
