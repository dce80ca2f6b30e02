"""Text as a person must see it: what is invisible, reorders, or passes for something else is named.

Complete over Unicode as this Python knows it: controls, format and bidi controls, tags, variation
selectors, private and unassigned code points, halves of characters, odd spaces and separators,
blanks that are letters. Tabs and single line breaks are ordinary; in prose also what ordinary
writing of any script needs.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from studio.core.rules import lookalikes, writing

LINE_BREAKS = 4
SPACES = 80
COMBINING = 5
_NAMED_EACH = 8

_ORDINARY = re.compile(r"[\t\n\x20-\x7e]*")
_RUNS = ("\n" * LINE_BREAKS, " " * SPACES, "\t" * (SPACES // 4))
_C0 = (
    "null,start of heading,start of text,end of text,end of transmission,enquiry,acknowledge,bell,"
    "backspace,tab,line feed,vertical tab,form feed,carriage return,shift out,shift in,"
    "data link escape,device control one,device control two,device control three,"
    "device control four,negative acknowledge,synchronous idle,end of transmission block,cancel,"
    "end of medium,substitute,escape,file separator,group separator,record separator,"
    "unit separator"
).split(",")
_C1 = {
    0x7F: "delete", 0x80: "padding character", 0x85: "next line", 0x8D: "reverse line feed",
    0x90: "device control string", 0x98: "start of string", 0x9B: "control sequence introducer",
    0x9C: "string terminator", 0x9D: "operating system command", 0x9E: "privacy message",
    0x9F: "application program command",
}  # fmt: skip
# Nothing or a blank is drawn for these, though their category says letter, mark or symbol.
_BLANKS = frozenset(
    [0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164,
     0xFFA0, 0xFFFC, 0x16FE4, 0x1D159, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]
)  # fmt: skip
_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp", "Zs"})


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A part of a text. `label` is None when it is what it seems.

    `is_hidden` says that it would not be seen, or would move what stands around it.
    """

    text: str
    label: str | None = None
    is_hidden: bool = False

    @property
    def shown(self) -> str:
        """The text as a page may hold it: what HTML cannot carry has a sign in its place."""
        return "".join(_sign(letter) for letter in self.text[:1]) if self.is_hidden else self.text


def segments(text: str, *, prose: bool = False) -> list[Segment]:
    """The text in parts, with every part named that is not what it seems.

    `prose` is to be read and not to be run: blanks that are seen as blanks, joiners of emoji and
    of letters, and the punctuation of other scripts are ordinary in it.
    """
    if _ORDINARY.fullmatch(text) and (prose or not any(run in text for run in _RUNS)):
        return [Segment(text=text)] if text else []
    visible = [] if text.isascii() else list(lookalikes.marks(text, prose=prose))
    found: list[Segment] = []
    at, seen = 0, 0
    for start, end in _prose_runs(text) if prose else _hidden_runs(text):
        seen = _visible(text, at, start, visible, seen, found)
        found += _named(text[start:end])
        at = end
    _visible(text, at, len(text), visible, seen, found)
    return found


def warnings(text: str) -> list[str]:
    """What a person should know before reading the text, one sentence each."""
    found = segments(text)
    hidden = [segment for segment in found if segment.is_hidden]
    sentences = []
    if hidden:
        count = sum(len(segment.text) for segment in hidden)
        names = dict.fromkeys(str(segment.label) for segment in hidden)
        sentences.append(f"{_counted(count, 'hidden character')}: {_some(list(names))}.")
    for segment in found:
        if segment.label and not segment.is_hidden and len(sentences) < 10:
            sentences.append(f"“{segment.text[:60]}”: {segment.label}.")
    return sentences


def hidden_characters(text: str) -> int:
    """How many characters would not be seen, or would move what stands around them."""
    if _ORDINARY.fullmatch(text):
        return 0
    odd = {letter for letter in set(text) if label(letter) is not None}
    return sum(letter in odd for letter in text) if odd else 0


def plain(text: str, *, one_line: bool = False, prose: bool = False) -> str:
    """The text for a terminal or a single line: hidden characters as escapes such as \\u202e.

    In `prose` what joins emoji and letters stays as it is.
    """
    odd = set[str]()
    if not _ORDINARY.fullmatch(text):
        odd = {letter for letter in set(text) if label(letter) is not None}
    safe = text.translate({ord(letter): _escape(letter) for letter in odd}) if odd else text
    if odd and prose:
        safe = re.sub(_class(odd), lambda found: _kept_or_escaped(text, found.start()), text)
    return safe.replace("\n", "\\n").replace("\t", "\\t") if one_line else safe


@lru_cache(maxsize=16_384)
def label(letter: str) -> str | None:
    """The code point and name of a character that would not be seen; None for others."""
    code = ord(letter)
    category = unicodedata.category(letter)
    if letter in "\t\n " or (category not in _HIDDEN and code not in _BLANKS):
        return None
    return f"U+{code:04X} {_name(code, category)}"


def _name(code: int, category: str) -> str:
    if category == "Cc":
        return _C0[code] if code < 32 else _C1.get(code, "control character")
    if category == "Co":
        return "private use"
    if category == "Cs":
        return "half of a character"
    if category == "Cn":
        is_none = 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE
        return "noncharacter" if is_none else "unassigned"
    return unicodedata.name(chr(code), "unnamed").lower()


def _hidden_runs(text: str) -> list[tuple[int, int]]:
    """Where hidden characters stand together, and long runs of blanks or of combining marks."""
    letters = set(text)
    odd = {letter for letter in letters if label(letter) is not None}
    patterns = [f"{re.escape(run)}{re.escape(run[0])}*" for run in _RUNS if run in text]
    if odd:
        patterns.append(f"{_class(odd)}+")
    if marks := {letter for letter in letters - odd if unicodedata.combining(letter)}:
        patterns.append(f"{_class(marks)}{{{COMBINING},}}")
    return sorted(found.span() for pattern in patterns for found in re.finditer(pattern, text))


def _prose_runs(text: str) -> list[tuple[int, int]]:
    """The same in prose, without what belongs there."""
    letters = set(text)
    odd = {
        letter
        for letter in letters
        if label(letter) is not None and unicodedata.category(letter) != "Zs"
    }
    found = [
        at.start()
        for at in (re.finditer(_class(odd), text) if odd else ())
        if not writing.is_ordinary(text, at.start())
    ]
    runs: list[tuple[int, int]] = []
    for at in found:
        if runs and runs[-1][1] == at:
            runs[-1] = (runs[-1][0], at + 1)
        else:
            runs.append((at, at + 1))
    if marks := {letter for letter in letters - odd if unicodedata.combining(letter)}:
        many = re.finditer(f"{_class(marks)}{{{COMBINING},}}", text)
        runs = sorted([*runs, *(run.span() for run in many)])
    return runs


def _class(letters: set[str]) -> str:
    return f"[{''.join(re.escape(letter) for letter in sorted(letters))}]"


def _named(run: str) -> list[Segment]:
    """Names for a run of hidden characters: each one, or what a long run consists of."""
    if run[0] in "\n\t ":
        sign, noun = {"\n": ("⏎", "line breaks"), "\t": ("⇥", "tabs"), " ": ("␠", "spaces")}[run[0]]
        words = f"{sign}×{len(run):,} {noun} in a row"
        return [Segment(text=run, label=words, is_hidden=True)]
    if label(run[0]) is None:
        words = f"{len(run):,}× combining marks in a row"
        return [Segment(text=run, label=words, is_hidden=True)]
    found: list[Segment] = []
    at = 0
    while at < len(run):
        if len(found) == _NAMED_EACH and len(set(run[at:])) > 1:
            return [*found, _rest(run[at:])]
        end = at + 1
        while end < len(run) and run[end] == run[at]:
            end += 1
        times = f", {end - at:,} times" if end - at > 1 else ""
        words = f"{label(run[at])}{times}{_purpose(run, at)}"
        found.append(Segment(text=run[at:end], label=words, is_hidden=True))
        at = end
    return found


def _purpose(run: str, at: int) -> str:
    """An escape begins a command to a terminal; say so."""
    return " (begins a command to a terminal)" if run[at] in "\x1b\x9b\x9d" else ""


def _rest(run: str) -> Segment:
    """Many different hidden characters: count them, and read what tags spell."""
    spelled = "".join(
        chr(ord(letter) - 0xE0000) for letter in run if 0xE0020 <= ord(letter) < 0xE007F
    )
    codes = ", ".join(f"U+{ord(letter):04X}" for letter in dict.fromkeys(run[:12]))
    spells = f", which spell “{spelled[:200]}”" if spelled else ""
    words = (
        f"+{len(run):,} more hidden characters ({codes}{', …' if len(run) > 12 else ''}){spells}"
    )
    return Segment(text=run, label=words, is_hidden=True)


def _visible(
    text: str, start: int, end: int, marks: list[lookalikes.Mark], seen: int, into: list[Segment]
) -> int:
    """Add a stretch without hidden characters, look-alikes named. How many marks are behind it."""
    at = start
    while seen < len(marks) and marks[seen].start < end:
        mark = marks[seen]
        _add(into, text[at : max(mark.start, at)], None)
        _add(into, text[max(mark.start, at) : min(mark.end, end)], mark.label)
        at = max(at, min(mark.end, end))
        if mark.end > end:
            return seen
        seen += 1
    _add(into, text[at:end], None)
    return seen


def _add(into: list[Segment], text: str, label: str | None) -> None:
    if text:
        into.append(Segment(text=text, label=label))


def _sign(letter: str) -> str:
    code = ord(letter)
    if letter in "\n\t ":
        return {"\n": "⏎", "\t": "⇥", " ": "␠"}[letter]
    if code < 0x20:
        return chr(0x2400 + code)
    if 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000 or code & 0xFFFE == 0xFFFE:
        return "\ufffd"
    return letter


def _kept_or_escaped(text: str, at: int) -> str:
    return text[at] if writing.is_ordinary(text, at) else _escape(text[at])


def _escape(letter: str) -> str:
    code = ord(letter)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _some(names: list[str], most: int = 4) -> str:
    rest = f" and {len(names) - most:,} other kinds" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
