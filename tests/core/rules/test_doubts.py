"""Doubts about a policy that is well written and perhaps not meant."""

import pytest

from studio.core.rules import policy


def doubts(*rules):
    return policy.parse(list(rules))[1]


def over(percent, **more):
    condition = {"field": "rollout.percent", "op": "gt", "value": percent}
    return {"effect": "ask", "when": [condition], **more}


def both(one, two, effect="ask", field="a"):
    return {
        "effect": effect,
        "when": [{"field": field, "op": op, "value": value} for op, value in (one, two)],
    }


@pytest.mark.parametrize(
    "one,two",
    [
        (("gt", 5), ("lt", 3)),
        (("gt", 5), ("lte", 5)),
        (("gte", 5), ("lt", 5)),
        (("equals", 1), ("equals", 2)),
        (("equals", "a"), ("in", ["b", "c"])),
        (("in", ["a"]), ("in", ["b"])),
        (("equals", 5), ("gt", 5)),
        (("matches", "x"), ("gt", 1)),
        (("equals", "abc"), ("matches", "^x")),
        (("exists", True), ("exists", False)),
    ],
)
def test_conditions_that_cannot_be_true_at_once_are_doubted(one, two):
    (doubt,) = doubts(both(one, two))

    assert doubt.startswith("Rule 1 never matches as it is meant")
    assert doubt.endswith("cannot be true at once.")


@pytest.mark.parametrize(
    "one,two",
    [
        (("gt", 3), ("lt", 5)),
        (("gte", 5), ("lte", 5)),
        (("equals", 5), ("gt", 4)),
        (("in", ["a", "b"]), ("in", ["b", "c"])),
        (("equals", "xa"), ("matches", "^x")),
        (("exists", True), ("gt", 4)),
    ],
)
def test_conditions_that_can_be_true_at_once_are_not_doubted(one, two):
    assert doubts(both(one, two)) == ()


def test_every_field_is_looked_at():
    rule = both(("gt", 3), ("lt", 5))
    rule["when"] += both(("gt", 5), ("lt", 3), field="b")["when"]

    assert "b is over 5 and b is under 3" in doubts(rule)[0]


def test_two_elements_may_fulfil_what_one_cannot():
    assert doubts(both(("equals", 1), ("equals", 2), field="to[*]")) == ()
    assert doubts(both(("equals", 1), ("equals", 2), effect="allow", field="to[*]")) != ()


@pytest.mark.parametrize(
    "rules,expected",
    [
        ([{"effect": "ask", "kind": "mpc"}],
         ("Rule 1 never matches: no kind is mpc "
          "(there are mcp, http, sandbox, platform, agent).",)),
        ([{"effect": "deny", "kind": "http", "server": "ledger"}],
         ("Rule 1 never matches: calls of kind http have no server; those of kind mcp have.",)),
        ([{"effect": "deny", "kind": "sand*", "plugin": "kit"}],
         ("Rule 1 never matches: calls of kind sand* have no plugin; those of kind mcp have.",)),
        ([{"effect": "deny", "kind": "platform", "plugin": "kit"}], ()),
        ([{"effect": "ask", "tool": "a"}, {"effect": "ask", "tool": "a"}],
         ("Rule 2 repeats rule 1.",)),
        ([{"effect": "ask", "tool": "a*"}, {"effect": "ask", "tool": "ab"}],
         ("Rule 2 adds nothing to rule 1.",)),
        ([{"effect": "allow", "tool": "a"}, {"effect": "deny", "tool": "a"}],
         ("Rule 1 never decides: rule 2 denies exactly what it allows.",)),
        ([{"effect": "deny", "tool": "a*"}, {"effect": "ask", "tool": "ab"}],
         ("Rule 2 never decides: rule 1 denies all of what it asks for.",)),
        ([{"effect": "ask", "tool": "a"}, over(5, tool="a")], ("Rule 2 adds nothing to rule 1.",)),
        ([{"effect": "allow"}], ("Rule 1 allows every call that no other rule stops.",)),
    ],
)  # fmt: skip
def test_rules_that_say_nothing_or_open_all_are_doubted(rules, expected):
    assert doubts(*rules) == expected


@pytest.mark.parametrize(
    "rules",
    [
        [{"effect": "ask", "tool": "a*"}, {"effect": "ask", "tool": "ab", "approvers": 2}],
        [{"effect": "ask", "tool": "a*"}, {"effect": "ask", "tool": "ab", "expires_seconds": 9}],
        [{"effect": "ask", "tool": "a*", "expires_seconds": 99},
         {"effect": "ask", "tool": "ab", "expires_seconds": 9}],
        [{"effect": "ask", "tool": "a*"}, {"effect": "deny", "tool": "ab"}],
        [{"effect": "ask", "tool": "ab"}, {"effect": "allow", "tool": "a*"}],
        [{"effect": "deny", "tool": "a", "server": "s"}, {"effect": "ask", "tool": "a"}],
        [{"effect": "deny", "environment": ["prod"]}, {"effect": "allow", "tool": "a"}],
        [over(5, tool="a"), {"effect": "allow", "tool": "a"}],
        [{"effect": "allow", "read_only": True}],
    ],
)  # fmt: skip
def test_rules_that_differ_in_what_they_say_are_not_doubted(rules):
    assert doubts(*rules) == ()
