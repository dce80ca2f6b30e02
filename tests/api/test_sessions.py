"""Sessions: started, listed, read; messages sent once; a turn stopped."""

import pytest

import api_client
from api_client import sessions
from tests.api.conftest import Studio
from tests.fakes import Gate, tool

MEBIBYTE = 1024 * 1024


async def refusal(awaited) -> api_client.ApiError:
    with pytest.raises(api_client.ApiError) as raised:
        await awaited
    return raised.value


async def test_a_session_is_started_with_its_first_message(studio: Studio):
    started = await studio.client("bob").sessions.start("helper", message="say hi", title="Hi")

    detail = await studio.client("bob").sessions.show(started["session_id"])
    assert detail["session"]["title"] == "Hi"
    assert detail["session"]["owner"] == "key:bob"
    assert detail["session"]["status"] == "queued"
    assert detail["turn"] is not None
    assert detail["turn"]["id"] == started["turn_id"]


async def test_a_started_session_says_where_it_is(studio: Studio):
    response = await studio.raw("POST", "/v1/sessions", json={"agent": "helper"})

    assert response.status_code == 201
    assert response.headers["location"] == f"/v1/sessions/{response.json()['session_id']}"


async def test_a_session_may_begin_without_a_message(studio: Studio):
    session_id = await studio.session()

    detail = await studio.client("bob").sessions.show(session_id)
    assert detail["session"]["status"] == "idle"
    assert detail["turn"] is None


async def test_a_message_is_previewed_and_nothing_is_recorded(studio: Studio):
    session_id = await studio.session()
    before = await studio.client("bob").sessions.show(session_id)

    preview = await studio.client("bob").sessions.preview(session_id, "say hi")

    assert preview["messages"][-1]["text"] == "say hi"
    assert preview["digest"] is None  # no worker has listed the tools yet
    assert await studio.client("bob").sessions.show(session_id) == before


async def test_an_unknown_agent_is_not_found(studio: Studio):
    error = await refusal(studio.client("bob").sessions.start("nobody"))

    assert (error.status, error.code) == (404, "agent.not_found")


async def test_a_viewer_reads_and_does_not_start(studio: Studio):
    session_id = await studio.session()

    assert await studio.client("charlie").sessions.show(session_id)
    error = await refusal(studio.client("charlie").sessions.start("helper"))
    assert (error.status, error.code) == (403, "denied.operator_only")


async def test_an_unknown_session_is_not_found(studio: Studio):
    error = await refusal(studio.client("bob").sessions.show("ses_none"))

    assert error.status == 404


@pytest.mark.parametrize(
    "ask",
    [
        lambda s, i: s.sessions.show(i),
        lambda s, i: s.sessions.events(i),
        lambda s, i: s.sessions.calls(i),
        lambda s, i: s.sessions.send(i, "hello"),
        lambda s, i: s.sessions.deny_and_send(i, "hello"),
        lambda s, i: s.sessions.cancel(i),
    ],
    ids=["show", "events", "calls", "send", "deny and send", "cancel"],
)
async def test_somebody_elses_private_session_is_as_one_that_never_was(studio: Studio, ask):
    private = await studio.session(private=True)

    theirs = await refusal(ask(studio.client("dora"), private))
    nobodys = await refusal(ask(studio.client("dora"), "ses_00000000000000000000000000"))

    assert theirs.status == nobodys.status == 404
    assert (theirs.code, theirs.message) == (nobodys.code, nobodys.message)


async def test_a_private_session_is_not_in_other_peoples_lists(studio: Studio):
    private = await studio.session(private=True)

    mine = [s["id"] async for s in studio.client("bob").sessions.list()]
    theirs = [s["id"] async for s in studio.client("dora").sessions.list()]

    assert (mine, theirs) == ([private], [])


async def test_a_list_comes_in_pages_without_a_gap(studio: Studio):
    made = [await studio.session(title=f"number {n}") for n in range(5)]

    found = [s["id"] async for s in studio.client("bob").sessions.list(limit=2)]

    assert found == made[::-1]


async def test_a_list_is_filtered(studio: Studio):
    await studio.session(title="apples")
    pears = await studio.session(title="pears")

    found = [s["id"] async for s in studio.client("bob").sessions.list(q="pears")]

    assert found == [pears]


async def test_a_cursor_of_another_filter_is_refused(studio: Studio):
    for _ in range(3):
        await studio.session()
    bob = studio.client("bob")
    page = await bob.page(sessions.index(limit=1))

    error = await refusal(bob.page(sessions.index(limit=1, agent="helper"), cursor=page["next"]))

    assert (error.status, error.code) == (400, "cursor_mismatch")


@pytest.mark.parametrize("cursor", ["x", "AAAA", "é", "0" * 1_000, "..", "bm90IGEgY3Vyc29y"])
async def test_a_cursor_that_is_none_is_refused(studio: Studio, cursor):
    error = await refusal(studio.client("bob").page(sessions.index(), cursor=cursor))

    assert (error.status, error.code) == (400, "cursor_invalid")


@pytest.mark.parametrize(
    "query, field",
    [
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=ten", "limit"),
        ("status=asleep", "status"),
        ("needs=me", "needs"),
        ("colour=red", "colour"),
        ("limit=1&limit=2", "limit"),
        ("cursor=", "cursor"),
        ("q=%00", "q"),
    ],
)
async def test_a_query_that_makes_no_sense_is_refused_by_its_part(studio: Studio, query, field):
    response = await studio.raw("GET", f"/v1/sessions?{query}")

    assert response.status_code == 422
    assert list(response.json()["error"]["details"]["fields"]) == [field]


# Messages ---------------------------------------------------------------------------------------


async def test_a_message_opens_a_turn(studio: Studio):
    session_id = await studio.session()

    sent = await studio.client("bob").sessions.send(session_id, "say hi")

    assert sent["session_id"] == session_id
    assert sent["turn_id"].startswith("trn_")


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
async def test_an_empty_message_is_refused_and_opens_nothing(studio: Studio, text):
    session_id = await studio.session()

    error = await refusal(studio.client("bob").sessions.send(session_id, text))

    assert error.status == 422
    assert "text" in error.fields
    assert (await studio.client("bob").sessions.show(session_id))["session"]["turns"] == 0


async def test_a_message_of_exactly_one_mebibyte_is_taken(studio: Studio):
    session_id = await studio.session()

    assert await studio.client("bob").sessions.send(session_id, "x" * MEBIBYTE)


@pytest.mark.parametrize("size", [MEBIBYTE + 1, 5 * MEBIBYTE])
async def test_a_larger_message_is_refused(studio: Studio, size):
    session_id = await studio.session()

    error = await refusal(studio.client("bob").sessions.send(session_id, "x" * size))

    assert error.status == 413
    assert error.code in ("message.too_large", "body.too_large")


@pytest.mark.parametrize(
    "body, code",
    [
        (b'{"text": "\xff"}', "body.not_utf8"),
        (b'{"text": "\\ud800"}', "body.not_utf8"),
        (b'{"text": ' + b"[" * 65 + b"]" * 65 + b"}", "body.too_deep"),
        (b'{"text": "a", "text": "b"}', "body.double_key"),
        (b'{"text": 5}', "invalid"),
        (b'{"text": null}', "message.parts"),
        (b'{"text": "a\\u0000b"}', "invalid"),
        (b'{"text": "a", "extra": 1}', "invalid"),
        (b"[]", "invalid"),
    ],
)
async def test_a_message_that_is_none_is_refused(studio: Studio, body, code):
    session_id = await studio.session()

    response = await studio.raw(
        "POST", f"/v1/sessions/{session_id}/messages", content=body,
        headers={"Content-Type": "application/json"},
    )  # fmt: skip

    assert response.status_code == 422
    assert response.json()["error"]["code"] == code


async def test_a_repeated_message_is_done_once_and_answered_twice(studio: Studio):
    session_id = await studio.session()
    bob = studio.client("bob")

    first = await bob.sessions.send(session_id, "say hi", key="k1")
    again = await bob.sessions.send(session_id, "say hi", key="k1")

    assert first == again
    assert (await bob.sessions.show(session_id))["session"]["turns"] == 1


async def test_a_used_key_with_another_message_is_refused(studio: Studio):
    session_id = await studio.session()
    bob = studio.client("bob")
    await bob.sessions.send(session_id, "say hi", key="k1")

    error = await refusal(bob.sessions.send(session_id, "say bye", key="k1"))

    assert isinstance(error, api_client.IdempotencyMismatch)
    assert error.status == 409


async def test_two_people_may_use_the_same_key(studio: Studio):
    mine = await studio.client("bob").sessions.start("helper", title="a", key="k1")
    theirs = await studio.client("dora").sessions.start("helper", title="b", key="k1")

    assert mine["session_id"] != theirs["session_id"]


async def test_a_repeated_start_makes_one_session(studio: Studio):
    bob = studio.client("bob")

    first = await bob.sessions.start("helper", key="k1")
    again = await bob.sessions.start("helper", key="k1")

    assert first == again
    assert len([s async for s in bob.sessions.list()]) == 1


@pytest.mark.parametrize("key", ["", "a b", "x" * 201, "é"])
async def test_an_idempotency_key_has_bounds(studio: Studio, key):
    session_id = await studio.session()

    response = await studio.raw(
        "POST", f"/v1/sessions/{session_id}/messages", json={"text": "hi"},
        headers={"Idempotency-Key": key.encode()},
    )  # fmt: skip

    assert response.status_code == 422
    assert response.json()["error"]["code"] == "idempotency.invalid"


async def test_a_message_while_a_turn_runs_is_refused_with_what_one_may_do(studio: Studio):
    wait = await studio.held()

    error = await refusal(studio.client("bob").sessions.send(wait["session_id"], "hello"))

    assert isinstance(error, api_client.TurnRunning)
    assert error.status == 409
    assert error.details["held"] == 1
    assert error.details["turn_id"] == wait["turn_id"]
    assert "deny_and_send" in error.details["offers"]


async def test_deny_and_send_does_both(studio: Studio):
    wait = await studio.held()
    bob = studio.client("bob")

    sent = await bob.sessions.deny_and_send(wait["session_id"], "say ok", reason="not now")

    assert sent["turn_id"] != wait["turn_id"]
    closed = await bob.approvals.show(wait["id"])
    assert closed["approval"]["state"] == "closed"


async def test_a_turn_is_stopped_once(studio: Studio):
    wait = await studio.held()
    bob = studio.client("bob")

    stopped = await bob.sessions.cancel(wait["session_id"], reason="wrong")
    error = await refusal(bob.sessions.cancel(wait["session_id"]))

    assert stopped == {
        "session_id": wait["session_id"], "turn_id": wait["turn_id"], "ran": [], "unknown": [],
    }  # fmt: skip
    assert (error.status, error.code) == (409, "turn.not_running")


async def test_stopping_needs_no_body(studio: Studio):
    wait = await studio.held()

    response = await studio.raw("POST", f"/v1/sessions/{wait['session_id']}/cancel")

    assert response.status_code == 200


async def test_a_call_that_was_out_is_named_when_its_turn_is_stopped(studio: Studio):
    gate = Gate()
    studio.core.offer(tool("slow", gate, read_only=True))
    async with studio.core.working():
        session_id = await studio.session("call slow {}")
        await gate.reached.wait()

        stopped = await studio.client("bob").sessions.cancel(session_id)

    assert len(stopped["unknown"]) == 1


# Facts and calls --------------------------------------------------------------------------------


async def test_facts_come_in_order_behind_a_seq(studio: Studio):
    wait = await studio.held()
    bob = studio.client("bob")

    everything = await bob.sessions.events(wait["session_id"])
    rest = await bob.sessions.events(wait["session_id"], after=2)

    seqs = [event["seq"] for event in everything["items"]]
    assert seqs == list(range(1, len(seqs) + 1))
    assert everything["items"][0]["type"] == "session.started"
    assert rest["items"] == everything["items"][2:]
    assert everything["after"] == seqs[-1]
    assert everything["more"] is False


async def test_a_window_of_facts_says_that_there_are_more(studio: Studio):
    wait = await studio.held()

    window = await studio.client("bob").sessions.events(wait["session_id"], limit=2)

    assert [event["seq"] for event in window["items"]] == [1, 2]
    assert (window["after"], window["more"]) == (2, True)


async def test_calls_are_listed_light_and_shown_whole(studio: Studio):
    wait = await studio.held()
    bob = studio.client("bob")

    (row,) = (await bob.sessions.calls(wait["session_id"]))["items"]
    call = await bob.sessions.call(wait["session_id"], row["id"])

    assert row["arguments"] is None
    assert row["peek"] == '{"amount": 5}'
    assert call["arguments"] is not None
    assert call["arguments"]["value"] == {"amount": 5}


async def test_a_call_of_another_session_is_not_found(studio: Studio):
    wait = await studio.held()
    other = await studio.session()

    error = await refusal(studio.client("bob").sessions.call(other, wait["effect_id"]))

    assert error.status == 404
