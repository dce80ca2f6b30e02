"""What a person sent, as a value: typed, told apart (left out, empty, null), and checked."""

import json
import math
from collections.abc import Mapping
from typing import Any, Literal

from studio.core import schemas
from studio.core.rules import paths
from studio.web.forms import pairs as p
from studio.web.forms import shapes
from studio.web.forms.inputs import UNDER, value_path
from studio.web.forms.shapes import Shape

Action = tuple[Literal["add", "remove"], str]


def read(
    schema: object, pairs: p.Pairs, *, under: str = UNDER
) -> tuple[Any, dict[str, str], Action | None]:
    """The value, sentences by dotted path for what is wrong, and the button for rows, if any.

    With an error or an action the value is not to be used; `forms.again` draws the form once more.
    """
    reading = _Reading(pairs, under)
    shape = shapes.of(schema)
    # An object that names no fields may be left empty: most such tools take no arguments.
    is_optional = shape.kind == "json" and shape.schema.get("type") == "object"
    value = reading.value(shape, under, needed=not is_optional)
    action = _action(pairs, under)
    if action is not None:
        return None, {}, action
    if not reading.errors:
        if value is p.ABSENT:
            value = {} if shape.kind == "group" or is_optional else None
        fault = schemas.errors(schema, value) if isinstance(schema, Mapping | bool) else {}
        reading.errors.update(fault)
    return value, reading.errors, None


def _action(pairs: p.Pairs, under: str) -> Action | None:
    for name, _ in pairs:
        kind, place = p.marker(name)
        if kind in ("_add", "_remove"):
            return ("add" if kind == "_add" else "remove"), value_path(place, under)
    return None


class _Reading:
    """Pairs on their way to becoming a value, and what is wrong with them."""

    def __init__(self, pairs: p.Pairs, under: str) -> None:
        self.data, self.under = p.first(pairs), under
        self.errors: dict[str, str] = {}

    def value(self, shape: Shape, name: str, *, needed: bool) -> Any:
        """The value at a name, or ABSENT."""
        if shape.kind == "json" or f"_json:{name}" in self.data:
            return self._json(f"_json:{name}", name, needed=needed)
        match shape.kind:
            case "group":
                return self._whole(shape, name, needed=needed, inner=self._group)
            case "rows":
                return self._whole(shape, name, needed=needed, inner=self._rows)
            case "const" if needed and not shape.nullable:
                return shape.const
            case "choice" | "boolean" | "const":
                return self._choice(shape, name, needed=needed)
            case _:
                return self._line(shape, name, needed=needed)

    def _wrong(self, name: str, sentence: str) -> Any:
        self.errors.setdefault(value_path(name, self.under), sentence)
        return p.ABSENT

    def _mode(self, name: str) -> str:
        return self.data.get(f"_as:{name}", "")

    def _line(self, shape: Shape, name: str, *, needed: bool) -> Any:
        text, mode = self.data.get(name), self._mode(name)
        if mode == "null" and shape.nullable:
            return self._wrong(name, "is either null or filled in, not both.") if text else None
        if text is None:
            return p.ABSENT
        if shape.kind == "text":
            return text if text or needed or mode == "empty" else p.ABSENT
        return self._number(shape, name, text.strip(), needed=needed)

    def _number(self, shape: Shape, name: str, text: str, *, needed: bool) -> Any:
        whole = shape.kind == "integer"
        if not text:
            return self._wrong(name, "is needed.") if needed else p.ABSENT
        found = json.loads(text) if p.NUMBER.fullmatch(text) else None
        if found is None or (isinstance(found, float) and not math.isfinite(found)):
            return self._wrong(name, f"must be {'a whole number' if whole else 'a number'}.")
        if whole and isinstance(found, float) and not found.is_integer():
            return self._wrong(name, "must be a whole number.")
        return found

    def _choice(self, shape: Shape, name: str, *, needed: bool) -> Any:
        text = self.data.get(name)
        if not text:
            is_open = needed and text is not None
            return self._wrong(name, "is needed: choose one.") if is_open else p.ABSENT
        for choice in p.choices(shape):
            if json.dumps(choice) == text:
                return choice
        return self._wrong(name, "is none of its choices.")

    def _whole(self, shape: Shape, name: str, *, needed: bool, inner: Any) -> Any:
        """A group or an array: left out, null, or read."""
        mode = self._mode(name)
        if mode == "null" and shape.nullable:
            if p.is_filled(self.data, name):
                return self._wrong(name, "is either null or filled in, not both.")
            return None
        if not needed and (mode == "no" or (mode == "" and not p.is_filled(self.data, name))):
            return p.ABSENT
        return inner(shape, name)

    def _group(self, shape: Shape, name: str) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for key, part in shape.parts:
            found = self.value(part, paths.join(name, key), needed=key in shape.needed)
            if found is not p.ABSENT:
                value[key] = found
        more = self._json(f"_more:{name}", f"_more:{name}", needed=False)
        if more is not p.ABSENT:
            known = {key for key, _ in shape.parts}
            place = f"_more:{value_path(name, self.under)}"
            if not isinstance(more, dict):
                self.errors.setdefault(place, "must be a JSON object.")
            elif twice := known & more.keys():
                self.errors.setdefault(place, f"{sorted(twice)[0]} has a field of its own.")
            else:
                value |= more
        return value

    def _rows(self, shape: Shape, name: str) -> list[Any]:
        item = shape.item or Shape(kind="json", schema={})
        found = [
            self.value(item, paths.join(name, index), needed=True)
            for index in range(p.count(self.data, name))
        ]
        return [None if inner is p.ABSENT else inner for inner in found]

    def _json(self, field: str, name: str, *, needed: bool) -> Any:
        text = self.data.get(field, "").strip()
        if not text:
            is_open = needed and field in self.data
            return self._wrong(name, "is needed: JSON.") if is_open else p.ABSENT
        try:
            return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
        except RecursionError:
            return self._fault(field, name, "is nested too deeply.")
        except ValueError as wrong:
            return self._fault(field, name, f"is not JSON: {str(wrong)[:200]}.")

    def _fault(self, field: str, name: str, sentence: str) -> Any:
        if field.startswith("_more:"):
            place = f"_more:{value_path(field.removeprefix('_more:'), self.under)}"
            self.errors.setdefault(place, sentence)
            return p.ABSENT
        return self._wrong(name, sentence)


def _once(found: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which no name stands twice."""
    value = dict(found)
    if len(value) < len(found):
        names = [name for name, _ in found]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {twice} stands twice")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
