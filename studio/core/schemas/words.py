"""What a schema's fault means, in plain sentences without their subject, by dotted path."""

import json
from collections.abc import Sequence
from typing import Any

from jsonschema.exceptions import ValidationError

from studio.core.rules import paths

LONGEST = 200
KINDS = {
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}


def of(error: ValidationError) -> list[tuple[str, str]]:
    """Each place and what is wrong there."""
    path = paths.write(tuple(error.absolute_path))
    wanted: Any = error.validator_value
    match error.validator:
        case "required" | "dependentRequired" | "dependencies":
            return _missing(path, error)
        case "anyOf" | "oneOf":
            return _branches(path, error)
        case "unevaluatedProperties" | "unevaluatedItems":
            return [(path, "has fields or entries that are not known.")]
        case name:
            return [(path, _sentence(str(name), wanted, error))]


def _sentence(name: str, wanted: Any, error: ValidationError) -> str:
    match name:
        case "type":
            kinds = [wanted] if isinstance(wanted, str) else list(wanted)
            return f"must be {_either([KINDS.get(kind, str(kind)) for kind in kinds])}."
        case "enum":
            return f"must be {_either([_shown(choice) for choice in wanted])}."
        case "const":
            return f"must be {_shown(wanted)}."
        case "minimum":
            return f"must be at least {wanted}."
        case "maximum":
            return f"must be at most {wanted}."
        case "exclusiveMinimum":
            return f"must be over {wanted}."
        case "exclusiveMaximum":
            return f"must be under {wanted}."
        case "multipleOf":
            return f"must be a multiple of {wanted}."
        case "minLength":
            return f"must have at least {_counted(wanted, 'character')}."
        case "maxLength":
            return f"must have at most {_counted(wanted, 'character')}."
        case "minItems":
            return f"must have at least {_counted(wanted, 'entry')}."
        case "maxItems":
            return f"must have at most {_counted(wanted, 'entry')}."
        case "minProperties":
            return f"must have at least {_counted(wanted, 'field')}."
        case "maxProperties":
            return f"must have at most {_counted(wanted, 'field')}."
        case "pattern" if error.message == "does not match":
            return f"must match {str(wanted)[:LONGEST]}."
        case "pattern":
            return error.message
        case "uniqueItems":
            return "must not have an entry twice."
        case "additionalProperties":
            return "is not a known field."
        case "contains" | "minContains" | "maxContains":
            return "does not have the entries it must have."
        case "not":
            return "is what it must not be."
        case _:
            return "is not allowed here."


def _missing(path: str, error: ValidationError) -> list[tuple[str, str]]:
    instance, wanted = error.instance, error.validator_value
    if error.validator == "required" and isinstance(wanted, list) and isinstance(instance, dict):
        absent = [name for name in wanted if name not in instance]
        return [(paths.join(path, name), "is needed.") for name in absent]
    return [(path, "lacks a field that another of its fields asks for.")]


def _branches(path: str, error: ValidationError) -> list[tuple[str, str]]:
    """None of several forms fits, or too many: say what the likeliest form lacks."""
    if not error.context:
        return [(path, "fits more than one of its forms, and must fit exactly one.")]
    by_branch: dict[Any, list[ValidationError]] = {}
    for cause in error.context:
        by_branch.setdefault(cause.schema_path[0], []).append(cause)
    kinds = [_only_kind(causes) for causes in by_branch.values()]
    if all(kinds):
        return [(path, f"must be {_either([kind for kind in kinds if kind])}.")]
    # The form whose own type fits and that has the fewest faults is probably the one meant.
    meant = [causes for causes, kind in zip(by_branch.values(), kinds, strict=True) if not kind]
    if len(meant) == 1:
        return [place for cause in meant[0] for place in of(cause)]
    return [(path, "fits none of its allowed forms.")]


def _only_kind(causes: Sequence[ValidationError]) -> str | None:
    """The kind of JSON that a branch wants, when that alone is why it does not fit."""
    for cause in causes:
        if cause.validator == "type" and not cause.relative_path:
            wanted: Any = cause.validator_value
            kinds = [wanted] if isinstance(wanted, str) else list(wanted)
            return _either([KINDS.get(kind, str(kind)) for kind in kinds])
    return None


def _either(choices: list[str]) -> str:
    if len(choices) == 1:
        return choices[0]
    shown = choices[:10]
    rest = f" (of {len(choices):,})" if len(choices) > len(shown) else ""
    return f"{', '.join(shown[:-1])} or {shown[-1]}{rest}"


def _counted(number: Any, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) and value.isalnum() else json.dumps(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
