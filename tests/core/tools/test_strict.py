"""JSON from outside is read strictly, and secrets in it are masked."""

import base64
from urllib.parse import quote

import pytest

from studio.core.tools import strict

SECRET = 'pa"ss/wörd&1'


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


def test_nesting_is_fine_up_to_its_limit():
    text = "[" * strict.DEEPEST + "]" * strict.DEEPEST

    assert strict.loads(text) is not None


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        quote(SECRET, safe=""),
        'pa\\"ss/w\\u00f6rd&1',
        base64.b64encode(SECRET.encode()).decode(),
    ],
)
def test_a_secret_is_masked_in_every_form(form):
    mask = strict.Mask([SECRET])

    assert mask.text(f"<{form}>").startswith("<•••")
    assert mask.value({form: [form, {"a": form}], "n": 1}).keys() == {mask.text(form), "n"}


def test_very_short_settings_are_left_alone():
    assert strict.Mask(["a", ""]).text("banana") == "banana"


def test_what_holds_no_secret_stays_as_it_is():
    assert strict.Mask([SECRET]).value({"a": [1, None, True, "x"]}) == {"a": [1, None, True, "x"]}
