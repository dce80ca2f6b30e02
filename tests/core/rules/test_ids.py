"""Ids sort by time, ids inside a turn are derived, keys and digests are the same everywhere."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.core.rules import ids

CHANCE = bytes(10)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(st.integers(0, 2**48 - 1), st.integers(0, 2**48 - 1), st.binary(min_size=10, max_size=10))
def test_ids_of_later_times_sort_later(one: int, two: int, chance: bytes) -> None:
    first, second = ids.make("ses", one, chance), ids.make("ses", two, chance)

    assert (one < two) == (first < second)


def test_id_is_a_prefix_and_26_characters() -> None:
    assert ids.make("ses", 0, CHANCE) == "ses_" + "0" * 26
    assert len(ids.make("ses", 2**48 - 1, b"\xff" * 10)) == 30


def test_ids_inside_a_turn_are_the_same_on_every_replay() -> None:
    effect = ids.call_effect("trn_abc", 2, 11)

    assert effect == "eff_abcs002c011"
    assert ids.model_effect("trn_abc", 2, 1) == "eff_abcs002m01"
    assert ids.wait(effect, 3) == "wai_abcs002c011w3"


def test_key_is_64_hex_characters_and_differs_by_effect_tool_and_generation() -> None:
    key = ids.effect_key("trn_a", "eff_a", "notify", 0)

    assert len(key) == 64
    assert int(key, 16) > 0
    assert key == ids.effect_key("trn_a", "eff_a", "notify", 0)
    others = {
        ids.effect_key("trn_b", "eff_a", "notify", 0),
        ids.effect_key("trn_a", "eff_b", "notify", 0),
        ids.effect_key("trn_a", "eff_a", "other", 0),
        ids.effect_key("trn_a", "eff_a", "notify", 1),
    }
    assert key not in others
    assert len(others) == 4


@pytest.mark.parametrize(
    "value,text",
    [
        ({"b": 1, "a": 2}, '{"a":2,"b":1}'),
        (1.0, "1"),
        (-0.0, "0"),
        (1.5, "1.5"),
        (1e300, "1e+300"),
        ([1, (2.0, None)], "[1,[2,null]]"),
        ({"a": {"c": 1, "b": [True]}}, '{"a":{"b":[true],"c":1}}'),
        ("é\u202e", '"é\u202e"'),
    ],
)
def test_canonical_text(value: Any, text: str) -> None:
    assert ids.canonical(value) == text


@settings(max_examples=50)
@given(JSON)
def test_digest_does_not_care_for_the_order_of_names(value: Any) -> None:
    assert ids.digest(_turned(value)) == ids.digest(value)


def _turned(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _turned(value[name]) for name in reversed(list(value))}
    if isinstance(value, list):
        return [_turned(item) for item in value]
    return value


@settings(max_examples=50)
@given(JSON)
def test_value_read_back_from_its_canonical_text_has_the_same_digest(value: Any) -> None:
    assert ids.digest(json.loads(ids.canonical(value))) == ids.digest(value)


def test_integral_float_and_integer_have_one_digest() -> None:
    assert ids.digest({"a": 1}) == ids.digest({"a": 1.0})


def test_half_of_a_surrogate_pair_has_a_digest() -> None:
    assert len(ids.digest("\ud800")) == 64


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_json_has_no_digest(value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        ids.digest(value)
