"""Characters that are not seen and yet belong: what joins emoji, and letters of scripts that join.

They are ordinary only where a writer has a use for them. Anywhere else they hide something.
"""

import unicodedata
from functools import lru_cache

# Scripts whose letters a joiner or non-joiner shapes, and those whose words no blank parts.
_JOINING = frozenset(
    "ARABIC SYRIAC MANDAIC NKO MONGOLIAN DEVANAGARI BENGALI GURMUKHI GUJARATI ORIYA TAMIL TELUGU "
    "KANNADA MALAYALAM SINHALA KHMER MYANMAR TIBETAN BALINESE JAVANESE".split()
)
_UNPARTED = frozenset("THAI LAO KHMER MYANMAR TIBETAN".split())
_FLAG = "\U0001f3f4"
_FLAGS = tuple(  # England, Scotland, Wales: the only ones that are spelled in tags
    "".join(chr(0xE0000 + ord(letter)) for letter in name) + "\U000e007f"
    for name in ("gbeng", "gbsct", "gbwls")
)
_PICTURES = range(0x1F000, 0x1FB00)  # also those that are newer than this Python
_SELECTORS = "\ufe0e\ufe0f"  # as text, as a picture
_KEYCAP = "\u20e3"
_IDEOGRAPHS = (range(0x3400, 0xA000), range(0xF900, 0xFB00), range(0x20000, 0x40000))
_MONGOLIAN = "\u180b\u180c\u180d\u180f"


def is_ordinary(text: str, at: int) -> bool:
    """Whether the character that is not seen at this place is a part of ordinary writing."""
    letter = text[at]
    if ord(letter) in _PICTURES:
        return True
    before, behind = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    if letter == "\r":
        return behind == "\n"
    if not before:
        return False
    if letter == "\u200d" and _is_picture(behind) and _ends_picture(before):
        return True
    if letter in "\u200c\u200d":
        return _script(before) in _JOINING and not _is_joiner(behind)
    if letter == "\u200b":
        return _script(before) in _UNPARTED and not _is_joiner(behind)
    if letter in _SELECTORS:
        return _is_picture(before) or (before in "0123456789#*" and behind == _KEYCAP)
    if letter in _MONGOLIAN:
        return _script(before) == "MONGOLIAN"
    if 0xE0100 <= ord(letter) < 0xE01F0:
        return any(ord(before) in some for some in _IDEOGRAPHS)
    if 0xE0020 <= ord(letter) <= 0xE007F:
        return _is_in_flag(text, at)
    return False


def _is_in_flag(text: str, at: int) -> bool:
    start = text.rfind(_FLAG, max(at - 6, 0), at) + 1
    return start > 0 and any(text.startswith(flag, start) for flag in _FLAGS)


def _is_joiner(letter: str) -> bool:
    return letter in ("\u200b", "\u200c", "\u200d")


def _ends_picture(letter: str) -> bool:
    return letter == "\ufe0f" or _is_picture(letter)


@lru_cache(maxsize=4_096)
def _is_picture(letter: str) -> bool:
    """A symbol that may be drawn as a picture; a few of those count as punctuation."""
    if not letter or letter.isascii():
        return False
    is_symbol = unicodedata.category(letter) in ("So", "Sm", "Sk", "Sc")
    return is_symbol or ord(letter) in _PICTURES or letter in "\u203c\u2049\u3030"


@lru_cache(maxsize=4_096)
def _script(letter: str) -> str:
    """The script of a letter or of a mark on one, by its name."""
    is_written = unicodedata.category(letter)[0] in "LM"
    return unicodedata.name(letter, "").partition(" ")[0] if is_written else ""
