"""Long texts are cut, and what they were stays known."""

import hashlib
from typing import Any

import pytest

from studio.core.rules.outside.cutting import (
    ATTRIBUTES,
    POOR_CHARACTERS,
    RESOURCE_CHARACTERS,
    SPAN_CHARACTERS,
    TEXT_CHARACTERS,
    Cutter,
    Resources,
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


def test_of_a_large_resource_what_fits_is_kept_and_its_service_named() -> None:
    long = "x" * RESOURCE_CHARACTERS
    said = {"host": "h", "args": [long], "os": "o", "service.name": "shop"}

    assert Resources().of([], lambda: said) == (
        {"host": "h", "os": "o", "service.name": "shop"}, "shop",
    )  # fmt: skip
    assert Resources().of([], lambda: {"service.name": long}) == ({}, long)


def test_a_resource_is_made_once_for_all_its_scopes_also_when_it_is_broken() -> None:
    resources, made, one, other = Resources(), list[str](), list[int](), list[int]()

    def make() -> dict[str, Any]:
        made.append("well")
        return {"service.name": "shop"}

    def broken() -> dict[str, Any]:
        made.append("broken")
        raise ValueError("it cannot be decoded")

    for _ in range(3):
        assert resources.of(one, make)[1] == "shop"
    for _ in range(3):
        with pytest.raises(ValueError, match="cannot be decoded"):
            resources.of(other, broken)
    assert made == ["well", "broken"]
