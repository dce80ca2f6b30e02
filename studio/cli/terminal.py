"""Text for people: columns, colour on a terminal alone, and nothing that acts on the terminal.

Whatever came from elsewhere is shown plain: control, direction and invisible characters appear as
their code points, so a name cannot move the cursor or hide what it is.
"""

import json
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from studio.core.rules.errors import Invalid

HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
COLOURS = {
    "held": "33", "open": "33", "waiting": "33", "uncertain": "35", "failed": "31", "denied": "31",
    "cancelled": "2", "completed": "32", "succeeded": "32", "running": "36", "queued": "36",
    "ok": "32", "fault": "31",
}  # fmt: skip
GAP = "  "


@dataclass(frozen=True, kw_only=True)
class Terminal:
    """Where a command writes and asks."""

    out: TextIO
    err: TextIO
    inp: TextIO
    colours: bool
    width: int | None

    @classmethod
    def standard(cls, environ: Mapping[str, str]) -> "Terminal":
        """The process's own; colour only on a terminal, and never with NO_COLOR."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        shown = sys.stdout.isatty()
        wanted = not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
        return cls(
            out=sys.stdout, err=sys.stderr, inp=sys.stdin, colours=shown and wanted,
            width=shutil.get_terminal_size().columns if shown else None,
        )  # fmt: skip

    @property
    def can_ask(self) -> bool:
        """A person is there to answer."""
        return self.inp.isatty()

    def say(self, text: str) -> None:
        """A line of our own words."""
        print(text, file=self.out, flush=True)

    def note(self, text: str) -> None:
        """A line beside the answer, also when the answer is for a program."""
        print(text, file=self.err, flush=True)

    def warn(self, text: str) -> None:
        """Something to know, that stops nothing."""
        self.note(f"studio: {text}")

    def fail(self, text: str) -> None:
        """One paragraph on what went wrong."""
        self.note(f"studio: {plain(text, lines=True)}")

    def json(self, value: Any) -> None:
        """JSON; on a terminal in ASCII, so that nothing in it acts."""
        text = json.dumps(value, indent=2, ensure_ascii=self.out.isatty())
        self.say(text.encode("utf-8", "backslashreplace").decode())

    def line(self, value: Any) -> None:
        """One line of JSON, for a program that reads line by line."""
        self.say(json.dumps(value, ensure_ascii=True, separators=(",", ":")))

    def row(self, cells: Sequence[str]) -> None:
        """One row of somebody else's words, without a table around it."""
        shown = [plain(cell) for cell in cells]
        self.say(self._row(shown, [_width(cell) for cell in shown]))

    def table(self, heads: Sequence[str], rows: Iterable[Sequence[object]], *, none: str) -> None:
        """Columns as wide as they must be; the last one is cut to the terminal."""
        cells = [[plain(str(cell)) for cell in row] for row in rows]
        if not cells:
            self.say(none)
            return
        widths = [max(map(_width, column)) for column in zip(heads, *cells, strict=True)]
        self.say(self._paint(self._row(heads, widths), "1"))
        for row in cells:
            self.say(self._row([*row], widths))

    def pairs(self, pairs: Iterable[tuple[str, object]]) -> None:
        """Names and values, one pair a line; what is None or empty is left out."""
        shown = [(name, plain(str(v))) for name, v in pairs if v not in (None, "", (), [])]
        wide = max((len(name) for name, _ in shown), default=0)
        for name, value in shown:
            self.say(f"{self._paint(name.ljust(wide), '2')}{GAP}{self._word(value)}")

    def block(self, text: str) -> None:
        """Several lines of somebody else's text, set in."""
        for line in plain(text, lines=True).split("\n"):
            self.say(f"    {line}")

    def ask(self, question: str) -> str:
        """A person's answer to a question."""
        if not self.can_ask:
            raise Invalid(f"{question.strip()} Nobody is there to answer.")
        print(question, end="", file=self.err, flush=True)
        return self.inp.readline().strip()

    def _row(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        padded = [
            self._word(cell) + " " * (width - _width(cell))
            for cell, width in zip(cells[:-1], widths, strict=False)
        ]
        used = sum(widths[:-1]) + len(GAP) * len(padded)
        last = cells[-1] if self.width is None else _cut(cells[-1], max(self.width - used, 10))
        return GAP.join([*padded, self._word(last)]).rstrip()

    def _word(self, text: str) -> str:
        return self._paint(text, COLOURS[text]) if text in COLOURS else text

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colours else text


def plain(text: str, *, lines: bool = False) -> str:
    """The text with every character that acts or hides shown as its code point."""
    return "".join(_shown(character, lines=lines) for character in text)


def _shown(character: str, *, lines: bool) -> str:
    if lines and character in "\n\t":
        return character
    if unicodedata.category(character) not in HIDDEN:
        return character
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character, f"\\u{ord(character):04x}")


def _width(text: str) -> int:
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def _cut(text: str, width: int) -> str:
    if _width(text) <= width:
        return text
    while text and _width(text) > width - 1:
        text = text[:-1]
    return text + "…"
