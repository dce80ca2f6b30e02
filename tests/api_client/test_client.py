"""Both clients carry out the same calls, and try again only what does no harm twice."""

import json
from collections.abc import Callable

import httpx
import pytest

from api_client import (
    AsyncClient,
    Client,
    NotReached,
    Unavailable,
    agents,
    errors,
    keys,
    sessions,
)
from api_client.call import Call
from tests.live import Live

Answer = Callable[[httpx.Request], httpx.Response]
SENT = {"session_id": "ses_1", "turn_id": "trn_1"}


class Script:
    """Answers requests one after the other, and remembers them."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []
        self.pauses: list[float] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


async def do(script: Script, call: Call[object], *, blocking: bool) -> object:
    """Carry out a call with either client over the script."""
    transport = httpx.MockTransport(script)
    if blocking:
        with Client("http://x", key="k", transport=transport, sleep=script.pauses.append) as client:
            return client.do(call)
    async with AsyncClient("http://x", key="k", transport=transport, sleep=script.sleep) as other:
        return await other.do(call)


both = pytest.mark.parametrize("blocking", [True, False], ids=["blocking", "awaited"])


@both
async def test_a_call_is_sent_as_it_is_described(blocking: bool):
    script = Script(httpx.Response(202, json=SENT))

    answer = await do(script, sessions.send("ses/1", "hé", key="k1"), blocking=blocking)

    (request,) = script.requests
    assert answer == SENT
    assert request.method == "POST"
    assert request.url.raw_path == b"/v1/sessions/ses%2F1/messages"
    assert request.headers["authorization"] == "Bearer k"
    assert request.headers["idempotency-key"] == "k1"
    assert json.loads(request.content) == {"text": "hé"}


@both
@pytest.mark.parametrize("name", ["..", ".", "a/../../keys", "a?b#c", "é"])
async def test_no_name_leads_out_of_its_place_in_the_path(blocking: bool, name: str):
    script = Script(httpx.Response(200, json={}))

    await do(script, agents.show(name), blocking=blocking)

    (request,) = script.requests
    path = request.url.raw_path.decode()
    assert path.startswith("/v1/agents/")
    assert path.count("/") == 3
    assert "?" not in path


@both
async def test_a_keyed_call_is_tried_again_with_the_same_key(blocking: bool):
    script = Script(httpx.ConnectError("no"), httpx.Response(503), httpx.Response(202, json=SENT))

    answer = await do(script, sessions.send("s", "hi"), blocking=blocking)

    assert answer == SENT
    assert len({request.headers["idempotency-key"] for request in script.requests}) == 1
    assert script.pauses == [0.2, 0.4]


@both
async def test_the_servers_pause_is_kept_to(blocking: bool):
    late = httpx.Response(429, headers={"Retry-After": "3"})
    script = Script(late, httpx.Response(200, json={"items": []}))

    await do(script, keys.index(), blocking=blocking)

    assert script.pauses == [3.0]


@both
async def test_a_call_without_a_key_is_sent_once(blocking: bool):
    script = Script(httpx.ReadTimeout("slow"))

    with pytest.raises(NotReached, match="slow"):
        await do(script, keys.make("x"), blocking=blocking)
    assert len(script.requests) == 1


@both
async def test_trying_again_comes_to_an_end(blocking: bool):
    script = Script(*[httpx.Response(503) for _ in range(5)])

    with pytest.raises(Unavailable):
        await do(script, keys.index(), blocking=blocking)
    assert len(script.requests) == 5


@both
async def test_a_redirect_is_not_followed(blocking: bool):
    script = Script(httpx.Response(302, headers={"Location": "http://evil.example/"}))

    with pytest.raises(errors.ApiError):
        await do(script, keys.index(), blocking=blocking)
    assert len(script.requests) == 1


def test_pages_follow_each_other():
    script = Script(
        httpx.Response(200, json={"items": [1, 2], "next": "c1", "complete": True}),
        httpx.Response(200, json={"items": [], "next": "c2", "complete": False}),
        httpx.Response(200, json={"items": [3], "next": None, "complete": True}),
    )
    with Client("http://x", transport=httpx.MockTransport(script)) as client:
        found = list(client.sessions.list(q="a", limit=2))

    assert found == [1, 2, 3]
    assert [dict(request.url.params) for request in script.requests] == [
        {"q": "a", "limit": "2"},
        {"q": "a", "limit": "2", "cursor": "c1"},
        {"q": "a", "limit": "2", "cursor": "c2"},
    ]


def event(seq: int) -> bytes:
    return f'id: {seq}\ndata: {{"seq": {seq}}}\n\n'.encode()


def test_a_broken_stream_is_taken_up_where_it_broke():
    def cut() -> object:
        yield b"retry: 50\n\n" + event(1) + event(2) + b"id: 3\ndata: {"
        raise httpx.ReadError("cut")

    script = Script(
        httpx.Response(200, content=cut()),  # type: ignore[arg-type]
        httpx.ConnectError("down"),
        httpx.Response(200, content=event(2) + event(3)),
    )
    with Client(
        "http://x", transport=httpx.MockTransport(script), sleep=script.pauses.append
    ) as client:
        stream = client.sessions.follow("s", after=0)
        found = [next(stream)["seq"] for _ in range(3)]

    assert found == [1, 2, 3]
    assert [request.headers["last-event-id"] for request in script.requests] == ["0", "2", "2"]
    assert script.pauses == [0.05, 0.4]


def test_a_stream_is_given_up_after_a_while():
    script = Script(*[httpx.ConnectError("down") for _ in range(13)])
    with (
        Client("http://x", transport=httpx.MockTransport(script), sleep=script.pauses.append) as c,
        pytest.raises(NotReached),
    ):
        next(c.sessions.follow("s"))

    assert len(script.pauses) == 12
    assert 60 < sum(script.pauses) < 180


def test_a_stream_that_is_refused_is_not_tried_again():
    script = Script(httpx.Response(404, json={"error": {"code": "x", "message": "No."}}))
    with (
        Client("http://x", transport=httpx.MockTransport(script)) as client,
        pytest.raises(errors.NotFound),
    ):
        next(client.sessions.follow("s"))


def test_a_session_is_followed_over_a_real_connection(studio: Live):
    with studio.client() as client:
        started = client.sessions.start("helper", message="say hello")
        types = []
        for one in client.sessions.follow(started["session_id"]):
            types.append(one["type"])
            if one["type"] == "turn.completed":
                break

    assert types[0] == "session.started"
    assert "model.replied" in types


async def test_a_session_is_followed_and_awaited(studio: Live):
    async with AsyncClient(studio.url, key=studio.key) as client:
        started = await client.sessions.start("helper", message="say hello")
        seqs = []
        async for one in client.sessions.follow(started["session_id"], after=1):
            seqs.append(one["seq"])
            if one["type"] == "turn.completed":
                break
        listed = await client.sessions.events(started["session_id"], after=1)

    assert seqs == [one["seq"] for one in listed["items"]]


def test_everything_exported_is_there():
    import api_client

    assert sorted(api_client.__all__) == api_client.__all__
    assert all(hasattr(api_client, name) for name in api_client.__all__)
