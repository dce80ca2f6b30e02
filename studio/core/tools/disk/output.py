"""What a command wrote, as a model is shown it: without terminal codes, and its end alone if long.

The bounds are those of DESIGN 13. Codes follow ECMA-48: CSI and OSC sequences, and two-character
escapes; a line that was written over with carriage returns counts as it stood at last.
"""

import re
from dataclasses import dataclass

MOST_LINES = 200
MOST_CHARACTERS = 16_000

_CODES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # strings to the terminal
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]"
)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Text for a model. `left_out` counts lines (or parts of one) in front of it."""

    text: str
    left_out: int = 0


def plain(data: bytes) -> str:
    """The text of a terminal's bytes, line by line as it would stand there at last."""
    text = _CODES.sub("", data.decode("utf-8", "replace").replace("\r\n", "\n"))
    return "\n".join(_last(line) for line in text.split("\n"))


def end_of(text: str) -> Shown:
    """The end of a text, in whole lines as far as they fit."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    kept, room = 0, MOST_CHARACTERS
    for line in reversed(lines[-MOST_LINES:]):
        room -= len(line) + 1
        if room < 0:
            break
        kept += 1
    if kept == len(lines):
        return Shown(text=text)
    if not kept:  # the last line alone is too long
        return Shown(text=lines[-1][-MOST_CHARACTERS:], left_out=len(lines))
    return Shown(text="\n".join(lines[-kept:]) + "\n", left_out=len(lines) - kept)


def _last(line: str) -> str:
    """What is left of a line that was written over."""
    return line.rstrip("\r").rpartition("\r")[2].replace("\x1b", "")
