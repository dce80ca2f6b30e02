"""What is wrong with a manifest that was typed, at the lines of its text."""

from dataclasses import dataclass

from studio.core import manifests
from studio.core.manifests import Format
from studio.core.rules.errors import Invalid, StudioError

LONGEST_SOURCE = 120


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What is wrong with a field, its line and the text of that line."""

    path: str
    words: str
    line: int | None
    source: str


def faults_of(text: str, format: Format, refusal: StudioError) -> tuple[Fault, ...]:
    """The fields that were refused, in the order of their lines; none for any other refusal."""
    fields = refusal.fields if isinstance(refusal, Invalid) else {}
    lines: dict[str, int] = dict(refusal.details.get("lines", {}))
    if not lines:
        try:
            lines = manifests.read(text, format=format).located(fields)
        except Invalid:
            lines = {}
    source = text.split("\n")
    found = [
        Fault(path=path, words=words, line=lines.get(path), source=_source(source, lines.get(path)))
        for path, words in fields.items()
    ]
    return tuple(sorted(found, key=lambda fault: fault.line or 0))


def _source(lines: list[str], number: int | None) -> str:
    if number is None or not 0 < number <= len(lines):
        return ""
    return lines[number - 1].strip()[:LONGEST_SOURCE]
