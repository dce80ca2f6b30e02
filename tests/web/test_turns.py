"""The page of a turn: rows, filters, one span looked at, and who may see it."""

from tests.web.conftest import Studio, Visitor

LOOK = {"tool": "look", "server": "ledger", "plugin": "kit"}


async def told(studio: Studio, **more: bool) -> tuple[str, str]:
    """A session with a turn: a reply with a held call that was let run; the call's id."""
    story = studio.story
    session_id = await story.session("Plans", **more)
    await story.message(session_id)
    (effect_id,) = await story.reply(session_id, "Looking.", {"tool": "publish_it"})
    await story.hold(session_id, effect_id)
    return session_id, effect_id


async def test_a_turn_shows_its_spans(studio: Studio, alice: Visitor) -> None:
    session_id, _ = await told(studio)

    page = await alice.open(f"/sessions/{session_id}/turns/1")

    names = [
        link.text for link in page.one(id="rows").all("a") if link.attrs.get("data-open") == ""
    ]
    assert names == ["invoke_agent helper", "chat steady", "wait approval"]
    assert page.one("figure").all("rect")


async def test_a_span_is_looked_at_without_scripts(studio: Studio, alice: Visitor) -> None:
    session_id, effect_id = await told(studio)
    page = await alice.open(f"/sessions/{session_id}/turns/1")
    (link,) = [a for a in page.one(id="rows").all("a") if a.text == "wait approval"]

    looked = await alice.open(link.attrs["href"].partition("#")[0])

    side = looked.one(id="span")
    assert side.one("h2").text == "wait approval"
    assert side.role("link", "Open the card")
    assert f"/calls/{effect_id}" in [a.attrs["href"] for a in side.all("a")]
    assert looked.one("input", id="looked").attrs["value"]


async def test_filters_narrow_the_rows_and_say_so(studio: Studio, alice: Visitor) -> None:
    session_id, _ = await told(studio)

    models = await alice.open(f"/sessions/{session_id}/turns/1?kind=model")
    nothing = await alice.open(f"/sessions/{session_id}/turns/1?plugin=zebra")

    assert "1 span of 3" in models.one(id="spans-title").text
    assert "No span fits" in nothing.one("main").text


async def test_the_region_alone_is_given_to_an_open_page(studio: Studio, alice: Visitor) -> None:
    session_id, _ = await told(studio)

    answer = await alice.get(f"/sessions/{session_id}/turns/1?region=trace", HX_Request="true")

    assert answer.status_code == 200
    assert "<html" not in answer.text
    assert "chat steady" in answer.text


async def test_a_turn_that_is_not_there_and_a_strangers_are_nowhere(
    studio: Studio, alice: Visitor, charlie: Visitor
) -> None:
    session_id, _ = await told(studio, private=True)

    await alice.open(f"/sessions/{session_id}/turns/9", status=404)
    await alice.open(f"/sessions/{session_id}/turns/zebra", status=404)
    await charlie.open(f"/sessions/{session_id}/turns/1", status=404)


async def test_the_session_leads_to_its_turns(studio: Studio, alice: Visitor) -> None:
    session_id, _ = await told(studio)

    page = await alice.open(f"/sessions/{session_id}")

    assert f"/sessions/{session_id}/turns/1" in [a.attrs.get("href") for a in page.all("a")]
