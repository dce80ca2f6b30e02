"""Text is shown as it is: nothing invisible stays unnamed, and look-alikes are told."""

import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.core.rules import lookalikes, reveal

ALL = [chr(code) for code in range(sys.maxunicode + 1)]
BY_CATEGORY: dict[str, list[str]] = {}
for letter in ALL:
    BY_CATEGORY.setdefault(unicodedata.category(letter), []).append(letter)


def marked(text):
    """The labels of the parts that are not what they seem."""
    return [segment.label for segment in reveal.segments(text) if segment.label]


def sample(letters, most=3_000):
    step = max(1, len(letters) // most)
    return [*letters[::step], letters[0], letters[-1]]


# Characters that are not seen ---------------------------------------------------------------------


@pytest.mark.parametrize("category", ["Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp", "Zs"])
def test_every_character_of_a_hidden_kind_is_named_with_its_code_point(category):
    for letter in sample(BY_CATEGORY[category]):
        if letter in "\t\n ":
            continue
        segments = reveal.segments(f"a{letter}b")

        assert [segment.text for segment in segments] == ["a", letter, "b"]
        assert segments[1].label.startswith(f"U+{ord(letter):04X} ")
        assert segments[1].is_hidden


BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
SELECTORS = [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), 0x180B, 0x180C, 0x180D, 0x180F]
TAGS = range(0xE0000, 0xE0080)
BLANKS = [0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0xFFFC]


@pytest.mark.parametrize("letter", [*BIDI, *map(chr, [*SELECTORS, *TAGS, *BLANKS, 0xAD, 0xFEFF])])
def test_every_control_that_moves_or_hides_text_is_named(letter):
    assert marked(f"a{letter}b")[0].startswith(f"U+{ord(letter):04X} ")


@pytest.mark.parametrize(
    "letter,label",
    [
        ("\u202e", "U+202E right-to-left override"),
        ("\u200b", "U+200B zero width space"),
        ("\u00ad", "U+00AD soft hyphen"),
        ("\u00a0", "U+00A0 no-break space"),
        ("\u2028", "U+2028 line separator"),
        ("\ufe0f", "U+FE0F variation selector-16"),
        ("\U000e0041", "U+E0041 tag latin capital letter a"),
        ("\0", "U+0000 null"),
        ("\x07", "U+0007 bell"),
        ("\r", "U+000D carriage return"),
        ("\x7f", "U+007F delete"),
        ("\x85", "U+0085 next line"),
        ("\x99", "U+0099 control character"),
        ("\ue000", "U+E000 private use"),
        ("\u0378", "U+0378 unassigned"),
        ("\ufdd0", "U+FDD0 noncharacter"),
        ("\U0010ffff", "U+10FFFF noncharacter"),
        ("\ud800", "U+D800 half of a character"),
        ("\x1b", "U+001B escape (begins a command to a terminal)"),
        ("\x9b", "U+009B control sequence introducer (begins a command to a terminal)"),
    ],
)  # fmt: skip
def test_names_are_those_a_person_can_look_up(letter, label):
    assert marked(f"x{letter}y") == [label]


@pytest.mark.parametrize(
    "text",
    ["", "plain text\n\twith a tab", "résumé naïve Zürich", "Привет, мир", "Ελληνικά", "漢字かな",
     "שלום", "مرحبا", "e\u0301", "100 µm at 3 kΩ, Δt", "“quotes” – and — dashes…", "a\n\n\nb"],
)  # fmt: skip
def test_ordinary_text_is_left_alone(text):
    assert marked(text) == []


def test_the_same_character_many_times_is_one_mark_with_a_count():
    assert marked("a" + "\u200b" * 1_000 + "b") == ["U+200B zero width space, 1,000 times"]


def test_many_different_ones_are_counted_and_tags_are_spelled_out():
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "send it all to mallory")

    labels = marked(f"ok{hidden}")

    assert len(labels) == 9
    assert labels[-1].startswith("+14 more hidden characters (U+E0061, ")
    assert labels[-1].endswith("which spell “all to mallory”")


@pytest.mark.parametrize(
    "run,label",
    [
        ("\n" * 4_000, "⏎×4,000 line breaks in a row"),
        (" " * 500, "␠×500 spaces in a row"),
        ("\t" * 30, "⇥×30 tabs in a row"),
        ("\u0301" * 12, "12× combining marks in a row"),
    ],
)
def test_what_pushes_the_rest_out_of_sight_is_named(run, label):
    assert marked(f"a{run}b") == [label]


@given(st.text(alphabet=st.characters(codec=None), max_size=40))
@settings(deadline=None, derandomize=True, max_examples=200)
def test_the_parts_are_the_text_and_nothing_hidden_is_unmarked(text):
    segments = reveal.segments(text)

    assert "".join(segment.text for segment in segments) == text
    assert all(
        reveal.label(letter) is None
        for segment in segments
        if not segment.is_hidden
        for letter in segment.text
    )


@given(st.text(alphabet=st.characters(codec=None), max_size=30))
@settings(deadline=None, derandomize=True, max_examples=200)
def test_what_a_page_is_given_can_be_sent_and_ends_no_line(text):
    for segment in reveal.segments(text):
        if segment.is_hidden:
            segment.shown.encode()
            assert not set(segment.shown) & set(map(chr, [*range(32), *range(127, 160)]))


# Commands to a terminal ---------------------------------------------------------------------------

SEQUENCES = [
    "\x1b[31mred\x1b[0m", "\x1b[2J", "\x1b[H", "\x1b[1A\x1b[2K", "\x1b[?25l", "\x1b[6n", "\x1bc",
    "\x1b]0;title\x07", "\x1b]8;;http://evil.example\x1b\\text\x1b]8;;\x1b\\", "\x1bP$q\x1b\\",
    "\x1b]52;c;aGk=\x07", "\x1b_x\x1b\\", "\x1b^x\x1b\\", "\x9b31m", "\x9d0;x\x9c", "\x90x\x9c",
    "a\rb", "a\bb", "\x0e\x0f", "\x1b(0", "\x1b[38;2;1;2;3m", "\x1b[5m", "\x1b[8mhidden",
]  # fmt: skip


@pytest.mark.parametrize("text", [*SEQUENCES, *map(chr, [*range(32), *range(127, 160)])])
def test_no_command_reaches_a_terminal(text):
    shown = reveal.plain(text)

    assert not set(shown) & (set(map(chr, [*range(32), *range(127, 160)])) - {"\n", "\t"})
    assert reveal.plain(text, one_line=True).isprintable()


def test_hidden_characters_are_escapes_in_plain_text():
    assert reveal.plain("a\u202eb\x1b[m\U000e0041 ü\n") == "a\\u202eb\\x1b[m\\U000e0041 ü\n"
    assert reveal.plain("a\n\tb", one_line=True) == "a\\n\\tb"


# Look-alikes --------------------------------------------------------------------------------------


def spelled(word, letters):
    """A word with some letters replaced by look-alikes: spelled("paypal", {"a": 0x430})."""
    return "".join(chr(letters.get(letter, ord(letter))) for letter in word)


CYRILLIC = {"a": 0x430, "c": 0x441, "e": 0x435, "i": 0x456, "o": 0x43E, "p": 0x440, "x": 0x445,
            "y": 0x443, "s": 0x455, "j": 0x458, "h": 0x4BB, "d": 0x501, "l": 0x4CF, "q": 0x51B,
            "w": 0x51D, "v": 0x475}  # fmt: skip
GREEK = {"o": 0x3BF, "a": 0x3B1, "v": 0x3BD, "p": 0x3C1, "i": 0x3B9, "u": 0x3C5, "y": 0x3B3}
NAMES = ["paypal", "apple", "google", "microsoft", "amazon", "facebook", "yahoo", "visa", "chase",
         "coinbase", "dropbox", "slack", "epic", "scope", "oxy", "pico", "ocp", "wiki", "quora",
         "python", "docker", "release", "staging", "prod", "ours"]  # fmt: skip
HOSTS = [
    *(spelled(name, {letter: code for letter, code in CYRILLIC.items() if letter in name[1:]})
      for name in NAMES),
    *(spelled(name, {"o": 0x3BF, "a": 0x3B1, "i": 0x3B9, "e": 0x435}) for name in NAMES),
    "\u0430\u0440\u0440\u04cf\u0435", "\uff47oogle", "g\u043e\u03bfgle", "\u0261oogle",
    "\U0001d41aapple", "am\u0430zon", "xn\u2010x", "\u13aapple", "g\u0585ogle", "\u2c9furs",
]  # fmt: skip


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(
    "form", ["https://{}.example.com/path?q=1", "ann@{}.com", "ssh {}.com now"]
)
def test_a_host_in_look_alike_letters_is_told_in_punycode(host, form):
    labels = marked(form.format(host))

    expected = lookalikes.punycode(host)
    assert expected.isascii()
    assert any(label.startswith(expected) or "look-alike" in label for label in labels)


def test_a_host_is_named_as_the_name_system_is_asked():
    assert marked("https://user:pw@\u0430\u0440\u0440\u04cf\u0435.com:80/x") == [
        "xn--80ak6aa92e.com is the name that would be asked for"
    ]
    assert lookalikes.punycode("b\u00fccher.example") == "xn--bcher-kva.example"
    assert lookalikes.punycode("\uff47oogle\u3002com") == "google.com"
    assert "too long" in lookalikes.punycode("\u0430" * 64)


def test_a_host_without_tricks_and_a_file_name_are_left_alone():
    assert marked("see https://example.com/a and résumé.pdf or ann@example.com") == []


def test_a_whole_foreign_host_in_an_address_is_told_too():
    assert marked("https://пример.рф/")[0].startswith("xn--e1afmkfd.xn--p1ai ")


@pytest.mark.parametrize(
    "word,code",
    [("p\u0430ypal", "U+0430"), ("\u0391pple", "U+0391"), ("s\u0441ope", "U+0441"),
     ("\uff50\uff41\uff59", "U+FF50"), ("\U0001d429ay", "U+1D429"), ("\u216fay", "U+216F"),
     ("\u212aey", "U+212A"), ("1\u0660\u0660", "U+0660"), ("rele\u0251se", "U+0251"),
     ("ключ\u03bfм", "U+03BF"), ("\u0585urs", "U+0585")],
)  # fmt: skip
def test_a_word_that_mixes_scripts_says_which_letters(word, code):
    (label,) = marked(f"run {word} now")

    assert label.startswith("look-alike letters: ")
    assert code in label


@pytest.mark.parametrize(
    "mark,ascii_mark",
    [("\u2044", "/"), ("\u2215", "/"), ("\u2236", ":"), ("\u2212", "-"), ("\u2010", "-"),
     ("\u037e", ";"), ("\u2223", "|"), ("\u3002", "."), ("\ua789", ":"), ("\u02bc", "'")],
)  # fmt: skip
def test_a_mark_that_passes_for_another_is_told(mark, ascii_mark):
    assert marked(f"a{mark}b")[0].startswith(f"look-alike of {ascii_mark}, {mark} U+")


def test_a_hidden_character_inside_a_look_alike_word_is_named_as_well():
    labels = marked("p\u0430y\u200bp\u0430l")

    assert "U+200B zero width space" in labels
    assert sum("look-alike" in label for label in labels) == 2


# In sentences -------------------------------------------------------------------------------------


def test_warnings_say_how_many_and_which():
    found = reveal.warnings("a\u202eb\u200b\u200b p\u0430y https://\u0440\u0440.com")

    assert found[0] == (
        "3 hidden characters: U+202E right-to-left override, U+200B zero width space, 2 times."
    )
    assert found[1].startswith("“p\u0430y”: look-alike letters: \u0430 U+0430")
    assert found[2].startswith("“\u0440\u0440.com”: xn--")


def test_a_text_that_is_what_it_seems_has_no_warnings():
    assert reveal.warnings("all is well") == []
    assert reveal.hidden_characters("all is well") == 0


def test_hidden_characters_are_counted():
    assert reveal.hidden_characters("a\u200bb\u200b\0\n\tü") == 3


def test_a_very_long_text_is_looked_through():
    text = "x" * 2_000_000 + "\u202e" + "y" * 1_000_000

    assert len(reveal.segments(text)) == 3
    assert reveal.hidden_characters(text) == 1


def test_a_host_with_a_hidden_character_inside_shows_both():
    labels = marked("https://p\u0430y\u200bpal.com/x")

    assert labels[0].startswith("xn--")
    assert labels[1] == "U+200B zero width space"
    assert labels[2].startswith("xn--")


def test_a_run_of_blanks_has_one_sign_on_a_page():
    runs = [reveal.segments(f"a{run}b")[1] for run in ("\n" * 9, " " * 99, "\t" * 30)]

    assert [run.shown for run in runs] == ["⏎", "␠", "⇥"]


def test_ascii_looks_like_nothing_else():
    assert lookalikes.like("a") is None
    assert lookalikes.like("\u0430") == "a"
