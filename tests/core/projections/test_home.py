from studio.core.projections import home as projection
from studio.core.reader import Reader
from studio.core.rules import events as e
from studio.core.rules.access import Person
from tests.core.projections.story import START, Story

DAY = 86_400_000


async def ended(story: Story, title: str, code: str = "", **more: object) -> str:
    """A session whose only turn is over."""
    session_id = await story.session(title, **more)  # type: ignore[arg-type]
    await story.message(session_id)
    await story.reply(session_id)
    await story.end(session_id, code, "It broke." if code else "")
    return session_id


async def test_home_of_an_empty_store_is_empty(
    story: Story, reader: Reader, charlie: Person
) -> None:
    home = await reader.home(charlie, since=START)

    assert (home.turns, home.held, home.oldest_wait, home.cost) == (0, 0, None, 0.0)
    assert home.cost_known
    assert (home.needs, home.running, home.failed_today) == ((), (), ())


async def test_home_shows_the_oldest_waits_and_how_many_there_are(
    story: Story, reader: Reader, charlie: Person
) -> None:
    for number in range(projection.SHOWN + 1):
        await story.held(f"Held {number}")

    home = await reader.home(charlie, since=START)

    assert [wait.title for wait in home.needs] == [f"Held {n}" for n in range(5)]
    assert (home.held, home.oldest_wait) == (6, home.needs[0].opened)


async def test_home_shows_what_runs_and_what_failed_today(
    story: Story, reader: Reader, charlie: Person
) -> None:
    await ended(story, "Failed yesterday", "model.failed")
    story.clock.told += DAY
    since = story.clock.told
    await ended(story, "Failed early", "model.failed")
    mended = await ended(story, "Failed, then went on", "model.failed")
    await story.message(mended)
    await ended(story, "Failed late", "model.failed")
    await ended(story, "Went well")
    running = await story.session("Running")
    await story.message(running)

    home = await reader.home(charlie, since=since)

    assert [row.title for row in home.failed_today] == ["Failed late", "Failed early"]
    assert [row.title for row in home.running] == ["Running", "Failed, then went on"]


async def test_numbers_of_the_day_are_of_the_turns_that_ended_and_those_in_hand(
    story: Story, reader: Reader, charlie: Person
) -> None:
    await ended(story, "Yesterday")
    story.clock.told += DAY
    since = story.clock.told
    await ended(story, "Well")
    await ended(story, "Badly", "model.failed")
    stopped = await story.session("Stopped")
    turn_id = await story.message(stopped)
    await story.record(stopped, e.TurnCancelled(turn_id=turn_id, by="bob"))
    await story.held("In hand")

    home = await reader.home(charlie, since=since)

    assert (home.turns, home.completed, home.failed, home.cancelled, home.in_hand) == (
        4, 1, 1, 1, 1,
    )  # fmt: skip
    assert (home.input_tokens, home.output_tokens, home.cost) == (200, 40, 0.02)
    assert home.cost_known


async def test_one_unknown_cost_makes_the_day_a_lower_bound(
    story: Story, reader: Reader, charlie: Person
) -> None:
    await ended(story, "Known")
    session_id = await story.session()
    await story.message(session_id)
    await story.reply(session_id, cost=None)
    await story.end(session_id)

    home = await reader.home(charlie, since=START)

    assert (home.cost, home.cost_known) == (0.01, False)


async def test_day_is_the_last_24_hours_when_nobody_says_where_it_began(
    story: Story, reader: Reader, charlie: Person
) -> None:
    home = await reader.home(charlie)

    assert home.since == story.clock.told - DAY


async def test_private_sessions_are_in_no_number_and_no_list_of_others(
    story: Story, reader: Reader, alice: Person, bob: Person, charlie: Person, admin: Person
) -> None:
    await story.held("Held", private=True)
    await ended(story, "Failed", "model.failed", private=True)
    nothing = await reader.home(bob, since=START - DAY)

    homes = [await reader.home(who, since=START) for who in (bob, charlie, alice, admin)]

    counts = [
        (home.held, len(home.needs), len(home.running), len(home.failed_today), home.turns,
         home.input_tokens)
        for home in homes
    ]  # fmt: skip
    assert counts == [(0, 0, 0, 0, 0, 0)] * 2 + [(1, 1, 1, 1, 2, 100)] * 2
    assert nothing.oldest_wait is None
