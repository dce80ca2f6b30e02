"""Two turns side by side on a page."""

from tests.web.conftest import Studio, Visitor


async def told(studio: Studio, title: str, **more: object) -> str:
    session_id = await studio.story.session(title)
    await studio.story.message(session_id, f"Message of {title}")
    await studio.story.reply(session_id, "Looking.", {"tool": "dig", **more})
    return session_id


async def test_turns_of_the_same_agent_are_offered(studio: Studio, alice: Visitor) -> None:
    first, second = await told(studio, "First"), await told(studio, "Second")

    page = await alice.open(f"/sessions/{second}/turns/1/comparison")

    hrefs = [a.attrs["href"] for a in page.one("main").all("a")]
    assert f"/sessions/{second}/turns/1/comparison?with={first}/1" in hrefs


async def test_two_turns_stand_side_by_side(studio: Studio, alice: Visitor) -> None:
    first, second = await told(studio, "First"), await told(studio, "Second")

    page = await alice.open(f"/sessions/{second}/turns/1/comparison?with={first}/1")

    assert "Both did the same" in page.one("main").text
    assert "chat steady" in page.one("main").text


async def test_a_strangers_turn_is_nowhere(
    studio: Studio, alice: Visitor, charlie: Visitor
) -> None:
    mine = await studio.story.session("Mine", private=True)
    await studio.story.message(mine)
    other = await told(studio, "Other")

    await charlie.open(f"/sessions/{other}/turns/1/comparison?with={mine}/1", status=404)
    await alice.open(f"/sessions/{other}/turns/1/comparison?with={mine}/1")
    await alice.open(f"/sessions/{other}/turns/1/comparison?with=zebra/9", status=404)
