"""Exports and saved views for programs, through both the client and plain requests."""

import json

import pytest

import api_client
from api_client import AsyncClient
from studio.api.auth import Rates
from tests.api.conftest import Studio


async def lines(client: AsyncClient, session_id: str, **more) -> list[dict]:
    pieces = [piece async for piece in client.sessions.export(session_id, format="jsonl", **more)]
    return [json.loads(line) for line in b"".join(pieces).splitlines()]


async def test_a_session_comes_as_its_facts(studio: Studio):
    wait = await studio.held()
    bob, session_id = studio.client("bob"), wait["session_id"]
    facts = (await bob.sessions.events(session_id))["items"]

    told = await lines(bob, session_id)

    assert [one["id"] for one in told if one["line"] == "fact"] == [one["id"] for one in facts]
    assert told[-1]["facts"] == len(facts)
    assert (told[-1]["sessions"], told[-1]["turns"]) == (1, 1)


async def test_lists_are_taken_away_with_their_filters(studio: Studio):
    wait = await studio.held(private=True)
    await studio.session()

    async def sessions(person: str, **filters: str) -> set[str]:
        export = studio.client(person).sessions.export_many(format="jsonl", **filters)
        text = b"".join([piece async for piece in export])
        told = [json.loads(line) for line in text.splitlines()]
        assert told[-1]["complete"]
        return {one["id"] for one in told if one["line"] == "session"}

    assert len(await sessions("bob")) == 2
    assert await sessions("bob", of="turns", tool="pay") == {wait["session_id"]}
    assert wait["session_id"] not in await sessions("dora")
    assert await sessions("dora", of="turns") == set()


@pytest.mark.parametrize(
    "query, code",
    [
        ("format=pdf", "invalid"),
        ("", "invalid"),
        ("format=jsonl&since=2026-1-1", "invalid"),
        ("format=jsonl&tool=pay", "export.filters"),
        ("format=jsonl&of=turns&q=x", "export.filters"),
        ("format=jsonl&of=turns&status=idle", "invalid"),
        ("format=jsonl&of=turns&since=2026-02-31", "filter.invalid"),
        ("format=jsonl&of=turns&until=2026-13-01", "filter.invalid"),
        ("format=jsonl&of=turns&since=2026-12-05&until=2026-11-01", "filter.invalid"),
    ],
)
async def test_what_makes_no_export_is_refused_before_it_begins(studio: Studio, query, code):
    response = await studio.raw("GET", f"/v1/exports?{query}")

    assert response.status_code == 422
    assert response.json()["error"]["code"] == code


async def test_an_export_holds_one_of_the_streams_of_its_key(studio: Studio, rates: Rates):
    session_id = await studio.session()
    for _ in range(rates.streams + 2):
        assert (await lines(studio.client("bob"), session_id))[-1]["complete"]


async def test_views_are_saved_changed_and_deleted(studio: Studio):
    bob, dora = studio.client("bob"), studio.client("dora")

    saved = await bob.views.save("traces", "Slow", "seconds=60", shared=True)
    changed = await bob.views.change(saved["id"], name="Slower")

    assert (changed["name"], changed["query"], changed["shared"]) == ("Slower", "seconds=60", True)
    assert changed["owner"] == "key:bob"
    assert [one["may_change"] for one in (await dora.views.list())["items"]] == [False]
    with pytest.raises(api_client.ApiError) as refused:
        await dora.views.remove(saved["id"])
    assert refused.value.status == 403
    await bob.views.remove(saved["id"])
    assert (await dora.views.list("traces"))["items"] == []
