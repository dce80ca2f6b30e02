"""The policy: which rules match, who wins, what it says in words, what another one would change."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.core.rules import policy
from studio.core.rules.policy import Policy, RecordedCall, Subject
from tests.core.rules.rules_at_random import RULES

PUBLISH = Subject(
    tool="publish_release", kind="mcp", server="ledger", plugin="release-kit",
    agent="release-assistant", labels=("env=staging", "team=a"),
    arguments={"rollout": {"percent": 60}, "to": ["ann@ours.org", "bob@theirs.org"]},
)  # fmt: skip
READS = Subject(tool="list_tags", kind="mcp", read_only=True)


def policy_of(*rules, version=3):
    parsed, _ = policy.parse(list(rules))
    return Policy(version=version, rules=parsed)


def verdict(*rules, subject=PUBLISH):
    return policy.ruling(policy_of(*rules), subject).verdict


def over(percent, **more):
    condition = {"field": "rollout.percent", "op": "gt", "value": percent}
    return {"effect": "ask", "when": [condition], **more}


# Who wins -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "effects,winner",
    [
        (["allow"], "allow"),
        (["allow", "ask"], "ask"),
        (["ask", "allow"], "ask"),
        (["allow", "ask", "deny"], "deny"),
        (["deny", "ask", "allow"], "deny"),
        (["deny", "allow"], "deny"),
    ],
)
def test_the_strictest_rule_wins_wherever_it_stands(effects, winner):
    assert verdict(*({"effect": effect} for effect in effects)) == winner


def test_without_a_rule_a_tool_that_only_reads_runs():
    ruling = policy.ruling(Policy(version=7), READS)

    assert (ruling.verdict, ruling.policy_version) == ("allow", 7)
    assert [rule.number for rule in ruling.rules] == [0]


def test_without_a_rule_everything_else_asks_and_says_why():
    ruling = policy.ruling(Policy(), PUBLISH)

    assert ruling.verdict == "ask"
    assert ruling.rules[0].words == (
        "default policy: asks for anything its tool does not mark read-only"
    )


def test_an_explicit_allow_beats_the_default():
    assert verdict({"effect": "allow", "tool": "publish_*"}) == "allow"


def test_a_rule_that_asks_holds_even_a_tool_that_only_reads():
    assert verdict({"effect": "ask", "tool": "list_*"}, subject=READS) == "ask"


def test_all_matching_rules_are_kept_with_number_words_and_reason():
    rules = policy_of(
        {"effect": "allow", "tool": "publish_*"},
        {"effect": "deny", "tool": "other"},
        over(50, reason="big steps need a person"),
    )

    kept = policy.ruling(rules, PUBLISH).rules

    assert [(rule.number, rule.effect, rule.reason) for rule in kept] == [
        (1, "allow", None), (3, "ask", "big steps need a person"),
    ]  # fmt: skip
    assert kept[1].words == "asks for every call when rollout.percent is over 50"


def test_what_several_asking_rules_demand_adds_up():
    ruling = policy.ruling(
        policy_of(
            {"effect": "ask", "approvers": 2, "expires_seconds": 600},
            {"effect": "ask", "not_own": True, "expires_seconds": 60},
            {"effect": "ask", "tool": "other", "approvers": 5, "expires_seconds": 1},
        ),
        PUBLISH,
    )

    assert (ruling.approvers, ruling.not_own, ruling.expires_seconds) == (2, True, 60)


def test_a_denied_call_asks_nothing_of_people():
    ruling = policy.ruling(
        policy_of({"effect": "ask", "approvers": 3, "not_own": True}, {"effect": "deny"}), PUBLISH
    )

    assert (ruling.approvers, ruling.not_own, ruling.expires_seconds) == (1, False, None)


# What a rule is about -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "selector,matches",
    [
        ({"tool": "publish_release"}, True),
        ({"tool": "publish_*"}, True),
        ({"tool": "PUBLISH_*"}, False),
        ({"tool": "publish_releas?"}, True),
        ({"tool": "[pq]ublish_*"}, True),
        ({"tool": "[!p]ublish_*"}, False),
        ({"server": "ledger"}, True),
        ({"server": "led"}, False),
        ({"plugin": "*"}, True),
        ({"kind": "mcp"}, True),
        ({"kind": "sandbox"}, False),
        ({"agent": "release-*"}, True),
        ({"environment": "env=staging"}, True),
        ({"environment": ["env=prod", "team=*"]}, True),
        ({"environment": ["env=prod"]}, False),
        ({"read_only": False}, True),
        ({"read_only": True}, False),
        ({"tool": "publish_*", "kind": "http"}, False),
    ],
)
def test_globs_and_flags_select_calls(selector, matches):
    assert (verdict({"effect": "deny", **selector}) == "deny") is matches


@pytest.mark.parametrize("name", ["server", "plugin", "environment"])
def test_any_of_something_is_not_matched_by_none_of_it(name):
    bare = Subject(tool="run", kind="sandbox")

    assert verdict({"effect": "deny", name: "*"}, subject=bare) == "ask"


# Arguments that cannot be compared ----------------------------------------------------------------


@pytest.mark.parametrize("arguments", [None, {}, {"rollout": 3}, {"rollout": {"percent": "60"}}])
def test_what_cannot_be_compared_counts_for_rules_that_ask_or_deny(arguments):
    subject = Subject(tool="publish", kind="mcp", read_only=True, arguments=arguments)

    assert verdict(over(50), subject=subject) == "ask"
    assert verdict({**over(50), "effect": "deny"}, subject=subject) == "deny"


@pytest.mark.parametrize("arguments", [None, {}, {"rollout": 3}, {"rollout": {"percent": "60"}}])
def test_what_cannot_be_compared_counts_for_no_rule_that_allows(arguments):
    subject = Subject(tool="publish", kind="mcp", arguments=arguments)

    assert verdict({**over(50), "effect": "allow"}, subject=subject) == "ask"


def test_the_card_says_that_a_rule_counts_because_it_could_not_be_compared():
    subject = Subject(tool="publish", kind="mcp", arguments={})

    kept = policy.ruling(policy_of(over(50)), subject).rules

    assert kept[0].words.endswith("(counts because rollout.percent is missing)")


def test_one_condition_that_does_not_hold_is_enough_not_to_match():
    rule = over(50)
    rule["when"].append({"field": "force", "op": "equals", "value": True})

    subject = Subject(tool="publish", kind="mcp", read_only=True,
                      arguments={"rollout": {"percent": 10}})  # fmt: skip
    assert verdict(rule, subject=subject) == "allow"


def test_one_good_receiver_does_not_let_a_bad_one_through():
    rule = {
        "effect": "allow",
        "when": [{"field": "to[*]", "op": "matches", "value": "@ours\\.org$"}],
    }

    assert verdict(rule) == "ask"
    assert verdict({**rule, "effect": "deny"}) == "deny"


# In words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule,words",
    [
        (over(50, tool="publish_*", plugin="release-kit"),
         "asks for tool publish_* of plugin release-kit when rollout.percent is over 50"),
        ({"effect": "deny", "kind": "sandbox", "environment": ["prod*", "live"]},
         "denies every call of kind sandbox in environments labelled prod* or live"),
        ({"effect": "allow", "read_only": True, "agent": "x"},
         "allows every call marked read-only by agent x"),
        ({"effect": "ask", "approvers": 2, "not_own": True, "expires_seconds": 7200},
         "asks for every call, and two people must agree, not by whoever started the session; "
         "denied if undecided after 2 hours"),
        ({"effect": "ask", "expires_seconds": 90},
         "asks for every call; denied if undecided after 90 seconds"),
    ],
)  # fmt: skip
def test_a_rule_reads_as_english(rule, words):
    assert policy.words(policy.parse([rule])[0][0]) == words


@pytest.mark.parametrize(
    "rules,word,sentence",
    [
        ([], "held", "held (default policy)"),
        ([{"effect": "allow"}], "runs", "runs (rule 1)"),
        ([{"effect": "ask", "tool": "other"}, {"effect": "allow"}], "runs", "runs (rule 2)"),
        ([{"effect": "allow"}, {"effect": "ask"}, {"effect": "ask"}], "held",
         "held (rules 2 and 3)"),
        ([{"effect": "allow"}, {"effect": "ask", "tool": "x"}, over(50)], "runs or held",
         "held when rollout.percent is over 50 (rule 3), otherwise runs (rule 1)"),
        ([{**over(5), "effect": "allow"}], "runs or held",
         "runs when rollout.percent is over 5 (rule 1), otherwise held (default policy)"),
        ([{**over(5), "effect": "allow"}, {"effect": "ask"}], "held", "held (rule 2)"),
        ([{**over(90), "effect": "deny"}, over(50)], "held or denied",
         "denied when rollout.percent is over 90 (rule 1); held when rollout.percent is over 50 "
         "(rule 2), otherwise held (default policy)"),
    ],
)  # fmt: skip
def test_the_page_of_an_agent_says_what_becomes_of_a_tool(rules, word, sentence):
    subject = Subject(tool="publish", kind="mcp")

    assert policy.for_tool(policy_of(*rules), subject) == (word, sentence)


# Dry run ------------------------------------------------------------------------------------------


def recorded(number, percent):
    subject = Subject(tool="publish", kind="mcp", arguments={"rollout": {"percent": percent}})
    return RecordedCall(effect_id=f"eff_{number}", session_id="ses_1", time=number, subject=subject)


def test_a_dry_run_lists_what_would_be_different_and_why():
    calls = [recorded(number, number) for number in range(100)]

    tried = policy.dry_run(
        policy_of({"effect": "allow"}), policy_of({"effect": "allow"}, over(89)), iter(calls)
    )

    assert (tried.total, tried.counts) == (100, {("allow", "ask"): 10})
    assert tried.sentence == "Of the last 100 calls, 10 would have been held instead of run."
    assert tried.changed[0].call.effect_id == "eff_90"
    assert [rule.number for rule in tried.changed[0].rules] == [1, 2]


def test_a_dry_run_without_change_or_without_calls_says_so():
    same = policy_of({"effect": "allow"})

    assert policy.dry_run(same, same, [recorded(1, 1)]).sentence == (
        "Nothing changes for the last 1 calls."
    )
    assert policy.dry_run(same, same, []).sentence.startswith("No calls are recorded yet")


def test_a_dry_run_keeps_a_bounded_list_and_counts_all():
    calls = (recorded(number, 1) for number in range(1_000))

    tried = policy.dry_run(policy_of({"effect": "allow"}), policy_of({"effect": "deny"}), calls)

    assert (len(tried.changed), tried.counts) == (200, {("allow", "deny"): 1_000})


@given(st.lists(RULES, max_size=4), RULES, st.dictionaries(st.sampled_from("ab"), st.integers()))
@settings(deadline=None, derandomize=True, max_examples=200)
def test_one_more_rule_that_stops_never_makes_a_call_freer(rules, more, arguments):
    subject = Subject(tool="publish", kind="mcp", arguments=arguments)
    order = {"allow": 0, "ask": 1, "deny": 2}
    before = policy.ruling(policy_of(*rules), subject)
    after = policy.ruling(policy_of(*rules, more), subject)

    if more["effect"] != "allow":
        has_rule = before.rules[0].number > 0
        assert order[after.verdict] >= order[before.verdict] or not has_rule
