"""Keywords of JSON Schema that run here in another way: safe patterns, quick sets, counted work."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from jsonschema.exceptions import ValidationError

from studio.core.rules import ids, patterns

MOST_WORK = 100_000
FAULT_WORK = 20

Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]

_left: ContextVar[list[int] | None] = ContextVar("_left", default=None)


class TooMuch(Exception):
    """Checking the value took more work than `MOST_WORK` keywords."""


@contextmanager
def budget() -> Iterator[None]:
    """Count the work done inside; TooMuch is raised when it is too much."""
    token = _left.set([MOST_WORK])
    try:
        yield
    finally:
        _left.reset(token)


def guarded(keywords: Mapping[str, Keyword]) -> dict[str, Keyword]:
    """The same keywords, counted, with ours in the place of those that could take long."""
    ours = {**keywords, **{name: own for name, own in _OURS.items() if name in keywords}}
    return {name: _counted(keyword) for name, keyword in ours.items()}


def _counted(keyword: Keyword) -> Keyword:
    def counted(
        validator: Any, wanted: Any, instance: Any, schema: Any
    ) -> Iterator[ValidationError]:
        _spend(1)
        for error in keyword(validator, wanted, instance, schema) or ():
            _spend(FAULT_WORK)
            yield error

    return counted


def _spend(work: int) -> None:
    left = _left.get()
    if left is not None:
        left[0] -= work
        if left[0] < 0:
            raise TooMuch


def _pattern(validator: Any, wanted: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not isinstance(instance, str) or patterns.check(wanted) is not None:
        return
    found = patterns.matches(wanted, instance)
    if found is None:
        most = f"{patterns.LONGEST:,} characters"
        yield ValidationError(f"is too long to be checked: at most {most}.")
    elif not found:
        yield ValidationError("does not match")


def _pattern_properties(
    validator: Any, wanted: Mapping[str, Any], instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if not isinstance(instance, Mapping):
        return
    for pattern, part in wanted.items():
        for name, value in instance.items():
            if patterns.matches(pattern, name):
                yield from validator.descend(value, part, path=name, schema_path=pattern)


def _additional_properties(
    validator: Any, wanted: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if not isinstance(instance, Mapping) or not isinstance(schema, Mapping):
        return
    known, by_pattern = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, value in instance.items():
        if name in known or any(patterns.matches(pattern, name) for pattern in by_pattern):
            continue
        if wanted is False:
            error = ValidationError("is not a known field")
            error.path.append(name)
            yield error
        else:
            yield from validator.descend(value, wanted, path=name)


def _unique_items(
    validator: Any, wanted: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if wanted and isinstance(instance, list):
        kinds = {ids.canonical(item) for item in instance}
        if len(kinds) < len(instance):
            yield ValidationError("has an entry twice")


_OURS: dict[str, Keyword] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
}
