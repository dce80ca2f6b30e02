"""Plugin folders: what they bring, and in words what is wrong with them."""

import json
from pathlib import Path
from typing import Any

import pytest

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
    assert (found.version, found.description) == ("1.2.0", "Helps.")
    assert found.servers[0]["name"] == "ledger"
    assert [(skill.name, skill.description) for skill in found.skills] == [
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


@pytest.mark.parametrize(
    "change,words",
    [
        ({"name": "Kit"}, "is no name"),
        ({"name": None}, "“name” is missing"),
        ({"version": ""}, "“version” is missing"),
        ({"description": 3}, "“description” is missing"),
        ({"servers": {}}, "“servers” is a list"),
        ({"servers": [{}]}, "an object with a name"),
        ({"skills": "x"}, "“skills” is a list"),
        ({"skills": [3]}, "lists folders"),
        ({"skills": ["../outside"]}, "lies outside"),
        ({"skills": ["/etc"]}, "lies outside"),
        ({"skills": ["skills/none"]}, "SKILL.md cannot be read"),
    ],
)
def test_what_is_wrong_is_said_in_words(tmp_path, change, words):
    with pytest.raises(plugins.BadPlugin, match=words):
        plugins.read(write(tmp_path / "kit", {**GOOD, **change}))


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    outside = write(tmp_path / "other")
    folder = write(tmp_path / "kit", {**GOOD, "skills": ["skills/link"]})
    (folder / "skills" / "link").symlink_to(outside / "skills" / "notes")

    with pytest.raises(plugins.BadPlugin, match="lies outside"):
        plugins.read(folder)


@pytest.mark.parametrize("text", ["[]", "[" * 100_000, '"text"', "\x00"])
def test_what_is_no_object_is_no_plugin(tmp_path, text):
    with pytest.raises(plugins.BadPlugin):
        plugins.read(write(tmp_path / "kit", text))


def test_a_huge_file_is_not_read(tmp_path):
    with pytest.raises(plugins.BadPlugin, match="larger than"):
        plugins.read(write(tmp_path / "kit", " " * 300_000))


@pytest.mark.parametrize(
    "text,found",
    [
        (FRONT, {"name": "notes", "description": "Writes notes."}),
        ("---\nname: 'a: b'\nx: \"q\"\n---\n", {"name": "a: b", "x": "q"}),
        ("---\nd: >\n  two\n  lines\nn: 1\n---", {"d": "two lines", "n": "1"}),
        ("no front matter", {}),
        ("---\nname: never closed\n", {}),
        ("", {}),
    ],
)
def test_front_matter_is_read(text, found):
    assert plugins.front_matter(text) == found


def test_a_skill_without_a_description_is_no_skill(tmp_path):
    with pytest.raises(plugins.BadPlugin, match="“description” is missing"):
        plugins.read(write(tmp_path / "kit", front="---\nname: notes\n---\n"))
