"""Plugins and skills from their files: what they bring, and every fault with its place."""

import json

import pytest

from studio.core.packages import package
from studio.core.rules.errors import Invalid
from studio.core.rules.plugins import Requires
from tests.core.packages import zips


def described(**more: object) -> dict[str, bytes]:
    return zips.files(**more)


def with_skill(front: str | bytes, **more: object) -> dict[str, bytes]:
    raw = front.encode() if isinstance(front, str) else front
    return {**zips.files(**more), "skills/notes/SKILL.md": raw}


def server(**more: object) -> list[dict[str, object]]:
    return [{"name": "s", "transport": "stdio", "command": ["x"], **more}]


def without(path: str) -> dict[str, bytes]:
    return {name: data for name, data in zips.files().items() if name != path}


def fm(*lines: str) -> str:
    return "\n".join(["---", "name: notes", "description: Writes.", *lines, "---", "Body", ""])


SKILL = "skills/notes/SKILL.md"
WRONG = [
    (without("plugin.json"), "plugin.json", "is missing"),
    (zips.files("{oops"), "plugin.json", "is not JSON: line 1, column 2"),
    (zips.files('{"name": 1, "name": 2}'), "plugin.json", "name stands twice"),
    (zips.files("[" * 100_000), "plugin.json", "nested too deeply"),
    (zips.files('{"a": NaN}'), "plugin.json", "NaN is no JSON"),
    (zips.files("[]"), "plugin.json", "must be an object"),
    ({**zips.files(), "plugin.json": b"\xff{}"}, "plugin.json", "is not UTF-8: byte 0"),
    ({**zips.files(), "plugin.json": b" " * 300_000}, "plugin.json", "are allowed"),
    (described(name=None), "plugin.json: name", "is needed"),
    (described(version=None), "plugin.json: version", "is needed"),
    (described(description=None), "plugin.json: description", "is needed"),
    (described(description="   "), "plugin.json: description", "is empty"),
    (described(name="No Good"), "plugin.json: name", "small letter"),
    (described(name="a" * 64), "plugin.json: name", "1 to 63 characters"),
    (described(version="1 2"), "plugin.json: version", "such as 1.2.0"),
    (described(version="1" * 65), "plugin.json: version", "1 to 64 characters"),
    (described(description="x" * 1_025), "plugin.json: description", "1,024 characters"),
    (described(licence="MIT"), "plugin.json: licence", "is not a known field"),
    (described(homepage="javascript:alert(1)"), "plugin.json: homepage", "http or https"),
    (described(servers={}), "plugin.json: servers", "must be a list"),
    (described(servers=server(name="a__b")), "plugin.json: servers[0].name", "“__”"),
    (described(servers=server(name="studio")), "plugin.json: servers[0].name", "keeps for itself"),
    (described(servers=server(name="load_skill")), "plugin.json: servers[0].name", "keeps for"),
    (described(servers=server() * 2), "plugin.json: servers[1].name", "another server"),
    (described(servers=server(command=None)), "plugin.json: servers[0].command", "is needed"),
    (described(servers=server(command=["${plugin}/gone.py"])),
     "plugin.json: servers[0].command[0]", "no such file"),
    (described(servers=server(command=["${plugin}/../x"])),
     "plugin.json: servers[0].command[0]", "no such file"),
    (described(servers=[{"name": "s", "transport": "http", "url": "ftp://x"}]),
     "plugin.json: servers[0].url", "http or https"),
    (described(skills="skills/notes"), "plugin.json: skills", "must be a list"),
    (described(skills=["../notes"]), "plugin.json: skills[0]", "no folder inside"),
    (described(skills=["/notes"]), "plugin.json: skills[0]", "no folder inside"),
    (described(skills=["skills/notes", "skills/notes"]), "plugin.json: skills", "twice"),
    (described(skills=["skills/gone"]), "skills/gone/SKILL.md", "is missing"),
    ({**described(skills=["skills/notes", "b"]), "b/SKILL.md": zips.SKILL.encode()},
     "plugin.json: skills[1]", "second skill named notes"),
    (with_skill("# Notes\n"), SKILL, "has no front matter"),
    (with_skill("---\nname: notes\n"), SKILL, "has no front matter"),
    (with_skill(""), SKILL, "has no front matter"),
    (with_skill(b"\xff\xfe---\n"), SKILL, "is not UTF-8"),
    (with_skill("---\nname: a: b\n---\n"), SKILL, "is not YAML: line 2, column 8"),
    (with_skill("---\n- a\n---\n"), SKILL, "holds no fields"),
    (with_skill("---\nname: notes\nname: other\ndescription: x\n---\n"), SKILL, "key stands twice"),
    (with_skill("---\na: &a [x]\nb: *a\n---\n"), SKILL, "aliases"),
    (with_skill("---\nname: !!python/object/apply:os.system [x]\n---\n"), SKILL, "is not YAML"),
    (with_skill("---\n" + "[" * 5_000 + "\n---\n"), SKILL, "is not YAML"),
    (with_skill("---\nx: " + "y" * 40_000 + "\n---\n"), SKILL, "more than 32,768"),
    (with_skill("---\nname: notes\n---\n"), f"{SKILL}: description", "is needed"),
    (with_skill("---\ndescription: x\n---\n"), f"{SKILL}: name", "is needed"),
    (with_skill("---\nname: Big Name\ndescription: x\n---\n"), f"{SKILL}: name", "small letter"),
    (with_skill("---\nname: 12\ndescription: x\n---\n"), f"{SKILL}: name", "must be text"),
    (with_skill(fm("requires: all")), f"{SKILL}: requires", "must be an object"),
    (with_skill(fm("requires: {tool: [a]}")), f"{SKILL}: requires.tool", "not a known field"),
    (with_skill(fm("requires: {tools: a}")), f"{SKILL}: requires.tools", "must be a list"),
    (with_skill(fm("requires: {tools: [1]}")), f"{SKILL}: requires.tools[0]", "must be text"),
    (with_skill(fm("requires: {environment: moon}")), f"{SKILL}: requires.environment", "one of"),
    (with_skill(zips.SKILL.encode() + b"x" * 300_000), SKILL, "are allowed"),
]  # fmt: skip


@pytest.mark.parametrize("files,place,words", WRONG)
def test_what_is_wrong_is_told_with_its_place(files, place, words):
    with pytest.raises(Invalid) as refused:
        package.plugin(files)

    assert refused.value.code == "plugin.invalid"
    assert words in refused.value.fields[place]


def test_every_fault_is_told_at_once():
    files = {**described(name="NO", version=None, skills=["gone", "skills/notes"]), SKILL: b"oops"}

    with pytest.raises(Invalid) as refused:
        package.plugin(files)

    assert set(refused.value.fields) == {
        "plugin.json: name", "plugin.json: version", "gone/SKILL.md", SKILL,
    }  # fmt: skip


def test_a_plugin_brings_servers_and_skills():
    found = package.plugin(zips.files())

    assert (found.name, found.version, found.description) == ("kit", "1.2.0", "Helps.")
    assert [server["name"] for server in found.servers] == ["ledger"]
    assert [(s.name, s.place, s.files) for s in found.skills] == [("notes", "skills/notes", 2)]
    assert len(found.files) == 4


def test_a_hash_is_of_the_files_and_of_nothing_else():
    one, again = package.plugin(zips.files()), package.plugin(dict(reversed(zips.files().items())))
    other = package.plugin({**zips.files(), "x.py": b"other"})

    assert one.hash == again.hash != other.hash
    assert one.skills[0].hash == other.skills[0].hash


def test_a_skill_has_the_same_hash_alone_and_in_a_plugin():
    inside = package.plugin(zips.files()).skills[0]
    alone = {
        path.removeprefix("skills/notes/"): data
        for path, data in zips.files().items()
        if path.startswith("skills/notes/")
    }

    assert package.skill(alone).hash == inside.hash


def test_front_matter_is_yaml_with_what_other_programs_put_there():
    front = fm(
        "license: Apache-2.0", "allowed-tools: Bash Read", "made: 2026-01-31",
        "metadata: {author: Alice}", "requires:", "  tools: [publish_release]",
        "  servers: [ledger]", "  secrets: [TOKEN]", "  environment: true",
    )  # fmt: skip

    found = package.plugin(with_skill(front)).skills[0]

    assert found.license == "Apache-2.0"
    assert found.requires == Requires(
        tools=("publish_release",), servers=("ledger",), secrets=("TOKEN",), environment="any"
    )


def test_a_description_may_go_over_lines():
    front = "---\nname: notes\ndescription: >\n  Writes\n  notes.\n---\n"

    assert package.plugin(with_skill(front)).skills[0].description == "Writes notes."


def test_line_ends_and_a_mark_in_front_change_nothing_that_is_read():
    front = b"\xef\xbb\xbf" + zips.SKILL.replace("\n", "\r\n").encode()

    assert package.plugin(with_skill(front)).skills[0].name == "notes"


def test_a_plugin_may_bring_nothing_yet():
    files = {"plugin.json": json.dumps(
        {"name": "n", "version": "1", "description": "x"}).encode()}  # fmt: skip

    assert package.plugin(files).skills == ()
