"""JSON Schema: refused when it is none, faults in plain sentences, always within bounds."""

import pytest

from studio.core import schemas

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 5},
        "age": {"type": "integer", "minimum": 0, "exclusiveMaximum": 150},
        "role": {"enum": ["viewer", "operator", 3]},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 1},
        "odd.name": {"type": "boolean"},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def nested(levels, inner=1):
    value = inner
    for _ in range(levels):
        value = {"a": value}
    return value


# Faults -------------------------------------------------------------------------------------------


def test_a_value_that_fits_has_no_faults():
    assert schemas.errors(PERSON, {"name": "Ann", "age": 7.0, "role": 3, "tags": ["x"]}) == {}


@pytest.mark.parametrize(
    "value,faults",
    [
        (7, {"": "must be an object."}),
        ({}, {"name": "is needed."}),
        ({"name": 3}, {"name": "must be text."}),
        ({"name": "A"}, {"name": "must have at least 2 characters."}),
        ({"name": "Barbara"}, {"name": "must have at most 5 characters."}),
        ({"name": "Ann", "age": 7.5}, {"age": "must be a whole number."}),
        ({"name": "Ann", "age": True}, {"age": "must be a whole number."}),
        ({"name": "Ann", "age": -1}, {"age": "must be at least 0."}),
        ({"name": "Ann", "age": 150}, {"age": "must be under 150."}),
        ({"name": "Ann", "role": "x"}, {"role": "must be viewer, operator or 3."}),
        ({"name": "Ann", "tags": []}, {"tags": "must have at least 1 entry."}),
        ({"name": "Ann", "tags": ["a", 1]}, {"tags[1]": "must be text."}),
        ({"name": "Ann", "tags": ["a", "a"]}, {"tags": "must not have an entry twice."}),
        ({"name": "Ann", "odd.name": 1}, {'["odd.name"]': "must be true or false."}),
        ({"name": "Ann", "more": 1}, {"more": "is not a known field."}),
    ],
)
def test_a_fault_is_a_sentence_at_its_place(value, faults):
    assert schemas.errors(PERSON, value) == faults


@pytest.mark.parametrize(
    "schema,value,sentence",
    [
        ({"const": {"a": 1}}, 2, 'must be {"a": 1}.'),
        ({"multipleOf": 5}, 7, "must be a multiple of 5."),
        ({"maximum": 5}, 7, "must be at most 5."),
        ({"exclusiveMinimum": 7}, 7, "must be over 7."),
        ({"pattern": "^v"}, "x", "must match ^v."),
        ({"pattern": "^v"}, "v" * 5_000, "is too long to be checked: at most 4,096 characters."),
        ({"maxItems": 1}, [1, 2], "must have at most 1 entry."),
        ({"minProperties": 1}, {}, "must have at least 1 field."),
        ({"maxProperties": 1}, {"a": 1, "b": 2}, "must have at most 1 field."),
        ({"contains": {"const": 1}}, [2], "does not have the entries it must have."),
        ({"not": {"type": "string"}}, "x", "is what it must not be."),
        ({"type": ["string", "null"]}, 1, "must be text or null."),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, "must be text or null."),
        ({"anyOf": [{"minimum": 5}, {"const": 1}]}, 3, "fits none of its allowed forms."),
        ({"oneOf": [{"type": "number"}, {"minimum": 0}]}, 3,
         "fits more than one of its forms, and must fit exactly one."),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1},
         "lacks a field that another of its fields asks for."),
        (False, 1, "is not allowed here."),
        ({"enum": list(range(50))}, "x", "must be 0, 1, 2, 3, 4, 5, 6, 7, 8 or 9 (of 50)."),
    ],
)  # fmt: skip
def test_every_usual_keyword_has_its_words(schema, value, sentence):
    assert schemas.errors(schema, value) == {"": sentence}


def test_the_form_that_was_meant_says_what_it_lacks():
    schema = {"anyOf": [{"type": "string"}, {"type": "object", "required": ["to", "text"]}]}

    assert schemas.errors(schema, {"to": 1}) == {"text": "is needed."}


def test_faults_are_bounded_in_number_and_length():
    many = {f"f{number}": number for number in range(500)}
    schema = {"additionalProperties": {"type": "string"}}

    assert len(schemas.errors(schema, many)) == 20
    (sentence,) = schemas.errors({"const": "x y" * 10_000}, 1).values()
    assert len(sentence) < 250


def test_a_fault_never_repeats_the_value():
    found = schemas.errors(
        {"type": "object", "properties": {"k": {"type": "number"}}}, {"k": "s3cr3t"}
    )

    assert "s3cr3t" not in str(found)


# Schemas ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema",
    [
        {}, True, False, PERSON, {"$ref": "#/$defs/a", "$defs": {"a": {}}},
        {"$schema": "http://json-schema.org/draft-07/schema#"},
        {"$schema": "https://example.org/my-own", "type": "string"},
    ],
)  # fmt: skip
def test_a_schema_has_no_problem(schema):
    assert schemas.problem(schema) is None


@pytest.mark.parametrize(
    "schema,words",
    [
        (None, "must be an object"),
        ([], "must be an object"),
        ("x", "must be an object"),
        ({"type": "strin"}, "is not a JSON Schema: type must be"),
        ({"properties": {"a": {"minimum": "x"}}}, "properties.a.minimum must be a number"),
        ({"required": "a"}, "is not a JSON Schema: required must be a list"),
        ({"$ref": "http://example.org/x.json"}, "http://example.org/x.json, which is never"),
        ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "which is never fetched"),
        ({"$ref": "other.json#/a"}, "which is never fetched"),
        ({"$ref": "#/$defs/missing"}, "which is not in it"),
        ({"properties": {"a": {"$ref": "#/$defs/missing"}}}, "which is not in it"),
        ({"properties": {"a": {"$ref": "#/allOf/1"}}, "allOf": [{}]}, "which is not in it"),
        ({"$ref": "#anchor"}, "refers to something that is not in it"),
        ({"$ref": "#"}, "refers to itself without end"),
        ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
         "refers to itself without end"),
        ({"pattern": "(a+)+$"}, "has the pattern (a+)+$, which could take too long"),
        ({"pattern": "("}, "is not a regular expression"),
        ({"patternProperties": {"(a*)*b": {}}}, "could take too long"),
        ({"items": {"$schema": "http://json-schema.org/draft-07/schema#"}}, "only stand"),
        ({"const": "x" * 1_100_000}, "is larger than 1,048,576 bytes"),
        (nested(65), "is nested more than 64 levels deep"),
        (nested(50_000), "is nested more than 64 levels deep"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_schema_is_said(schema, words):
    assert words in schemas.problem(schema)


def test_a_reference_to_its_own_name_is_not_fetched():
    schema = {"$id": "https://example.org/s", "$defs": {"a": {"type": "string"}},
              "$ref": "https://example.org/s#/$defs/a"}  # fmt: skip

    assert schemas.problem(schema) is None
    assert schemas.errors(schema, 3) == {"": "must be text."}


def test_a_reference_into_nothing_behind_a_name_shows_when_it_is_used():
    schema = {"$defs": {"b": {"$id": "https://example.org/b", "$ref": "#/$defs/missing"}},
              "properties": {"a": {"$ref": "#/$defs/b"}}}  # fmt: skip

    assert schemas.problem(schema) is None
    assert schemas.errors(schema, {"a": 1}) == {
        "": "cannot be checked, because its schema refers to something that is not in it."
    }


def test_references_into_a_list_and_with_escapes_are_found():
    schema = {"allOf": [{"type": "string"}], "$defs": {"a/b c": {}}, "properties": {
        "x": {"$ref": "#/allOf/0"}, "y": {"$ref": "#/$defs/a~1b%20c"}}}  # fmt: skip

    assert schemas.problem(schema) is None


def test_a_server_may_bring_patterns_that_are_never_run():
    schema = {"properties": {"a": {"pattern": "(a+)+$"}, "b": {"pattern": "^(?!x)"}}}

    assert schemas.problem(schema) is not None
    assert schemas.problem(schema, foreign=True) is None
    assert schemas.errors(schema, {"a": "a" * 4_000 + "!", "b": "x"}) == {}


def test_a_schema_that_cannot_be_used_fits_nothing():
    found = schemas.errors({"$ref": "http://example.org/x"}, 1)

    assert found[""].startswith(
        "cannot be checked, because its schema refers to http://example.org/x"
    )


def test_an_older_draft_is_read_as_what_it_is():
    schema = {"$schema": "http://json-schema.org/draft-07/schema#",
              "definitions": {"a": {"type": "string"}},
              "items": [{"$ref": "#/definitions/a"}, {"type": "number"}]}  # fmt: skip

    assert schemas.errors(schema, ["x", "y"]) == {"[1]": "must be a number."}


def test_a_schema_that_names_its_draft_keeps_its_guards_when_it_refers_back():
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema",
              "properties": {"inner": {"$ref": "#"}, "x": {"pattern": "(a+)+$"}}}  # fmt: skip

    assert schemas.errors(schema, {"inner": {"inner": {"x": "a" * 4_000 + "!"}}}) == {}


# Bounds -------------------------------------------------------------------------------------------


def test_deep_values_are_refused_without_recursion():
    recursive = {"properties": {"a": {"$ref": "#"}}}

    assert schemas.errors(recursive, nested(64)) == {}
    assert schemas.errors(recursive, nested(65)) == {"": "is nested more than 64 levels deep."}
    assert schemas.errors(recursive, nested(50_000)) == {"": "is nested more than 64 levels deep."}


def test_a_schema_that_branches_without_end_is_given_up():
    branch = {"properties": {"a": {"$ref": "#/$defs/x"}}}
    forms = [{**branch, "required": ["b"]}, {**branch, "required": ["c"]}]
    schema = {"$defs": {"x": {"anyOf": forms}},
              "$ref": "#/$defs/x"}  # fmt: skip

    assert schemas.errors(schema, nested(40)) == {"": "has too many parts to be checked."}


def test_very_many_parts_are_given_up():
    assert schemas.errors({"items": {"type": "integer"}}, [1] * 150_000) == {
        "": "has too many parts to be checked."
    }


def test_many_equal_objects_are_found_quickly():
    items = [{"number": number} for number in range(5_000)]

    assert schemas.errors({"uniqueItems": True}, items) == {}
    assert schemas.errors({"uniqueItems": True}, [*items, {"number": 5.0}]) != {}


def test_a_number_that_is_too_large_is_said_to_be():
    assert schemas.errors({"multipleOf": 0.1}, 10**400) == {
        "": "has a number that is too large to be checked."
    }


def test_a_very_long_name_is_not_matched():
    schema = {"patternProperties": {"^x": {"type": "string"}}}

    assert schemas.errors(schema, {"x": 1}) == {"x": "must be text."}
    assert schemas.errors(schema, {"x" * 5_000: 1}) == {
        "": "has a name of more than 4,096 characters."
    }


def test_other_fields_are_told_from_those_that_match_a_pattern():
    schema = {
        "properties": {"a": {}},
        "patternProperties": {"^x": {}},
        "additionalProperties": False,
    }

    assert schemas.errors(schema, {"a": 1, "x1": 1, "b": 1}) == {"b": "is not a known field."}
    assert list(schemas.errors({**schema, "additionalProperties": {"type": "null"}}, {"b": 1})) == [
        "b"
    ]


def test_fields_that_nothing_asked_about_are_told():
    schema = {"type": "object", "properties": {"a": {}}, "unevaluatedProperties": False}

    assert schemas.errors(schema, {"a": 1, "b": 2}) == {
        "": "has fields or entries that are not known."
    }


def test_a_keyword_without_words_of_its_own_is_named():
    schema = {"properties": {"a": {"dependentSchemas": {"b": False}}}}

    assert schemas.errors(schema, {"a": {"b": 1}}) == {"a": "is not allowed here."}
    assert schemas.errors({"propertyNames": {"maxLength": 1}}, {"ab": 1}) == {
        "": "must have at most 1 character."
    }
