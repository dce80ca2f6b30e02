"""Every error of the core has a status, and the same body."""

import json

import pytest

from studio.api import errors
from studio.core.rules import errors as e


def leaves() -> list[type[e.StudioError]]:
    kinds = [kind for kind in e.StudioError.__subclasses__() if kind is not errors.Problem]
    return [*kinds, *(below for kind in kinds for below in kind.__subclasses__())]


def body(error: e.StudioError) -> dict[str, object]:
    found = json.loads(bytes(errors.answer(error).body))
    assert list(found) == ["error"]
    return dict(found["error"])


def test_every_error_of_the_tree_has_a_status():
    assert {*errors.STATUS} == {kind for kind in leaves() if kind.__module__ == e.__name__}


@pytest.mark.parametrize("kind", errors.STATUS)
def test_every_error_has_the_same_three_parts(kind):
    assert body(kind("Words.")) == {
        "code": kind.code, "message": "Words.", "details": {},
    }  # fmt: skip


def test_a_cursor_that_does_not_fit_is_a_bad_request():
    assert errors.status_of(e.Invalid("x", code="cursor_mismatch")) == 400
    assert errors.status_of(e.Invalid("x", code="cursor_invalid")) == 400
    assert errors.status_of(e.Invalid("x")) == 422


def test_fields_travel_in_the_details():
    assert body(e.Invalid("x", fields={"a.b": "is wrong"}))["details"] == {
        "fields": {"a.b": "is wrong"}
    }


def test_a_time_in_the_details_is_written_as_everywhere():
    assert body(e.Refused("x", details={"at": 0, "by": "ann"}))["details"] == {
        "at": "1970-01-01T00:00:00.000Z", "by": "ann",
    }  # fmt: skip


def test_who_is_not_known_is_told_how_to_be():
    assert errors.answer(e.Unknown("x")).headers["www-authenticate"].startswith("Bearer")


def test_who_must_wait_is_told_how_long():
    assert errors.answer(e.Unavailable("x")).headers["retry-after"] == "2"


def test_half_a_surrogate_pair_still_makes_json():
    response = errors.json_response({"a": "\ud800"})

    assert json.loads(bytes(response.body)) == {"a": "\ud800"}
