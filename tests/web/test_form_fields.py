"""Fields: what a page draws for a schema, and what it does not dare to draw."""

import json

import pytest

from studio.web import forms
from studio.web.forms import pairs
from tests.web.form_cases import RELEASE, VALUE, by_path, drawn, one_field


def test_every_kind_has_its_control():
    fields = by_path(forms.fields(RELEASE, VALUE))

    assert {
        name.removeprefix("arguments."): field.control
        for name, field in fields.items()
    } == {
        "version": "text", "note": "text", "rollout": "group", "rollout.percent": "text",
        "rollout.ring": "select", "to": "rows", "to[0]": "text", "to[1]": "text",
        "force": "select", "window": "group", "window.hours": "text", "window.zone": "select",
        "steps": "rows", "_json:arguments.any": "json",
    }  # fmt: skip


def test_a_field_says_what_the_schema_says():
    fields = by_path(forms.fields(RELEASE, VALUE))

    version, percent = fields["arguments.version"], fields["arguments.rollout.percent"]
    assert (version.label, version.path, version.needed) == ("version", "version", True)
    assert version.hint == "What is shipped. Characters: of at most 20."
    assert (percent.hint, percent.attrs) == (
        "A whole number from 0 to 100.",
        {"inputmode": "numeric"},
    )
    assert fields["arguments.force"].options == (
        ("", "left out"), ("true", "true"), ("false", "false"),
    )  # fmt: skip


def test_choices_that_look_alike_are_told_apart():
    choice = {"enum": ["3", 3, "true", True, "x"]}

    (field,) = forms.fields(one_field(choice, needed=True), {"a": 3})

    assert [label for _, label in field.options] == ['"3"', "3", '"true"', "true", "x"]
    assert field.text == "3"


@pytest.mark.parametrize(
    "text,control", [("x", "text"), ("x" * 100, "textarea"), ("a\nb", "textarea")]
)
def test_long_texts_have_room(text, control):
    (field,) = forms.fields(one_field({"type": "string"}), {"a": text})

    assert field.control == control


@pytest.mark.parametrize("text", ["a\rb", "\0", "a\u202eb", "\ud800", "a\u2028"])
def test_a_text_that_a_browser_would_change_or_hide_is_edited_as_json(text):
    (field,) = forms.fields(one_field({"type": "string"}), {"a": text})

    assert (field.control, field.name) == ("json", "_json:arguments.a")
    assert field.text.isascii()
    assert json.loads(field.text) == text


@pytest.mark.parametrize(
    "schema",
    [
        {"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "object"}, {}, True, None,
        {"type": ["string", "integer"]}, {"type": "array"}, {"not": {"type": "null"}},
        {"type": "array", "prefixItems": [{}]}, {"if": {}, "then": {}, "type": "string"},
        {"$ref": "#/missing"}, {"$ref": "http://example.org/x"},
        {"type": "object", "properties": {"a": {}}, "patternProperties": {"^x": {}}},
    ],
)  # fmt: skip
def test_what_a_form_cannot_express_is_a_box_for_json(schema):
    (field,) = forms.fields(schema, {"a": [1]})

    assert (field.control, field.name) == ("json", "_json:arguments")
    assert json.loads(field.text) == {"a": [1]}


def test_references_and_optional_forms_of_one_type_are_understood():
    schema = {
        "type": "object",
        "$defs": {"Ring": {"enum": ["a", "b"]}, "Step": {"type": "object", "properties": {
            "ring": {"allOf": [{"$ref": "#/$defs/Ring"}], "default": "a"},
            "count": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        }}},
        "properties": {"step": {"$ref": "#/$defs/Step", "description": "One step."}},
    }  # fmt: skip

    fields = by_path(forms.fields(schema, {"step": {"ring": "b"}}))

    assert fields["arguments.step"].hint == "One step"
    assert fields["arguments.step.ring"].control == "select"
    assert fields["arguments.step.count"].modes == (("", "the number"), ("null", "null"))


def test_a_schema_that_contains_itself_ends_in_a_box_for_json():
    schema = {"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}

    fields = by_path(forms.fields(schema, {"left": {"right": {}}}))

    assert len(fields) < 1_000
    assert any(field.control == "json" for field in fields.values())


def test_a_form_that_would_be_too_long_is_a_box_for_json():
    schema = {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}
    value = [[1] * 90] * 90

    (field,) = forms.fields(schema, value)

    assert json.loads(field.text) == value


def test_a_value_of_another_type_is_not_lost():
    fields = by_path(forms.fields(RELEASE, {**VALUE, "rollout": "all", "to": {"a": 1}, "more": 1}))

    assert json.loads(fields["_json:arguments.rollout"].text) == "all"
    assert json.loads(fields["_json:arguments.to"].text) == {"a": 1}
    assert json.loads(fields["_more:arguments"].text) == {"more": 1}


def test_hostile_names_stay_apart_from_the_form_and_from_each_other():
    names = [
        "token",
        "digest",
        "_add:arguments.a",
        "a.b",
        "a",
        'x" onfocus="y',
        "\u202e",
        "",
        "[0]",
    ]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    value = {name: f"value of {name!r}" for name in names}

    fields = forms.fields(schema, value)

    assert (
        len({field.name for field in fields}) == len({field.id for field in fields}) == len(names)
    )
    assert all(field.name.startswith("arguments") for field in fields)
    assert all(field.id.replace("-", "").replace("_", "").isalnum() for field in fields)
    assert all(field.label.isprintable() for field in fields)
    assert forms.read(schema, drawn(fields)) == (value, {}, None)


def test_another_prefix_keeps_two_forms_on_a_page_apart():
    made = drawn(forms.fields(RELEASE, VALUE, under="answer"))

    assert all(name.split(":")[-1].startswith("answer") for name, _ in made)
    assert forms.read(RELEASE, made, under="answer")[0] == VALUE


def test_a_missing_value_draws_empty_fields():
    fields = by_path(forms.fields(RELEASE, pairs.ABSENT))

    assert fields["arguments.version"].text == ""
    assert fields["arguments.rollout.percent"].needed
    assert by_path(forms.fields({}, pairs.ABSENT))["_json:arguments"].text == ""


@pytest.mark.parametrize(
    "bounds,hint",
    [({"minimum": 5}, "A number of at least 5."), ({"maximum": 5}, "A number of at most 5."),
     ({}, "A number.")],
)  # fmt: skip
def test_the_bounds_of_a_number_are_said(bounds, hint):
    (field,) = forms.fields(one_field({"type": "number", **bounds}), {"a": 1})

    assert field.hint == hint


def test_numbers_that_a_line_cannot_hold_are_edited_as_json():
    (field,) = forms.fields(one_field({"type": "integer"}), {"a": 10**310})

    assert field.control == "json"
    assert forms.read(one_field({"type": "integer"}), drawn([field]))[0] == {"a": 10**310}


def test_a_choice_that_is_none_of_them_is_kept_as_json():
    (field,) = forms.fields(one_field({"enum": ["a"]}), {"a": "b"})

    assert (field.control, field.text) == ("json", '"b"')


def test_references_that_lead_round_end():
    schema = {
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
        "$ref": "#/$defs/a",
    }

    (field,) = forms.fields(schema, 1)

    assert field.control == "json"


def test_a_schema_with_one_form_and_more_beside_it_is_a_box_for_json():
    for more in ({"minLength": 3, "allOf": [{"type": "string"}]}, {"properties": {"a": {}}}):
        (field,) = forms.fields(one_field(more), {"a": "x"})
        assert field.control == "json"
