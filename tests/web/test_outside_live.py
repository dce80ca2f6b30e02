"""Pages of traces from outside are told when what they show is another, though no fact says so."""

from itertools import pairwise

import pytest

from studio.core.rules.access import Person
from studio.core.rules.outside.claims import Limits, Refusal
from studio.core.store import outside_sweeping
from studio.web.outside_topics import LARGE, OFTEN, SELDOM, OutsideTopic, OutsideTraceTopic
from tests.core.rules.outside.spans import TRACE
from tests.web.conftest import Studio, Visitor
from tests.web.outside_cases import SENDER, one_trace, sent
from tests.web.streams import listening

OTHER = "cd" * 16
ADMIN = Person(id="ada", role="admin")
DAY = 86_400_000


@pytest.fixture
async def secret(studio: Studio) -> str:
    """The secret of a signed-in browser."""
    return (await studio.runtime.sign_in(studio.runtime.link("charlie", "viewer")))[0]


async def sweep(studio: Studio, days: int) -> None:
    now = studio.reader.now() + days * DAY
    while await studio.db.touch(lambda conn: outside_sweeping.sweep(conn, now, Limits())):
        pass


async def test_the_list_looks_again_when_anything_came_was_refused_or_went(studio: Studio) -> None:
    topic = OutsideTopic(studio.reader, "outside")
    signs = [await topic._sign()]

    for spans in (
        [sent(studio, 1, 0, 50, 5)], [sent(studio, 2, 1, 50, 5)],
        [Refusal("unreadable", "span 3")], [Refusal("unreadable", "span 4")],
    ):  # fmt: skip
        await studio.runtime.take_spans(SENDER, iter(spans))
        signs.append(await topic._sign())
    await studio.runtime.take_spans(SENDER, iter([sent(studio, 1, 0, 50, 5)]))
    again = await topic._sign()
    await sweep(studio, 40)

    assert all(before < after for before, after in pairwise(signs))
    assert again == signs[-1]
    assert await topic._sign() > again


async def test_a_trace_looks_again_when_it_grew_or_went_and_not_for_others(studio: Studio) -> None:
    await studio.runtime.take_spans(SENDER, iter([sent(studio, 1, 0, 50, 5)]))
    topic = OutsideTraceTopic(studio.reader, TRACE)
    first = await topic._sign()

    await studio.runtime.take_spans(SENDER, iter([sent(studio, 1, 0, 50, 5, trace_id=OTHER)]))
    other = await topic._sign()
    await studio.runtime.take_spans(SENDER, iter([sent(studio, 2, 1, 50, 5)]))
    grown = await topic._sign()
    await sweep(studio, 40)

    assert first == other != grown
    assert await topic._sign() is None


@pytest.mark.parametrize("count,pace", [(3, OFTEN), (LARGE + 1, SELDOM)])
async def test_a_large_trace_is_drawn_again_less_often(
    studio: Studio, count: int, pace: float
) -> None:
    await studio.runtime.take_spans(
        SENDER, (sent(studio, n, 1, 50, 5) for n in range(1, count + 1))
    )
    topic = OutsideTraceTopic(studio.reader, TRACE)

    await topic.open()

    assert topic.pace == pace


async def test_an_open_page_hears_of_a_trace_that_goes_and_of_one_that_comes_anew(
    studio: Studio, secret: str
) -> None:
    await one_trace(studio)
    after = str(await studio.reader.outside_moves())

    async with listening(studio, secret, ("outside_trace", TRACE), after=after) as ear:
        await ear.live()
        await studio.runtime.forget_outside_trace(ADMIN, TRACE)
        gone = await ear.until(lambda message: message.event == "look:trace")
        await one_trace(studio)
        anew = await ear.until(lambda message: message.event == "look:trace")

    assert int(after) <= int(gone[-1].id or 0) < int(anew[-1].id or 0)


async def test_a_page_hears_when_its_trace_went_before_it_listened(
    studio: Studio, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await one_trace(studio)
    after = str(await studio.reader.outside_moves())
    monkeypatch.setattr(outside_sweeping, "take_away", lambda conn, trace: 0)  # marked, not gone
    await studio.runtime.forget_outside_trace(ADMIN, TRACE)

    async with listening(studio, secret, ("outside_trace", TRACE), after=after) as ear:
        missed = await ear.live()

    assert [message.event for message in missed] == ["look:trace"]


@pytest.mark.parametrize("key", [("outside", "outside"), ("outside_trace", TRACE)])
async def test_an_open_page_hears_of_spans_that_come(
    studio: Studio, secret: str, key: tuple[str, str]
) -> None:
    await one_trace(studio)
    word = f"look:{'trace' if key[1] == TRACE else 'outside'}"
    after = str(await studio.reader.outside_moves())

    async with listening(studio, secret, key, after=after) as ear:
        missed = await ear.live()
        await studio.runtime.take_spans(SENDER, iter([sent(studio, 9, 1, 50, 5)]))
        heard = await ear.until(lambda message: message.event == word)

    assert [message.event for message in missed] == []
    assert heard[-1].id == str(await studio.reader.outside_moves())


async def test_a_page_that_missed_something_is_told_when_it_connects(
    studio: Studio, secret: str
) -> None:
    await one_trace(studio)

    async with listening(studio, secret, ("outside", "outside"), after="0") as ear:
        missed = await ear.live()

    assert [message.event for message in missed] == ["look:outside"]


async def test_pages_say_where_they_stand_and_their_regions_are_asked_for(
    studio: Studio, charlie: Visitor
) -> None:
    await one_trace(studio)
    moves = await studio.reader.outside_moves()

    index = await charlie.get("/traces/outside")
    part = await charlie.get("/traces/outside?region=list&state=completed")
    trace = await charlie.get(f"/traces/{TRACE}")
    inside = await charlie.get(f"/traces/{TRACE}?region=trace")
    gone = await charlie.get("/live/outside/nothing")

    assert f"/live/outside?after={moves}" in index.text
    assert "<html" not in part.text
    assert "clerk" in part.text
    assert f"/live/outside/{TRACE}?after={moves}" in trace.text
    assert "<title>clerk · Studio</title>" in inside.text
    assert '<hx-partial hx-target="#crumb"' in inside.text
    assert gone.status_code == 404
