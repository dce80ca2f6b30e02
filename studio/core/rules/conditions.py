"""One condition of a rule: a place in a call's arguments, how to compare it, and with what.

The answer is true, false or *unknown*: the field is missing, has another type, or is too long to
be matched. `[*]` in a path means every element for a rule that allows, any element for others,
so that one good element never lets a bad one through.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from studio.core.rules import paths, patterns
from studio.core.rules.reading import Reader

Op = Literal["equals", "in", "gt", "gte", "lt", "lte", "matches", "exists"]
OPS: tuple[Op, ...] = get_args(Op)
NUMERIC = frozenset({"gt", "gte", "lt", "lte"})
MOST_CHOICES = 200
MOST_ELEMENTS = 10_000
DEEPEST_VALUE = 16

_MISSING = object()
_PHRASES = {
    "equals": "is",
    "in": "is one of",
    "gt": "is over",
    "gte": "is at least",
    "lt": "is under",
    "lte": "is at most",
    "matches": "matches",
}


@dataclass(frozen=True, kw_only=True)
class Condition:
    """`field` is the written path, `path` its parts. `value` is JSON; for `in` an array of it."""

    field: str
    path: paths.Path
    op: Op
    value: Any

    @property
    def is_about_elements(self) -> bool:
        """Its path goes through `[*]`."""
        return paths.EACH in self.path


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a condition says of some arguments. `holds` is None when unknown, `why` in words."""

    holds: bool | None
    why: str = ""


def read(reader: Reader) -> Condition | None:
    """A condition from JSON; faults are kept by the reader."""
    reader.known("field", "op", "value")
    field = reader.text("field", most=500, needed=True)
    op = reader.one_of("op", OPS, needed=True)
    path = paths.parse(field) if field else None
    if field and not path:
        reader.fault("field", "is not a path such as rollout.percent, files[0].name or to[*].")
    if not path or not field or op is None or not _reads(reader, op):
        return None
    value = reader.value.get("value", True) if op == "exists" else reader.value["value"]
    return Condition(field=field, path=path, op=op, value=value)  # type: ignore[arg-type]


def write(condition: Condition) -> dict[str, Any]:
    """The condition as JSON; `read` reads it back."""
    return {"field": condition.field, "op": condition.op, "value": condition.value}


def outcome(condition: Condition, arguments: object, *, every: bool) -> Outcome:
    """What it says of these arguments. `every`: all elements of `[*]` must hold, not just one."""
    found = _found(arguments, condition.path)
    if condition.op == "exists":
        given = [value is not _MISSING for value in found] or [False]
        claims = [is_there is condition.value for is_there in given]
        return Outcome(holds=all(claims) if every else any(claims))
    if not found:
        return Outcome(holds=None, why=f"{condition.field} has no element")
    if len(found) > MOST_ELEMENTS:
        return Outcome(holds=None, why=f"{condition.field} has too many elements to compare")
    decisive = not every
    unknown = None
    for value in found:
        said = _compare(condition, value)
        if said.holds is decisive:
            return said
        unknown = said if said.holds is None else unknown
    return unknown or Outcome(holds=every)


def words(condition: Condition, *, every: bool) -> str:
    """The condition in plain English: `rollout.percent is over 50`."""
    field = condition.field
    if condition.is_about_elements:
        field = f"{'every' if every else 'any'} {field}"
    if condition.op == "exists":
        return f"{field} is {'given' if condition.value else 'not given'}"
    if condition.op == "in":
        value = ", ".join(_short(choice) for choice in condition.value[:10])
        more = len(condition.value) - 10
        value += f" and {more:,} more" if more > 0 else ""
    else:
        value = _short(condition.value)
    return f"{field} {_PHRASES[condition.op]} {value}"


def same(one: object, two: object) -> bool:
    """JSON equality: true is not 1, and 1.0 is 1."""
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(two, list | tuple):
        return len(one) == len(two) and all(map(same, one, two))
    return (type(one) is type(two) and one == two) or (_is_number(one) and one == two)


def _reads(reader: Reader, op: str) -> bool:
    """The value suits the comparison; otherwise a fault is kept."""
    value = reader.value.get("value")
    sentence = None
    if op == "exists":
        if not isinstance(reader.value.get("value", True), bool):
            sentence = "must be true or false."
    elif "value" not in reader.value:
        sentence = "is needed."
    elif op in NUMERIC and not _is_number(value):
        sentence = "must be a number."
    elif op == "in" and not (isinstance(value, list) and 0 < len(value) <= MOST_CHOICES):
        sentence = f"must be a list of 1 to {MOST_CHOICES} values."
    elif op == "matches":
        sentence = _pattern_fault(value)
    elif _depth(value) > DEEPEST_VALUE:
        sentence = f"is nested more than {DEEPEST_VALUE} levels deep."
    if sentence:
        reader.fault("value", sentence)
    return sentence is None


def _pattern_fault(value: object) -> str | None:
    if not isinstance(value, str) or not value:
        return "must be a regular expression."
    fault = patterns.check(value)
    return None if fault is None else f"{fault}."


def _depth(value: object, most: int = DEEPEST_VALUE) -> int:
    if most < 0:
        return 1
    if isinstance(value, Mapping):
        return 1 + max((_depth(item, most - 1) for item in value.values()), default=0)
    if isinstance(value, list):
        return 1 + max((_depth(item, most - 1) for item in value), default=0)
    return 0


def _found(value: object, path: paths.Path) -> list[object]:
    """The values at the path; one marker for each place where it is missing."""
    values: list[object] = [value]
    for part in path:
        after: list[object] = []
        for item in values:
            after.extend(_step(item, part))
            if len(after) > MOST_ELEMENTS:
                return after
        values = after
    return values


def _step(item: object, part: paths.Part) -> list[object]:
    if part is paths.EACH:
        return list(item[: MOST_ELEMENTS + 1]) if isinstance(item, list | tuple) else [_MISSING]
    if isinstance(part, int):
        there = isinstance(item, list | tuple) and part < len(item)
        return [item[part]] if there else [_MISSING]  # type: ignore[index]
    return [item[part]] if isinstance(item, Mapping) and part in item else [_MISSING]


def _compare(condition: Condition, value: object) -> Outcome:
    if value is _MISSING:
        return Outcome(holds=None, why=f"{condition.field} is missing")
    expected = condition.value
    match condition.op:
        case "equals":
            return _equal(condition, value, [expected])
        case "in":
            return _equal(condition, value, expected)
        case "matches":
            return _match(condition, value)
        case _ if not _is_number(value):
            return Outcome(holds=None, why=f"{condition.field} is not a number")
        case "gt":
            return Outcome(holds=value > expected)
        case "gte":
            return Outcome(holds=value >= expected)
        case "lt":
            return Outcome(holds=value < expected)
        case _:
            return Outcome(holds=value <= expected)


def _equal(condition: Condition, value: object, choices: list[object]) -> Outcome:
    if any(same(value, choice) for choice in choices):
        return Outcome(holds=True)
    if any(_kind(value) == _kind(choice) for choice in choices):
        return Outcome(holds=False)
    return Outcome(holds=None, why=f"{condition.field} is {_kind(value)}")


def _match(condition: Condition, value: object) -> Outcome:
    if not isinstance(value, str):
        return Outcome(holds=None, why=f"{condition.field} is not text")
    found = patterns.matches(condition.value, value)
    if found is None:
        return Outcome(holds=None, why=f"{condition.field} is too long to be checked")
    return Outcome(holds=found)


def _is_number(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _kind(value: object) -> str:
    """What kind of JSON it is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number" if _is_number(value) else "no finite number"
    if isinstance(value, str):
        return "text"
    return "an object" if isinstance(value, Mapping) else "a list"


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:119]}…"
