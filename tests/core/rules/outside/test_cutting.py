"""Long texts are cut, and what they were stays known."""

import hashlib

from studio.core.rules.outside.cutting import (
    ATTRIBUTES,
    POOR_CHARACTERS,
    SPAN_CHARACTERS,
    TEXT_CHARACTERS,
    Cutter,
)


def test_a_text_of_ten_megabytes_leaves_its_head_size_and_hash() -> None:
    cutter, text = Cutter(), "ž" * 5_000_000

    kept = cutter.text("prompt", text)

    assert kept == text[:TEXT_CHARACTERS]
    hash = hashlib.sha256(text.encode()).hexdigest()
    assert cutter.cut == {"prompt": {"size": 10_000_000, "sha256": hash}}


def test_a_short_text_stays() -> None:
    cutter = Cutter()

    assert cutter.text("a", "short") == "short"
    assert cutter.cut == {}


def test_all_texts_of_a_span_share_a_budget() -> None:
    cutter = Cutter()

    kept = sum(len(cutter.text(f"a{n}", "x" * TEXT_CHARACTERS)) for n in range(10_000))

    assert kept <= SPAN_CHARACTERS + 10_000 * POOR_CHARACTERS
    assert len(cutter.cut) == ATTRIBUTES


def test_bytes_are_kept_as_hex() -> None:
    cutter = Cutter()

    assert cutter.data("a", b"\x00\xff") == "00ff"
    assert len(cutter.data("b", b"x" * 10_000_000)) <= TEXT_CHARACTERS
    assert cutter.cut["b"]["size"] == 10_000_000
