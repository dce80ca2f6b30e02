"""Two texts compared: nothing is lost, what is the same is folded, changed words are marked."""

import time

from hypothesis import given
from hypothesis import strategies as st

from studio.core.rules import texts

LINES = st.lists(st.sampled_from(["a", "b", "c d", "", "e f g"]), max_size=12).map("\n".join)


def shown(old: str, new: str, **more: int) -> list[str]:
    marks = {"added": "+", "removed": "-", "same": " ", "gap": "~"}
    return [
        f"{marks[line.change]}{line.left_out or ''.join(text for text, _ in line.parts)}"
        for line in texts.lines(old, new, **more)
    ]


@given(LINES, LINES)
def test_both_texts_can_be_read_from_it(old: str, new: str) -> None:
    found = [line for line in texts.lines(old, new, context=99) if line.change != "gap"]

    for kind, text in (("removed", old), ("added", new)):
        lines = ["".join(t for t, _ in one.parts) for one in found if one.change in ("same", kind)]
        assert lines == (text.split("\n") if text and old != new else [])


def test_the_same_text_has_no_lines() -> None:
    assert texts.lines("a\nb", "a\nb") == ()


def test_what_is_far_from_a_change_is_counted() -> None:
    old = "\n".join(str(n) for n in range(20))

    assert shown(old, old.replace("\n10\n", "\nten\n"), context=1) == [
        "~9", " 9", "-10", "+ten", " 11", "~8",
    ]  # fmt: skip


def test_lines_have_their_numbers() -> None:
    removed, first, second = texts.lines("a", "b\nc")

    assert (removed.old, removed.new) == (1, None)
    assert (first.new, second.new) == (1, 2)


def test_changed_words_are_marked() -> None:
    removed, added = texts.lines("Be kind to people.", "Be kind to all people.")

    assert not any(changed for _, changed in removed.parts)
    assert [text for text, changed in added.parts if changed] == ["all "]


def test_lines_with_little_in_common_are_not_marked() -> None:
    assert [line.parts for line in texts.lines("one two three", "four five six")] == [
        (("one two three", False),), (("four five six", False),),
    ]  # fmt: skip


def test_an_end_of_line_at_the_end_is_a_difference() -> None:
    assert shown("a", "a\n") == [" a", "+"]


def test_very_long_texts_are_compared_in_time() -> None:
    old = "\n".join(f"old {n}" for n in range(20_000))
    new = "\n".join(f"new {n}" for n in range(20_000))
    begun = time.monotonic()

    assert len(texts.lines(old, new)) == 40_000
    assert time.monotonic() - begun < 5
