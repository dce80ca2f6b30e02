"""Plugins: how agents name them and their skills, and how two of them differ."""

from dataclasses import replace
from typing import Any

import pytest

from studio.core.rules import plugin_changes, plugins
from studio.core.rules.plugins import File, Plugin, Requires, Skill

HASH = "a" * 64


def file(path: str, hash: str = HASH) -> File:
    return File(path=path, hash=hash, size=3)


def plugin(**more: Any) -> Plugin:
    base = Plugin(
        name="kit", version="1.0", description="Helps.", hash="1" * 64,
        servers=({"name": "ledger", "transport": "stdio", "command": ["python", "x.py"]},),
        skills=(Skill(name="notes", description="Writes.", hash=HASH, place="skills/notes"),),
        files=(file("plugin.json"), file("x.py"), file("skills/notes/SKILL.md")),
    )  # fmt: skip
    return replace(base, **more)


def words(old: Plugin | None, new: Plugin, tools: tuple[str, ...] = ()) -> list[str]:
    return [f"{c.kind}: {c.words}" for c in plugin_changes.changes(old, new, tools)]


def test_a_new_plugin_is_told_by_what_it_brings_and_reaches():
    http = {"name": "web", "transport": "http", "url": "https://x.example:8443/mcp"}

    found = words(None, plugin(servers=(http, *plugin().servers)))

    assert found == [
        "version: new plugin, version 1.0", "authority: reaches the host x.example:8443",
        "authority: starts python x.py", "server: brings the server web",
        "server: brings the server ledger", "skill: brings the skill notes",
    ]  # fmt: skip


def test_what_stays_the_same_is_no_change():
    assert words(plugin(), plugin()) == []


def test_a_version_that_stays_though_files_change_is_said():
    new = plugin(hash="2" * 64, files=(file("plugin.json"), file("x.py", "b" * 64)))

    assert words(plugin(), new) == [
        "version: the version stays 1.0 though its files change",
        "file: skills/notes/SKILL.md removed", "file: x.py changed",
    ]  # fmt: skip


def test_new_authority_is_said_by_host_command_and_secret():
    old = plugin(servers=({"name": "a", "transport": "http", "url": "https://old.example/"},))
    headers = {"Authorization": {"setting": "TOKEN"}}
    new = plugin(servers=(
        {"name": "a", "transport": "http", "url": "https://new.example/", "headers": headers},
        {"name": "b", "transport": "stdio", "command": ["curl", "x"]},
    ))  # fmt: skip

    assert words(old, new) == [
        "authority: newly reaches the host new.example",
        "authority: no longer reaches the host old.example",
        "authority: newly starts curl x",
        "authority: newly asks for the secret TOKEN",
        "server: server b added", "server: server a changes: url, headers",
    ]  # fmt: skip


def test_a_skill_that_asks_for_a_secret_asks_with_its_plugin():
    skill = replace(plugin().skills[0], requires=Requires(secrets=("TOKEN",)), hash="b" * 64)

    assert words(plugin(), plugin(skills=(skill,))) == [
        "authority: newly asks for the secret TOKEN",
        "skill: skill notes changes, and what it requires",
    ]


def test_tools_are_listed_anew_when_what_a_server_runs_changes():
    new = plugin(files=(file("plugin.json"), file("x.py", "b" * 64), plugin().files[2]))

    assert "tool: its tools are listed anew; last listed were: read, write" in words(
        plugin(), new, ("read", "write")
    )


def test_tools_stay_when_only_a_skill_changes():
    skill = replace(plugin().skills[0], hash="b" * 64)
    files = (*plugin().files[:2], file("skills/notes/SKILL.md", "b" * 64))

    assert words(plugin(), plugin(skills=(skill,), files=files), ("read",)) == [
        "skill: skill notes changes", "file: skills/notes/SKILL.md changed",
    ]  # fmt: skip


def test_many_files_are_counted():
    new = plugin(files=tuple(file(f"f{n:03}") for n in range(50)))

    assert words(plugin(), new)[-1] == "file: and 13 files more"


def test_a_skill_survives_json():
    skill = Skill(
        name="notes", description="x", hash=HASH, place="s", license="MIT", files=2, size=9,
        requires=Requires(tools=("a",), environment="any"),
    )  # fmt: skip

    assert plugins.skill_of(plugins.skill_data(skill)) == skill
    assert skill.label == "notes@aaaaaaaaaaaa"


def test_the_hash_of_a_tree_is_that_of_its_list_whatever_the_order():
    assert plugins.tree_hash([file("a"), file("b")]) == plugins.tree_hash([file("b"), file("a")])
    assert plugins.files_of(plugins.listing([file("a")])) == (file("a"),)


@pytest.mark.parametrize(
    "text,fault",
    [
        ("kit", None), ("kit@1.2.0", None), ("kit@1.2.0-rc.1+5", None), ("Kit", "is not the name"),
        ("kit@", "names no version"), ("kit@a b", "names no version"), ("@1", "is not the name"),
    ],
)  # fmt: skip
def test_a_plugin_is_named_with_a_version_or_without(text, fault):
    found = plugins.reference_fault(text)

    assert (found is None) if fault is None else fault in (found or "")


@pytest.mark.parametrize(
    "text,good",
    [
        ("notes", True), ("kit/notes", True), (f"notes@{HASH}", True), ("a/b/c", False),
        ("notes@abc", False), ("Notes", False), ("kit/", False), (f"@{HASH}", False),
    ],
)  # fmt: skip
def test_a_skill_is_named_by_name_plugin_or_hash(text, good):
    assert (plugins.skill_fault(text) is None) == good
