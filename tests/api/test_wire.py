"""JSON is read strictly, and what is wrong with it is said."""

import pytest

from studio.api import wire
from studio.api.errors import Problem, status_of
from studio.core.rules.errors import StudioError


def refusal(data: bytes) -> StudioError:
    with pytest.raises(StudioError) as raised:
        wire.decode(data)
    return raised.value


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


@pytest.mark.parametrize(
    "data, code, status",
    [
        (b"", "body.not_json", 400),
        (b"{", "body.not_json", 400),
        (b'{"a": 1,}', "body.not_json", 400),
        (b"NaN", "body.not_json", 400),
        (b'{"a": -Infinity}', "body.not_json", 400),
        (b"1e999", "body.not_json", 400),
        (b"9" * 5_000, "body.not_json", 400),
        (b'{"a": 1} {"b": 2}', "body.not_json", 400),
        (b'"\xff"', "body.not_utf8", 422),
        (b'\xff\xfe"\x00a\x00"\x00', "body.not_utf8", 422),
        (b'"\\ud800"', "body.not_utf8", 422),
        (b'{"\\ud800": 1}', "body.not_utf8", 422),
        (b'{"a": 1, "a": 2}', "body.double_key", 422),
        (b'[{"b": {"a": 1, "a": 1}}]', "body.double_key", 422),
        (nested(65), "body.too_deep", 422),
        (nested(100_000), "body.too_deep", 422),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "body.too_deep", 422),
    ],
)
def test_a_bad_body_is_refused_with_its_code(data, code, status):
    error = refusal(data)

    assert error.code == code
    assert status_of(error) == status
    assert error.message.endswith(".")


def test_sixty_four_levels_are_enough_for_anyone():
    assert wire.decode(nested(64))


def test_a_whole_surrogate_pair_is_a_character():
    assert wire.decode(b'"\\ud83d\\ude00"') == "\N{GRINNING FACE}"


def test_a_byte_order_mark_is_no_json():
    assert refusal(b'\xef\xbb\xbf"a"').code == "body.not_json"


def test_a_refusal_never_repeats_more_than_a_little_of_the_body():
    error = refusal(b'{"' + b"k" * 5_000 + b'": 1, "' + b"k" * 5_000 + b'": 1}')

    assert len(error.message) < 200


def test_a_hundred_thousand_keys_are_looked_through_once():
    names = ", ".join(f'"{number}": 0' for number in range(100_000))

    assert refusal(f'{{{names}, "7": 1}}'.encode()).code == "body.double_key"


def test_a_problem_carries_its_own_status():
    assert status_of(Problem(418, "teapot", "Short and stout.")) == 418
