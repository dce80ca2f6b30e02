"""A store that cannot be written for a while, under a whole studio in a process of its own.

One call is out, another is held, and a message is being written when the trouble begins. Nothing
of it is recorded, everybody is told so, and when it is over all goes on without a restart.
"""

import contextlib
import html
import os
import re
import resource
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from api_client import Client, Unavailable
from api_client.retry import Retries
from tests.live import Live, live
from tests.standins.receiver import Receiver, receiver

PATIENCE = 40.0
OUT_SECONDS = 3.0
TEXT = "a message that nobody wants to type twice"
RULES: list[Any] = [{"effect": "allow"}, {"effect": "ask", "tool": "pay"}]


def agent(url: str) -> dict[str, Any]:
    """An agent with a call that is held and one that takes a while; neither may be repeated."""
    tools = [
        {
            "name": name, "kind": "http", "description": "A tool.", "method": "POST",
            "url": f"{url}/slow/{pause}", "input": {"type": "object"}, "timeout": 30,
        }
        for name, pause in (("pay", 20), ("ship", int(OUT_SECONDS * 1000)))
    ]  # fmt: skip
    scripted = {"provider": "scripted", "name": "scripted"}
    return {
        "name": "helper", "description": "", "instructions": "", "model": scripted, "tools": tools,
    }  # fmt: skip


@dataclass
class Stage:
    """A studio in trouble: its process, its people, and what the outside world saw."""

    studio: Live
    client: Client
    browser: httpx.Client
    received: Receiver
    log: Path

    def starts(self, message: str) -> str:
        return str(self.client.sessions.start("helper", message=message)["session_id"])

    def types(self, session_id: str) -> list[str]:
        return [event["type"] for event in self.client.sessions.events(session_id)["items"]]

    def sent(self, tool: str) -> int:
        lines = self.received.lines()
        return sum(line["body"] == {"what": tool} for line in lines)

    def processor_seconds(self) -> float:
        words = Path(f"/proc/{self.studio.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def until(words: str, holds: Callable[[], object]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (found := holds()):
        assert time.monotonic() < deadline, f"waited too long for {words}"
        time.sleep(0.1)
    return found


# Troubles ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def full(stage: Stage) -> Iterator[None]:
    """Somebody else fills the file system to its last byte."""
    filler = stage.studio.data / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (64 * 1024, 4096, 1):
            with contextlib.suppress(OSError):
                while file.write(b"x" * size) == size:
                    pass
    yield
    filler.unlink()


@contextlib.contextmanager
def failing(stage: Stage) -> Iterator[None]:
    """No file of the process may grow: every write of the store fails."""
    process = stage.studio.process.pid
    before = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (4096, before[1]))
    yield
    resource.prlimit(process, resource.RLIMIT_FSIZE, before)


@contextlib.contextmanager
def locked(stage: Stage) -> Iterator[None]:
    """Another program, which knows nothing of our lock, writes into the file for a long time."""
    other = sqlite3.connect(stage.studio.data / "studio.db", isolation_level=None)
    with contextlib.closing(other):
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system of its own that holds 24 MiB."""
    folder = tmp_path / "data"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "studio-test", str(folder)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if made.returncode != 0:
        pytest.skip(f"no small file system can be mounted here: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@contextlib.contextmanager
def staged(folder: Path) -> Iterator[Stage]:
    """A studio with a call that is held and one that is out."""
    with (
        receiver(folder.parent) as received,
        live(folder, STUDIO_HTTP_ALLOW=received.url.partition("//")[2]) as studio,
        studio.client(retries=Retries(most=0)) as client,
        httpx.Client(base_url=studio.url, timeout=PATIENCE) as browser,
    ):
        client.agents.save("helper", agent(received.url))
        client.policy.save(RULES, version=client.policy.show()["version"])
        link = studio.run("login").stdout.strip()
        own = {"Origin": studio.url}
        browser.headers.update(own)
        assert browser.post(link).status_code == 303
        log = folder.parent / f"{folder.name}.log"
        yield Stage(studio=studio, client=client, browser=browser, received=received, log=log)


TROUBLES = {
    "full": (full, "store.full", "is full"),
    "failing": (failing, "store.io", "disk that holds the store failed"),
    "locked": (locked, "store.busy", "Another program holds the store"),
}


@pytest.mark.parametrize("kind", TROUBLES)
def test_a_store_that_cannot_be_written_loses_nothing_and_goes_on_by_itself(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    trouble, code, words = TROUBLES[kind]
    data = request.getfixturevalue("small_disk") if kind == "full" else tmp_path / "data"
    with staged(data) as stage:
        quiet = stage.starts("say hello")
        held = stage.starts('call pay {"what": "pay"}')
        out = stage.starts('call ship {"what": "ship"}\nthen\nsay shipped')
        wait = until("the hold", lambda: next(stage.client.approvals.list(session=held), None))
        card = stage.browser.get(f"/approvals/{wait['id']}").text
        form = {"decision": "approve", "whole": "true", "reason": ""} | hidden(card)
        until("the call to be out", lambda: stage.sent("ship"))

        with trouble(stage):
            refused_by_the_browser(stage, wait["id"], form, quiet, words)
            refused_for_a_program(stage, quiet, code)
            begun, said = stage.processor_seconds(), len(stage.log.read_text().splitlines())
            time.sleep(OUT_SECONDS)  # the answer of the call comes while nobody can record it
            assert stage.processor_seconds() - begun < OUT_SECONDS / 2, "it spins"
            assert len(stage.log.read_text().splitlines()) - said < 20, "it says it again and again"
            assert words in html.unescape(stage.browser.get("/sessions").text)
            assert stage.sent("pay") == 0

        until("the banner to go", lambda: words not in stage.browser.get("/sessions").text)
        assert stage.browser.post(f"/approvals/{wait['id']}/decision", data=form).status_code == 303
        sent = stage.browser.post(f"/sessions/{quiet}/messages", data={"text": f"say {TEXT}"})
        assert sent.status_code == 303
        for session_id in (held, out, quiet):
            until("the end", lambda s=session_id: stage.types(s)[-1] == "turn.completed")

        assert stage.studio.process.poll() is None
        assert (stage.sent("pay"), stage.sent("ship")) == (1, 1)
        assert not {"call.uncertain", "call.late", "model.uncertain"} & {
            kind for session_id in (held, out, quiet) for kind in stage.types(session_id)
        }
        assert stage.types(quiet).count("message.accepted") == 2


def hidden(page: str) -> dict[str, str]:
    """The token and the digest of the card's form."""
    found = re.findall(r'<input type="hidden" name="(token|digest)" value="([^"]*)"', page)
    return dict(found)


def refused_by_the_browser(
    stage: Stage, wait_id: str, form: dict[str, str], session_id: str, words: str
) -> None:
    """A click and a message are refused in words, and what was typed stands in the form."""
    decided = stage.browser.post(
        f"/approvals/{wait_id}/decision", data=form | {"reason": "it was checked"}
    )
    assert (decided.status_code, words in html.unescape(decided.text)) == (503, True)
    assert "it was checked" in decided.text

    for headers in ({}, {"HX-Request": "true"}):
        sent = stage.browser.post(
            f"/sessions/{session_id}/messages", data={"text": TEXT}, headers=headers
        )
        assert (sent.status_code, words in html.unescape(sent.text)) == (503, True)
        assert TEXT in re.search(r"<textarea.*?</textarea>", sent.text, re.DOTALL)[0]


def refused_for_a_program(stage: Stage, session_id: str, code: str) -> None:
    """The same for a program, which may still read."""
    with pytest.raises(Unavailable) as refused:
        stage.client.sessions.send(session_id, TEXT)
    assert refused.value.code == code
    assert stage.client.sessions.show(session_id)["session"]["id"] == session_id
