"""What the server answers becomes an error one can catch by what it means."""

import pytest

from api_client import errors


def of(status: int, code: str, **details: object) -> errors.ApiError:
    body = {"error": {"code": code, "message": "Words.", "details": details}}
    return errors.of_answer(status, {"request-id": "r1", "retry-after": "3"}, body)


@pytest.mark.parametrize(
    "status, code, kind",
    [
        (401, "key.invalid", errors.Unknown),
        (403, "denied.admin_only", errors.Denied),
        (404, "session.not_found", errors.NotFound),
        (409, "agent.changed", errors.Refused),
        (409, "turn.running", errors.TurnRunning),
        (409, "decision.changed", errors.DecisionChanged),
        (409, "decision.decided", errors.Decided),
        (409, "idempotency.mismatch", errors.IdempotencyMismatch),
        (410, "decision.expired", errors.Expired),
        (412, "manifest_changed", errors.Changed),
        (413, "message.too_large", errors.TooLarge),
        (422, "invalid", errors.Invalid),
        (429, "rate.limited", errors.TooMany),
        (503, "unavailable", errors.Unavailable),
        (418, "teapot", errors.ApiError),
    ],
)
def test_an_error_is_typed_by_its_code_and_status(status, code, kind):
    error = of(status, code)

    assert type(error) is kind
    assert (error.code, error.status, error.message) == (code, status, "Words.")


def test_an_error_carries_what_a_report_needs():
    error = of(503, "unavailable")

    assert (error.request_id, error.retry_after) == ("r1", 3.0)


def test_a_second_decision_says_who_was_first():
    error = of(409, "decision.decided", by="bob", choice="deny", at="2026-01-01T00:00:00.000Z")

    assert isinstance(error, errors.Decided)
    assert (error.by, error.choice, error.at) == ("bob", "deny", "2026-01-01T00:00:00.000Z")


def test_faulty_fields_are_at_hand():
    assert of(422, "invalid", fields={"a": "is wrong"}).fields == {"a": "is wrong"}


@pytest.mark.parametrize("body", [None, "x", [], {"error": "no"}, {"error": {"details": 1}}])
def test_an_answer_of_something_else_is_still_an_error(body):
    error = errors.of_answer(502, {}, body)

    assert isinstance(error, errors.Unavailable)
    assert error.code == "http.502"
