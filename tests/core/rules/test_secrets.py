"""What may be a secret, and where manifests name them."""

import pytest

from studio.core.rules import secrets
from studio.core.rules.errors import Invalid, TooLarge


@pytest.mark.parametrize("name", ["", "lower", "1ST", "WITH-DASH", "A" * 65, "ZÜRICH", "A\n"])
def test_a_name_is_capital_letters_digits_and_a_line(name):
    with pytest.raises(Invalid) as refusal:
        secrets.check(name, "a good value")

    assert refusal.value.code == "secret.name"
    assert set(refusal.value.fields) == {"name"}


@pytest.mark.parametrize(
    "value,words",
    [
        ("", "needs 8"), ("seven77", "needs 8"), ("aaaaaaaaaaaa", "too few different"),
        ("abcabcabcabc", "too few different"), (" padded value", "space or a line break"),
        ("padded value\n", "space or a line break"), ("null \0 inside", "null character"),
        ("half \ud800 inside", "half of a character"),
    ],
)  # fmt: skip
def test_a_value_that_could_not_be_masked_is_refused(value, words):
    with pytest.raises(Invalid, match=words) as refusal:
        secrets.check("TOKEN", value)

    assert set(refusal.value.fields) == {"value"}
    if value.strip():
        assert value.strip() not in refusal.value.message


def test_a_value_has_an_upper_bound():
    with pytest.raises(TooLarge, match="8,192"):
        secrets.check("TOKEN", "abcd" * 2_049)


@pytest.mark.parametrize(
    "value", ["abcdefgh", "-----BEGIN-----\nMIIabcd\n-----END-----", "ключ-ключ"]
)
def test_a_good_value_is_taken(value):
    secrets.check("TOKEN_2", value)


def test_secrets_are_named_wherever_they_stand():
    manifest = {
        "tools": [{"headers": {"a": {"secret": "ONE"}, "b": "text", "c": {"setting": "NO"}}}],
        "servers": [{"env": {"T": {"secret": "TWO"}}}],
        "model": {"key": {"secret": "ONE"}},
        "input": {"properties": {"secret": {"type": "string"}}},
    }

    assert list(secrets.named(manifest)) == ["ONE", "TWO", "ONE"]
