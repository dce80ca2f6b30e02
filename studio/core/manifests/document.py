"""A text that holds one JSON value, written as JSON or as YAML, and where each field of it stands.

Both are read to plain JSON and nothing else: no key twice, no value that JSON does not know, at
most 64 levels and 1 MiB. A fault has the path of its field and its line.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from studio.core.rules import paths
from studio.core.rules.errors import Invalid

LARGEST = 2 * 1024 * 1024  # characters: a manifest of 1 MiB, and room for how it is written
DEEPEST = 64

Format = Literal["json", "yaml"]


@dataclass(frozen=True, kw_only=True)
class Document:
    """What was read. `lines` maps the written path of each field to its line, counted from 1.

    `notes` say what was read where YAML's older rules would have read something else.
    """

    value: Any
    format: Format
    lines: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def line(self, path: str) -> int | None:
        """The line of a field; of what holds it when it is not there itself."""
        parts = paths.parse(path)
        while parts is not None:
            found = self.lines.get(paths.write(parts))
            if found is not None or not parts:
                return found
            parts = parts[:-1]
        return None

    def located(self, fields: Mapping[str, str]) -> dict[str, int]:
        """The lines of these faulty fields, as far as they are known."""
        found = {path: self.line(path) for path in fields}
        return {path: line for path, line in found.items() if line is not None}


class Fault(Exception):
    """What is wrong with a text: a sentence, the line, the path when there is one."""

    def __init__(self, sentence: str, *, line: int | None = None, path: str = "") -> None:
        super().__init__(sentence)
        self.sentence, self.line, self.path = sentence, line, path


def read(text: str, *, format: Format | None = None) -> Document:
    """The value of a text; without `format` a text that begins with { or [ is JSON, else YAML.

    Raises Invalid with one fault: its path in `fields`, its line in `details["lines"]`.
    """
    from studio.core.manifests import json_text, yaml_text

    chosen = format or guess(text)
    try:
        if len(text) > LARGEST:
            raise Fault(f"is larger than {LARGEST:,} characters.")
        found = json_text.read(text) if chosen == "json" else yaml_text.read(text)
    except Fault as fault:
        raise refusal(fault, chosen) from fault
    return found


def guess(text: str) -> Format:
    """JSON when it begins as an object or a list does, else YAML."""
    return "json" if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[") else "yaml"


def refusal(fault: Fault, format: Format) -> Invalid:
    """A fault as the error a caller is shown."""
    name = {"json": "JSON", "yaml": "YAML"}[format]
    where = f" Look at line {fault.line}." if fault.line is not None else ""
    return Invalid(
        f"The text cannot be read as {name}.{where}",
        fields={fault.path: fault.sentence}, code="manifest.unreadable",
        details={"lines": {fault.path: fault.line} if fault.line is not None else {}},
    )  # fmt: skip
