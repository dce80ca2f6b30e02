"""What one condition says of arguments: true, false, or unknown and why."""

import pytest

from studio.core.rules import conditions, paths
from studio.core.rules.conditions import Condition


def outcome(field, op, value, arguments, *, every=False):
    path = paths.parse(field)
    condition = Condition(field=field, path=path, op=op, value=value)
    return conditions.outcome(condition, arguments, every=every)


TABLE = [
    ("equals", "prod", {"x": "prod"}, True),
    ("equals", "prod", {"x": "dev"}, False),
    ("equals", 1, {"x": 1.0}, True),
    ("equals", 1, {"x": True}, None),
    ("equals", None, {"x": None}, True),
    ("equals", {"a": [1]}, {"x": {"a": [1.0]}}, True),
    ("equals", {"a": [1]}, {"x": {"a": [True]}}, False),
    ("equals", "prod", {"x": 3}, None),
    ("equals", "prod", {}, None),
    ("equals", "prod", {"x": None}, None),
    ("equals", 5, {"x": float("nan")}, None),
    ("in", ["a", "b"], {"x": "b"}, True),
    ("in", ["a", "b"], {"x": "c"}, False),
    ("in", ["a", 1], {"x": 2}, False),
    ("in", ["a", "b"], {"x": 2}, None),
    ("gt", 50, {"x": 50}, False),
    ("gt", 50, {"x": 50.1}, True),
    ("gte", 50, {"x": 50}, True),
    ("lt", 50, {"x": 50}, False),
    ("lte", 50, {"x": 50}, True),
    ("gt", 50, {"x": "60"}, None),
    ("gt", 50, {"x": True}, None),
    ("gt", 50, {"x": float("nan")}, None),
    ("gt", 50, {"x": float("inf")}, None),
    ("gt", 50, {"x": 10**400}, True),
    ("matches", "^rm ", {"x": "rm -rf /"}, True),
    ("matches", "^rm ", {"x": "ls"}, False),
    ("matches", "^rm ", {"x": ["rm "]}, None),
    ("matches", "^rm ", {"x": "a" * 5000}, None),
    ("exists", True, {"x": None}, True),
    ("exists", True, {}, False),
    ("exists", False, {}, True),
    ("exists", False, {"x": 0}, False),
]


@pytest.mark.parametrize("op,value,arguments,expected", TABLE)
def test_comparisons_tell_true_false_and_unknown_apart(op, value, arguments, expected):
    assert outcome("x", op, value, arguments).holds is expected


@pytest.mark.parametrize("arguments", [None, 3, "x", [], [1], {"x": 1}, {"a": None}, {"a": []}])
def test_a_path_into_nothing_is_unknown_and_says_so(arguments):
    said = outcome("a.b[2].c", "equals", 1, arguments)

    assert said.holds is None
    assert said.why == "a.b[2].c is missing"


def test_an_index_reaches_one_element():
    assert outcome("to[1]", "equals", "b", {"to": ["a", "b"]}).holds is True


def test_any_element_is_enough_where_the_rule_stops():
    assert (
        outcome("to[*].host", "equals", "b", {"to": [{"host": "a"}, {"host": "b"}]}).holds is True
    )


def test_every_element_is_needed_where_the_rule_allows():
    arguments = {"to": [{"host": "a"}, {"host": "b"}]}

    assert outcome("to[*].host", "equals", "b", arguments, every=True).holds is False
    assert outcome("to[*].host", "in", ["a", "b"], arguments, every=True).holds is True


def test_one_element_that_cannot_be_compared_makes_it_unknown():
    arguments = {"to": ["a", 3]}

    assert outcome("to[*]", "equals", "b", arguments).holds is None
    assert outcome("to[*]", "equals", "a", arguments, every=True).holds is None


@pytest.mark.parametrize(
    "arguments,value,any_holds,every_holds",
    [
        ({"to": [{"x": 1}, {"x": 2}]}, True, True, True),
        ({"to": [{"x": 1}, {}]}, True, True, False),
        ({"to": [{"x": 1}, {}]}, False, True, False),
        ({"to": [{}, {}]}, False, True, True),
        ({"to": []}, True, False, False),
        ({"to": []}, False, True, True),
        ({}, True, False, False),
    ],
)
def test_being_given_is_asked_of_any_or_of_every_element(arguments, value, any_holds, every_holds):
    assert outcome("to[*].x", "exists", value, arguments).holds is any_holds
    assert outcome("to[*].x", "exists", value, arguments, every=True).holds is every_holds


def test_an_empty_array_is_nothing_to_compare():
    assert outcome("to[*]", "equals", "b", {"to": []}).holds is None
    assert outcome("to[*]", "equals", "b", {"to": []}, every=True).holds is None


def test_very_many_elements_are_not_compared_one_by_one():
    assert outcome("to[*]", "equals", "b", {"to": ["a"] * 20_000}).holds is None


def test_deep_arguments_are_no_trouble():
    deep = 1
    for _ in range(5_000):
        deep = {"x": deep}

    assert outcome("x", "equals", {"x": 1}, deep).holds is False
    assert outcome("x.x.x", "exists", True, deep).holds is True


@pytest.mark.parametrize(
    "op,value,every,words",
    [
        ("gt", 50, False, "any to[*] is over 50"),
        ("lte", 5.5, True, "every to[*] is at most 5.5"),
        ("in", ["a", "b"], False, 'any to[*] is one of "a", "b"'),
        ("matches", "^x", False, 'any to[*] matches "^x"'),
        ("exists", False, False, "any to[*] is not given"),
        ("equals", "x" * 500, False, f'any to[*] is "{"x" * 118}…'),
    ],
)
def test_a_condition_says_itself_in_words(op, value, every, words):
    condition = Condition(field="to[*]", path=paths.parse("to[*]"), op=op, value=value)

    assert conditions.words(condition, every=every) == words


def test_a_long_list_of_values_is_counted():
    condition = Condition(field="x", path=("x",), op="in", value=list(range(30)))

    assert conditions.words(condition, every=False).endswith("9 and 20 more")
