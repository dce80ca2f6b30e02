"""Schemas and values for tests of forms, and what a browser sends of a form as it is drawn."""

from studio.web.forms import pairs, shapes

RELEASE = {
    "type": "object",
    "required": ["version", "rollout", "to"],
    "properties": {
        "version": {"type": "string", "maxLength": 20, "description": "What is shipped."},
        "note": {"type": ["string", "null"]},
        "rollout": {
            "type": "object",
            "required": ["percent"],
            "properties": {
                "percent": {"type": "integer", "minimum": 0, "maximum": 100},
                "ring": {"enum": ["canary", "all", 3, None]},
            },
        },
        "to": {"type": "array", "items": {"type": "string"}},
        "force": {"type": "boolean"},
        "window": {
            "type": "object",
            "required": ["hours"],
            "properties": {"hours": {"type": "number"}, "zone": {"const": "UTC"}},
        },
        "steps": {
            "type": "array",
            "items": {"type": "object", "properties": {"run": {"type": "string"}}},
        },
        "any": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    },
}
VALUE = {"version": "4.2.0", "rollout": {"percent": 50}, "to": ["ann", "bob"]}


def sent(schema, value, **changes):
    """The pairs of a form that was drawn for a value, with some texts changed by name."""
    made = pairs.of(shapes.of(schema), value, "arguments")
    return [(name, changes.pop(name, text)) for name, text in made] + list(changes.items())


def by_path(fields):
    found = {}
    stack = list(fields)
    while stack:
        field = stack.pop()
        found[field.name] = field
        stack += field.children
    return found


def drawn(fields):
    """The pairs that a browser would send of the fields as they are drawn."""
    found = []
    for field in fields:
        found += field.hidden
        if field.mode_name:
            found.append((field.mode_name, field.mode))
        if field.control in ("text", "textarea", "json"):
            found.append((field.name, field.text.replace("\n", "\r\n")))
        if field.control == "select":
            chosen = [value for value, _ in field.options if value == field.text]
            found.append((field.name, (chosen or [field.options[0][0]])[0]))
        found += drawn(field.children)
    return found


def one_field(schema, *, needed=False):
    """An object with one field named `a`."""
    return {"type": "object", "properties": {"a": schema}, "required": ["a"] if needed else []}
