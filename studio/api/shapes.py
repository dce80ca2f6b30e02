"""Shapes: one description, a frozen dataclass, parses JSON, renders JSON and is its JSON Schema.

A field's type is `str int float bool None`, a Literal, `Time`, `JSON`, a list, a dict of texts or
another shape. `Annotated[…]` adds a bound or a sentence. Parsing is strict: no unknown fields, no
text for numbers, no true for one; every fault is told at once by its dotted path.
"""

import re
import types
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import Field, dataclass, fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from studio.core.rules.errors import Invalid

T = TypeVar("T")
JSON: TypeAlias = Any
Time = NewType("Time", int)  # milliseconds since 1970, UTC; on the wire a text of RFC 3339
SAFE_WHOLE = 2**53 - 1
FAULTS_TOLD = 20  # of unknown fields; who sends more of them has read nothing yet


class Absent:
    """The type of `ABSENT`: the field was not sent, which is not the same as null."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


@dataclass(frozen=True, kw_only=True)
class Text:
    """Bounds of a text, in characters. `lines` allows line breaks and tabs."""

    low: int = 0
    high: int | None = None
    pattern: str | None = None
    lines: bool = False


@dataclass(frozen=True, kw_only=True)
class Whole:
    """Bounds of a whole number."""

    low: int = -SAFE_WHOLE
    high: int = SAFE_WHOLE


@dataclass(frozen=True, kw_only=True)
class Count:
    """Bounds of how many items a list has."""

    low: int = 0
    high: int


Short = Annotated[str, Text(high=200)]
Name = Annotated[str, Text(low=1, high=200)]
Positive = Annotated[int, Whole(low=1)]
Natural = Annotated[int, Whole(low=0)]


def hints(shape: type) -> dict[str, Any]:
    """The types of a shape's fields, with their annotations."""
    return _hints(cast(Hashable, shape))


@cache
def _hints(shape: Hashable) -> dict[str, Any]:
    return get_type_hints(shape, include_extras=True)


# Parsing ----------------------------------------------------------------------------------------


def parse(shape: type[T], value: Any, *, where: str = "body") -> T:
    """A value of the shape, or one Invalid with a sentence for every faulty field."""
    faults: dict[str, str] = {}
    found = _parse(shape, value, "", faults)
    if faults:
        count = "One field is" if len(faults) == 1 else f"{len(faults)} fields are"
        first = next(iter(faults.items()))
        said = f"{first[0]} {first[1]}" if first[0] else f"the {where} {first[1]}"
        raise Invalid(f"{count} wrong in the {where}: {said}.", fields=faults)
    return cast(T, found)


def parse_texts(shape: type[T], texts: Mapping[str, str], *, where: str = "query") -> T:
    """A value of a flat shape from the texts of a query string."""
    kinds = hints(shape)
    return parse(shape, {k: _from_text(kinds.get(k), v) for k, v in texts.items()}, where=where)


def _from_text(kind: Any, text: str) -> Any:
    plain, _ = _bare(kind)
    kinds = _options(plain) if _is_union(plain) else (plain,)
    bare = {_bare(one)[0] for one in kinds}
    if int in bare and re.fullmatch(r"-?[0-9]{1,20}", text):
        return int(text)
    elif bool in bare and text in ("true", "false"):
        return text == "true"
    else:
        return text


def _parse(kind: Any, value: Any, path: str, faults: dict[str, str]) -> Any:
    plain, bounds = _bare(kind)
    if plain is Any:
        return value
    elif _is_union(plain):
        return _parse_union(plain, value, path, faults)
    elif get_origin(plain) is Literal:
        return _parse_literal(get_args(plain), value, path, faults)
    elif get_origin(plain) in (list, tuple, Sequence):
        return _parse_list(get_args(plain)[0], bounds, value, path, faults)
    elif get_origin(plain) in (dict, Mapping):
        return _parse_dict(get_args(plain)[1], value, path, faults)
    elif is_dataclass(plain):
        return _parse_shape(plain, value, path, faults)
    else:
        fault = _scalar_fault(plain, bounds, value)
        if fault:
            faults[path] = fault
        return value


def _parse_shape(shape: Any, value: Any, path: str, faults: dict[str, str]) -> Any:
    if not isinstance(value, dict):
        faults[path] = f"must be an object, not {_word(value)}"
        return None
    known = {item.name: item for item in fields(shape)}
    unknown = [name for name in value if name not in known]
    for name in unknown[:FAULTS_TOLD]:
        faults[_join(path, _printable(name))] = "is not known here"
    found: dict[str, Any] = {}
    for name, item in known.items():
        if name in value:
            found[name] = _parse(hints(shape)[name], value[name], _join(path, name), faults)
        elif _is_required(item):
            faults[_join(path, name)] = "is missing"
    return None if faults else shape(**found)


def _parse_list(
    kind: Any, bounds: Sequence[Any], value: Any, path: str, faults: dict[str, str]
) -> Any:
    if not isinstance(value, list):
        faults[path] = f"must be a list, not {_word(value)}"
        return None
    for bound in bounds:
        if isinstance(bound, Count) and not bound.low <= len(value) <= bound.high:
            faults[path] = f"must have {bound.low} to {bound.high} items, not {len(value)}"
            return None
    return tuple(_parse(kind, v, _join(path, str(i)), faults) for i, v in enumerate(value))


def _parse_dict(kind: Any, value: Any, path: str, faults: dict[str, str]) -> Any:
    if not isinstance(value, dict):
        faults[path] = f"must be an object, not {_word(value)}"
        return None
    return {k: _parse(kind, v, _join(path, _printable(k)), faults) for k, v in value.items()}


def _parse_union(kind: Any, value: Any, path: str, faults: dict[str, str]) -> Any:
    kinds = _options(kind)
    if value is None and type(None) in kinds:
        return None
    return _parse(next(one for one in kinds if one is not type(None)), value, path, faults)


def _parse_literal(words: tuple[Any, ...], value: Any, path: str, faults: dict[str, str]) -> Any:
    if not isinstance(value, str) or value not in words:
        named = ", ".join(repr(word) if word == "" else str(word) for word in words)
        faults[path] = f"must be one of {named}"
    return value


def _scalar_fault(kind: Any, bounds: Sequence[Any], value: Any) -> str | None:
    if kind is str:
        return _text_fault(bounds, value)
    elif kind is bool:
        return None if isinstance(value, bool) else f"must be true or false, not {_word(value)}"
    elif kind is int:
        return _whole_fault(bounds, value)
    else:
        raise TypeError(f"{kind!r} is not a type that a shape may ask for")


def _text_fault(bounds: Sequence[Any], value: Any) -> str | None:
    if not isinstance(value, str):
        return f"must be a text, not {_word(value)}"
    if "\0" in value:
        return "has a zero character, which no text here may have"
    bound = next((one for one in bounds if isinstance(one, Text)), Text(lines=True))
    if len(value) < bound.low:
        return "is empty" if not value else f"must have at least {bound.low} characters"
    if bound.high is not None and len(value) > bound.high:
        return f"must have at most {bound.high:,} characters, not {len(value):,}"
    if bound.pattern and not re.search(bound.pattern, value):
        return f"must match {bound.pattern}"
    if not bound.lines and re.search(r"[\n\r\t]", value):
        return "must be one line"
    return None


def _whole_fault(bounds: Sequence[Any], value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return f"must be a whole number, not {_word(value)}"
    bound = next((one for one in bounds if isinstance(one, Whole)), Whole())
    if not bound.low <= value <= bound.high:
        return f"must be from {bound.low} to {bound.high}"
    return None


# Rendering --------------------------------------------------------------------------------------


def render(value: Any, kind: Any = None) -> Any:
    """JSON of a shape's value. A field that is `ABSENT` is left out."""
    plain, _ = _bare(kind)
    if is_dataclass(value) and not isinstance(value, type):
        kinds = hints(type(value))
        pairs = ((item.name, getattr(value, item.name)) for item in fields(value))
        return {name: render(v, kinds[name]) for name, v in pairs if v is not ABSENT}
    elif value is None:
        return None
    elif plain is Time or (_is_union(plain) and Time in _options(plain)):
        return time_text(value)
    elif isinstance(value, list | tuple):
        inner = get_args(plain)[0] if get_args(plain) else Any
        return [render(item, inner) for item in value]
    elif isinstance(value, Mapping):
        return {str(name): render(item) for name, item in value.items()}
    else:
        return value


def time_text(milliseconds: int) -> str:
    """RFC 3339 in UTC with milliseconds."""
    whole = datetime.fromtimestamp(milliseconds // 1000, UTC)
    return f"{whole:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z"


# JSON Schema ------------------------------------------------------------------------------------


def schema(kind: Any, parts: dict[str, Any]) -> dict[str, Any]:
    """JSON Schema (2020-12) of a type; shapes are put into `parts` by name and referred to."""
    plain, bounds = _bare(kind)
    found = {**_plain_schema(plain, parts)}
    for bound in bounds:
        found.update(_bound_schema(bound, plain))
    return found


def shape_schema(shape: type, parts: dict[str, Any]) -> dict[str, Any]:
    """The schema of one shape itself, not a reference to it."""
    properties = {name: schema(kind, parts) for name, kind in hints(shape).items()}
    required = [item.name for item in fields(shape) if _is_required(item)]
    return {
        "type": "object",
        "description": (shape.__doc__ or "").strip(),
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _plain_schema(kind: Any, parts: dict[str, Any]) -> dict[str, Any]:
    simple: dict[Any, dict[str, Any]] = {
        Any: {},
        str: {"type": "string"},
        bool: {"type": "boolean"},
        int: {"type": "integer", "minimum": -SAFE_WHOLE, "maximum": SAFE_WHOLE},
        float: {"type": "number"},
        Time: {"type": "string", "format": "date-time"},
    }
    if kind in simple:
        return dict(simple[kind])
    elif _is_union(kind):
        return _union_schema(kind, parts)
    elif get_origin(kind) is Literal:
        return {"type": "string", "enum": list(get_args(kind))}
    elif get_origin(kind) in (list, tuple, Sequence):
        return {"type": "array", "items": schema(get_args(kind)[0], parts)}
    elif get_origin(kind) in (dict, Mapping):
        return {"type": "object", "additionalProperties": schema(get_args(kind)[1], parts)}
    elif is_dataclass(kind) and isinstance(kind, type):
        if kind.__name__ not in parts:
            parts[kind.__name__] = {}  # a shape may hold itself
            parts[kind.__name__] = shape_schema(kind, parts)
        return {"$ref": f"#/components/schemas/{kind.__name__}"}
    else:
        raise TypeError(f"{kind!r} is not a type that a shape may have")


def _union_schema(kind: Any, parts: dict[str, Any]) -> dict[str, Any]:
    options = _options(kind)
    inner = schema(next(one for one in options if one is not type(None)), parts)
    if type(None) not in options or not inner:
        return inner
    elif isinstance(inner.get("type"), str) and "enum" not in inner:
        return {**inner, "type": [inner["type"], "null"]}
    else:
        return {"anyOf": [inner, {"type": "null"}]}


def _bound_schema(bound: Any, kind: Any) -> dict[str, Any]:
    match bound:
        case str():
            return {"description": bound}
        case Text(low=low, high=high, pattern=pattern, lines=lines):
            given = {"minLength": low or None, "maxLength": high}
            found = {name: value for name, value in given.items() if value is not None}
            return {**found, "pattern": pattern or (LINES if lines else ONE_LINE)}
        case Whole(low=low, high=high):
            return {"minimum": low, "maximum": high}
        case Count(low=low, high=high):
            return {"minItems": low, "maxItems": high}
        case _:
            raise TypeError(f"{bound!r} does not bound {kind!r}")


LINES = r"^[^\u0000]*$"
ONE_LINE = r"^[^\u0000\n\r\t]*$"


# Types ------------------------------------------------------------------------------------------


def _bare(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    if get_origin(kind) is Annotated:
        inner, *bounds = get_args(kind)
        return inner, tuple(bounds)
    return kind, ()


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def _options(kind: Any) -> tuple[Any, ...]:
    return tuple(one for one in get_args(kind) if one is not Absent)


def _is_required(item: "Field[Any]") -> bool:
    return item.default is NO_DEFAULT and item.default_factory is NO_DEFAULT


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _printable(name: str) -> str:
    short = name if len(name) <= 60 else name[:57] + "…"
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in short)


def _word(value: Any) -> str:
    words = {dict: "an object", list: "a list", str: "a text", bool: "a truth value"}
    return "null" if value is None else words.get(type(value), "a number")
