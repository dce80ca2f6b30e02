"""What the README says of tree, settings and commands is so."""

import os
import re
from pathlib import Path

import pytest

from studio.settings import Settings
from tests import forked
from tests.forked import ROOT

README = (ROOT / "README.md").read_text("utf-8")
DOCUMENTS = sorted(ROOT.glob("docs/*.md"))


def section(title: str) -> str:
    """The text of a second-level section."""
    return README.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def tree() -> list[str]:
    """The paths that the tree names."""
    paths: list[str] = []
    stack: list[str] = []
    for line in section("The tree").split("```")[1].strip("\n").splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        stack[depth:] = [line.split()[0]]
        paths.append("".join(stack))
    return paths


@pytest.mark.parametrize("path", tree())
def test_the_tree_names_what_is_there(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_tree_names_every_room_of_the_core() -> None:
    rooms = {path.parent.name for path in (ROOT / "studio/core").glob("*/__init__.py")}

    assert {room for room in rooms if f"studio/core/{room}/" not in tree()} <= {"schemas"}


def test_every_setting_is_listed_with_its_default_and_sentence() -> None:
    listed = section("Settings")

    missing = [
        setting.name
        for setting in Settings.SETTINGS
        if f"`{setting.name}`" not in listed
        or setting.words not in listed
        or (setting.default and f"`{setting.default}`" not in listed)
    ]

    assert missing == []


def test_no_setting_is_listed_that_does_not_exist() -> None:
    names = set(re.findall(r"`((?:STUDIO|OTEL)_[A-Z_]+)`", section("Settings")))

    assert names == {setting.name for setting in Settings.SETTINGS}


def commands() -> list[list[str]]:
    """The commands of the terminal that the README names, one by one."""
    found: list[list[str]] = []
    for line in section("Commands").split("```")[1].strip().splitlines():
        words = re.split(r"\s{2,}", line.strip())[0].removeprefix("studio ")
        first, *rest = words.split(" | ")
        group = first.split()
        found += [group, *([*group[:-1], word] for word in rest)]
    return found


def test_the_commands_are_there() -> None:
    for command in commands():
        done = forked.run(forked.studio, *command, "--help", environ=os.environ)

        assert done.returncode == 0, f"studio {' '.join(command)}: {done.stderr}"
        assert "--json" in done.stdout


def test_make_knows_the_commands() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))

    assert set(re.findall(r"`?make ([a-z]+)", README)) - {"alone"} <= targets


@pytest.mark.parametrize("document", [ROOT / "README.md", *DOCUMENTS], ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text("utf-8"))

    broken = [link for link in links if "://" not in link and not (document.parent / link).exists()]

    assert broken == []
