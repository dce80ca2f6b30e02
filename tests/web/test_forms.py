"""Forms: a value becomes fields, what a browser sends becomes the value again, nothing is lost."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studio.core import schemas
from studio.web import forms
from studio.web.forms import pairs
from tests.web.form_cases import RELEASE, VALUE, by_path, drawn, one_field, sent

# Drawing cases is slow on a busy machine; that says nothing of what is tested.
STEADY = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

# There and back -----------------------------------------------------------------------------------

TEXTS = st.text(alphabet=st.characters(codec=None), max_size=8) | st.sampled_from(
    ["", "\n", "a\nb"]
)
NAMES = st.one_of(
    st.sampled_from(
        ["name", "_as:x", "a.b", "a[0]", "_json:arguments", "", '"', "\u202e", "arguments"]
    ),
    st.text(max_size=4),
)


def scalar_schemas():
    return st.one_of(
        TEXTS.map(lambda text: ({"type": "string"}, text)),
        st.integers().map(lambda number: ({"type": "integer"}, number)),
        st.floats(allow_nan=False, allow_infinity=False).map(lambda n: ({"type": "number"}, n)),
        st.booleans().map(lambda flag: ({"type": "boolean"}, flag)),
        st.sampled_from(["a", "3", 3, None, True, ""]).map(
            lambda choice: ({"enum": ["a", "3", 3, None, True, "", "true"]}, choice)
        ),
        st.sampled_from(["a", 1, None]).map(lambda const: ({"const": const}, const)),
        st.none().map(lambda none: ({"type": ["string", "null"]}, none)),
        st.none().map(lambda none: ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, none)),
        TEXTS.map(lambda text: ({"type": ["string", "null"]}, text)),
        st.none().map(lambda none: ({}, none)),
        st.lists(st.integers(), max_size=2).map(lambda value: ({}, value)),
    )


@st.composite
def objects(draw, inner):
    schema = {"type": "object", "properties": {}, "required": []}
    value = {}
    for name in draw(st.lists(NAMES, max_size=4, unique=True)):
        schema["properties"][name], item = draw(inner)
        is_there, is_needed = draw(st.booleans()), draw(st.booleans())
        if is_there or is_needed:
            value[name] = item
        if is_needed:
            schema["required"].append(name)
    if draw(st.booleans()):
        value |= draw(st.dictionaries(NAMES, st.integers(), max_size=2).map(
            lambda more: {k: v for k, v in more.items() if k not in schema["properties"]}
        ))  # fmt: skip
    if draw(st.integers(0, 3)) == 0:
        schema["type"] = ["object", "null"]
    return schema, value


@st.composite
def arrays(draw, inner):
    schema, item = draw(inner)
    return {"type": "array", "items": schema}, [item] * draw(st.integers(0, 3))


CASES = st.recursive(scalar_schemas(), lambda inner: objects(inner) | arrays(inner), max_leaves=12)


@given(CASES)
@settings(STEADY, max_examples=300)
def test_what_a_browser_sends_of_a_drawn_value_is_that_value(case):
    schema, value = case
    assert schemas.errors(schema, value) == {}

    back, errors, action = forms.read(schema, drawn(forms.fields(schema, value)))

    assert (errors, action) == ({}, None)
    assert json.dumps(back, sort_keys=True) == json.dumps(value, sort_keys=True)


@given(CASES)
@settings(STEADY, max_examples=100)
def test_a_form_that_is_drawn_again_is_the_same_form(case):
    schema, value = case
    once = forms.again(schema, drawn(forms.fields(schema, value)))

    assert forms.again(schema, drawn(once)) == once


@given(st.lists(st.tuples(NAMES | st.sampled_from([
    "arguments.version", "_rows:arguments.to", "_json:arguments.rollout", "_as:arguments.window",
    "_more:arguments", "arguments.rollout.percent", "_add:arguments.to", "_remove:arguments.to[0]",
    "_remove:arguments", "_add:", "arguments.to[0]",
]), TEXTS), max_size=12))  # fmt: skip
@settings(STEADY, max_examples=200)
def test_whatever_is_sent_is_answered(made):
    value, errors, action = forms.read(RELEASE, made)

    forms.again(RELEASE, made, errors=errors, action=action)
    if not errors and action is None:
        assert schemas.errors(RELEASE, value) == {}


# Absent, empty, null ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text,mode,value",
    [("", "", {}), ("", "empty", {"a": ""}), ("", "null", {"a": None}), ("x", "", {"a": "x"}),
     ("x", "empty", {"a": "x"})],
)  # fmt: skip
def test_an_empty_field_means_what_its_mode_says(text, mode, value):
    schema = {"type": "object", "properties": {"a": {"type": ["string", "null"]}}}

    assert forms.read(schema, [("arguments.a", text), ("_as:arguments.a", mode)])[0] == value


def test_null_and_a_text_at_once_is_a_fault():
    schema = {"type": "object", "properties": {"a": {"type": ["string", "null"]}}}

    _, errors, _ = forms.read(schema, [("arguments.a", "x"), ("_as:arguments.a", "null")])

    assert errors == {"a": "is either null or filled in, not both."}


@pytest.mark.parametrize(
    "mode,hours,there",
    [("", "", False), ("", "2", True), ("no", "2", False), ("no", "", False)],
)
def test_a_group_is_there_when_it_is_filled_in_or_said_to_be(mode, hours, there):
    made = sent(RELEASE, VALUE, **{"_as:arguments.window": mode, "arguments.window.hours": hours})

    value, errors, _ = forms.read(RELEASE, made)

    assert ("window" in value, errors) == (there, {})


def test_a_group_that_is_said_to_be_there_needs_its_fields():
    made = sent(RELEASE, VALUE, **{"_as:arguments.window": "yes"})

    assert forms.read(RELEASE, made)[1] == {"window.hours": "is needed."}


def test_line_breaks_come_back_as_they_were():
    made = sent(RELEASE, VALUE, **{"arguments.version": "a\r\nb\rc\nd"})

    assert forms.read(RELEASE, made)[0]["version"] == "a\nb\nc\nd"


# Faults -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name,text,sentence",
    [
        ("arguments.rollout.percent", "fifty", "must be a whole number."),
        ("arguments.rollout.percent", "", "is needed."),
        ("arguments.rollout.percent", "50.5", "must be a whole number."),
        ("arguments.rollout.percent", "0x10", "must be a whole number."),
        ("arguments.rollout.percent", "1_0", "must be a whole number."),
        ("arguments.rollout.percent", "٣", "must be a whole number."),
        ("arguments.rollout.percent", "9" * 400, "must be a whole number."),
        ("arguments.rollout.percent", "101", "must be at most 100."),
        ("arguments.window.hours", "1e999", "must be a number."),
        ("arguments.window.hours", "NaN", "must be a number."),
        ("arguments.version", "x" * 30, "must have at most 20 characters."),
        ("arguments.rollout.ring", '"other"', "is none of its choices."),
        ("_json:arguments.any", "7 8", "is not JSON: Extra data: line 1 column 3 (char 2)."),
        ("_json:arguments.any", "NaN", "is not JSON: NaN is no JSON."),
        ("_json:arguments.any", '{"a": 1, "a": 2}', "is not JSON: the name a stands twice."),
        ("_json:arguments.any", "[" * 5_000, "is nested too deeply."),
        ("_json:arguments.any", "true", "must be text or a number."),
    ],
)  # fmt: skip
def test_a_fault_is_told_at_its_field_and_what_was_typed_stays(name, text, sentence):
    made = sent(RELEASE, VALUE, **{name: text})

    _, errors, action = forms.read(RELEASE, made)
    fields = by_path(forms.again(RELEASE, made, errors=errors))

    path = name.removeprefix("_json:").removeprefix("arguments.")
    assert (errors, action) == ({path: sentence}, None)
    assert (fields[name].text, fields[name].error) == (text, sentence)


def test_other_fields_must_be_an_object_without_the_known_ones():
    schema = {**RELEASE, "additionalProperties": {"type": "integer"}}

    def errors(text):
        return forms.read(schema, sent(schema, VALUE, **{"_more:arguments": text}))[1]

    assert errors('{"x": 1}') == {}
    assert errors("[1]") == {"_more:": "must be a JSON object."}
    assert errors('{"version": 1}') == {"_more:": "version has a field of its own."}
    assert errors("{") != {}
    assert errors('{"x": "1"}') == {"x": "must be a whole number."}


def test_a_const_cannot_be_changed():
    schema = {"type": "object", "properties": {"kind": {"const": "release"}}, "required": ["kind"]}

    assert forms.fields(schema, {"kind": "release"})[0].control == "const"
    assert forms.read(schema, [("arguments.kind", '"other"')]) == ({"kind": "release"}, {}, None)


# Rows ---------------------------------------------------------------------------------------------


def rows(fields, path="arguments.to"):
    return [field.text for field in by_path(fields)[path].children]


def test_a_button_adds_a_row_and_keeps_what_was_typed():
    made = [*sent(RELEASE, VALUE, **{"arguments.to[1]": "typed"}), ("_add:arguments.to", "")]

    value, errors, action = forms.read(RELEASE, made)

    assert (value, errors, action) == (None, {}, ("add", "to"))
    assert rows(forms.again(RELEASE, made, action=action)) == ["ann", "typed", ""]


@pytest.mark.parametrize("index,left", [(0, ["b", "c"]), (1, ["a", "c"]), (2, ["a", "b"])])
def test_a_button_takes_a_row_and_the_others_move_up(index, left):
    made = sent(RELEASE, {**VALUE, "to": ["a", "b", "c"]})

    action = forms.read(RELEASE, [*made, (f"_remove:arguments.to[{index}]", "")])[2]

    assert action == ("remove", f"to[{index}]")
    assert rows(forms.again(RELEASE, made, action=action)) == left


def test_rows_of_objects_move_with_all_their_fields():
    value = {**VALUE, "steps": [{"run": "one"}, {"run": "two"}, {"run": "three"}]}
    made = sent(RELEASE, value)

    again = drawn(forms.again(RELEASE, made, action=("remove", "steps[0]")))

    assert forms.read(RELEASE, again)[0]["steps"] == [{"run": "two"}, {"run": "three"}]


def test_the_last_row_taken_leaves_an_empty_array_and_a_first_one_makes_it():
    made = sent(RELEASE, {**VALUE, "steps": [{}]})
    emptied = drawn(forms.again(RELEASE, made, action=("remove", "steps[0]")))
    filled = drawn(forms.again(RELEASE, sent(RELEASE, VALUE), action=("add", "steps")))

    assert forms.read(RELEASE, emptied)[0]["steps"] == []
    assert forms.read(RELEASE, filled)[0]["steps"] == [{}]
    assert "steps" not in forms.read(RELEASE, sent(RELEASE, VALUE))[0]


@pytest.mark.parametrize("path", ["to[7]", "to[x]", "to", "", "to[-1]", "other[0]"])
def test_a_row_that_is_not_there_cannot_be_taken(path):
    made = sent(RELEASE, VALUE)

    assert rows(forms.again(RELEASE, made, action=("remove", path))) == ["ann", "bob"]


@pytest.mark.parametrize("count", ["1000000000", "-1", "x", "9999"])
def test_the_number_of_rows_is_bounded(count):
    made = sent(RELEASE, VALUE, **{"_rows:arguments.to": count})

    assert len(rows(forms.again(RELEASE, made))) <= pairs.MOST_ROWS


def test_a_group_that_may_be_null_is_null_only_when_nothing_is_filled_in():
    schema = one_field({"type": ["object", "null"], "properties": {"b": {"type": "string"}}})
    null = [("_as:arguments.a", "null"), ("arguments.a.b", "")]

    assert forms.read(schema, null) == ({"a": None}, {}, None)
    assert forms.read(schema, [null[0], ("arguments.a.b", "x")])[1] == {
        "a": "is either null or filled in, not both."
    }


def test_a_group_inside_a_group_counts_as_filled_in_when_it_is_said_to_be_there():
    inner = {"type": "object", "properties": {"c": {"type": "string"}}}
    schema = one_field({"type": "object", "properties": {"b": inner}})

    assert forms.read(schema, [("_as:arguments.a.b", "yes")])[0] == {"a": {"b": {}}}
    assert forms.read(schema, [("_as:arguments.a.b", "no")])[0] == {}


def test_nothing_sent_is_nothing_given():
    assert forms.read({"type": "object", "properties": {}}, []) == ({}, {}, None)
    assert forms.read({"type": "object"}, [("_json:arguments", " ")]) == ({}, {}, None)
    assert forms.read({"type": "string"}, []) == (None, {"": "must be text."}, None)
