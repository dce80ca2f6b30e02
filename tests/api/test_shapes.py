"""A shape parses, renders and describes itself, and says every fault at once."""

from dataclasses import dataclass
from typing import Annotated, Literal

import jsonschema
import pytest

from studio.api import shapes
from studio.api.shapes import ABSENT, JSON, Absent, Count, Text, Time, Whole
from studio.core.rules.errors import Invalid


@dataclass(frozen=True, kw_only=True)
class Leaf:
    """A leaf."""

    size: Annotated[int, Whole(low=1, high=9)]


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A tree."""

    name: Annotated[str, Text(low=1, high=5, pattern="^[a-z]+$"), "Its name."]
    kind: Literal["oak", "ash"] = "oak"
    leaves: Annotated[list[Leaf], Count(high=2)] = ()  # type: ignore[assignment]
    tall: bool = False
    note: Annotated[str, Text(lines=True)] | None = None
    extra: JSON | Absent = ABSENT
    planted: Time | None = None
    counts: dict[str, int] | None = None


def faults(value: object) -> dict[str, str]:
    with pytest.raises(Invalid) as raised:
        shapes.parse(Tree, value)
    return raised.value.fields


def schema_of(shape: type) -> dict[str, object]:
    parts: dict[str, object] = {}
    reference = shapes.schema(shape, parts)
    return {**reference, "components": {"schemas": parts}}


def test_a_sound_value_is_parsed_with_its_defaults():
    tree = shapes.parse(Tree, {"name": "abc", "leaves": [{"size": 3}]})

    assert tree == Tree(name="abc", leaves=(Leaf(size=3),))  # type: ignore[arg-type]
    assert tree.extra is ABSENT


def test_null_is_a_value_where_absence_has_a_meaning():
    assert shapes.parse(Tree, {"name": "abc", "extra": None}).extra is None


def test_every_fault_is_told_by_its_path():
    found = faults(
        {"name": "", "kind": "elm", "leaves": [{"size": 10}, {}], "tall": 1, "colour": "red"}
    )

    assert found == {
        "colour": "is not known here",
        "name": "is empty",
        "kind": "must be one of oak, ash",
        "leaves.0.size": "must be from 1 to 9",
        "leaves.1.size": "is missing",
        "tall": "must be true or false, not a number",
    }


@pytest.mark.parametrize(
    "value, words",
    [
        ([], "must be an object, not a list"),
        (None, "must be an object, not null"),
        ("x", "must be an object, not a text"),
    ],
)
def test_a_body_of_another_kind_is_refused(value, words):
    assert faults(value) == {"": words}


@pytest.mark.parametrize(
    "name, words",
    [
        (5, "must be a text, not a number"),
        (True, "must be a text, not a truth value"),
        ("abcdef", "must have at most 5 characters, not 6"),
        ("a\0b", "has a zero character, which no text here may have"),
        ("ABC", "must match ^[a-z]+$"),
    ],
)
def test_a_text_is_kept_within_its_bounds(name, words):
    assert faults({"name": name})["name"] == words


@pytest.mark.parametrize("size", [True, 1.0, "1", None, [1]])
def test_only_a_whole_number_is_a_whole_number(size):
    assert "leaves.0.size" in faults({"name": "a", "leaves": [{"size": size}]})


def test_a_list_that_is_too_long_is_refused_before_its_items_are_read():
    assert faults({"name": "a", "leaves": [{}, {}, {}]}) == {
        "leaves": "must have 0 to 2 items, not 3"
    }


def test_an_unknown_name_is_shown_without_what_it_could_do():
    assert list(faults({"name": "a", "\x1b[2J": 1})) == ["\\u001b[2J"]


def test_a_flood_of_unknown_fields_is_answered_with_a_few():
    assert len(faults({str(number): 0 for number in range(100_000)})) == 21


def test_a_query_gives_texts_and_gets_numbers():
    assert shapes.parse_texts(Leaf, {"size": "3"}) == Leaf(size=3)


def test_a_query_with_a_word_for_a_number_is_refused():
    with pytest.raises(Invalid, match="in the query: size must be a whole number"):
        shapes.parse_texts(Leaf, {"size": "three"})


def test_what_is_rendered_fits_its_own_schema():
    tree = Tree(name="abc", leaves=(Leaf(size=1),), planted=Time(0), counts={"x": 1})  # type: ignore[arg-type]

    rendered = shapes.render(tree)

    assert rendered["planted"] == "1970-01-01T00:00:00.000Z"
    assert "extra" not in rendered
    jsonschema.validate(rendered, schema_of(Tree))


def test_times_keep_their_milliseconds():
    assert shapes.time_text(1_700_000_000_007) == "2023-11-14T22:13:20.007Z"


@pytest.mark.parametrize(
    "value", [{"name": "abc"}, {"name": "abc", "note": "two\nlines"}, {"name": "abc", "note": None}]
)
def test_what_the_schema_accepts_is_parsed(value):
    jsonschema.validate(value, schema_of(Tree))

    assert shapes.parse(Tree, value).name == "abc"


@pytest.mark.parametrize(
    "value", [{}, {"name": "ABC"}, {"name": "a", "colour": 1}, {"name": "a", "tall": "yes"}]
)
def test_what_the_schema_refuses_is_refused(value):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(value, schema_of(Tree))
    faults(value)
