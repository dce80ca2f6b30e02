"""The usage page: sums, a chart with a table, and files in which no formula runs."""

import csv
import io
import json
from typing import Any

import pytest

from studio.core.rules.access import Person
from tests.web.conftest import Studio, Visitor

ADA = Person(id="ada", role="admin")


async def used(studio: Studio, title: str = "Spent", **more: Any) -> str:
    session_id = await studio.story.session(title, **more)
    await studio.story.message(session_id)
    await studio.story.reply(session_id, "Done.", cost=0.5)
    return session_id


async def test_an_empty_page_says_so(alice: Visitor) -> None:
    main = (await alice.open("/usage")).one(id="main").text

    assert "Nothing was used in these days" in main


@pytest.mark.parametrize("by", ["day", "agent", "model", "plugin", "session"])
async def test_groups_have_a_table(studio: Studio, alice: Visitor, by: str) -> None:
    await used(studio)

    page = await alice.open(f"/usage?by={by}&days=7")

    assert "$0.500" in page.one(id="main").text
    assert len(page.one("svg", **{"class": "chart__bars"}).all("rect")) == 7
    assert page.one("nav", aria_label="Groups").one(aria_current="page").text == f"By {by}"


async def test_unknown_is_said_and_is_no_zero(studio: Studio, alice: Visitor) -> None:
    session_id = await used(studio)
    await studio.story.reply(session_id, "More.", cost=None)

    main = (await alice.open("/usage")).one(id="main").text

    assert "at least $0.500" in main
    assert "1 without a price" in main


async def test_days_that_make_no_sense_are_told_and_the_page_still_shows(alice: Visitor) -> None:
    page = await alice.open("/usage?since=soon", status=422)

    assert "since must be a day" in page.one(id="main").text


async def test_what_is_private_is_not_for_others(
    studio: Studio, alice: Visitor, bob: Visitor, charlie: Visitor
) -> None:
    await used(studio, "Hidden", private=True, owner="alice")

    assert "Hidden" in (await alice.open("/usage?by=session")).one(id="main").text
    for other in (bob, charlie):
        assert "Nothing was used" in (await other.open("/usage?by=session")).one(id="main").text
        for format in ("csv", "json"):
            answer = await other.get(f"/usage/export?by=session&format={format}")
            assert "Hidden" not in answer.text


@pytest.mark.parametrize("title", ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|'/c calc'!A1", "\t=1"])
async def test_no_formula_runs_in_a_file(studio: Studio, alice: Visitor, title: str) -> None:
    await used(studio, title)

    answer = await alice.get("/usage/export?by=session&format=csv")

    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert rows[0]["title"] == f"'{title}"
    assert (rows[0]["cost"], rows[0]["input_tokens"]) == ("0.5", "100")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert "attachment" in answer.headers["content-disposition"]


@pytest.mark.parametrize("by", ["day", "agent", "model", "plugin", "session"])
async def test_files_hold_every_group(studio: Studio, alice: Visitor, by: str) -> None:
    await used(studio)

    found = json.loads((await alice.get(f"/usage/export?by={by}&format=json")).text)
    rows = list(csv.DictReader(io.StringIO((await alice.get(f"/usage/export?by={by}")).text)))

    assert (found["by"], len(found["items"]), len(rows)) == (by, 1, 1)
    assert set(found["items"][0]) == set(rows[0])
    assert found["items"][0]["cost"] == 0.5


async def test_more_sessions_than_are_read_at_once_are_all_in_the_file(
    studio: Studio, alice: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studio.core.reader.EXPORTED", 2)
    for number in range(5):
        await used(studio, f"Session {number}")

    found = json.loads((await alice.get("/usage/export?by=session&format=json")).text)

    assert {item["title"] for item in found["items"]} == {f"Session {n}" for n in range(5)}


async def test_a_cost_of_which_nothing_is_known_is_empty(studio: Studio, alice: Visitor) -> None:
    session_id = await studio.story.session("Free?")
    await studio.story.message(session_id)
    await studio.story.reply(session_id, cost=None)

    found = json.loads((await alice.get("/usage/export?by=agent&format=json")).text)

    assert found["items"][0]["cost"] is None
    assert ",,0,0,0\r\n" in (await alice.get("/usage/export?by=agent")).text
