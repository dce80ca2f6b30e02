"""Pieces of JSON Schema. Where the parser takes null for "not there", so do they."""

from collections.abc import Mapping
from typing import Any

JsonSchema = dict[str, Any]


def maybe(kind: str, *, null: bool = True) -> JsonSchema:
    """A type, or null for "not there"."""
    return {"type": [kind, "null"]} if null else {"type": kind}


def text(most: int, *, least: int = 1, null: bool = True) -> JsonSchema:
    """A text of so many characters."""
    return {**maybe("string", null=null), **({"minLength": least} if least else {}),
            "maxLength": most}  # fmt: skip


def pattern(pattern: str, *, string: bool = False) -> JsonSchema:
    """A text that matches as a whole."""
    return {**({"type": "string"} if string else {}), "pattern": f"^(?:{pattern})$"}


def number(least: float, most: float) -> JsonSchema:
    """A number between two."""
    return {**maybe("number"), "minimum": least, "maximum": most}


def whole(least: int, most: int, *, null: bool = True) -> JsonSchema:
    """A whole number between two."""
    return {**maybe("integer", null=null), "minimum": least, "maximum": most}


def word(*allowed: str) -> JsonSchema:
    """One of a few words."""
    return {"enum": [*allowed, None]}


def list_of(items: JsonSchema, most: int, *, unique: bool = False, null: bool = True) -> JsonSchema:
    """A list of at most so many."""
    return {
        **maybe("array", null=null), "maxItems": most, "items": items,
        **({"uniqueItems": True} if unique else {}),
    }  # fmt: skip


def object_of(
    properties: Mapping[str, JsonSchema], *, needed: tuple[str, ...] = (), null: bool = True,
    words: Mapping[str, str] | None = None,
) -> JsonSchema:  # fmt: skip
    """An object of these fields and no others; `words` describe some of them."""
    described = {
        name: {
            **(_there(schema) if name in needed else schema),
            **({"description": words[name]} if words and name in words else {}),
        }
        for name, schema in properties.items()
    }
    return {
        **maybe("object", null=null), "properties": described, "required": list(needed),
        "additionalProperties": False,
    }  # fmt: skip


def _there(schema: JsonSchema) -> JsonSchema:
    """The same without null: what is needed must be there."""
    found = dict(schema)
    if isinstance(found.get("type"), list):
        found["type"] = found["type"][0]
    if None in found.get("enum", ()):
        found["enum"] = [word for word in found["enum"] if word is not None]
    return found
