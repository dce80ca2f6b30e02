"""The policy: rules that say allow, ask or deny of a call, and what they say together.

Every rule that matches counts and is kept; the strictest wins (deny, then ask, then allow). Where
none matches, a tool that only reads runs and everything else asks. What cannot be compared counts
against the call: it matches rules that ask or deny and no rule that allows.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from studio.core.rules import doubts
from studio.core.rules import rule as r
from studio.core.rules.events import MatchedRule, Ruling, Verdict
from studio.core.rules.reading import Faults, top
from studio.core.rules.rule import Rule, Subject, words

__all__ = [
    "Change", "DryRun", "Policy", "RecordedCall", "Rule", "Subject", "dry_run", "dump", "for_tool",
    "parse", "ruling", "words",
]  # fmt: skip

STRICTNESS: dict[Verdict, int] = {"allow": 0, "ask": 1, "deny": 2}
MOST_RULES = 500
DEFAULT_ASKS = "default policy: asks for anything its tool does not mark read-only"
DEFAULT_ALLOWS = "default policy: a tool marked read-only runs without asking"
CHANGES_KEPT = 200

_STANDING: dict[Verdict, str] = {"allow": "runs", "ask": "held", "deny": "denied"}


@dataclass(frozen=True, kw_only=True)
class Policy:
    """One version of the rules, in the order they were written."""

    version: int = 0
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RecordedCall:
    """A call of the past, for a dry run. `time` is milliseconds since 1970, UTC."""

    effect_id: str
    session_id: str
    time: int
    subject: Subject
    plugin_version: str | None = None


@dataclass(frozen=True, kw_only=True)
class Change:
    """A recorded call that the new rules would treat otherwise, and the new rules that say so."""

    call: RecordedCall
    before: Verdict
    after: Verdict
    rules: tuple[MatchedRule, ...]


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """What new rules would have said of `total` recorded calls.

    `changed` keeps the first `CHANGES_KEPT`; `counts` has all of them by (before, after).
    """

    total: int
    changed: tuple[Change, ...] = ()
    counts: dict[tuple[Verdict, Verdict], int] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """In words: `Of the last 1,000 calls, 14 would have been held instead of run.`"""
        if not self.total:
            return "No calls are recorded yet, so there is nothing to compare."
        if not self.counts:
            return f"Nothing changes for the last {self.total:,} calls."
        words: dict[Verdict, str] = {"allow": "run", "ask": "been held", "deny": "been denied"}
        parts = [
            f"{count:,} would have {words[after]} instead of {words[before].removeprefix('been ')}"
            for (before, after), count in sorted(self.counts.items())
        ]
        return f"Of the last {self.total:,} calls, {'; '.join(parts)}."


def parse(data: object) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Rules from JSON (an array of them, or an object with `rules`), and doubts about them.

    Raises Invalid with a sentence for each field, such as `rules[3].when[0].op`.
    """
    faults = Faults()
    reader = top({"rules": data} if isinstance(data, list) else data, "", faults)
    rules: list[Rule | None] = []
    if reader:
        reader.known("rules")
        if not reader.has("rules"):
            reader.fault("rules", "is needed.")
        items = reader.objects("rules", most=MOST_RULES)
        rules = [r.read(item, number) for number, item in enumerate(items, 1)]
    faults.check("The policy", code="policy.invalid")
    parsed = tuple(rule for rule in rules if rule is not None)
    return parsed, doubts.about(parsed)


def dump(policy: Policy) -> list[dict[str, Any]]:
    """The rules as JSON; `parse` reads them back."""
    return [r.write(rule) for rule in policy.rules]


def ruling(policy: Policy, subject: Subject) -> Ruling:
    """What the policy says of a call, with every rule that matched."""
    matched = [
        (rule, note)
        for rule in policy.rules
        if r.is_about(rule, subject) and (note := r.holds(rule, subject.arguments)) is not None
    ]
    if not matched:
        return _default(policy, subject)
    kept = tuple(
        MatchedRule(number=rule.number, effect=rule.effect, words=words(rule) + note,
                    reason=rule.reason)
        for rule, note in matched
    )  # fmt: skip
    verdict = max((rule.effect for rule, _ in matched), key=STRICTNESS.__getitem__)
    asking = [rule for rule, _ in matched if rule.effect == "ask"] if verdict == "ask" else []
    expiries = [rule.expires_seconds for rule in asking if rule.expires_seconds is not None]
    return Ruling(
        verdict=verdict,
        policy_version=policy.version,
        rules=kept,
        approvers=max((rule.approvers for rule in asking), default=1),
        not_own=any(rule.not_own for rule in asking),
        expires_seconds=min(expiries, default=None),
    )


def for_tool(policy: Policy, subject: Subject) -> tuple[str, str]:
    """What becomes of calls of a tool whose arguments are not known yet.

    A word for each outcome that can be (`runs`, `held`, `runs or held`…), and a sentence with the
    rules that decide it: `held when rollout.percent is over 50 (rule 3), otherwise runs`.
    """
    about = [rule for rule in policy.rules if r.is_about(rule, subject)]
    always = [rule for rule in about if not rule.when]
    verdict, rest = _otherwise(always, subject)
    least = STRICTNESS[verdict] if always else -1
    sometimes = sorted(
        (rule for rule in about if rule.when and STRICTNESS[rule.effect] > least),
        key=lambda rule: (-STRICTNESS[rule.effect], rule.number),
    )
    can_be = {rule.effect for rule in sometimes} | {verdict}
    word = " or ".join(_STANDING[effect] for effect in STRICTNESS if effect in can_be)
    if not sometimes:
        return word, rest
    parts = [
        f"{_STANDING[rule.effect]} when {r.when(rule)} ({_numbered([rule])})" for rule in sometimes
    ]
    return word, f"{'; '.join(parts)}, otherwise {rest}"


def dry_run(old: Policy, new: Policy, calls: Iterable[RecordedCall]) -> DryRun:
    """What would be different, had the new rules been in force for these calls."""
    total = 0
    changed: list[Change] = []
    counts: Counter[tuple[Verdict, Verdict]] = Counter()
    for call in calls:
        total += 1
        before, after = ruling(old, call.subject), ruling(new, call.subject)
        if before.verdict == after.verdict:
            continue
        counts[before.verdict, after.verdict] += 1
        if len(changed) < CHANGES_KEPT:
            changed.append(
                Change(call=call, before=before.verdict, after=after.verdict, rules=after.rules)
            )
    return DryRun(total=total, changed=tuple(changed), counts=dict(counts))


def _default(policy: Policy, subject: Subject) -> Ruling:
    verdict: Verdict = "allow" if subject.read_only else "ask"
    sentence = DEFAULT_ALLOWS if subject.read_only else DEFAULT_ASKS
    rule = MatchedRule(number=0, effect=verdict, words=sentence)
    return Ruling(verdict=verdict, policy_version=policy.version, rules=(rule,))


def _otherwise(always: list[Rule], subject: Subject) -> tuple[Verdict, str]:
    """What rules without conditions, or the default, say of the tool, and who says it."""
    if not always:
        default: Verdict = "allow" if subject.read_only else "ask"
        return default, f"{_STANDING[default]} (default policy)"
    verdict = max((rule.effect for rule in always), key=STRICTNESS.__getitem__)
    deciding = [rule for rule in always if rule.effect == verdict]
    return verdict, f"{_STANDING[verdict]} ({_numbered(deciding)})"


def _numbered(rules: list[Rule]) -> str:
    listed = " and ".join(str(rule.number) for rule in rules)
    return f"{'rule' if len(rules) == 1 else 'rules'} {listed}"
