"""A large text is looked through a piece at a time, as if it were one."""

import pytest

from studio.core.rules import pieces
from studio.core.rules.pieces import PIECE

WORD = "needle"


@pytest.mark.parametrize("before", [0, PIECE - 3, PIECE - 6, PIECE, 2 * PIECE - 1, 3 * PIECE - 1])
def test_a_word_is_found_wherever_a_border_lies(before: int) -> None:
    data = b"." * before + b"NeedLE" + b"." * (3 * PIECE - before)

    assert pieces.having(data, [WORD, "hay"]) == {WORD}


def test_a_letter_of_many_bytes_may_lie_on_a_border() -> None:
    for shift in range(4):
        text = "." * (PIECE - 4 + shift) + "ÜB😀ÑE" + "." * PIECE

        assert pieces.having(text.encode(), ["üb😀ñe", "ñe", "ne"]) == {"üb😀ñe", "ñe"}


def test_the_last_letters_and_none_are_looked_at() -> None:
    assert pieces.having(b"." * PIECE + b"needl", [WORD]) == set()
    assert pieces.having(b"." * PIECE + WORD.encode(), [WORD]) == {WORD}
    assert pieces.having(b"", [WORD]) == set()
    assert pieces.having(b"text", []) == set()


def test_half_of_a_character_hides_nothing_behind_it() -> None:
    data = ("\ud800" + WORD).encode("utf-8", "surrogatepass")

    assert pieces.having(data, [WORD]) == {WORD}
