"""The stream of a session's facts: from any point, without a gap, while the key is good."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from starlette.requests import Request

from studio.api import stream
from studio.api.auth import Gate, Rates
from studio.api.bodies import EventsQuery, NoBody
from studio.api.endpoint import Ask, Parts
from studio.api.errors import Problem
from studio.core.rules.errors import Invalid, NotFound
from tests.api.conftest import Studio

PATIENCE = 20.0


def asking(studio: Studio, *, person: str = "bob", after: int = 0, **headers: str):
    raw = [(b"authorization", f"Bearer {studio.keys[person]}".encode())]
    raw += [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    request = Request({"type": "http", "method": "GET", "path": "/", "headers": raw})
    parts = Parts(
        runtime=studio.core.runtime, reader=studio.core.parts.reader,
        gate=Gate(Rates(streams=1), lambda: 0.0),
    )  # fmt: skip
    return parts, request, after


async def ask_of(studio: Studio, **more) -> "Ask[EventsQuery, NoBody]":
    parts, request, after = asking(studio, **more)
    person = await studio.core.runtime.person_of_key(studio.keys[more.get("person", "bob")])
    return Ask(
        person=person, parts=parts, request=request, query=EventsQuery(after=after),
        body=NoBody(), key=None,
    )  # fmt: skip


async def take(events: AsyncIterator[object], count: int) -> list[dict[str, object]]:
    """The next facts; an opening comment is no fact."""
    found: list[dict[str, object]] = []
    async with asyncio.timeout(PATIENCE):
        async for event in events:
            if getattr(event, "id", None) is not None:
                found.append({**json.loads(event.data), "event id": event.id})  # type: ignore[attr-defined]
            if len(found) == count:
                return found
    return found


async def test_everything_recorded_comes_first_and_then_what_is_recorded_next(studio: Studio):
    session_id = await studio.session()
    ask = await ask_of(studio)

    async with aclosing(stream.facts(ask, session_id, 0)) as events:
        first = await take(events, 1)
        await studio.client("bob").sessions.send(session_id, "say hi")
        second = await take(events, 1)

    assert [one["type"] for one in (*first, *second)] == ["session.started", "message.accepted"]
    assert [one["event id"] for one in (*first, *second)] == ["1", "2"]


async def test_who_comes_back_misses_nothing_and_hears_nothing_twice(studio: Studio):
    wait = await studio.held()
    recorded = (await studio.client("bob").sessions.events(wait["session_id"]))["items"]
    ask = await ask_of(studio, last_event_id="2")

    async with aclosing(stream.facts(ask, wait["session_id"], stream.start_of(ask))) as events:
        found = await take(events, len(recorded) - 2)

    assert [one["seq"] for one in found] == [one["seq"] for one in recorded[2:]]


async def test_what_is_streamed_is_what_is_listed(studio: Studio):
    wait = await studio.held()
    recorded = (await studio.client("bob").sessions.events(wait["session_id"]))["items"]
    ask = await ask_of(studio)

    async with aclosing(stream.facts(ask, wait["session_id"], 0)) as events:
        found = await take(events, len(recorded))

    assert found == [{**one, "event id": str(one["seq"])} for one in recorded]


async def test_a_revoked_key_stops_hearing(studio: Studio):
    session_id = await studio.session()
    ask = await ask_of(studio)
    alice = studio.client("alice")
    (bobs,) = [key for key in (await alice.keys.list())["items"] if key["name"] == "bob"]

    async with aclosing(stream.facts(ask, session_id, 0)) as events:
        await take(events, 1)
        await alice.keys.revoke(bobs["id"])
        await studio.client("dora").sessions.send(session_id, "say secret")
        after = await take(events, 1)

    assert after == []


async def test_the_last_event_id_counts_before_the_query(studio: Studio):
    assert stream.start_of(await ask_of(studio, after=3, last_event_id="7")) == 7
    assert stream.start_of(await ask_of(studio, after=3)) == 3


@pytest.mark.parametrize("given", ["", "x", "-1", "1.5", "9" * 16])
async def test_a_last_event_id_of_another_stream_is_refused(studio: Studio, given):
    with pytest.raises(Invalid) as raised:
        stream.start_of(await ask_of(studio, last_event_id=given))

    assert raised.value.code == "last_event_id.invalid"


async def test_a_session_one_may_not_see_has_no_stream(studio: Studio):
    private = await studio.session(private=True)

    with pytest.raises(NotFound):
        await stream.response(await ask_of(studio, person="dora"), private, 0)


async def test_a_key_holds_only_so_many_streams(studio: Studio):
    session_id = await studio.session()
    ask = await ask_of(studio)
    first = await stream.response(ask, session_id, 0)

    with pytest.raises(Problem) as raised:
        await stream.response(ask, session_id, 0)

    assert raised.value.status == 429
    del first
    assert await stream.response(ask, session_id, 0)  # one that is over leaves its place
