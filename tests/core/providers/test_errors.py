"""What providers say when they fail, in neutral words: by status, by words, by certificate."""

import ssl
from typing import Any

import pytest

from studio.core.providers import errors

KEY = "sk-ant-secret/with slash"


def of(status: int, body: Any, **headers: str) -> errors.ProviderError:
    return errors.of_status(status, headers, body, now=0.0, key=KEY)


def anthropic(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def google(status: str, message: str) -> list[dict[str, Any]]:
    return [{"error": {"code": 400, "status": status, "message": message}}]


@pytest.mark.parametrize(
    "status,body,code",
    [
        (401, anthropic("authentication_error", "invalid x-api-key"), "model.key"),
        (400, google("INVALID_ARGUMENT", "API key not valid. Please pass a valid one."),
         "model.key"),
        (401, {"message": "This API key has been revoked."}, "model.key"),
        (403, anthropic("permission_error", "Not for you"), "model.forbidden"),
        (404, anthropic("not_found_error", "model: claude-9"), "model.not_found"),
        (400, {"message": "model 'x' not found, try pulling it first"}, "model.not_found"),
        (400, {"message": "The requested model is not supported"}, "model.not_found"),
        (400, anthropic("invalid_request_error", "Your credit balance is too low"), "model.quota"),
        (402, {"message": "Insufficient credits"}, "model.quota"),
        (400, anthropic("invalid_request_error", "prompt is too long: 9 > 8"), "model.context"),
        (400, google("INVALID_ARGUMENT", "The input token count (9) exceeds the maximum"),
         "model.context"),
        (400, {"type": "exceed_context_size_error", "message": "too big"}, "model.context"),
        (413, anthropic("request_too_large", "Request exceeds the maximum size"), "model.context"),
        (400, {"message": "no", "code": "content_policy_violation"}, "model.refused"),
        (400, {"message": "Rejected by the safety system."}, "model.refused"),
        (400, {"message": "Unknown parameter: 'safety_identifier'"}, "model.bad_request"),
        (422, "text", "model.bad_request"),
        (409, {}, "model.bad_request"),
        (308, "", "model.address"),
    ],
)  # fmt: skip
def test_what_will_not_pass_has_its_code(status, body, code):
    found = of(status, body)

    assert (found.code, found.permanent) == (code, True)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 529])
def test_only_a_full_house_and_a_failing_server_may_pass(status):
    assert not of(status, anthropic("overloaded_error", "Overloaded")).permanent


def test_the_beginning_of_a_key_is_not_quoted_either():
    key = "gsk_abcdefghijklmnop"

    found = errors.of_status(401, {}, {"message": "bad: gsk_abcdef****mnop"}, now=0.0, key=key)

    assert found.words == "bad: •••"


@pytest.mark.parametrize(
    "said",
    [
        KEY, "sk-ant-secret%2Fwith%20slash", "sk-ant-secret\\/with slash", "sk-abc...xyz123",
        "AIzaSyA1234567890_abcdefghijk", "Bearer any.thing",
    ],
)  # fmt: skip
def test_no_key_is_quoted_however_it_is_written(said):
    found = of(401, {"message": f"bad key {said}"})

    assert "•••" in found.message
    assert said.split()[-1] not in found.message


def broken_by(cause: BaseException) -> errors.ProviderError:
    error = OSError("all connection attempts failed")
    error.__cause__ = cause
    return errors.of_connection(error, timed_out=False, begun=False)


def test_a_certificate_that_is_not_trusted_is_said_and_never_tried_again():
    cause = ssl.SSLCertVerificationError(1, "certificate verify failed")
    cause.verify_message = "self-signed certificate"

    found = broken_by(cause)

    assert (found.code, found.permanent) == ("model.certificate", True)
    assert "It says: “self-signed certificate”" in found.message


def test_an_address_without_tls_is_said():
    found = broken_by(ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number"))

    assert (found.code, found.permanent) == ("model.address", True)


@pytest.mark.parametrize(
    "after,seconds",
    [("7", 7.0), ("Thu, 01 Jan 1970 00:00:09 GMT", 9.0), ("90000", 3600.0), ("soon", None)],
)
def test_when_to_come_back_is_seconds_or_a_date_an_hour_at_most(after, seconds):
    assert of(429, "", **{"retry-after": after}).retry_after == seconds
