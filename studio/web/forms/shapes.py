"""What kind of field a JSON Schema asks for: the shapes that a form can express.

A part of a schema that says more than a form can (`oneOf`, open objects, tuples…) is the shape
`json`: a box for JSON text. Whatever a shape leaves out, `core.schemas` checks in the end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

Kind = Literal["text", "number", "integer", "boolean", "choice", "const", "group", "rows", "json"]

DEEPEST = 8
MOST_CHOICES = 200
MOST_FIELDS = 200
MOST_SHAPES = 600

# What a shape understands or may leave to the final check without misleading anybody.
_NOTES = frozenset({
    "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly",
    "$comment", "$schema", "$id", "$defs", "definitions", "format", "pattern", "minLength",
    "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
    "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "contentEncoding",
    "contentMediaType", "type", "enum", "const", "properties", "required", "additionalProperties",
    "items", "propertyNames", "dependentRequired",
})  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How a part of a value is asked for.

    `nullable`: null is a value of it too. `choices` of a choice, `const` of a const. `parts` maps
    the fields of a group to their shapes, in order; `needed` are those it must have, `takes_more`
    that it asks for others. `item` is the shape of a row. `schema` is the part of the schema.
    """

    kind: Kind
    schema: Mapping[str, Any]
    nullable: bool = False
    choices: tuple[Any, ...] = ()
    const: Any = None
    parts: tuple[tuple[str, "Shape"], ...] = ()
    needed: frozenset[str] = frozenset()
    takes_more: bool = False
    item: "Shape | None" = None


class _Root:
    """The whole schema, for references into it, and how many shapes it may still have."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        self.left = MOST_SHAPES


def of(schema: object) -> Shape:
    """The shape of a whole schema."""
    whole = schema if isinstance(schema, Mapping) else {}
    return _shape(whole, _Root(whole), 0)


def _shape(schema: object, root: _Root, level: int) -> Shape:
    root.left -= 1
    if not isinstance(schema, Mapping) or root.left < 0:
        return Shape(kind="json", schema={})
    nullable, schema = _unwrapped(schema, root)
    shape = _plain_shape(schema, root, level)
    return replace(shape, nullable=nullable or shape.nullable)


def _unwrapped(schema: Mapping[str, Any], root: _Root) -> tuple[bool, Mapping[str, Any]]:
    """The schema behind local references and behind "this or null"."""
    nullable = False
    for _ in range(DEEPEST):
        inner = _referred(schema, root) or _single(schema)
        if inner is None:
            inner = _or_null(schema)
            if inner is None:
                break
            nullable = True
        notes = {name: schema[name] for name in ("title", "description") if name in schema}
        schema = {**inner, **notes}
    return nullable, schema


def _referred(schema: Mapping[str, Any], root: _Root) -> Mapping[str, Any] | None:
    target = schema.get("$ref")
    if not isinstance(target, str) or not target.startswith("#"):
        return None
    if set(schema) - {"$ref", "title", "description", "default", "$comment", "$defs", "$schema"}:
        return None
    found: Any = root.schema
    for part in target[1:].split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        found = found.get(part) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) and found is not schema else None


def _single(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The one part of an `allOf`, `anyOf` or `oneOf` with nothing beside it."""
    for name in ("allOf", "anyOf", "oneOf"):
        parts = schema.get(name)
        if isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], Mapping):
            others = set(schema) - {name, "title", "description", "default", "$defs", "$schema"}
            return None if others else parts[0]
    return None


def _or_null(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """X of `anyOf: [X, {"type": "null"}]`, in either order."""
    for name in ("anyOf", "oneOf"):
        parts = schema.get(name)
        if not isinstance(parts, list) or len(parts) != 2:
            continue
        others = set(schema) - {name, "title", "description", "default", "$defs", "$schema"}
        rest = [part for part in parts if part != {"type": "null"}]
        if not others and len(rest) == 1 and isinstance(rest[0], Mapping):
            return rest[0]
    return None


def _plain_shape(schema: Mapping[str, Any], root: _Root, level: int) -> Shape:
    if level > DEEPEST or set(schema) - _NOTES:
        return Shape(kind="json", schema=schema)
    if "const" in schema:
        return Shape(kind="const", schema=schema, const=schema["const"])
    choices = schema.get("enum")
    if isinstance(choices, list) and 0 < len(choices) <= MOST_CHOICES:
        return Shape(kind="choice", schema=schema, choices=tuple(choices))
    kind, nullable = _typed(schema)
    match kind:
        case "string":
            return Shape(kind="text", schema=schema, nullable=nullable)
        case "number" | "integer" | "boolean":
            return Shape(kind=kind, schema=schema, nullable=nullable)
        case "object":
            return replace(_group(schema, root, level), nullable=nullable)
        case "array":
            return replace(_rows(schema, root, level), nullable=nullable)
        case _:
            return Shape(kind="json", schema=schema)


def _typed(schema: Mapping[str, Any]) -> tuple[str, bool]:
    """The one type of a schema, and whether null is allowed beside it."""
    named = schema.get("type")
    if isinstance(named, list):
        kinds = [kind for kind in named if kind != "null"]
        return (str(kinds[0]), len(kinds) < len(named)) if len(kinds) == 1 else ("", False)
    if named is None and isinstance(schema.get("properties"), Mapping):
        return "", False
    return str(named), False


def _group(schema: Mapping[str, Any], root: _Root, level: int) -> Shape:
    properties = schema.get("properties")
    others = schema.get("additionalProperties")
    if not isinstance(properties, Mapping) or len(properties) > MOST_FIELDS:
        return Shape(kind="json", schema=schema)
    if not properties and others is not False:
        return Shape(kind="json", schema=schema)
    needed = schema.get("required")
    return Shape(
        kind="group",
        schema=schema,
        parts=tuple(
            (str(name), _shape(part, root, level + 1)) for name, part in properties.items()
        ),
        needed=frozenset(needed if isinstance(needed, list) else ()),
        takes_more=others is not None and others is not False,
    )


def _rows(schema: Mapping[str, Any], root: _Root, level: int) -> Shape:
    items = schema.get("items")
    if not isinstance(items, Mapping):
        return Shape(kind="json", schema=schema)
    return Shape(kind="rows", schema=schema, item=_shape(items, root, level + 1))
