"""Only what does no harm twice is tried again."""

import pytest

from api_client import errors
from api_client.call import Call, get, keyed
from api_client.retry import Retries

UNKEYED: Call[object] = Call(method="POST", path="/v1/keys", body={})
BROKEN = errors.NotReached("No answer.")


def said(status: int, retry_after: float | None = None) -> errors.ApiError:
    return errors.ApiError("x", status=status, code="x", retry_after=retry_after)


@pytest.mark.parametrize("call", [get("/v1/x"), keyed("/v1/x", {}, "k"), keyed("/v1/x", {}, None)])
@pytest.mark.parametrize("error", [BROKEN, said(429), said(502), said(503), said(504)])
def test_what_is_safe_is_tried_again_when_it_may_fare_better(call, error):
    assert Retries().pause(call, 1, error) == 0.2


@pytest.mark.parametrize("error", [BROKEN, said(503)])
def test_what_is_not_safe_is_not_tried_again(error):
    assert Retries().pause(UNKEYED, 1, error) is None


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 413, 422, 428, 500])
def test_a_clear_answer_is_taken(status):
    assert Retries().pause(get("/v1/x"), 1, said(status)) is None


def test_pauses_double_and_end():
    retries = Retries(most=3, first=1.0)

    assert [retries.pause(get("/x"), n, BROKEN) for n in (1, 2, 3, 4)] == [1.0, 2.0, 4.0, None]


def test_the_servers_own_pause_is_kept_to():
    assert Retries().pause(get("/x"), 1, said(429, 7.0)) == 7.0


def test_a_pause_longer_than_one_would_wait_is_given_up():
    assert Retries(longest=10).pause(get("/x"), 1, said(503, 600.0)) is None


def test_a_call_keeps_its_key_however_often_it_is_sent():
    call = keyed("/v1/x", {}, None)

    assert len(call.headers["Idempotency-Key"]) >= 32
    assert call.headers == call.headers
