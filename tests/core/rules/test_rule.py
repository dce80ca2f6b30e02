"""Rules as people write them: read with every fault told, and written back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.core.rules import policy
from studio.core.rules.errors import Invalid
from studio.core.rules.policy import Policy
from tests.core.rules.rules_at_random import RULES


def policy_of(*rules):
    return Policy(rules=policy.parse(list(rules))[0])


def faults(*rules):
    with pytest.raises(Invalid) as caught:
        policy.parse({"rules": list(rules)})
    return caught.value.fields


def over(percent):
    condition = {"field": "rollout.percent", "op": "gt", "value": percent}
    return {"effect": "ask", "when": [condition]}


def test_faults_are_told_by_field_all_at_once():
    found = faults(
        {"effect": ""},
        {"efect": "ask"},
        {"effect": "ask", "tool": "[x", "server": "", "approvers": 9, "environment": [""]},
        {"effect": "allow", "approvers": 2},
        "deny",
        {"effect": "deny", "when": [
            {"field": "a..b", "op": "gt", "value": 1}, {"field": "a", "op": "over", "value": 1},
            {"field": "a", "op": "gt", "value": "1"}, {"field": "a", "op": "gt"},
            {"field": "a", "op": "matches", "value": "(a+)+$"},
            {"field": "a", "op": "matches", "value": "("}, {"field": "a", "op": "in", "value": []},
            {"field": "a", "op": "exists", "value": "yes"}, 7,
        ]},
    )  # fmt: skip

    assert set(found) == {
        "rules[0].effect", "rules[1].efect", "rules[1].effect", "rules[2].tool", "rules[2].server",
        "rules[2].approvers", "rules[2].environment[0]", "rules[3].approvers", "rules[4]",
        "rules[5].when[0].field", "rules[5].when[1].op", "rules[5].when[2].value",
        "rules[5].when[3].value", "rules[5].when[4].value", "rules[5].when[5].value",
        "rules[5].when[6].value", "rules[5].when[7].value", "rules[5].when[8]",
    }  # fmt: skip


@pytest.mark.parametrize("data", [None, 3, "x", {}, {"rules": {}}, {"rules": [], "more": 1}])
def test_what_is_no_policy_is_refused(data):
    with pytest.raises(Invalid) as caught:
        policy.parse(data)

    assert caught.value.fields


def test_nan_is_no_number_to_compare_with():
    assert "rules[0].when[0].value" in faults(over(float("nan")))


@pytest.mark.parametrize("glob", ["[", "a[b", "a[]", "a[!]", "a\nb", ""])
def test_bad_globs_are_refused(glob):
    assert "rules[0].tool" in faults({"effect": "ask", "tool": glob})


@pytest.mark.parametrize("glob", ["[]]", "[!]]", "[[]x", "*", "a?b", "ab]"])
def test_odd_but_good_globs_are_taken(glob):
    assert policy.parse([{"effect": "ask", "tool": glob}])[0][0].tool == glob


@given(st.lists(RULES, max_size=4))
@settings(deadline=None, derandomize=True, max_examples=100)
def test_what_was_dumped_is_parsed_back(rules):
    parsed, _ = policy.parse(rules)

    assert policy.parse(policy.dump(Policy(rules=parsed)))[0] == parsed


def test_what_an_asking_rule_demands_is_dumped_and_read_back():
    rule = {"effect": "ask", "approvers": 3, "not_own": True, "expires_seconds": 60,
            "environment": ["prod"], "reason": "four eyes"}  # fmt: skip

    assert policy.dump(policy_of(rule)) == [rule]


def test_one_label_may_stand_without_a_list():
    assert policy_of({"effect": "deny", "environment": "prod"}).rules[0].environment == ("prod",)


@pytest.mark.parametrize(
    "value,place",
    [([], "environment"), (["a["], "environment[0]"), ([3], "environment[0]"), (3, "environment"),
     (["x"] * 30, "environment")],
)  # fmt: skip
def test_bad_labels_are_refused(value, place):
    assert list(faults({"effect": "deny", "environment": value})) == [f"rules[0].{place}"]


def nested(levels):
    value = 1
    for _ in range(levels):
        value = [value] if levels % 2 else {"a": value}
    return value


@pytest.mark.parametrize("levels,is_taken", [(16, True), (17, False), (500, False), (501, False)])
def test_a_value_to_compare_with_is_not_nested_deeply(levels, is_taken):
    condition = {"field": "a", "op": "equals", "value": nested(levels)}
    rule = {"effect": "deny", "when": [condition]}

    if is_taken:
        assert policy_of(rule).rules[0].when[0].value == nested(levels)
    else:
        assert "rules[0].when[0].value" in faults(rule)


def test_a_pattern_must_be_text():
    rule = {"effect": "deny", "when": [{"field": "a", "op": "matches", "value": 3}]}

    assert faults(rule) == {"rules[0].when[0].value": "must be a regular expression."}


def test_very_many_rules_and_very_many_faults_are_bounded():
    assert list(faults(*[{"effect": "ask"}] * 501)) == ["rules"]
    assert len(faults(*[{"effect": "no"}] * 400)) == 50
