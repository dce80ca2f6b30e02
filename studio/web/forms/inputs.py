"""Fields: what a page draws for a schema, with what is filled in and what is wrong with it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from studio.core.rules import ids, paths, reveal
from studio.web.forms import pairs as p
from studio.web.forms import shapes
from studio.web.forms.shapes import Shape

Control = Literal["text", "textarea", "select", "json", "group", "rows", "const"]

LONG_TEXT = 80
UNDER = "arguments"

# Texts that would be mistaken for a number or a word of JSON without their quotes.
_JSON_WORD = re.compile(r"-?[0-9].*|true|false|null|[\[{\"].*|\s.*|.*\s", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field. Text and select are drawn by `name` and `text`; groups and rows by `children`.

    `hidden` are (name, value) of hidden inputs that belong to it. `modes` are the choices of a
    select named `mode_name` that says what an empty field, or a whole group, means. Rows have a
    button named `add`; a row has one named `remove`; both need no value.
    """

    path: str
    name: str
    label: str
    control: Control
    text: str = ""
    options: tuple[tuple[str, str], ...] = ()
    needed: bool = True
    hint: str = ""
    error: str = ""
    mode_name: str = ""
    mode: str = ""
    modes: tuple[tuple[str, str], ...] = ()
    children: tuple["Field", ...] = ()
    hidden: tuple[tuple[str, str], ...] = ()
    add: str = ""
    remove: str = ""
    attrs: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """An id for its element, as `field_id` gives it for its path."""
        return field_id(self.name)


def fields(
    schema: object, value: Any, *, errors: Mapping[str, str] | None = None, under: str = UNDER
) -> list[Field]:
    """The fields of a value. `errors` are sentences by dotted path, as `read` gives them."""
    shape = shapes.of(schema)
    return _Drawing(p.of(shape, value, under), errors or {}, under).top(shape)


def again(
    schema: object, pairs: p.Pairs, *, errors: Mapping[str, str] | None = None,
    action: tuple[str, str] | None = None, under: str = UNDER,
) -> list[Field]:  # fmt: skip
    """The fields of a form that was sent, with all that was typed; `action` adds or takes a row."""
    if action is not None:
        place = under_path(action[1], under)
        change = p.with_row if action[0] == "add" else p.without_row
        pairs = change(pairs, place)
    return _Drawing(pairs, errors or {}, under).top(shapes.of(schema))


def field_id(name: str) -> str:
    """The id of the element with this name in the form; the same for every drawing."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name)
    is_same = re.fullmatch(r"[A-Za-z0-9_.-]*", name) and "-" not in name
    return f"field-{plain}" if is_same else f"field-{plain[:60]}-{ids.digest(name)[:8]}"


def under_path(path: str, under: str) -> str:
    """The name in the form of a path in the value."""
    if not under or not path:
        return under or path
    return f"{under}{path}" if path.startswith("[") else f"{under}.{path}"


def value_path(name: str, under: str) -> str:
    """The path in the value of a name in the form."""
    return name.removeprefix(under).removeprefix(".") if under else name


class _Drawing:
    """Pairs and errors on their way to becoming fields."""

    def __init__(self, pairs: p.Pairs, errors: Mapping[str, str], under: str) -> None:
        self.data, self.errors, self.under = p.first(pairs), errors, under

    def top(self, shape: Shape) -> list[Field]:
        """The fields of the whole value: those of its outermost group, where it is one."""
        whole = self.draw(shape, self.under, "", needed=True)
        if whole.control != "group" or whole.modes:
            return [whole]
        return list(whole.children)

    def draw(self, shape: Shape, name: str, label: str, *, needed: bool, remove: str = "") -> Field:
        """One field and all inside it."""
        path = value_path(name, self.under)
        common: dict[str, Any] = {
            "path": path, "label": reveal.plain(label, one_line=True), "needed": needed,
            "hint": _hint(shape), "error": self.errors.get(path, ""), "remove": remove,
        }  # fmt: skip
        if shape.kind == "json" or f"_json:{name}" in self.data:
            text = self.data.get(f"_json:{name}", "")
            return Field(name=f"_json:{name}", control="json", text=text, **common)
        if choices := p.modes(shape, needed=needed):
            common["mode_name"], common["modes"] = f"_as:{name}", choices
            common["mode"] = self.data.get(f"_as:{name}", choices[0][0])
        match shape.kind:
            case "group":
                children = self._inside(shape, name)
                return Field(name=name, control="group", children=children, **common)
            case "rows":
                return self._rows(shape, name, common)
            case "text" | "number" | "integer":
                return self._line(shape, name, common)
            case _:
                return self._choice(shape, name, common)

    def _inside(self, shape: Shape, name: str) -> tuple[Field, ...]:
        children = [
            self.draw(part, paths.join(name, key), key, needed=key in shape.needed)
            for key, part in shape.parts
        ]
        if shape.takes_more or self.data.get(f"_more:{name}"):
            children.append(
                Field(
                    path=value_path(name, self.under), name=f"_more:{name}", label="other fields",
                    control="json", text=self.data.get(f"_more:{name}", ""), needed=False,
                    hint="JSON: an object with the names and values of other fields.",
                    error=self.errors.get(f"_more:{value_path(name, self.under)}", ""),
                )
            )  # fmt: skip
        return tuple(children)

    def _rows(self, shape: Shape, name: str, common: dict[str, Any]) -> Field:
        rows = p.count(self.data, name)
        item = shape.item or Shape(kind="json", schema={})
        children = []
        for index in range(rows):
            place = paths.join(name, index)
            remove = f"_remove:{place}"
            children.append(self.draw(item, place, str(index + 1), needed=True, remove=remove))
        add = f"_add:{name}" if rows < p.MOST_ROWS else ""
        return Field(
            name=name, control="rows", children=tuple(children), add=add,
            hidden=((f"_rows:{name}", str(rows)),), **common,
        )  # fmt: skip

    def _line(self, shape: Shape, name: str, common: dict[str, Any]) -> Field:
        text = self.data.get(name, "")
        control: Control = "textarea" if shape.kind == "text" and _is_long(shape, text) else "text"
        return Field(name=name, control=control, text=text, attrs=_attrs(shape), **common)

    def _choice(self, shape: Shape, name: str, common: dict[str, Any]) -> Field:
        text = self.data.get(name, "")
        if shape.kind == "const" and common["needed"] and not shape.nullable:
            return Field(name=name, control="const", text=_shown(shape.const), **common)
        options = [(json.dumps(choice), _shown(choice)) for choice in p.choices(shape)]
        if not common["needed"]:
            options.insert(0, ("", "left out"))
        elif not text:
            options.insert(0, ("", "choose…"))
        return Field(name=name, control="select", text=text, options=tuple(options), **common)


def _is_long(shape: Shape, text: str) -> bool:
    most = shape.schema.get("maxLength")
    return len(text) > LONG_TEXT or "\n" in text or (isinstance(most, int) and most > 200)


def _attrs(shape: Shape) -> dict[str, str]:
    if shape.kind == "integer":
        return {"inputmode": "numeric"}
    if shape.kind == "number":
        return {"inputmode": "decimal"}
    return {"spellcheck": "false"} if "pattern" in shape.schema else {}


def _hint(shape: Shape) -> str:
    """What the schema says of a field, in one or two sentences."""
    said = [str(shape.schema[name]) for name in ("title", "description") if shape.schema.get(name)]
    words = ". ".join(text.rstrip(".") for text in said)
    bounds = _bounds(shape)
    return reveal.plain(f"{words}{'. ' if words and bounds else ''}{bounds}"[:1_000], one_line=True)


def _bounds(shape: Shape) -> str:
    schema = shape.schema
    if shape.kind == "json":
        return "JSON."
    if shape.kind in ("number", "integer"):
        kind = "A whole number" if shape.kind == "integer" else "A number"
        return f"{kind}{_between(schema.get('minimum'), schema.get('maximum'))}."
    if shape.kind == "text":
        between = _between(schema.get("minLength"), schema.get("maxLength"))
        return f"Characters:{between}." if between else ""
    return ""


def _between(least: Any, most: Any) -> str:
    if least is not None and most is not None:
        return f" from {least} to {most}"
    if least is not None:
        return f" of at least {least}"
    return f" of at most {most}" if most is not None else ""


def _shown(value: Any) -> str:
    is_word = isinstance(value, str) and value and not _JSON_WORD.fullmatch(value)
    text = value if is_word else json.dumps(value, ensure_ascii=False)
    return reveal.plain(text[:200], one_line=True)
