import pytest

from studio.core.projections.health import trouble
from studio.core.reader import Reader
from studio.core.rules.errors import Unavailable
from studio.core.store import wakes
from tests.core.projections.story import Story


async def test_health_tells_the_store_and_how_far_it_is(story: Story, reader: Reader) -> None:
    await story.session()

    health = await reader.health()

    assert health["kind"] == story.db.kind
    assert health["position"] == 1
    assert health["wake_lag"] == 0
    assert health["disk_free"] > 0
    assert {"version", "sync", "last_error"} <= set(health)


async def test_wake_that_nobody_takes_shows_as_lag(story: Story, reader: Reader) -> None:
    session_id = await story.session()
    due = story.clock.told - 3_000
    await story.db.record(lambda conn: wakes.set(conn, session_id, due))

    assert (await reader.health())["wake_lag"] == 3_000


async def test_wake_that_somebody_took_is_no_lag(story: Story, reader: Reader) -> None:
    session_id = await story.session()
    due = story.clock.told - 3_000
    await story.db.record(lambda conn: wakes.set(conn, session_id, due))
    await wakes.claim(story.db, "worker", 1, story.clock.told, 10_000)

    assert (await reader.health())["wake_lag"] == 0


async def test_clock_behind_the_newest_fact_is_told(story: Story, reader: Reader) -> None:
    await story.session()
    on_time = await reader.health()
    story.clock.told -= 1_001

    behind = await reader.health()

    assert (on_time["clock_behind"], behind["clock_behind"]) == (False, True)


async def test_empty_store_is_healthy(story: Story, reader: Reader) -> None:
    health = await reader.health()

    assert (health["position"], health["clock_behind"]) == (0, False)


async def test_a_healthy_store_is_no_trouble(story: Story, reader: Reader) -> None:
    await story.session()

    assert await reader.trouble() == ""


async def test_a_clock_that_is_behind_is_trouble_for_every_page(
    story: Story, reader: Reader
) -> None:
    await story.session()
    story.clock.told -= 1_001

    assert "clock is behind" in await reader.trouble()


@pytest.mark.parametrize(
    "figure,words",
    [
        ({"last_error": "The disk is full."}, "Nothing can be recorded"),
        ({"disk_free": 1_000_000}, "almost full: less than 1 MiB"),
        ({"disk_free": 200 * 2**20}, "almost full: less than 256 MiB"),
        ({"clock_behind": True}, "Set the clock right"),
        ({"wake_lag": 20_001}, "for over 20 seconds. Start one: studio work"),
        ({"wake_lag": 60_000}, "for over a minute"),
        ({"wake_lag": 10**9}, "for over an hour"),
    ],
)
def test_trouble_is_told_in_words(figure: dict[str, object], words: str) -> None:
    well = {
        "last_error": None,
        "disk_free": 10**12,
        "clock_behind": False,
        "wake_lag": 0,
        "stuck": (),
    }

    assert trouble(well) == ""
    assert words in trouble({**well, **figure})


@pytest.mark.parametrize(
    "one,two",
    [
        ({"disk_free": 200 * 2**20}, {"disk_free": 190 * 2**20}),
        ({"wake_lag": 61_000}, {"wake_lag": 75_000}),
    ],
)
def test_the_words_stand_still_while_figures_move(
    one: dict[str, object], two: dict[str, object]
) -> None:
    well = {
        "last_error": None,
        "disk_free": 10**12,
        "clock_behind": False,
        "wake_lag": 0,
        "stuck": (),
    }

    assert trouble({**well, **one}) == trouble({**well, **two})


async def test_a_store_that_cannot_be_read_is_trouble(
    story: Story, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*args: object) -> None:
        raise Unavailable("PostgreSQL cannot be reached.")

    monkeypatch.setattr(story.db, "read", away)

    assert await reader.trouble() == (
        "Nothing can be read at the moment: PostgreSQL cannot be reached."
    )
