"""Doubts about a policy that is well written and perhaps not meant: one sentence each.

A rule that can never match, that another rule always outvotes or repeats, or that opens all.
"""

import fnmatch
import math
from collections.abc import Sequence

from studio.core.rules import conditions
from studio.core.rules.conditions import Condition
from studio.core.rules.rule import NAMES, Rule

KINDS = ("mcp", "http", "sandbox", "platform", "agent")
BROUGHT = (("server", ("mcp",)), ("plugin", ("mcp", "platform")))  # which kinds can have them
MOST_DOUBTS = 100
_STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}
_DECIDES = {"allow": "allows", "ask": "asks for", "deny": "denies"}


def about(rules: Sequence[Rule]) -> tuple[str, ...]:
    """Every doubt about these rules, in their order."""
    found: list[str] = []
    for rule in rules:
        found.extend(_alone(rule))
    for rule in rules:
        doubt = _beside(rule, [other for other in rules if other is not rule])
        if doubt:
            found.append(doubt)
    return tuple(found[:MOST_DOUBTS])


def _alone(rule: Rule) -> list[str]:
    found = []
    if rule.kind is not None and not any(fnmatch.fnmatchcase(kind, rule.kind) for kind in KINDS):
        known = f"there are {', '.join(KINDS)}"
        found.append(f"Rule {rule.number} never matches: no kind is {rule.kind} ({known}).")
    elif why := _nowhere(rule):
        found.append(f"Rule {rule.number} never matches: {why}.")
    if why := _contradiction(rule):
        found.append(f"Rule {rule.number} never matches as it is meant: {why}.")
    if rule.effect == "allow" and _is_bare(rule):
        found.append(f"Rule {rule.number} allows every call that no other rule stops.")
    return found


def _nowhere(rule: Rule) -> str | None:
    """Why no call of the kind comes from such a server or plugin."""
    for name, kinds in BROUGHT:
        if getattr(rule, name) is None or rule.kind is None:
            continue
        if not any(fnmatch.fnmatchcase(kind, rule.kind) for kind in kinds):
            return f"calls of kind {rule.kind} have no {name}; those of kind {kinds[0]} have"
    return None


def _is_bare(rule: Rule) -> bool:
    names = all(getattr(rule, name) in (None, "*") for name in NAMES)
    return names and not rule.environment and rule.read_only is not True and not rule.when


def _contradiction(rule: Rule) -> str | None:
    """Why no arguments can fulfil all conditions on one field."""
    allows = rule.effect == "allow"
    fields: dict[str, list[Condition]] = {}
    for condition in rule.when:
        # `any to[*]` may be fulfilled by two different elements, so it contradicts nothing.
        if allows or not condition.is_about_elements:
            fields.setdefault(condition.field, []).append(condition)
    for group in fields.values():
        if len(group) > 1 and not _can_hold(group, allows=allows):
            parts = " and ".join(conditions.words(one, every=allows) for one in group)
            return f"{parts} cannot be true at once"
    return None


def _can_hold(group: list[Condition], *, allows: bool) -> bool:
    absent = [one for one in group if one.op == "exists" and not one.value]
    present = [one for one in group if one.op == "exists" and one.value]
    compared = [one for one in group if one.op != "exists"]
    if absent and (present or (allows and compared)):
        return False
    exact = [one for one in compared if one.op in ("equals", "in")]
    if exact:
        choices = exact[0].value if exact[0].op == "in" else [exact[0].value]
        others = [one for one in compared if one is not exact[0]]
        return any(all(_suits(one, choice) for one in others) for choice in choices)
    ranged = [one for one in compared if one.op in conditions.NUMERIC]
    if ranged and any(one.op == "matches" for one in compared):
        return False
    return _has_room(ranged)


def _suits(condition: Condition, value: object) -> bool:
    said = conditions.outcome(
        Condition(field="x", path=("x",), op=condition.op, value=condition.value),
        {"x": value}, every=False,
    )  # fmt: skip
    return said.holds is True or (said.holds is None and condition.op == "matches"
                                  and isinstance(value, str))  # fmt: skip


def _has_room(ranged: list[Condition]) -> bool:
    """Some number lies inside all bounds."""
    low, high = -math.inf, math.inf
    low_open = high_open = False
    for one in ranged:
        if one.op in ("gt", "gte") and one.value >= low:
            low_open = one.op == "gt" or (low_open and one.value == low)
            low = one.value
        elif one.op in ("lt", "lte") and one.value <= high:
            high_open = one.op == "lt" or (high_open and one.value == high)
            high = one.value
    return low < high or (low == high and not low_open and not high_open)


def _beside(rule: Rule, others: list[Rule]) -> str | None:
    """The first other rule that leaves this one nothing to say; stricter ones first."""
    wider = [other for other in others if _covers(other, rule)]
    for other in wider:
        if _STRICTNESS[other.effect] > _STRICTNESS[rule.effect]:
            match = "exactly" if _covers(rule, other) else "all of"
            return (
                f"Rule {rule.number} never decides: rule {other.number} "
                f"{_DECIDES[other.effect]} {match} what it {_DECIDES[rule.effect]}."
            )
    for other in wider:
        if other.effect == rule.effect and _demands_less(rule, other):
            is_exact = _covers(rule, other) and _demands_less(other, rule)
            if not is_exact:
                return f"Rule {rule.number} adds nothing to rule {other.number}."
            if other.number < rule.number:
                return f"Rule {rule.number} repeats rule {other.number}."
    return None


def _covers(wide: Rule, narrow: Rule) -> bool:
    """Whatever the narrow rule matches, the wide rule matches too."""
    names = all(_glob_covers(getattr(wide, name), getattr(narrow, name)) for name in NAMES)
    flags = wide.read_only is None or wide.read_only == narrow.read_only
    labels = not wide.environment or (
        bool(narrow.environment)
        and all(any(_glob_covers(w, n) for w in wide.environment) for n in narrow.environment)
    )
    return names and flags and labels and _when_covers(wide, narrow)


def _when_covers(wide: Rule, narrow: Rule) -> bool:
    if wide.effect == "allow" and narrow.effect != "allow" and wide.when:
        return False
    # `any` and `every` element are different claims; they only compare within one kind of rule.
    is_same_claim = (wide.effect == "allow") == (narrow.effect == "allow")
    return all(
        any(_same(one, other) for other in narrow.when)
        and (is_same_claim or not one.is_about_elements)
        for one in wide.when
    )


def _same(one: Condition, other: Condition) -> bool:
    return one.path == other.path and one.op == other.op and conditions.same(one.value, other.value)


def _glob_covers(wide: str | None, narrow: str | None) -> bool:
    if wide is None or wide == narrow:
        return True
    if narrow is None:
        return False
    is_plain = not any(letter in narrow for letter in "*?[")
    return wide == "*" or (is_plain and fnmatch.fnmatchcase(narrow, wide))


def _demands_less(rule: Rule, other: Rule) -> bool:
    """What this rule asks of people, the other asks too."""
    expiry = rule.expires_seconds is None or (
        other.expires_seconds is not None and other.expires_seconds <= rule.expires_seconds
    )
    return rule.approvers <= other.approvers and (other.not_own or not rule.not_own) and expiry
