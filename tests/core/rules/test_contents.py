"""Content: a value with its hash and size; a large one keeps head and tail, and its bytes apart."""

import hashlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.core.rules import contents
from studio.core.rules.contents import INLINE_BYTES
from tests.core.rules.test_ids import JSON

TEXT = st.text(st.characters(codec=None), max_size=60)


@settings(max_examples=50)
@given(JSON)
def test_value_is_hashed_as_canonical_json_and_read_back_from_its_bytes(value: Any) -> None:
    content = contents.of(value)

    raw = contents.data(content)

    assert (content.size, content.hash) == (len(raw), hashlib.sha256(raw).hexdigest())
    assert contents.of(contents.parse(raw, content)) == content


@settings(max_examples=50)
@given(TEXT)
def test_text_is_hashed_as_it_is_and_read_back(text: str) -> None:
    content = contents.of_text(text)

    raw = contents.data(content)

    assert (content.size, content.hash) == (len(raw), hashlib.sha256(raw).hexdigest())
    assert contents.parse(raw, content) == text


@pytest.mark.parametrize("size,stored", [(INLINE_BYTES, False), (INLINE_BYTES + 1, True)])
def test_only_what_is_larger_than_the_limit_is_kept_apart(size: int, stored: bool) -> None:
    content = contents.shorten(contents.of_text("x" * size))

    assert content.stored is stored
    assert (content.value is None) is stored


def test_shortened_content_keeps_hash_size_head_and_tail() -> None:
    text = "head" + "x" * (5 * 1024 * 1024) + "tail"
    whole = contents.of_text(text)

    short = contents.shorten(whole)

    assert (short.hash, short.size, short.media) == (whole.hash, whole.size, "text/plain")
    assert short.head.startswith("head")
    assert short.tail.endswith("tail")
    assert len(short.head) + len(short.tail) == 5 * 1024


def test_shortening_twice_changes_nothing() -> None:
    short = contents.shorten(contents.of({"a": "x" * INLINE_BYTES}))

    assert contents.shorten(short) is short


@pytest.mark.parametrize(
    "content,words",
    [
        (contents.of_text("as it is"), "as it is"),
        (contents.of("a string"), "a string"),
        (contents.of({"a": [1, "é"]}), '{"a": [1, "é"]}'),
        (contents.of(None), "null"),
    ],
    ids=["text", "string", "object", "nothing"],
)
def test_words_are_the_whole_of_what_is_small(content: Any, words: str) -> None:
    assert contents.words(content) == words


def test_words_of_what_is_large_say_how_much_is_left_out() -> None:
    short = contents.shorten(contents.of_text("é" * 40_000))

    words = contents.words(short)

    assert f"[… 74,880 of 80,000 bytes left out, sha256 {short.hash} …]" in words
    assert words.startswith("é" * 2_048 + "\n")
    assert words.endswith("\n" + "é" * 512)


def test_a_letter_that_is_cut_at_an_end_is_left_out() -> None:
    short = contents.shorten(contents.of_text("x" + "é" * 40_000 + "y"))

    assert (short.head, short.tail) == ("x" + "é" * 2_047, "é" * 511 + "y")


def test_where_there_is_no_room_a_stub_does() -> None:
    short = contents.shorten(replace(contents.of_text("x" * 2_000), room=1_000))

    assert (short.stored, short.head, short.tail) == (True, "x" * 512, "")


def test_what_fits_its_room_stays() -> None:
    whole = replace(contents.of_text("x" * 1_000), room=1_000)

    assert contents.shorten(whole) is whole


def test_bytes_of_a_stored_content_are_not_here() -> None:
    short = contents.shorten(contents.of_text("x" * (INLINE_BYTES + 1)))

    with pytest.raises(AssertionError, match="blob store"):
        contents.data(short)


@pytest.mark.parametrize("cut", [4_093, 4_094, 4_095, 4_096])
def test_halves_of_surrogate_pairs_in_a_large_text_do_not_break_its_words(cut: int) -> None:
    text = "x" * cut + "\ud83d" + "y" * INLINE_BYTES

    assert "left out" in contents.words(contents.shorten(contents.of_text(text)))
