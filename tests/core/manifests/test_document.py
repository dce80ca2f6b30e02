"""Manifests as text: what is read, what is refused and where."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.core import manifests
from studio.core.rules.errors import Invalid

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | WORDS
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=15,
)  # fmt: skip


def refused(text: str, format: manifests.Format) -> tuple[str, str, int | None]:
    """The path, the sentence and the line of the one fault."""
    with pytest.raises(Invalid) as raised:
        manifests.read(text, format=format)
    ((path, words),) = raised.value.fields.items()
    return path, words, raised.value.details["lines"].get(path)


@given(st.dictionaries(WORDS, VALUES, max_size=5))
def test_what_is_written_is_read_again(value: dict[str, Any]) -> None:
    for format in ("json", "yaml"):
        text = manifests.write(value, format)  # type: ignore[arg-type]

        assert manifests.read(text, format=format).value == value  # type: ignore[arg-type]


@given(VALUES)
def test_any_json_is_read_as_json(value: Any) -> None:
    assert manifests.read(json.dumps(value), format="json").value == value


YAML = """name: writer
model:
  provider: scripted
tools:
  - name: first

  - name: second
    url: "http://a.example"
instructions: |
  Two
  lines
"""


def test_every_field_of_yaml_has_its_line() -> None:
    read = manifests.read(YAML)

    assert read.format == "yaml"
    assert read.value["instructions"] == "Two\nlines\n"
    places = ("name", "model.provider", "tools[1].url", "instructions", "tools[1]")
    assert [read.line(place) for place in places] == [1, 3, 8, 9, 7]


def test_every_field_of_json_has_its_line() -> None:
    text = '{\n "name": "a {[,:\\" b",\n "tools": [\n  {"x": 1},\n  {"y": [\n 2]}\n ]}'

    read = manifests.read(text)

    places = ("name", "tools", "tools[0].x", "tools[1].y", "tools[1].y[0]")
    assert read.format == "json"
    assert [read.line(place) for place in places] == [2, 3, 4, 5, 6]


def test_a_field_that_is_missing_stands_where_it_should() -> None:
    assert manifests.read(YAML).line("model.name") == 2
    assert manifests.read(YAML).line("colour") == 1
    assert manifests.read(YAML).located({"model.key": "is needed."}) == {"model.key": 2}


def test_words_that_yaml_is_feared_for_are_text_and_said_to_be() -> None:
    read = manifests.read(
        "a: no\nb: 2026-11-29\nc: 1:30\nd: 0o17\ne: 017\nf: True\ng: ~\nh: 1e3\ni: 'no'\nj: on\n"
        "k: 1_000\nl: 12:30:45\nm: !!str 1\n".replace("m: !!str 1\n", "")
    )

    assert read.value == {
        "a": "no", "b": "2026-11-29", "c": "1:30", "d": 15, "e": 17, "f": True, "g": None,
        "h": 1000.0, "i": "no", "j": "on", "k": "1_000", "l": "12:30:45",
    }  # fmt: skip
    assert [note.split(":")[0] for note in read.notes] == [
        f"Line {number}" for number in (1, 2, 3, 5, 10, 11, 12)
    ]
    assert "a was read as the text “no”" in read.notes[0]


def test_aliases_are_followed() -> None:
    read = manifests.read("a: &x {b: 1}\nc: *x\nd: [*x, *x]")

    assert read.value == {"a": {"b": 1}, "c": {"b": 1}, "d": [{"b": 1}, {"b": 1}]}


@pytest.mark.parametrize(
    "text,path,words,line",
    [
        ("a: 1\nb: 2\na: 3", "a", "given twice", 3),
        ("a: {b: 1, b: 2}", "a.b", "given twice", 1),
        ("a: !!python/object:os.system x", "", "tag", 1),
        ("a: !!binary aGk=", "", "tag", 1),
        ("a: 1\n---\nb: 2", "", "more than one document", 2),
        ("a: 1\n<<: {b: 2}", '["<<"]', "merge key", 2),
        ("? [1, 2]\n: 3", "", "key that is not text", 1),
        ("a: *b", "", "alias *b", 1),
        ("a: &b [*b]", "", "alias *b", 1),
        ("a: .nan", "a", "not a number", 1),
        ("a: [1\nb: 2", "", "", 2),
        ("\ta: 1", "", "", 1),
        ("", "", "is empty", None),
        ("# nothing\n", "", "is empty", None),
        ("a: \x07", "", "U+0007", None),
        ("[" * 70, "", "64 levels", 1),
        ("a: " * 3, "", "", 1),
    ],
)
def test_yaml_that_is_refused(text: str, path: str, words: str, line: int | None) -> None:
    found = refused(text, "yaml")

    assert (found[0], found[2]) == (path, line)
    assert words in found[1]


@pytest.mark.parametrize(
    "text,path,words,line",
    [
        ('{"a": 1,\n "a": 2}', "a", "given twice", 2),
        ('{"a": {"b": 1, "b": 1}}', "a.b", "given twice", 1),
        ('{\n"a": }', "", "column 6", 2),
        ('{"a": NaN}', "", "not a number of JSON", None),
        ("[" * 70 + "]" * 70, "", "64 levels", 1),
        ("[" * 100_000, "", "levels", None),
        ("", "", "column 1", 1),
        ('{"a": "b\nc"}', "", "column 9", 1),
    ],
)
def test_json_that_is_refused(text: str, path: str, words: str, line: int | None) -> None:
    found = refused(text, "json")

    assert (found[0], found[2]) == (path, line)
    assert words in found[1]


def test_a_bomb_of_aliases_is_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40)]
    begun = time.monotonic()

    _, words, _ = refused("\n".join(lines), "yaml")

    assert "aliases counted in full" in words
    assert time.monotonic() - begun < 1


def test_many_values_are_refused() -> None:
    _, words, _ = refused("a: [" + "1, " * 100_001 + "]", "yaml")

    assert "100,000 values" in words


def test_a_large_text_is_refused() -> None:
    assert "is larger than" in refused("a" * (2 * 1024 * 1024 + 1), "yaml")[1]
