"""Plugin folders: what they bring, and in words what is wrong with them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from studio.core.packages import archive
from studio.core.packages import folder as folders
from studio.core.rules.errors import Invalid
from studio.core.tools import plugins
from studio.core.tools.plugins import Plugins

GOOD = {
    "name": "kit", "version": "1.2.0", "description": "Helps.",
    "servers": [{"name": "ledger", "transport": "stdio", "command": ["${python}", "x.py"]}],
    "skills": ["skills/notes"],
}  # fmt: skip
FRONT = "---\nname: notes\ndescription: Writes notes.\n---\nBody\n"


def write(folder: Path, manifest: Any = GOOD, front: str | None = FRONT) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    text = manifest if isinstance(manifest, str) else json.dumps(manifest)
    (folder / "plugin.json").write_text(text, "utf-8")
    if front is not None:
        (folder / "skills" / "notes").mkdir(parents=True, exist_ok=True)
        (folder / "skills" / "notes" / "SKILL.md").write_text(front, "utf-8")
    return folder


def test_a_plugin_brings_servers_and_skills(tmp_path):
    found = Plugins([write(tmp_path / "kit")]).get("kit")

    assert found is not None
    assert (found.version, found.described.description) == ("1.2.0", "Helps.")
    assert found.described.servers[0]["name"] == "ledger"
    assert [(skill.name, skill.description) for skill in found.described.skills] == [
        ("notes", "Writes notes.")
    ]


def test_a_folder_of_plugins_brings_them_all(tmp_path):
    write(tmp_path / "b", {**GOOD, "name": "b"})
    write(tmp_path / "a", {**GOOD, "name": "a"})
    (tmp_path / "empty").mkdir()

    found = Plugins([tmp_path, tmp_path / "missing"])

    assert [plugin.name for plugin in found.all()] == ["a", "b"]
    assert found.problems == {}


def test_a_broken_plugin_does_not_hide_the_others(tmp_path):
    write(tmp_path / "good")
    write(tmp_path / "bad", "{oops")

    found = Plugins([tmp_path])

    assert [plugin.name for plugin in found.all()] == ["kit"]
    assert "not JSON" in (found.problem("bad") or "")
    assert found.problem("good") is None


def test_the_second_of_one_name_is_left_out(tmp_path):
    write(tmp_path / "one")
    write(tmp_path / "two")

    assert "already" in (Plugins([tmp_path]).problem("two") or "")


def test_what_is_wrong_is_said_with_its_place(tmp_path):
    with pytest.raises(Invalid) as refused:
        plugins.read(write(tmp_path / "kit", {**GOOD, "name": "Kit"}, front="# no front\n"))

    assert set(refused.value.fields) == {"plugin.json: name", "skills/notes/SKILL.md"}


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    outside = write(tmp_path / "other")
    folder = write(tmp_path / "kit", {**GOOD, "skills": ["skills/link"]})
    (folder / "skills" / "link").symlink_to(outside / "skills" / "notes")

    with pytest.raises(Invalid) as refused:
        plugins.read(folder)

    assert "is a link" in refused.value.fields["skills/link"]


def test_what_package_managers_put_there_is_not_part_of_a_plugin_in_place(tmp_path):
    folder = write(tmp_path / "kit")
    before = plugins.read(folder)
    for path in ("node_modules/x/index.js", "__pycache__/x.pyc", ".git/config"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("x")

    assert plugins.read(folder).described.hash == before.described.hash


def test_a_folder_is_packed_the_same_each_time_and_with_its_links_refused(tmp_path):
    folder = write(tmp_path / "kit")

    data = folders.packed(folders.read(folder))

    assert data == folders.packed(folders.read(folder))
    assert archive.read(data) == folders.read(folder)
    (folder / "link").symlink_to("/etc/passwd")
    with pytest.raises(Invalid) as refused:
        folders.read(folder)
    assert "is a link" in refused.value.fields["link"]


def test_a_pipe_in_a_folder_is_refused_and_not_waited_for(tmp_path):
    folder = write(tmp_path / "kit")
    os.mkfifo(folder / "pipe")

    with pytest.raises(Invalid) as refused:
        plugins.read(folder)

    assert "a device or a pipe" in refused.value.fields["pipe"]


async def test_an_agent_is_told_why_there_is_no_such_plugin(tmp_path):
    write(tmp_path / "good")
    write(tmp_path / "bad", "{oops")
    found = Plugins([tmp_path])

    assert await found.find("none") == "There is no such plugin here."
    assert "not JSON" in str(await found.find("bad"))
    assert await found.find("kit@9") == "Its version 9 is not here; 1.2.0 is."
    assert not isinstance(await found.find("kit@1.2.0"), str)
    assert await found.skill("a" * 64) is None
