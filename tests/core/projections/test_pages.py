import base64
import json

import pytest

from studio.core.projections import pages
from studio.core.projections.pages import Patience
from studio.core.rules.errors import Invalid

HERE = pages.filter_digest(list="things", q="a")
ENDLESS = Patience(clock=lambda: 0.0, begun=0.0)
HURRIED = Patience(clock=lambda: 9.0, begun=0.0)


def test_cursor_leads_back_to_its_place() -> None:
    cursor = pages.cursor(HERE, (7, "wai_1"))

    assert pages.place(cursor, HERE, int, str) == (7, "wai_1")
    assert pages.place(None, HERE, int, str) is None


def test_cursor_is_opaque_and_fits_into_a_url() -> None:
    cursor = pages.cursor(HERE, (2**60, "wai_ÿþ?>"))

    assert cursor.isascii()
    assert not set(cursor) & set("+/=&?# ")


def packed(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "garbage",
    ["", "x", "%%%", "ÿ", "bnVsbA", packed([]), packed({"a": 1}), packed([HERE]),
     packed([HERE, "7"]), packed([HERE, True]), packed([HERE, 7, 8]), packed([HERE, 7.5]),
     packed([HERE, 2**70]), packed("[" * 50), "W1tb" * 40_000],
)  # fmt: skip
def test_garbage_for_a_cursor_is_refused_in_words(garbage: str) -> None:
    with pytest.raises(Invalid) as refused:
        pages.place(garbage, HERE, int)

    assert refused.value.code == "cursor_invalid"
    assert "cursor" in refused.value.fields


def test_cursor_of_another_filter_is_told_from_garbage() -> None:
    cursor = pages.cursor(pages.filter_digest(list="things", q="b"), (7,))

    with pytest.raises(Invalid) as refused:
        pages.place(cursor, HERE, int)

    assert refused.value.code == "cursor_mismatch"


def test_cursor_with_what_no_store_can_hold_is_garbage() -> None:
    for text in ("a\0b", "half \ud800"):
        with pytest.raises(Invalid) as refused:
            pages.place(packed([HERE, 7, text]), HERE, int, str)
        assert refused.value.code == "cursor_invalid"


def test_number_too_large_for_a_column_becomes_the_largest() -> None:
    assert (pages.within(10**30), pages.within(-(10**30)), pages.within(7)) == (
        2**62, -(2**62), 7,
    )  # fmt: skip


def test_word_is_looked_for_as_it_is() -> None:
    assert pages.like("50%_\\") == "%50\\%\\_\\\\%"


def test_words_are_lower_case_and_bounded() -> None:
    assert pages.words("  Two WORDS ") == ["two", "words"]
    assert len(pages.words("word " * 100)) == pages.WORDS_MOST


def found_in(numbers: list[int]) -> list[tuple[int, int]]:
    """The windows in which a search through these numbers looks."""
    looked_at: list[tuple[int, int]] = []

    def fetch(below: int, least: int, limit: int) -> list[int]:
        looked_at.append((below, least))
        return [number for number in numbers if least <= number < below][:limit]

    pages.look(fetch, start=10, end=1, step=4, enough=2, patience=ENDLESS)
    return looked_at


def test_search_stops_as_soon_as_it_found_enough() -> None:
    assert found_in([9, 8]) == [(10, 6)]


def test_search_looks_to_the_end_when_it_may() -> None:
    assert found_in([9, 1]) == [(10, 6), (6, 2), (2, 1)]


def test_search_without_patience_looks_into_one_window() -> None:
    looked = pages.look(
        lambda below, least, limit: [below], start=10, end=1, step=4, enough=3, patience=HURRIED
    )

    assert (looked.found, looked.stopped) == ([10], 6)


def test_search_that_reached_the_end_did_not_stop() -> None:
    looked = pages.look(
        lambda below, least, limit: [below], start=3, end=1, step=4, enough=3, patience=HURRIED
    )

    assert (looked.found, looked.stopped) == ([3], None)
