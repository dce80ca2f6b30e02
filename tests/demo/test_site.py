"""The demo's environment: a site that the agent works on, in a sandbox, with a held rm."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from api_client import Client
from tests.live import live

PATIENCE = 30.0
SKILL = 2  # files of the plugin's skill, which are staged on the disk
ANNOUNCE = "Announce 4.2.0 on the site."
pytestmark = pytest.mark.slow


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with live(tmp_path / "data", STUDIO_DEMO="on") as studio, studio.client() as found:
        yield found


def until(holds: Callable[[], Any]) -> Any:
    """What `holds` gives, once it is something."""
    end = time.monotonic() + PATIENCE
    while not (found := holds()):
        assert time.monotonic() < end, "It did not come to that."
        time.sleep(0.05)
    return found


def held(client: Client, session_id: str) -> Any:
    return next((w for w in client.approvals.list() if w["session_id"] == session_id), None)


def status(client: Client, session_id: str) -> str:
    return str(client.sessions.show(session_id)["session"]["status"])


def versions(client: Client) -> list[Any]:
    return list(client.environments.versions("demo-site"))


def test_the_site_is_changed_and_what_rm_would_take_waits_for_a_person(client: Client) -> None:
    session_id = client.sessions.start(
        "release-assistant", message=ANNOUNCE, environment="demo-site"
    )["session_id"]
    wait = until(lambda: held(client, session_id))
    assert wait["call"]["tool"] == "shell"
    card = client.approvals.show(wait["id"])
    assert card["approval"]["call"]["arguments"]["value"] == {"command": "rm -rv site/old"}
    client.approvals.decide(wait["id"], "approve", digest=card["approval"]["digest"])
    until(lambda: status(client, session_id) == "completed")

    new, old = until(lambda: [v for v in versions(client)] if len(versions(client)) == 2 else None)
    assert (old["reason"], new["reason"]) == ("setup", "turn")
    assert old["files"] == 4
    assert new["files"] == 4 + SKILL + 1  # a page more, one less, and the report


def test_denied_nothing_is_removed(client: Client) -> None:
    session_id = client.sessions.start(
        "release-assistant", message=ANNOUNCE, environment="demo-site"
    )["session_id"]
    wait = until(lambda: held(client, session_id))
    card = client.approvals.show(wait["id"])
    client.approvals.decide(
        wait["id"], "deny", digest=card["approval"]["digest"], reason="People link to them."
    )
    until(lambda: status(client, session_id) == "completed")

    new = until(lambda: versions(client)[0] if len(versions(client)) == 2 else None)
    assert new["files"] == 4 + SKILL + 1  # the new page, and nothing less
    said = [
        fact["payload"]["text"]["value"]
        for fact in client.sessions.events(session_id)["items"]
        if fact["type"] == "model.replied"
    ]
    assert said[-1].endswith("You said: People link to them.")
