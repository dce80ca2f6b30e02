"""What a command wrote, as a model is shown it."""

import pytest

from studio.core.tools.disk.output import MOST_CHARACTERS, end_of, plain


@pytest.mark.parametrize(
    "data,text",
    [
        (b"\x1b[31mred\x1b[0m\n", "red\n"),
        (b"\x1b]0;title\x07there\n", "there\n"),
        (b"\x1b]8;;http://x.test\x1b\\link\x1b]8;;\x1b\\\n", "link\n"),
        (b" 10 %\r 50 %\r100 %\n", "100 %\n"),
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        (b"\x1b(Bplain\x08\x00\n", "plain\n"),
        (b"caf\xc3\xa9 \xff\n", "café �\n"),
        (b"cut \x1b[3", "cut 3"),
    ],
)
def test_terminal_codes_are_left_out(data: bytes, text: str) -> None:
    assert plain(data) == text


def test_a_short_text_is_whole() -> None:
    shown = end_of("one\ntwo\n")
    assert (shown.text, shown.left_out) == ("one\ntwo\n", 0)
    assert end_of("").text == ""


def test_of_many_lines_the_last_two_hundred_are_shown() -> None:
    shown = end_of("".join(f"{n}\n" for n in range(10_000)))

    assert shown.text.startswith("9800\n")
    assert shown.text.endswith("9999\n")
    assert shown.left_out == 9_800


def test_long_lines_are_bounded_by_characters() -> None:
    shown = end_of("".join(f"{n:04} {'x' * 995}\n" for n in range(100)))

    assert len(shown.text) <= MOST_CHARACTERS
    assert shown.text.startswith("0085 ")
    assert shown.left_out == 85


def test_a_single_endless_line_shows_its_end() -> None:
    shown = end_of("a" * 50_000 + "end")

    assert shown.text.endswith("aend")
    assert (len(shown.text), shown.left_out) == (MOST_CHARACTERS, 1)
