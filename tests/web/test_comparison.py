"""Two turns side by side on a page."""

import pytest

from studio.core.rules import comparing
from studio.web.pages import comparison
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
    heads = [head.text for head in page.all("table")[0].all("th")]
    assert [head.rpartition(" ,")[0] for head in heads[1:3]] == [
        "First: Turn 1 of First", "Second: Turn 1 of Second",
    ]  # fmt: skip
    assert "chat steady" in page.one("main").text


async def test_a_strangers_turn_is_nowhere(
    studio: Studio, alice: Visitor, charlie: Visitor
) -> None:
    mine = await studio.story.session("Mine", private=True)
    await studio.story.message(mine)
    other = await told(studio, "Other")

    await charlie.open(f"/sessions/{other}/turns/1/comparison?with={mine}/1", status=404)
    await alice.open(f"/sessions/{other}/turns/1/comparison?with={mine}/1")
    for strange in ("zebra/9", "zebra", f"{mine}", f"{mine}/"):
        await alice.open(f"/sessions/{other}/turns/1/comparison?with={strange}", status=404)


async def test_the_first_difference_of_long_turns_is_on_the_page(
    studio: Studio, alice: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "ROWS", 4)
    monkeypatch.setattr(comparison, "BEFORE", 1)
    sessions = [await told(studio, title) for title in ("First", "Second")]
    for at, session_id in enumerate(sessions):
        for step in range(8):
            (call,) = await studio.story.reply(session_id, "", {"tool": f"dig{step}"})
            await studio.story.run(session_id, call, "a" if step < 7 else f"b{at}")
    (last,) = await studio.story.reply(sessions[1], "", {"tool": "publish_it"})
    await studio.story.hold(sessions[1], last)
    url = f"/sessions/{sessions[1]}/turns/1/comparison?with={sessions[0]}/1"

    page = await alice.open(url)
    begin = await alice.open(f"{url}&from=0")

    assert page.one(id="first")
    assert "1 to 4 of" in begin.one("main").text
    (link,) = begin.role("link", "To the first difference")
    assert (await alice.open(link.attrs["href"].partition("#")[0])).one(id="first")
    assert begin.role("link", "Later steps")


async def test_what_was_not_looked_at_is_not_said_to_be_the_same(
    studio: Studio, alice: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparing, "MOST", 1)
    first, second = await told(studio, "First"), await told(studio, "Second")
    for session_id in (first, second):
        await studio.story.reply(session_id, "", {"tool": "dig"})

    page = await alice.open(f"/sessions/{second}/turns/1/comparison?with={first}/1")

    assert "Both did the same" not in page.one("main").text
    assert "only those are compared" in page.one("main").text


async def test_arguments_are_told_apart_where_calls_ended_otherwise(
    studio: Studio, alice: Visitor
) -> None:
    sessions = [await studio.story.session(title) for title in ("First", "Second")]
    for session_id, act in zip(sessions, (studio.story.run, studio.story.lose), strict=True):
        await studio.story.message(session_id)
        (call,) = await studio.story.reply(
            session_id, "", {"tool": "dig", "arguments": {"for": session_id}}
        )
        await act(session_id, call)

    page = await alice.open(f"/sessions/{sessions[1]}/turns/1/comparison?with={sessions[0]}/1")

    main = page.one("main")
    assert "ended otherwise, called with other arguments" in main.text
    assert [main.one("del").text, main.one("ins").text] == sessions
