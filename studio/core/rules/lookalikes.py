"""Letters that look like other letters, words that mix scripts, and hosts written in such letters.

The table is our own and holds what can pass for a letter of ASCII in common typefaces; forms that
Unicode itself calls a variant (fullwidth, mathematical, Roman numerals) are found by their
decomposition.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

# Cyrillic, Greek, Armenian, Cherokee, Coptic, Latin beyond ASCII, digits; code point and letter.
_PAIRS = """
0430a 0441c 0501d 0435e 04BBh 0456i 0458j 04CFl 043Eo 0440p 051Bq 0455s 0475v 051Dw 0445x
0443y 050Dg 0433r 043Fn 043Ak 043Cm 0442t 0432b 043Dh
0410A 0412B 0421C 0415E 041DH 0406I 0408J 041AK 041CM 041EO 0420P 051AQ 0405S 0422T 0474V
051CW 0425X 0423Y 0417Z 04AEY 04AFy 04C0I 0461w
03B1a 03F2c 03F3j 03B5e 03B7n 03B9i 03BAk 03BDv 03BFo 03C1p 03C3o 03C4t 03C5u 03C7x 03B3y
03C9w
0391A 0392B 03F9C 0395E 0397H 0399I 037FJ 039AK 039CM 039DN 039FO 03A1P 03A4T 03A5Y 03A7X
0396Z
0585o 0578n 057Du 0570h 0581g 0566q 0575j 056Cl 0555O 054DU 054FS 053CL
13AAA 13F4B 13DFC 13A0D 13ACE 13C0G 13BBH 13A5I 13ABJ 13E6K 13DEL 13B7M 13E2P 13D2R 13DAS
13A2T 13D9V 13B3W 13C3Z
2C9Fo 2CA3p 2CA5c 2CADx 2C9EO 2CA4C 2CA2P
0251a 0261g 0269i 026AI 028FY 0280R 0299B 029CH 1D00A 1D04c 1D05D 1D07E 1D0AJ 1D0BK 1D0DM
1D0Fo 1D18P 1D1BT 1D1CU 1D20v 1D21w 1D22z A731s A730F
07C0O 0966o 0A66o 0AE6o 0BE6o 0C66o 0CE6o 0D66o 0E50o 0ED0o 1040o
"""
LETTERS = {chr(int(pair[:-1], 16)): pair[-1] for pair in _PAIRS.split()}
MARKS: dict[str, str] = {
    "\u2044": "/", "\u2215": "/", "\u29f8": "/", "\u2571": "/", "\u2216": "\\", "\u29f5": "\\",
    "\u29f9": "\\", "\u2236": ":", "\ua789": ":", "\u02d0": ":", "\u0589": ":", "\u05c3": ":",
    "\u2024": ".", "\u3002": ".", "\uff61": ".", "\u06d4": ".", "\ua4f8": ".", "\u0701": ".",
    "\u2010": "-", "\u2011": "-", "\u2212": "-", "\u02d7": "-",
    "\u037e": ";", "\u201a": ",", "\u066b": ",", "\u2223": "|", "\u01c0": "|", "\u01c3": "!",
    "\u2768": "(", "\u2769": ")", "\u02b9": "'", "\u02bc": "'", "\u02ba": '"', "\ua78c": "'",
    "\u2217": "*", "\u204e": "*", "\u02c6": "^", "\u02dc": "~", "\u223c": "~", "\ua778": "&",
    "\u2039": "<", "\u203a": ">", "\u276e": "<", "\u276f": ">", "\u0347": "=", "\ua60c": "=",
}  # fmt: skip
# Scripts of which every letter beside a Latin one is worth a word, not only the look-alikes.
_NEAR = frozenset({"CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC"})
_VARIANTS = ("<font>", "<wide>", "<narrow>")

_WORD = re.compile(r"\w+")
_ASCII = re.compile(r"[A-Za-z]")
_DOTS = ".\u3002\uff0e\uff61\u2024"
_DOT = re.compile(f"[{_DOTS}]")
_TOKEN = re.compile(rf"[\w{_DOTS}-]+")
_URL_HOST = re.compile(r"://([^\s/?#\\<>\"'`(){}\[\],;|]{1,1000})")
_MAIL_HOST = re.compile(rf"@([\w{_DOTS}-]{{1,1000}})")
_MARK = re.compile(f"[{re.escape(''.join(MARKS))}]")


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A part of a text, from `start` to before `end`, that is not what it seems, and why."""

    start: int
    end: int
    label: str


def marks(text: str, *, prose: bool = False) -> Iterator[Mark]:
    """Hosts, words and single marks that look like others, in order and apart from each other.

    In `prose` only what stands beside letters of ASCII: other scripts have marks, widths and
    abbreviations with dots of their own.
    """
    suspects = {letter for letter in set(text) if not letter.isascii() and _is_suspect(letter)}
    if prose:
        suspects -= MARKS.keys()
    at = 0
    found = [*_hosts(text, suspects, prose=prose), *_words(text, suspects, prose=prose)]
    if not prose:
        found += _single(text, suspects)
    for mark in sorted(found, key=_place):
        if mark.start >= at:
            yield mark
            at = mark.end


def like(letter: str) -> str | None:
    """The ASCII that a character can pass for, or None."""
    if letter.isascii():
        return None
    return LETTERS.get(letter) or MARKS.get(letter) or _variant(letter)


def punycode(host: str) -> str:
    """A host as the name system is asked for it."""
    labels = _DOT.split(host)
    return ".".join(_label(unicodedata.normalize("NFKC", label).lower()) for label in labels)


def _place(mark: Mark) -> tuple[int, int]:
    return mark.start, -mark.end


def _label(label: str) -> str:
    if label.isascii():
        return label
    if len(label) > 63:
        return f"({len(label):,} characters, too long for a host)"
    return "xn--" + label.encode("punycode").decode("ascii")


@lru_cache(maxsize=4_096)
def _is_suspect(letter: str) -> bool:
    return like(letter) is not None or _script(letter) in _NEAR or letter.isdecimal()


def _hosts(text: str, suspects: set[str], *, prose: bool) -> Iterator[Mark]:
    for pattern in (_URL_HOST, _MAIL_HOST):
        for found in pattern.finditer(text):
            host = found[1].rpartition("@")[2]
            start = found.end() - len(host)
            name = re.sub(r":\d*$", "", host).rstrip(".")
            if not name.isascii() and (pattern is _URL_HOST or _DOT.search(name)):
                yield Mark(start=start, end=start + len(name), label=_host_label(name))
    for found in _TOKEN.finditer(text) if suspects else ():
        if _is_foreign(found[0], prose=prose):
            continue
        name = found[0].strip(_DOTS + "-")
        if not suspects.isdisjoint(name) and _DOT.search(name) and _is_odd_host(name):
            start = found.start() + found[0].index(name)
            yield Mark(start=start, end=start + len(name), label=_host_label(name))


def _host_label(host: str) -> str:
    return f"{punycode(host)} is the name that would be asked for"


def _is_odd_host(host: str) -> bool:
    """One of its labels mixes scripts, or could be read as ASCII from end to end."""
    for label in _DOT.split(host):
        letters = [letter for letter in label if not letter.isascii()]
        if letters and (_odd_letters(label) or all(like(letter) for letter in letters)):
            return True
    return False


def _words(text: str, suspects: set[str], *, prose: bool) -> Iterator[Mark]:
    for found in _WORD.finditer(text) if suspects else ():
        if _is_foreign(found[0], prose=prose):
            continue
        if not suspects.isdisjoint(found[0]) and (odd := _odd_letters(found[0])):
            yield Mark(start=found.start(), end=found.end(), label=_word_label(odd))


def _is_foreign(word: str, *, prose: bool) -> bool:
    """Nothing to compare: of ASCII alone, or in prose without a letter of it."""
    return word.isascii() or (prose and not _ASCII.search(word))


def _single(text: str, suspects: set[str]) -> Iterator[Mark]:
    for found in _MARK.finditer(text) if suspects & MARKS.keys() else ():
        label = f"look-alike of {MARKS[found[0]]}, {describe(found[0])}"
        yield Mark(start=found.start(), end=found.end(), label=label)


def _odd_letters(word: str) -> list[str]:
    """The letters of a word that come from another script than the rest and could mislead."""
    others = dict.fromkeys(letter for letter in word if not letter.isascii())
    odd = [letter for letter in others if _variant(letter)]
    scripts = {_script(letter) for letter in word if letter.isalpha()}
    if "LATIN" in scripts:
        odd += [
            letter
            for letter in others
            if letter not in odd and (letter in LETTERS or _script(letter) in _NEAR)
        ]
    elif {"CYRILLIC", "GREEK"} <= scripts:
        odd += [letter for letter in others if _script(letter) == "GREEK"]
    digits = [letter for letter in others if letter.isdecimal() and letter not in odd]
    if digits and any("0" <= letter <= "9" for letter in word):
        odd += digits
    return odd


def _word_label(odd: list[str]) -> str:
    shown = [f"{describe(letter)}{_resembles(letter)}" for letter in odd[:5]]
    more = f" and {len(odd) - 5} more" if len(odd) > 5 else ""
    return f"look-alike letters: {', '.join(shown)}{more}"


def _resembles(letter: str) -> str:
    ascii_letter = like(letter)
    return f" for {ascii_letter}" if ascii_letter else ""


def describe(letter: str) -> str:
    """A visible character with its code point and name: `§ U+00A7 section sign`."""
    name = unicodedata.name(letter, "unnamed").lower()
    return f"{letter} U+{ord(letter):04X} {name}"


@lru_cache(maxsize=4_096)
def _variant(letter: str) -> str | None:
    """The ASCII that a fullwidth, mathematical or other variant stands for."""
    parts = unicodedata.decomposition(letter).split()
    if not parts:
        return None
    is_variant = parts[0] in _VARIANTS or not parts[0].startswith("<")
    is_numeral = parts[0] == "<compat>" and unicodedata.category(letter) == "Nl"
    plain = unicodedata.normalize("NFKC", letter)
    return plain if (is_variant or is_numeral) and plain.isascii() else None


@lru_cache(maxsize=4_096)
def _script(letter: str) -> str:
    """The first word of its name, which for letters is the script: LATIN, CYRILLIC, GREEK…"""
    return unicodedata.name(letter, "").partition(" ")[0]
