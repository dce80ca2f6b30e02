"""Calls of an environment's tools as people read them, and only what is understood whole."""

from typing import Any

import pytest

from studio.web import commands


def said(chars: Any) -> str:
    return "".join(text for text, _, _ in chars)


def test_a_command_is_read_with_where_how_long_and_with_which_secrets() -> None:
    value = {"command": "make\nmake test", "cwd": "src", "seconds": 60, "secrets": ["TOKEN"]}
    found = commands.of("shell", value)

    assert found is not None
    assert [said(line) for line in found.parts[0].lines] == ["make", "make test"]
    assert [(name, said(value)) for name, value in found.facts] == [
        ("in", "src"), ("ended after", "60 s"), ("secret", "TOKEN"),
    ]  # fmt: skip


def test_what_is_hidden_in_a_command_is_marked() -> None:
    found = commands.of("shell", {"command": "rm \u202egnp.exe\r"})

    assert found is not None
    assert [code.split(" ")[0] for _, marked, code in found.parts[0].lines[0] if marked] == [
        "U+202E", "U+000D",
    ]  # fmt: skip


def test_an_edit_is_what_goes_and_what_comes() -> None:
    found = commands.of("edit", {"path": "a", "old": "x\n", "new": "y", "every": True})

    assert found is not None
    parts = [(part.change, [said(line) for line in part.lines]) for part in found.parts]
    assert parts == [("removed", ["x"]), ("added", ["y"])]
    assert found.parts[1].lines[0][-1] == commands.NO_END
    assert found.facts[0][0] == "replaces"


@pytest.mark.parametrize("text", ["", "\n", "a", "a\n", "a\n\n", "\na"])
def test_two_texts_are_never_shown_alike(text: str) -> None:
    others = {"", "\n", "a", "a\n", "a\n\n", "\na"} - {text}
    shown = {other: commands.of("write", {"path": "f", "text": other}) for other in others}

    assert commands.of("write", {"path": "f", "text": text}) not in shown.values()


@pytest.mark.parametrize(
    "tool, value",
    [
        ("shell", {}),
        ("shell", {"command": 1}),
        ("shell", {"command": "ls", "other": 1}),
        ("shell", {"command": "ls", "seconds": True}),
        ("shell", {"command": "ls", "secrets": [1]}),
        ("shell", {"command": "x" * (commands.MOST + 1)}),
        ("shell", ["ls"]),
        ("write", {"path": "a"}),
        ("edit", {"path": "a", "old": "b"}),
        ("read", {"path": "a"}),
        ("other", {"command": "ls"}),
    ],
)
def test_what_is_not_understood_whole_stays_a_tree(tool: str, value: Any) -> None:
    assert commands.of(tool, value) is None
