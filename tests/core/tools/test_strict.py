"""JSON from outside is read strictly."""

import pytest

from studio.core.tools import strict


@pytest.mark.parametrize("text", ["null", "1.5e300", '{"a": [1, "x", null]}', b'"\xc5\xbe"'])
def test_json_is_json(text):
    assert strict.loads(text) is not ...


@pytest.mark.parametrize(
    "text",
    ["", "{", "NaN", "[-Infinity]", "1e999", "'a'", b"\xff", "[" * 129 + "]" * 129, "[" * 10**6],
)
def test_what_is_not_json_is_refused(text):
    with pytest.raises(strict.NotJson):
        strict.loads(text)


@pytest.mark.parametrize(
    "text,words",
    [
        (b'{"a": "\xff"}', "byte 7 is not UTF-8"),
        ("[" * 10**6, "deeper than 128 levels"),
        ("9" * 10_000, "too many digits"),
        ("[1,]", "line 1 column"),
        ("NaN", "NaN is not JSON"),
    ],
)
def test_what_is_wrong_is_said_in_words_of_people(text, words):
    with pytest.raises(strict.NotJson, match=words):
        strict.loads(text)


def test_nesting_is_fine_up_to_its_limit():
    text = "[" * strict.DEEPEST + "]" * strict.DEEPEST

    assert strict.loads(text) is not None
