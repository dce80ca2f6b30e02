"""Times, amounts and sizes are written one way."""

import pytest

from studio.web import format as formats


@pytest.mark.parametrize(
    "milliseconds,text",
    [
        (0, "0 ms"), (38, "38 ms"), (999, "999 ms"), (1_000, "1 s"), (6_400, "6.4 s"),
        (9_949, "9.9 s"), (9_951, "10 s"), (59_400, "59 s"), (59_600, "1 m"), (110_000, "1 m 50 s"),
        (7_440_000, "2 h 4 m"), (86_400_000, "1 d"), (273_600_000, "3 d 4 h"), (None, "unknown"),
    ],
)  # fmt: skip
def test_durations(milliseconds: int | None, text: str) -> None:
    assert formats.duration(milliseconds) == text


@pytest.mark.parametrize(
    "dollars,known,text",
    [
        (0.041, True, "$0.041"), (0, True, "$0"), (1.2, True, "$1.20"), (1234.5, True, "$1,234.50"),
        (0.0004, True, "$0.0004"), (0.00001, True, "under $0.0001"), (None, True, "unknown"),
        (0.0, False, "unknown"), (0.041, False, "at least $0.041"),
    ],
)  # fmt: skip
def test_money(dollars: float | None, known: bool, text: str) -> None:
    assert formats.money(dollars, known) == text


@pytest.mark.parametrize(
    "count,text",
    [
        (0, "0 B"), (812, "812 B"), (1_000, "1.0 kB"), (1_240_000, "1.2 MB"), (48_000_000, "48 MB"),
        (999_600, "1.0 MB"), (5_000_000_000_000_000, "5000 TB"), (None, "unknown"),
    ],
)  # fmt: skip
def test_sizes(count: int | None, text: str) -> None:
    assert formats.size(count) == text


def test_moments_are_utc() -> None:
    assert formats.iso(1_796_047_331_201) == "2026-11-30T14:02:11.201Z"
    assert formats.clock(1_796_047_331_201) == "14:02:11"


def test_counts_agree_with_their_noun() -> None:
    assert [formats.count(n, "call") for n in (0, 1, 1_200)] == ["0 calls", "1 call", "1,200 calls"]


def test_a_digest_is_its_two_ends() -> None:
    assert formats.digest("9f2c" + "0" * 56 + "71ae") == "9f2c…71ae"


def test_an_excerpt_is_one_line() -> None:
    assert formats.excerpt("a\n\n b" + "c" * 200, 10) == "a bcccccc…"


def test_a_cut_says_what_is_left_out() -> None:
    assert formats.clipped("abcdef", 4) == "abcd\n… 2 characters more"
