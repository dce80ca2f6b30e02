"""Files in the browser: attached, seen, given to the model once, referred to later; refused."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import expect

from e2e.acts import same_as_reloaded, visit
from e2e.browser import axe_source
from e2e.conftest import SignIn
from e2e.studio import Studio, until

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
NOTES = b"# Notes\nThe release is on Friday.\n"


class Model(ThreadingHTTPServer):
    """A chat model that says that it saw, and remembers what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.asked: list[Any] = []


class Answering(BaseHTTPRequestHandler):
    """One answer, as a stream of chat completions."""

    def do_POST(self) -> None:
        assert isinstance(self.server, Model)
        self.server.asked.append(
            json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
        )
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for delta, end in (({"role": "assistant", "content": "I saw it."}, None), ({}, "stop")):
            choice = {"index": 0, "delta": delta, "finish_reason": end}
            chunk = {
                "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                "choices": [choice],
            }  # fmt: skip
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def model() -> Iterator[Model]:
    with Model() as found:
        serving = threading.Thread(target=found.serve_forever)
        serving.start()
        yield found
        found.shutdown()
        serving.join()


def agent(studio: Studio, model: Model, *reads: str) -> str:
    """A session of an agent whose model reads these kinds."""
    name = f"reader-{'-'.join(reads)}"
    url = f"http://127.0.0.1:{model.server_address[1]}/v1"
    chat = {"provider": "chat", "name": "m", "base_url": url, "reads": list(reads)}
    studio.api.agents.save(name, {"name": name, "instructions": "Look.", "model": chat})
    return str(studio.api.sessions.start(name, title="Files")["session_id"])


def test_two_files_are_seen_and_given_to_the_model_once(
    studio: Studio, sign_in: SignIn, model: Model
) -> None:
    session_id = agent(studio, model, "text", "image")
    page = sign_in(studio)
    visit(page, studio, session_id)
    page.set_input_files(
        "[data-pick]",
        [
            {"name": "pixel.png", "mimeType": "image/png", "buffer": PIXEL},
            {"name": "notes.md", "mimeType": "text/markdown", "buffer": NOTES},
        ],
    )
    expect(page.locator("#composer .file[data-state=kept]")).to_have_count(2)
    page.fill("#composer-text", "What is this?")
    page.get_by_role("button", name="Send", exact=True).click()

    expect(page.locator("#timeline .file__name")).to_have_text(["pixel.png", "notes.md"])
    expect(page.locator("#timeline")).to_contain_text("Turn 1 completed")
    same_as_reloaded(page)
    (content,) = [message["content"] for message in model.asked[0] if message["role"] == "user"]
    said = json.dumps(content)
    assert base64.b64encode(PIXEL).decode() in said
    assert "The release is on Friday." in said

    page.fill("#composer-text", "And now?")
    page.get_by_role("button", name="Send", exact=True).click()
    until(lambda: len(model.asked) == 2, what="a second request")
    said = json.dumps(model.asked[1])
    assert base64.b64encode(PIXEL).decode() not in said
    assert "read_artifact to view" in said
    assert "Friday" not in said


def test_a_file_the_model_does_not_read_keeps_the_text(
    studio: Studio, sign_in: SignIn, model: Model
) -> None:
    session_id = agent(studio, model, "text")
    page = sign_in(studio)
    visit(page, studio, session_id)
    page.set_input_files(
        "[data-pick]", [{"name": "pixel.png", "mimeType": "image/png", "buffer": PIXEL}]
    )
    expect(page.locator("#composer .file[data-state=kept]")).to_have_count(1)
    page.fill("#composer-text", "What is this?")
    page.get_by_role("button", name="Send", exact=True).click()

    expect(page.locator("#composer")).to_contain_text("does not read images")
    expect(page.locator("#composer-text")).to_have_value("What is this?")
    expect(page.locator("#composer .file__name")).to_have_text(["pixel.png"])
    assert model.asked == []
    page.get_by_role("button", name="Remove pixel.png").click()
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("#timeline")).to_contain_text("Turn 1 completed")


def test_files_go_along_without_scripts(studio: Studio, sign_in: SignIn, model: Model) -> None:
    session_id = agent(studio, model, "text", "image")
    page = sign_in(studio, java_script_enabled=False)
    page.goto(f"{studio.url}/sessions/{session_id}")
    page.set_input_files(
        "input[name=files]", [{"name": "notes.md", "mimeType": "", "buffer": NOTES}]
    )
    page.fill("#composer-text", "Read it.")
    page.get_by_role("button", name="Send", exact=True).click()

    expect(page.locator("#timeline .file__name")).to_have_text(["notes.md"])
    until(lambda: model.asked, what="a request")
    assert "The release is on Friday." in json.dumps(model.asked[0])


def test_pages_with_files_pass_axe(studio: Studio, sign_in: SignIn, model: Model) -> None:
    session_id = agent(studio, model, "text", "image")
    studio.api.artifacts.save(session_id, PIXEL, name="pixel.png")
    saved = studio.api.artifacts.save(session_id, NOTES, name="docs/notes.md")
    page = sign_in(studio)

    for path in (
        f"/sessions/{session_id}?panel=artifacts", f"/artifacts/{saved['artifact_id']}",
        "/sessions/new",
    ):  # fmt: skip
        page.goto(studio.url + path)
        page.evaluate(axe_source())
        found = page.evaluate("axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag22aa']})")
        faults = [(item["id"], item["nodes"][0]["html"]) for item in found["violations"]]
        assert faults == [], path
