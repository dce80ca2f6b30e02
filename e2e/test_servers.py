"""Servers that others wrote, driven through the studio: a plugin's, its badge on each call."""

import json
import os
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import expect

from e2e.acts import approve, begin, card, ends, look, same_as_reloaded, visit
from e2e.conftest import SignIn
from e2e.studio import Studio, until
from e2e.test_accessibility import is_accessible
from tests.outside import node

PLUGIN, VERSION = "outside-kit", "1.2.3"
AGENT = "outsider"
BADGE = f"{PLUGIN} {VERSION}"


@dataclass(frozen=True, kw_only=True)
class Outside:
    """A studio with both servers, and the folder that one of them may write to."""

    studio: Studio
    root: Path
    files: Path


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    base = tmp_path_factory.mktemp("outside").resolve()
    root, plugins = base / "root", base / "plugins" / PLUGIN
    root.mkdir()
    plugins.mkdir(parents=True)
    files = node.package("server-filesystem") / "dist" / "index.js"
    program = node.node()
    everything = node.package("server-everything") / "dist" / "index.js"
    described = {
        "name": PLUGIN, "version": VERSION, "description": "Servers that others wrote.",
        "servers": [
            {"name": "everything", "transport": "stdio",
             "command": [program, str(everything), "stdio"]},
            {"name": "files", "transport": "stdio", "command": [program, str(files), str(root)]},
        ],
    }  # fmt: skip
    (plugins / "plugin.json").write_text(json.dumps(described))
    with Studio.new(STUDIO_PLUGINS=str(plugins)) as studio:
        studio.api.agents.save(AGENT, {
            "name": AGENT, "instructions": "Use the servers.", "plugins": [PLUGIN],
            "model": {"provider": "scripted", "name": "scripted"},
        })  # fmt: skip
        yield Outside(studio=studio, root=root, files=files)


def test_calls_of_a_foreign_server_run_with_the_badge_of_their_plugin(
    outside: Outside, sign_in: SignIn
) -> None:
    page = sign_in(outside.studio)
    message = "\n".join([
        'call echo {"message": "ahoj"}', 'call get-sum {"a": 2, "b": 40}', "call get-tiny-image {}",
        "then", "say All three are back.",
    ])  # fmt: skip

    session = begin(outside.studio, message, agent=AGENT, title="Three calls")
    visit(page, outside.studio, session)

    ends(outside.studio, session)
    line = page.locator("#timeline").locator(".call").filter(has_text="get-sum")
    expect(line).to_contain_text(BADGE)
    expect(line).to_contain_text("everything")
    line.locator("summary").first.click()
    expect(line).to_contain_text("42")
    image = page.locator("#timeline").locator(".call").filter(has_text="get-tiny-image")
    image.locator("summary").first.click()
    expect(image).to_contain_text("image")


def test_progress_is_shown_on_the_running_call(outside: Outside, sign_in: SignIn) -> None:
    page = sign_in(outside.studio)
    message = 'call trigger-long-running-operation {"duration": 6, "steps": 6}\nthen\nsay Over.'

    session = begin(outside.studio, message, agent=AGENT, title="A long one")
    visit(page, outside.studio, session)

    expect(page.locator("#timeline")).to_contain_text(re.compile(r"\d of 6"))
    ends(outside.studio, session)


def test_a_write_is_held_and_its_file_is_there_once_approved(
    outside: Outside, sign_in: SignIn
) -> None:
    page, target = sign_in(outside.studio), outside.root / "note.txt"
    given = json.dumps({"path": str(target), "content": "written by hand"})
    read = json.dumps({"path": str(target)})
    message = f"call write_file {given}\nthen\ncall read_text_file {read}\nthen\nsay Read again."
    session = begin(outside.studio, message, agent=AGENT, title="A note")
    visit(page, outside.studio, session)
    held = card(page, "write_file")
    expect(held).to_contain_text(BADGE)
    expect(held).to_contain_text("written by hand")
    assert not target.exists()

    approve(held)

    ends(outside.studio, session)
    assert target.read_text() == "written by hand"
    line = page.locator("#timeline").locator(".call").filter(has_text="read_text_file")
    line.locator("summary").first.click()
    expect(line).to_contain_text("written by hand")


def test_a_server_that_is_killed_comes_back(outside: Outside, sign_in: SignIn) -> None:
    page, studio = sign_in(outside.studio), outside.studio
    listed = f"call list_directory {json.dumps({'path': str(outside.root)})}\nthen\nsay Listed."
    ends(studio, begin(studio, listed, agent=AGENT))

    (pid,) = until(lambda: processes(outside), what="the server")
    os.kill(pid, signal.SIGKILL)
    session = begin(studio, listed, agent=AGENT)

    ends(studio, session)
    assert processes(outside) not in ([], [pid])
    look(page, studio, "/servers")
    row = page.locator("#servers tr").filter(has_text="server-filesystem")
    expect(row).to_contain_text("up")
    expect(row).to_contain_text(BADGE)
    expect(row).to_contain_text(AGENT)
    same_as_reloaded(page)


def test_a_look_shows_what_a_server_would_bring(outside: Outside, sign_in: SignIn) -> None:
    page = sign_in(outside.studio)
    look(page, outside.studio, "/servers")
    page.get_by_label("Command or address").fill(f"{node.node()} {outside.files} {outside.root}")
    page.get_by_role("button", name="Look").click()
    expect(page.get_by_text("Nothing was started yet")).to_be_visible()

    page.get_by_role("button", name="Start it and look").click()

    expect(page.get_by_role("heading", name="What it would bring")).to_be_visible()
    tool = page.locator("article").filter(
        has=page.get_by_role("heading", name="write_file", exact=True)
    )
    expect(tool).to_contain_text("held")
    expect(tool).to_contain_text("content")
    is_accessible(page)
    page.keyboard.press("g")
    page.keyboard.press("v")
    expect(page.get_by_role("heading", name="Servers", level=1)).to_be_visible()


def processes(outside: Outside) -> list[int]:
    """The file server's processes of this studio."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if str(outside.files).encode() in words and str(outside.root).encode() in words:
            found.append(int(path.parent.name))
    return found
