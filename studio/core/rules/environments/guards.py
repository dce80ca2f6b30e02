"""Which labels the policy asks about: an operator gives, changes or takes none of those.

What a rule says of environments with a label would otherwise be for any operator to undo.
"""

import fnmatch
from collections.abc import Mapping

from studio.core.rules.access import Person
from studio.core.rules.errors import Denied
from studio.core.rules.policy import Policy

SHOWN = 5


def asked_about(policy: Policy, labels: Mapping[str, str]) -> dict[str, int]:
    """Those of the labels (as key=value) that a rule asks about, with the first such rule."""
    found = {}
    for key, value in labels.items():
        label = f"{key}={value}"
        for rule in policy.rules:
            if any(fnmatch.fnmatchcase(label, glob) for glob in rule.environment):
                found[label] = rule.number
                break
    return found


def check_change(
    person: Person, policy: Policy, before: Mapping[str, str], after: Mapping[str, str]
) -> None:
    """Refuse an operator a change of labels that a rule of the policy asks about."""
    if person.role == "admin":
        return
    gone, new = _differ(before, after), _differ(after, before)
    found = asked_about(policy, gone) | asked_about(policy, new)
    if not found:
        return
    named = [f"{label} (rule {number})" for label, number in found.items()]
    told = ", ".join(named[:SHOWN]) + (f" and {len(named) - SHOWN} more" * (len(named) > SHOWN))
    raise Denied(
        f"The policy asks about {told}, so only an admin gives, changes or takes such a label. "
        "Nothing was changed.",
        code="denied.label_of_policy",
        details={"labels": list(found), "rules": sorted(set(found.values()))},
    )


def _differ(these: Mapping[str, str], those: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in these.items() if those.get(key) != value}
