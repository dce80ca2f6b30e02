"""The list of traces: rows that lead to their turns, and filters in the address."""

import pytest

from studio.core.projections import turn_list
from studio.core.rules import contents, ids
from studio.core.rules import events as e
from tests.web.conftest import Studio, Visitor


async def told(studio: Studio, title: str) -> str:
    session_id = await studio.story.session(title)
    await studio.story.message(session_id, f"Message of {title}")
    await studio.story.reply(session_id, "Looking.", {"tool": "dig"})
    return session_id


async def test_rows_lead_to_their_turns(studio: Studio, alice: Visitor) -> None:
    session_id = await told(studio, "Plans")

    page = await alice.open("/traces")

    assert page.one("tbody").one("a").attrs["href"] == f"/sessions/{session_id}/turns/1"
    assert page.one("tbody").one("a").text == "Message of Plans"
    assert "helper v1, turn 1" in page.one("tbody").text


async def test_filters_stand_in_the_address(studio: Studio, alice: Visitor) -> None:
    await told(studio, "Plans")

    page = await alice.open("/traces?tool=dig&days=7&seconds=junk&status=zebra")
    nothing = await alice.open("/traces?tool=zebra")

    assert page.one("input", name="tool").attrs["value"] == "dig"
    assert page.one("input", name="seconds").attrs["value"] == "junk"
    assert len(page.one("tbody").all("tr")) == 1
    assert "No turn fits" in nothing.one("main").text


async def test_turns_that_no_worker_took_up_can_be_asked_for(
    studio: Studio, alice: Visitor
) -> None:
    await told(studio, "Under way")
    session_id = await studio.story.session("Plans")
    accepted = e.MessageAccepted(
        turn_id=ids.make("trn", studio.story.clock.now(), bytes(10)), number=1,
        text=contents.of_text("Go on."), by="alice",
    )  # fmt: skip
    await studio.story.record(session_id, accepted)

    page = await alice.open("/traces?status=queued")

    assert page.one("tbody").one("a").attrs["href"] == f"/sessions/{session_id}/turns/1"
    assert [one.text for one in page.all("option", selected="")] == ["queued"]


async def test_a_search_of_a_part_says_so_and_goes_on(
    studio: Studio, alice: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_list, "LOOKED", 1)
    for title in ("Plans", "More"):
        await told(studio, title)

    page = (await alice.open("/traces?tool=zebra")).one("nav", **{"aria-label": "Pages"})

    assert "went through a part of what is there" in page.text
    assert "Search older" in page.text


async def test_an_empty_studio_says_where_turns_come_from(alice: Visitor) -> None:
    assert "No turns yet" in (await alice.open("/traces")).one("main").text


async def test_the_region_alone_is_given_to_an_open_page(studio: Studio, alice: Visitor) -> None:
    await told(studio, "Plans")

    answer = await alice.get("/traces?region=list", HX_Request="true")

    assert "<html" not in answer.text
    assert "Message of Plans" in answer.text


async def test_further_filters_are_open_when_one_is_asked_for(
    studio: Studio, alice: Visitor
) -> None:
    await told(studio, "Plans")

    page = await alice.open("/traces?since=2026-01-01&until=2026-01-01&error=x&under=5&days=9")
    plain = await alice.open("/traces?tool=dig")
    found = await alice.open("/traces?since=2026-01-01&until=2026-01-02&tool=DI")

    assert "open" in page.one("details", **{"class": "toolbar__more"}).attrs
    assert "open" not in plain.one("details", **{"class": "toolbar__more"}).attrs
    assert "No turn fits" in page.text
    assert len(found.one("tbody").all("tr")) == 1
