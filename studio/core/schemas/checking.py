"""Whether a JSON Schema is one, and whether a value fits it.

Nothing is ever fetched; patterns run only when they cannot take long (`rules.patterns`); depth,
work and the number of faults are bounded. Compiled schemas are kept by their hash.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any
from urllib.parse import unquote

from jsonschema import Draft202012Validator, validators
from jsonschema.exceptions import ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable

from studio.core.rules import ids, patterns
from studio.core.schemas import DEEPEST, MOST_ERRORS, keywords, words

LARGEST = 1024 * 1024
LONGEST_NAME = 4_096
# A reference to nothing, or a schema without end, shows on one of these.
PROBES: tuple[Any, ...] = (None, True, 0, "", [], {})

_NOWHERE: Registry[Any] = Registry()


def problem(schema: object, *, foreign: bool = False) -> str | None:
    """What is wrong with a schema, as a sentence without its subject; None when it may be used.

    A `foreign` schema (a tool server's own) may hold patterns that could take too long: they are
    never run here, and left to the server.
    """
    keyed = _keyed(schema)
    return keyed if isinstance(keyed, str) else _problem(keyed, foreign)


def errors(schema: object, value: object) -> dict[str, str]:
    """What does not fit, by dotted path, in plain sentences; at most `MOST_ERRORS`. {} is a fit."""
    keyed = _keyed(schema)
    fault = keyed if isinstance(keyed, str) else _problem(keyed, True)
    if fault is not None or isinstance(keyed, str):
        return {"": f"cannot be checked, because its schema {fault}"}
    if depth_over(value, DEEPEST):
        return {"": f"is nested more than {DEEPEST} levels deep."}
    if _has_long_name(value):
        return {"": f"has a name of more than {LONGEST_NAME:,} characters."}
    found: dict[str, str] = {}
    try:
        for error in _faults(keyed, value, 10 * MOST_ERRORS):
            for path, sentence in words.of(error):
                found.setdefault(path, sentence)
            if len(found) >= MOST_ERRORS:
                break
    except (keywords.TooMuch, RecursionError):
        return {"": "has too many parts to be checked."}
    except Unresolvable:
        return {"": "cannot be checked, because its schema refers to something that is not in it."}
    except OverflowError:
        return {"": "has a number that is too large to be checked."}
    return dict(islice(found.items(), MOST_ERRORS))


def depth_over(value: object, most: int) -> bool:
    """Whether a JSON value is nested deeper than this, found without recursion."""
    level: list[object] = [value]
    for _ in range(most + 1):
        level = [
            part
            for item in level
            if isinstance(item, Mapping | list)
            for part in (item.values() if isinstance(item, Mapping) else item)
        ]
        if not level:
            return False
    return True


def parts(value: object) -> Iterator[Mapping[str, Any]]:
    """Every object inside a JSON value, itself too, found without recursion."""
    stack: list[object] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, Mapping):
            yield item
            stack += item.values()
        elif isinstance(item, list):
            stack += item


class _Keyed:
    """A schema with its hash, so that a cache can hold what was made of it."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.key = ids.digest(schema)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Keyed) and self.key == other.key


def _keyed(schema: object) -> _Keyed | str:
    """The schema to look up, or what is wrong with its outer shape."""
    if not isinstance(schema, Mapping | bool):
        return "must be an object (a JSON Schema)."
    if depth_over(schema, DEEPEST):
        return f"is nested more than {DEEPEST} levels deep."
    return _Keyed(schema)


@lru_cache(maxsize=1_024)
def _problem(keyed: _Keyed, foreign: bool) -> str | None:  # noqa: FBT001 - lru_cache needs it so
    schema = keyed.schema
    if isinstance(schema, bool):
        return None
    if len(ids.canonical(schema)) > LARGEST:
        return f"is larger than {LARGEST:,} bytes."
    try:
        fault = _not_a_schema(schema) or _refers_out(schema) or _bad_pattern(schema, foreign)
        if fault is None:
            for value in PROBES:
                list(_faults(keyed, value, MOST_ERRORS))
    except Unresolvable:
        return "refers to something that is not in it."
    except (keywords.TooMuch, RecursionError):
        return "refers to itself without end, or is nested too deeply."
    return fault


def _not_a_schema(schema: Mapping[str, Any]) -> str | None:
    kind = _draft(schema)
    checker = kind(kind.META_SCHEMA, registry=_NOWHERE)
    for error in checker.iter_errors(schema):
        path, sentence = words.of(error)[0]
        return f"is not a JSON Schema: {path or 'it'} {sentence}"
    if any(isinstance(part.get("$schema"), str) for part in parts(schema) if part is not schema):
        return "names a draft ($schema) inside; it may only stand at its beginning."
    return None


def _refers_out(schema: Mapping[str, Any]) -> str | None:
    """A reference to another document, which is never fetched, or to what is not in this one."""
    own = set(_texts(schema, "$id", "id"))
    for target in _texts(schema, "$ref", "$dynamicRef", "$recursiveRef"):
        place, _, pointer = target.partition("#")
        if place and place not in own:
            return f"refers to {target[:200]}, which is never fetched; put it into $defs."
        # A name further in changes where a pointer starts; those show when they are used.
        if not own and pointer.startswith("/") and not _points(schema, pointer):
            return f"refers to {target[:200]}, which is not in it."
    return None


def _texts(schema: Mapping[str, Any], *names: str) -> Iterator[str]:
    for part in parts(schema):
        yield from (part[name] for name in names if isinstance(part.get(name), str))


def _points(schema: Mapping[str, Any], pointer: str) -> bool:
    """The JSON pointer leads to a part of the schema."""
    place: Any = schema
    for step in unquote(pointer).split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(place, Mapping) and step in place:
            place = place[step]
        elif isinstance(place, list) and step.isdecimal() and int(step) < len(place):
            place = place[int(step)]
        else:
            return False
    return True


def _bad_pattern(schema: Mapping[str, Any], foreign: bool) -> str | None:  # noqa: FBT001
    for part in parts(schema):
        by_name = part.get("patternProperties")
        names = list(by_name) if isinstance(by_name, Mapping) else []
        if not foreign and isinstance(part.get("pattern"), str):
            names.append(part["pattern"])
        for pattern in names:
            if fault := patterns.check(pattern):
                return f"has the pattern {pattern[:100]}, which {fault}."
    return None


def _draft(schema: Mapping[str, Any]) -> Any:
    named = schema.get("$schema")
    return validators.validator_for({"$schema": named}, default=Draft202012Validator)


def _faults(keyed: _Keyed, value: object, most: int) -> Iterable[ValidationError]:
    with keywords.budget():
        yield from islice(_validator(keyed).iter_errors(value), most)


@lru_cache(maxsize=512)
def _validator(keyed: _Keyed) -> Any:
    schema = keyed.schema
    if isinstance(schema, bool):
        return _guarded(Draft202012Validator)(schema, registry=_NOWHERE)
    # Without its name: a reference back to the beginning would otherwise choose the plain class.
    unnamed = {name: part for name, part in schema.items() if name != "$schema"}
    return _guarded(_draft(schema))(unnamed, registry=_NOWHERE)


@lru_cache(maxsize=16)
def _guarded(kind: Any) -> Any:
    extend: Any = validators.extend
    return extend(kind, validators=keywords.guarded(kind.VALIDATORS))


def _has_long_name(value: object) -> bool:
    return any(len(name) > LONGEST_NAME for part in parts(value) for name in part)
