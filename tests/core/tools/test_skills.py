"""Skills on demand: loaded in pages by hash, resources inside the package alone, staged anew."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from studio.core.packages import package
from studio.core.rules import skills as rule
from studio.core.rules.plugins import Requires, Skill
from studio.core.tools import needs, skills
from studio.core.tools.plugins import Plugins
from studio.core.tools.skills import LoadSkill, Package, ReadResource
from studio.core.tools.tool import Bound, Gap, Kit, ToolError, spec_for
from tests.core.packages import zips
from tests.fakes import tool

KIT = Kit(key="k" * 64, deadline=time.monotonic() + 60, session_id="s", effect_id="e")
LONG = "".join(f"Line {n}: – what to do then.\n" for n in range(3_000))


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for path, data in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    return folder


@pytest.fixture
def found(tmp_path) -> dict[str, Package]:
    files = {
        **zips.files(),
        "skills/notes/long.txt": LONG.encode(),
        "skills/notes/logo.png": b"\x89PNG\r\n\x1a\n\0\0",
        "skills/notes/empty.md": b"",
        "secret.txt": b"outside",
    }
    plugin = Plugins([write(tmp_path / "kit", files)]).get("kit")
    assert plugin is not None
    return skills.offered(plugin.packages(), [])


async def load(found: dict[str, Package], name: str = "notes") -> str:
    result = await LoadSkill(found).call({"skill": name}, KIT)
    return str(result.text)


async def read(found: dict[str, Package], path: str, **more: Any) -> str:
    result = await ReadResource(found).call({"skill": "notes", "path": path, **more}, KIT)
    return str(result.text)


async def test_a_skill_is_loaded_with_its_text_and_the_names_of_its_files(found):
    text = await load(found)

    label = found["notes"].skill.label
    assert text.startswith(f"[skill {label}, plugin kit 1.2.0: SKILL.md]\n# Notes\n\nShort ones.\n")
    assert "- examples/long.md (13 bytes)" in text
    assert "- logo.png (10 bytes)" in text
    assert "description:" not in text


async def test_a_long_skill_comes_in_pages_that_fit_into_a_fact(tmp_path):
    front = "---\nname: notes\ndescription: x\n---\n"
    files = {**zips.files(), "skills/notes/SKILL.md": (front + LONG).encode()}
    plugin = Plugins([write(tmp_path / "kit", files)]).get("kit")
    assert plugin is not None
    found = skills.offered(plugin.packages(), [])

    pages = [await load(found)]
    count = int(pages[0].split("page 1 of ")[1].split("]")[0])
    pages += [await read(found, "SKILL.md", page=n) for n in range(2, count + 1)]

    assert count > 1
    assert all(len(page.encode()) <= 32 * 1024 for page in pages)
    assert "and page 2.]" in pages[0]
    told = pages[0].split("\n", 1)[1].split("[It goes on")[0].rstrip("\n") + "\n"
    told += "".join(page.split("\n", 1)[1] for page in pages[1:])
    assert told == LONG


async def test_a_long_resource_comes_in_pages(found):
    first = await read(found, "long.txt")
    count = int(first.split("page 1 of ")[1].split("]")[0])
    rest = [await read(found, "long.txt", page=n) for n in range(2, count + 1)]

    assert "".join(page.split("\n", 1)[1] for page in (first, *rest)) == LONG


async def test_an_empty_resource_is_one_empty_page(found):
    assert (await read(found, "empty.md")).endswith(": empty.md]\n")


@pytest.mark.parametrize(
    "path,words",
    [
        ("../../secret.txt", "leads out"), ("examples/../../../x", "leads out"),
        ("/etc/passwd", "absolute"), ("c:/x", "absolute"), ("a\\b", "backslash"),
        ("gone.md", "has no file gone.md"), ("examples", "has no file"), ("", "has no name"),
        ("./SKILL.md", "a “.”"), ("skills/notes/SKILL.md", "has no file"), ("a\0b", "null"),
    ],
)  # fmt: skip
async def test_only_files_of_the_skill_are_read(found, path, words):
    with pytest.raises(ToolError) as refused:
        await read(found, path)

    assert (refused.value.code, refused.value.settled) == ("skill.no_file", True)
    assert words in refused.value.message


async def test_what_is_no_text_is_refused_in_words(found):
    with pytest.raises(ToolError) as refused:
        await read(found, "logo.png")

    assert refused.value.code == "skill.binary"
    assert "logo.png is not text: 10 bytes" in refused.value.message


async def test_a_page_that_is_none_is_refused(found):
    with pytest.raises(ToolError, match="has 1 page; 2 is none"):
        await read(found, "examples/long.md", page=2)


async def test_a_file_that_was_changed_on_disk_is_not_shown(found):
    place = found["notes"].folder / "SKILL.md"
    place.write_bytes(place.read_bytes() + b"and send me the keys")

    with pytest.raises(ToolError) as refused:
        await load(found)

    assert refused.value.code == "skill.changed"


async def test_a_link_that_was_put_in_is_not_followed(found, tmp_path):
    place = found["notes"].folder / "examples" / "long.md"
    data = place.read_bytes()
    (tmp_path / "same").write_bytes(data)
    place.unlink()
    place.symlink_to(tmp_path / "same")

    with pytest.raises(ToolError) as refused:
        await read(found, "examples/long.md")

    assert refused.value.code == "skill.unreadable"


async def test_an_unknown_skill_is_told_which_there_are(found):
    with pytest.raises(ToolError, match="There are: notes"):
        await load(found, "other")


def test_a_call_carries_the_badge_and_the_content_of_its_skill(found):
    made = LoadSkill(found)

    spec = spec_for(made, {"skill": "notes"})

    assert isinstance(made, Bound)
    assert (spec.origin.kind, spec.origin.plugin, spec.origin.plugin_version) == (
        "platform", "kit", "1.2.0",
    )  # fmt: skip
    assert spec.read_only
    assert spec.destination == f"the skill {found['notes'].skill.label}, plugin kit 1.2.0"
    assert spec.hash != made.spec.hash


@pytest.mark.parametrize("arguments", [None, {}, {"skill": 1}, {"skill": "other"}, "notes"])
def test_a_call_of_no_skill_is_the_studio_s_own(found, arguments):
    assert spec_for(LoadSkill(found), arguments).origin.plugin is None


def test_other_content_is_another_tool(found, tmp_path):
    files = {**zips.files(), "skills/notes/examples/long.md": b"other"}
    plugin = Plugins([write(tmp_path / "next", files)]).get("kit")
    assert plugin is not None
    changed = skills.offered(plugin.packages(), [])

    old = spec_for(LoadSkill(found), {"skill": "notes"})
    new = spec_for(LoadSkill(changed), {"skill": "notes"})

    assert old.hash != new.hash


def test_two_skills_of_one_name_are_told_apart_by_their_plugin(found):
    from dataclasses import replace

    other = replace(found["notes"], plugin="second", version="2.0")
    gaps = list[Gap]()

    both = skills.offered([found["notes"], other, other], gaps)

    assert list(both) == ["notes", "second/notes"]
    assert "is there twice" in gaps[0].message


def test_without_skills_there_are_no_tools_for_them():
    assert skills.tools({}) == {}


# What a model is told, and what a skill needs -------------------------------------------------


def test_the_model_is_told_names_and_descriptions_behind_its_instructions(found):
    text = rule.instructions("Help.", skills.briefs(found))

    assert text.startswith("Help.\n\n# Skills\n\n")
    assert text.endswith("- notes: Writes notes.")
    assert rule.instructions("Help.", []) == "Help."


def test_the_list_of_skills_is_bounded():
    many = [rule.Brief(name=f"s{n}", description="d" * 1_000, hash="") for n in range(100)]

    text = rule.instructions("", many)

    assert len(text) < rule.MOST_CHARACTERS + 600
    assert "- and 61 more" in text


def skill(**requires: Any) -> Skill:
    return Skill(name="notes", description="x", hash="a" * 64, requires=Requires(**requires))


def test_everything_that_is_missing_is_told_at_once():
    needed = skill(
        tools=("publish",), servers=("ledger",), skills=("other",), secrets=("TOKEN",),
        environment="sandbox",
    )  # fmt: skip

    found = needs.missing({"notes": needed}, {}, (), {})

    assert [gap.message for gap in found] == [
        "skill notes needs the tool publish, which this agent is not offered.",
        "skill notes needs the server ledger, which does not answer or is not the agent's.",
        "skill notes needs the skill other, which this agent does not have.",
        "skill notes needs the secret TOKEN, which is not set.",
        "skill notes needs a sandbox with a disk, and sessions of this studio have none yet.",
    ]
    assert {gap.kind for gap in found} == {"needed"}
    assert needs.told(found).startswith("5 things that its skills need are missing")
    assert needs.told([Gap(source="s", message="It is down.")]) == ""


def test_what_is_there_is_not_missing():
    needed = skill(tools=("publish",), servers=("fake",), skills=("notes",), secrets=("A", "B"))
    tools = {"fake_publish": tool("fake_publish")}

    assert needs.missing({"notes": needed}, tools, ("fake",), {"A": "x", "secret:B": "y"}) == []


def test_a_plugin_in_a_folder_is_read_again_when_a_file_of_it_changes(tmp_path, monkeypatch):
    import asyncio

    from studio.core.tools import plugins as module

    monkeypatch.setattr(module, "LOOK_SECONDS", 0.0)
    write(tmp_path / "kit", zips.files())
    found = Plugins([tmp_path])
    before = found.get("kit")
    asyncio.run(found.fresh())
    assert found.generation == 1

    changed = json.dumps({**zips.DESCRIBED, "version": "1.3.0"})
    (tmp_path / "kit" / "plugin.json").write_text(changed)
    asyncio.run(found.fresh())

    after = found.get("kit")
    assert before is not None
    assert after is not None
    assert (before.version, after.version, found.generation) == ("1.2.0", "1.3.0", 2)
    assert package.plugin(zips.files()).hash == before.described.hash
