"""Ordinary writing of any script is left alone in prose; what hides or misleads is still named."""

# ruff: noqa: RUF001 - letters of other scripts are what it is about

import pytest

from studio.core.rules import reveal

ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
ORDINARY = [
    "שלום עולם, hello (טוב)!",
    "مرحبا بالعالم، version 2",
    "می\u200cخواهم به خانه بروم",
    "क\u094d\u200dष",
    "ไทย\u200bไทย",
    "葛\U000e0100飾区",
    "Привет, т.е. п.3",
    "α-Test, Δt, Việt Nam",
    "中文。中文、全角\uff21\uff22\uff23",
    "Il coûte 5\u00a0€\u202f: «bien»",
    "½ m² \u2212 5 \u2039a\u203a",
    "e\u0301t\u00e9",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 ❤\ufe0f 1\ufe0f\u20e3 ▶\ufe0f \u203c\ufe0f",
    ENGLAND,
    "\U0001f9d1\U0001f3fd\u200d⚕\ufe0f",
    "\U0001f3f3\ufe0f\u200d\U0001f308",
    "newer than Python: \U0001fae9",
    "tabs\tand\r\nlines\n\n\n\n\nand" + " " * 200 + "blanks",
]
HIDING = [
    ("user \u202etxt.exe", "\u202e"),
    ("x\u2066y", "\u2066"),
    ("\u200fabc", "\u200f"),
    ("a\u061cb", "\u061c"),
    ("pay\u200dpal", "\u200d"),
    ("a\u200bb", "\u200b"),
    ("a\u200c\u200db", "\u200c"),
    ("ל\u200ba", "\u200b"),
    ("a\ufe0fb", "\ufe0f"),
    ("\U0001f600\ufe0f\ufe01", "\ufe01"),
    ("a\U000e0100", "\U000e0100"),
    ("\U0001f3f4\U000e0065\U000e0076\U000e007f", "\U000e0065"),
    ("lone\rreturn", "\r"),
    ("\x1b[31m", "\x1b"),
    ("a\ufeffb", "\ufeff"),
    ("a\u00adb", "\u00ad"),
    ("\u3164", "\u3164"),
    ("\u200d\U0001f600", "\u200d"),
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_writing_has_no_marks(text: str) -> None:
    assert [part.label for part in reveal.segments(text, prose=True) if part.label] == []


@pytest.mark.parametrize("text", [text for text in ORDINARY if "\u00a0" not in text])
def test_ordinary_names_have_no_escapes(text: str) -> None:
    assert reveal.plain(text, prose=True).replace("\\x0d", "\r") == text


@pytest.mark.parametrize("text, letter", HIDING)
def test_what_hides_is_named_and_nothing_is_lost(text: str, letter: str) -> None:
    found = reveal.segments(text, prose=True)

    assert "".join(part.text for part in found) == text
    assert letter in [part.text for part in found if part.is_hidden]
    assert letter not in reveal.plain(text, prose=True)


@pytest.mark.parametrize(
    "text",
    ["p\u0430ypal", "https://\u0430pple.com", "\u0430pple.com", "me@\u0430\u0430.\u0440\u0444"],
)
def test_words_and_hosts_that_pass_for_others_are_named_in_prose_too(text: str) -> None:
    assert [part for part in reveal.segments(text, prose=True) if part.label]


def test_zalgo_is_named() -> None:
    (_letter, run) = reveal.segments("x" + "\u0301" * 9, prose=True)

    assert (run.label, run.is_hidden) == ("9× combining marks in a row", True)
