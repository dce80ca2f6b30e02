"""Hints: what grew is told to all who listen, in this process and in others, and none holds up."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from studio.core.rules import events as e
from studio.core.store import raw, wire
from studio.core.store.feed import Subscription
from studio.core.store.wire import NOTIFY
from tests.core.store.conftest import Store, opened
from tests.core.store.processes import line, other
from tests.core.store.stories import START

PATIENCE = 10.0


async def append(store: Store, number: int = 1) -> int:
    event = e.TurnStarted(turn_id=f"trn_{number}")
    done = await store.journal.commit("ses_1", lambda _: [event], at=START)
    return done.facts[-1].position


async def hears(growth: Subscription, session_id: str) -> None:
    """Wait until this session is told of."""
    async with asyncio.timeout(PATIENCE):
        while session_id not in await growth.get():
            pass


async def test_a_subscriber_hears_every_session_that_grew_once(store: Store) -> None:
    async with store.feed.subscribe() as growth:
        await asyncio.gather(store.start("ses_1"), store.start("ses_2"))
        await append(store)

        heard: set[str] = set()
        while heard != {"ses_1", "ses_2"}:
            heard |= await growth.get()


async def test_a_subscriber_that_does_not_listen_holds_nobody_up(store: Store) -> None:
    async with store.feed.subscribe() as growth:
        await store.start()
        for number in range(30):
            await append(store, number)

        assert await growth.get() == {"ses_1"}


async def test_a_subscriber_that_left_is_forgotten(store: Store) -> None:
    async with store.feed.subscribe():
        pass
    await store.start()

    assert not store.feed._subscriptions


async def test_wait_answers_at_once_when_there_is_something_newer(store: Store) -> None:
    await store.start()

    assert await store.feed.wait(0, timeout=PATIENCE) == 1


async def test_wait_answers_when_something_comes(store: Store) -> None:
    await store.start()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(store.feed.wait(1, timeout=PATIENCE))
        await asyncio.sleep(0)
        await append(store)

    assert waiting.result() == 2


async def test_wait_gives_up_in_time(store: Store) -> None:
    await store.start()

    assert await store.feed.wait(1, timeout=0.01) == 1


async def test_a_feed_begins_at_the_newest_position(ready_url: str) -> None:
    async with opened(ready_url) as store:
        await store.start()
        await append(store)

    async with opened(ready_url) as again:
        assert await again.feed.wait(0, timeout=0) == 2


async def test_a_position_that_was_told_can_be_read(store: Store) -> None:
    await store.start()
    for number in range(20):
        position = await append(store, number)

        assert await store.feed.wait(position - 1, timeout=0) >= position
        assert await store.one("SELECT max(position) FROM events") == (position,)


async def test_drafts_are_shown_until_they_are_recorded(store: Store) -> None:
    async with store.feed.subscribe() as growth:
        store.feed.set_draft("ses_1", "eff_1", "Once upon")
        assert await growth.get() == {"ses_1"}
        assert store.feed.draft("ses_1") == ("eff_1", "Once upon")

        store.feed.set_draft("ses_1", "eff_other", None)
        assert store.feed.draft("ses_1") == ("eff_1", "Once upon")
        store.feed.set_draft("ses_1", "eff_1", None)
        assert await growth.get() == {"ses_1"}
        assert store.feed.draft("ses_1") is None


async def test_progress_is_kept_once_an_effect_until_cleared(store: Store) -> None:
    store.feed.set_progress("ses_1", "eff_1", 1, 4, "one")
    store.feed.set_progress("ses_1", "eff_1", 2, None, "two")
    store.feed.set_progress("ses_1", "eff_2", 0, None, "")

    assert store.feed.progress("ses_1") == {"eff_1": (2, None, "two"), "eff_2": (0, None, "")}
    store.feed.clear_progress("ses_1", "eff_1")
    store.feed.clear_progress("ses_1", "eff_2")
    assert store.feed.progress("ses_1") == {}


# Between processes --------------------------------------------------------------------------------


@pytest.mark.postgres
async def test_another_process_hears_at_once_and_can_read_it(server_url: str) -> None:
    async with opened(server_url) as one, opened(server_url) as two:
        async with two.feed.subscribe() as growth:
            await one.start()
            await hears(growth, "ses_1")

        assert await two.feed.wait(0, timeout=PATIENCE) == 1
        assert await two.journal.session("ses_1") == await one.journal.session("ses_1")


@pytest.mark.postgres
async def test_a_hint_that_was_lost_is_made_up_for_by_asking(
    server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(server_url) as one, opened(server_url) as two:
        monkeypatch.setattr(wire, "NOTIFY", NOTIFY.replace("pg_notify(?, said)", "?, said"))
        async with two.feed.subscribe() as growth:
            await one.start()
            await hears(growth, "ses_1")

        assert await two.feed.wait(0, timeout=PATIENCE) == 1


@pytest.mark.postgres
async def test_hearing_and_telling_go_on_after_the_server_cut_them(server_url: str) -> None:
    cut = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    async with opened(server_url) as one, opened(server_url) as two:
        await one.start()
        await one.db.touch(lambda conn: raw.one(conn, cut))
        async with two.feed.subscribe() as growth:
            await append(one)
            await hears(growth, "ses_1")

        assert await two.feed.wait(1, timeout=PATIENCE) == 2


@pytest.mark.postgres
async def test_drafts_and_progress_reach_other_processes_cut_to_their_end(server_url: str) -> None:
    text = "".join(chr(0x4E00 + n % 500) for n in range(20_000)) + '"\n the end'
    async with opened(server_url) as one, opened(server_url) as two:
        async with two.feed.subscribe() as growth:
            one.feed.set_draft("ses_1", "eff_1", text)
            await hears(growth, "ses_1")
            found = two.feed.draft("ses_1")
            one.feed.set_progress("ses_2", "eff_2", 1, 2, "half")
            await hears(growth, "ses_2")
            one.feed.set_draft("ses_1", "eff_1", None)
            await hears(growth, "ses_1")

        assert found is not None
        assert found[0] == "eff_1"
        assert len(found[1]) > 500
        assert text.endswith(found[1])
        assert two.feed.draft("ses_1") is None
        assert two.feed.progress("ses_2") == {"eff_2": (1, 2, "half")}


@pytest.mark.postgres
async def test_a_reader_that_follows_positions_misses_none_of_several_processes(
    server_url: str,
) -> None:
    """It sees 1, 2, 3… and never a gap, whoever commits at the same moment."""
    seen: list[int] = []
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(opened(server_url))
        writers = [
            await stack.enter_async_context(other("write", server_url, name, "120"))
            for name in ("a", "b", "c")
        ]
        done = asyncio.gather(*[line(writer) for writer in writers])
        while not done.done() or len(seen) < (await store.one(COUNT))[0]:
            await store.feed.wait(len(seen), timeout=0.2)
            seen += await positions_after(store, len(seen))

        assert await done == ["done"] * 3
        assert seen == list(range(1, len(seen) + 1))
        assert len(seen) >= 3 * 96
        assert await store.every(GAPS) == []


async def positions_after(store: Store, position: int) -> list[int]:
    facts = await store.db.read(lambda conn: store.journal.after_position(conn, position, limit=50))
    return [fact.position for fact in facts]


COUNT = "SELECT count(*) FROM events"
GAPS = (
    "SELECT session_id FROM events GROUP BY session_id HAVING max(seq) <> count(*) OR min(seq) <> 1"
)
