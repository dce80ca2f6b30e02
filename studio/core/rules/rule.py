"""One rule of the policy: what it is about, its words, and how it is written as JSON."""

import fnmatch
from dataclasses import dataclass
from typing import Any, Literal

from studio.core.rules import conditions
from studio.core.rules.events import Verdict
from studio.core.rules.reading import Reader

Name = Literal["tool", "server", "plugin", "kind", "agent"]
NAMES: tuple[Name, ...] = ("tool", "server", "plugin", "kind", "agent")
EFFECTS: tuple[Verdict, ...] = ("allow", "ask", "deny")
ONLY_ASKING = ("approvers", "not_own", "expires_seconds")
MOST_CONDITIONS = 20
MOST_LABELS = 20
LONGEST_GLOB = 200
LONGEST_EXPIRY = 366 * 86_400

_VERBS: dict[Verdict, str] = {"allow": "allows", "ask": "asks for", "deny": "denies"}
_COUNTS = {2: "two people", 3: "three people", 4: "four people", 5: "five people"}


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule; `number` counts from 1. Names are globs, None matches all. All of `when` must hold.

    `environment` holds globs of labels, of which one must match. `approvers`, `not_own` and
    `expires_seconds` belong to rules that ask.
    """

    number: int
    effect: Verdict
    tool: str | None = None
    server: str | None = None
    plugin: str | None = None
    kind: str | None = None
    agent: str | None = None
    environment: tuple[str, ...] = ()
    read_only: bool | None = None
    when: tuple[conditions.Condition, ...] = ()
    reason: str | None = None
    approvers: int = 1
    not_own: bool = False
    expires_seconds: int | None = None


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A call as the policy sees it. `arguments` is its JSON; None when they are not at hand.

    `labels` are those of the session's environment, `read_only` is what the tool declares.
    """

    tool: str
    kind: str
    agent: str = ""
    server: str | None = None
    plugin: str | None = None
    labels: tuple[str, ...] = ()
    read_only: bool = False
    arguments: Any = None


def is_about(rule: Rule, subject: Subject) -> bool:
    """The rule is about this tool, agent and environment; its conditions are another matter."""
    for name in NAMES:
        glob, value = getattr(rule, name), getattr(subject, name)
        if glob is not None and (value is None or not fnmatch.fnmatchcase(value, glob)):
            return False
    if rule.read_only is not None and rule.read_only != subject.read_only:
        return False
    return not rule.environment or any(
        fnmatch.fnmatchcase(label, glob) for glob in rule.environment for label in subject.labels
    )


def holds(rule: Rule, arguments: object) -> str | None:
    """None when its conditions do not hold, else a note on what could not be compared, or ''."""
    allows = rule.effect == "allow"
    notes = []
    for condition in rule.when:
        said = conditions.outcome(condition, arguments, every=allows)
        if said.holds is False or (said.holds is None and allows):
            return None
        if said.holds is None:
            notes.append(said.why)
    return f" (counts because {' and '.join(notes)})" if notes else ""


def words(rule: Rule) -> str:
    """The rule in plain English: `asks for tool publish_* when rollout.percent is over 50`."""
    text = f"{_VERBS[rule.effect]} {what(rule)}"
    if rule.when:
        text += f" when {when(rule)}"
    if rule.approvers > 1:
        text += f", and {_COUNTS[rule.approvers]} must agree"
    if rule.not_own:
        text += ", not by whoever started the session"
    if rule.expires_seconds is not None:
        text += f"; denied if undecided after {_duration(rule.expires_seconds)}"
    return text


def what(rule: Rule) -> str:
    """What the rule is about, without its conditions."""
    text = f"tool {rule.tool}" if rule.tool else "every call"
    if rule.read_only is not None:
        text += " marked read-only" if rule.read_only else " not marked read-only"
    for name in ("server", "plugin", "kind"):
        if glob := getattr(rule, name):
            text += f" of {name} {glob}"
    if rule.agent:
        text += f" by agent {rule.agent}"
    if rule.environment:
        text += f" in environments labelled {' or '.join(rule.environment)}"
    return text


def when(rule: Rule) -> str:
    """Its conditions in words."""
    every = rule.effect == "allow"
    return " and ".join(conditions.words(condition, every=every) for condition in rule.when)


def read(reader: Reader, number: int) -> Rule | None:
    """A rule from JSON; faults are kept by the reader."""
    reader.known("effect", *NAMES, "environment", "read_only", "when", "reason", *ONLY_ASKING)
    effect = reader.one_of("effect", EFFECTS, needed=True)
    names = {name: _glob(reader, name) for name in NAMES}
    when = [conditions.read(item) for item in reader.objects("when", most=MOST_CONDITIONS)]
    if effect != "ask":
        for name in ONLY_ASKING:
            if reader.has(name):
                reader.fault(name, "belongs to rules that ask.")
    rule = Rule(
        number=number,
        effect=next((known for known in EFFECTS if known == effect), "deny"),
        environment=_labels(reader),
        read_only=reader.flag("read_only"),
        when=tuple(condition for condition in when if condition is not None),
        reason=reader.text("reason", most=500),
        approvers=reader.whole("approvers", 1, 5) or 1,
        not_own=reader.flag("not_own") or False,
        expires_seconds=reader.whole("expires_seconds", 1, LONGEST_EXPIRY),
        **names,
    )
    return None if effect is None else rule


def write(rule: Rule) -> dict[str, Any]:
    """The rule as JSON, without what it does not say; `read` reads it back."""
    data: dict[str, Any] = {"effect": rule.effect}
    data |= {name: getattr(rule, name) for name in NAMES if getattr(rule, name) is not None}
    if rule.environment:
        data["environment"] = list(rule.environment)
    if rule.read_only is not None:
        data["read_only"] = rule.read_only
    if rule.when:
        data["when"] = [conditions.write(condition) for condition in rule.when]
    if rule.reason is not None:
        data["reason"] = rule.reason
    if rule.approvers != 1:
        data["approvers"] = rule.approvers
    if rule.not_own:
        data["not_own"] = True
    if rule.expires_seconds is not None:
        data["expires_seconds"] = rule.expires_seconds
    return data


def glob_fault(glob: str) -> str | None:
    """What is wrong with a glob, as a sentence without its subject."""
    if any(ord(letter) < 32 for letter in glob):
        return "must not hold control characters."
    at = 0
    while (at := glob.find("[", at)) >= 0:
        # As fnmatch reads it: `]` first, also after `!`, is a member of the set.
        first = at + 2 if glob[at + 1 : at + 2] == "!" else at + 1
        end = glob.find("]", first + 1)
        if end < 0:
            return "has a [ without its ]; write [[] for the bracket itself."
        at = end + 1
    return None


def _glob(reader: Reader, name: str) -> str | None:
    glob = reader.text(name, most=LONGEST_GLOB)
    fault = glob_fault(glob) if glob else None
    if fault:
        reader.fault(name, fault)
    return glob


def _labels(reader: Reader) -> tuple[str, ...]:
    """One glob or a list of them."""
    value = reader.value.get("environment")
    labels: list[tuple[str, Any]] = [(reader.at("environment"), value)]
    if not isinstance(value, str):
        labels = reader.items("environment", most=MOST_LABELS)
        if value == []:
            reader.fault("environment", "must name at least one label.")
    for path, label in labels:
        if not isinstance(label, str) or not 0 < len(label) <= LONGEST_GLOB:
            reader.faults.add(path, f"must be text of 1 to {LONGEST_GLOB} characters.")
        elif fault := glob_fault(label):
            reader.faults.add(path, fault)
    return tuple(label for _, label in labels if isinstance(label, str))


def _duration(seconds: int) -> str:
    for size, noun in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size and seconds % size == 0:
            count = seconds // size
            return f"{count:,} {noun}{'' if count == 1 else 's'}"
    return f"{seconds:,} second{'' if seconds == 1 else 's'}"
