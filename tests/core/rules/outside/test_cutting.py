"""Long texts are cut, and what they were stays known."""

import hashlib
from typing import Any

import pytest

from studio.core.rules.outside.cutting import (
    ATTRIBUTES,
    RESOURCE_BYTES,
    SPAN_BYTES,
    TEXT_BYTES,
    Cutter,
    Resources,
    fitting,
    written,
)


def test_a_text_of_ten_megabytes_leaves_its_head_size_and_hash() -> None:
    cutter, text = Cutter(), "ž" * 5_000_000

    kept = cutter.text("prompt", text)

    assert kept == text[: TEXT_BYTES // 2]
    hash = hashlib.sha256(text.encode()).hexdigest()
    assert cutter.cut == {"prompt": {"size": 10_000_000, "sha256": hash}}


def test_a_short_text_stays() -> None:
    cutter = Cutter()

    assert cutter.text("a", "short") == "short"
    assert cutter.cut == {}


def test_all_texts_of_a_span_share_a_budget() -> None:
    cutter = Cutter()

    kept = sum(len(cutter.text(f"a{n}", "x" * TEXT_BYTES)) for n in range(10_000))

    assert kept == SPAN_BYTES
    assert len(cutter.cut) == ATTRIBUTES
    assert cutter.dropped == 10_000 - ATTRIBUTES - SPAN_BYTES // TEXT_BYTES


def test_bytes_are_kept_as_hex() -> None:
    cutter = Cutter()

    assert cutter.data("a", b"\x00\xff") == "00ff"
    assert len(cutter.data("b", b"x" * 10_000_000)) <= TEXT_BYTES
    assert cutter.cut["b"]["size"] == 10_000_000


def test_of_a_large_resource_what_fits_is_kept_and_its_service_named() -> None:
    long = "x" * RESOURCE_BYTES
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


def said(**changes: Any) -> dict[str, Any]:
    """What a span says in full, of nothing."""
    nothing: dict[str, Any] = {
        "attributes": {}, "resource": {}, "events": [], "links": [], "cut": {}, "dropped": 0,
    }  # fmt: skip
    return nothing | changes


def test_what_fits_stays_as_it_is() -> None:
    event = {"name": "retry", "time": "1", "attributes": {"a": [1, {"b": None}]}}
    link = {"trace_id": "ab" * 16, "span_id": "cd" * 8, "attributes": {"why": "so"}}
    small = said(attributes={"a": "b"}, events=[event], links=[link], dropped=2)

    assert fitting(small) == small


def test_beyond_the_bytes_of_a_span_values_are_left_out_counted_and_noted() -> None:
    wide = "\0" * 60_000  # six bytes each as JSON
    found = fitting(said(attributes={"a": wide, "b": wide, "c": "short"}))

    assert list(found["attributes"]) == ["a", "c"]
    assert found["dropped"] == 1
    data = ('"' + "\\u0000" * 60_000 + '"').encode()
    assert found["cut"] == {"b": {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}}


HOSTILE: dict[str, dict[str, Any]] = {
    "long keys": {"attributes": {f"{n}{'🔑' * 196}": "x" for n in range(256)},
                  "cut": {f"{n}{'🔑' * 396}": {"size": 1, "sha256": "0" * 64}
                          for n in range(256)}},
    "keys of signs": {"attributes": {f"{n}{chr(1) * 196}": chr(1) * 2_000 for n in range(256)}},
    "wide lists": {"attributes": {f"a{n}": [0.1] * 1_000 for n in range(256)}},
    "many events": {"events": [{"name": "\n" * 300, "time": str(2**63), "attributes": {
        f"{k}{'k' * 190}": "v" * 100 for k in range(50)}} for _ in range(256)]},
    "many links": {"links": [{"trace_id": "a" * 40, "span_id": "b" * 40, "attributes": {
        "k" * 200: ["x" * 200] * 100}} for _ in range(128)]},
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_nothing_makes_a_span_larger_than_its_bytes(case: str) -> None:
    large = said(resource={"host": "h" * 16_000}, **HOSTILE[case])
    assert len(written(large)) > SPAN_BYTES or case == "long keys"

    found = fitting(large)

    assert len(written(found)) <= SPAN_BYTES
    assert found["dropped"] > 0
    assert found["resource"] == large["resource"]


def test_a_long_name_of_a_value_is_cut_and_said() -> None:
    cutter, name = Cutter(), "k" * 5_000_000

    kept = cutter.key(name)

    assert kept == "k" * 200
    assert cutter.cut[f"{kept} (its name)"]["size"] == 5_000_000
