"""The export over the API, and the caller's trace that comes in with a message."""

import pytest

import api_client
from tests.api.conftest import Studio

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CARRIER = {"traceparent": f"00-{TRACE}-{SPAN}-01", "tracestate": "rojo=1", "baggage": "x=1"}


async def spans(studio: Studio, session_id: str, turn: int):
    found = await studio.client("bob").sessions.trace(session_id, turn)
    return found["resourceSpans"][0]["scopeSpans"][0]["spans"]


async def test_a_carrier_puts_the_turn_into_its_trace(studio: Studio):
    bob = studio.client("bob")
    started = await bob.sessions.start("helper", message="say hi", trace=CARRIER)
    session_id = started["session_id"]
    async with studio.core.working():
        await studio.over(session_id)
        await bob.sessions.send(session_id, "say more", trace=CARRIER)
        await studio.over(session_id)

    for turn in (1, 2):
        root = (await spans(studio, session_id, turn))[0]
        assert (root["traceId"], root["parentSpanId"]) == (TRACE, SPAN)
        assert root["traceState"] == "rojo=1"


async def test_an_unsound_header_is_as_if_it_were_not_there(studio: Studio):
    response = await studio.raw(
        "POST", "/v1/sessions", json={"agent": "helper", "message": "say hi"},
        headers={"traceparent": f"00-{TRACE}-{SPAN}-01-more", "tracestate": "a=1"},
    )  # fmt: skip

    root = (await spans(studio, response.json()["session_id"], 1))[0]
    assert response.status_code == 201
    assert root["traceId"] != TRACE
    assert "parentSpanId" not in root


async def test_the_same_command_under_another_trace_is_the_same_command(studio: Studio):
    first, second = [
        await studio.client("bob").sessions.start("helper", message="hi", key="k", trace=trace)
        for trace in (CARRIER, None)
    ]

    assert first == second


async def test_nothing_is_exported_unless_it_was_set_up(studio: Studio):
    export = await studio.client("charlie").collector.show()

    assert (export["state"], export["sent"], export["backfill"]) == ("off", 0, None)
    with pytest.raises(api_client.ApiError) as refused:
        await studio.client("alice").collector.backfill()
    assert (refused.value.status, refused.value.code) == (409, "export.off")


async def test_a_time_that_cannot_be_read_is_told_by_field(studio: Studio):
    with pytest.raises(api_client.ApiError) as refused:
        await studio.client("alice").collector.backfill(since="yesterday", until="2026-11-30")

    assert refused.value.status == 422
    assert list(refused.value.fields) == ["since"]
