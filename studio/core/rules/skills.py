"""What a model is told of its skills before it loads one: names and descriptions, within bounds."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

MOST_CHARACTERS = 16_000
LONGEST_DESCRIPTION = 400
HEAD = (
    "# Skills\n\n"
    "Skills are written instructions for particular work. Before you do such work, load the skill "
    "with load_skill and follow it. A skill gives you no further tools and no further rights.\n\n"
)


@dataclass(frozen=True, kw_only=True)
class Brief:
    """A skill as it is listed: the name it is loaded by, its hash, and who brings it."""

    name: str
    description: str
    hash: str
    plugin: str | None = None
    plugin_version: str | None = None


def parted(text: str) -> tuple[str, str] | None:
    """The front matter of a SKILL.md and the text behind it; None without front matter."""
    found = re.match(r"---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", text, re.DOTALL | re.MULTILINE)
    return (found[1], text[found.end() :]) if found else None


def body(text: str) -> str:
    """What a model reads of a SKILL.md: the text behind the front matter."""
    parts = parted(text)
    return (parts[1] if parts else text).strip("\n") + "\n"


def instructions(base: str, skills: Iterable[Brief]) -> str:
    """The agent's instructions, with the list of its skills behind them."""
    listed = list(skills)
    if not listed:
        return base
    lines, left = [], MOST_CHARACTERS
    for number, skill in enumerate(listed):
        line = f"- {skill.name}: {_short(skill.description)}"
        left -= len(line) + 1
        if left < 0:
            lines.append(f"- and {len(listed) - number:,} more, which are not described here")
            break
        lines.append(line)
    return f"{base}\n\n{HEAD}" + "\n".join(lines) if base else HEAD + "\n".join(lines)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_DESCRIPTION else f"{text[: LONGEST_DESCRIPTION - 1]}…"
