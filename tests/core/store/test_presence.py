"""Workers that are gone: killed ones are seen at once, frozen ones when their time is up."""

import asyncio
import signal
import time

import pytest

from studio.core.rules import events as e
from studio.core.store import raw, wakes
from studio.core.store.journal import LeaseLost
from studio.core.store.presence import Presence
from tests.core.store.conftest import Store, opened
from tests.core.store.processes import line, other
from tests.core.store.stories import START

OWNERS = "SELECT DISTINCT owner FROM wakes"


async def test_on_sqlite_nobody_else_can_be_dead(sqlite_url: str) -> None:
    async with opened(sqlite_url) as store:
        presence = Presence(store.db, "one", 10_000)
        await presence.start()

        assert await presence.free_dead() == []
        await presence.close()


@pytest.mark.postgres
async def test_the_sessions_of_a_killed_process_are_free_within_a_second(server_url: str) -> None:
    async with opened(server_url) as store:
        presence = await joined(store, "survivor")
        await woken(store)
        async with other("hold", server_url, "victim") as process:
            assert await line(process) == "holds 3"
            assert await presence.free_dead() == []
            process.send_signal(signal.SIGKILL)
            killed = time.monotonic()

            freed: list[str] = []
            while not freed:
                freed = await presence.free_dead()

        assert sorted(freed) == ["ses_0", "ses_1", "ses_2"]
        assert time.monotonic() - killed < 1.0
        assert await store.every("SELECT id FROM workers") == [("survivor",)]
        assert len(await wakes.claim(store.db, "survivor", 9, START, 10_000)) == 3
        await presence.close()


@pytest.mark.postgres
async def test_a_frozen_worker_is_given_up_and_can_record_nothing(server_url: str) -> None:
    async with opened(server_url) as store:
        frozen, fresh = await joined(store, "frozen"), await joined(store, "fresh")
        await woken(store)
        (old, *_) = await wakes.claim(store.db, "frozen", 9, START, 10_000)
        await store.db.touch(
            lambda conn: raw.put(conn, "UPDATE workers SET alive_until = 1 WHERE id = 'frozen'")
        )

        assert len(await fresh.free_dead()) == 3
        (new, *_) = await wakes.claim(store.db, "fresh", 9, START, 10_000, [old.session_id])

        assert new.fence == old.fence + 1
        with pytest.raises(LeaseLost):
            await store.journal.commit(
                old.session_id, lambda _: [e.TurnStarted(turn_id="t")], at=START, fence=old
            )
        await frozen.free_dead()  # thawed: it shows itself again
        assert ("frozen",) in await store.every("SELECT id FROM workers")
        await frozen.close()
        await fresh.close()


@pytest.mark.postgres
async def test_a_heartbeat_keeps_a_worker_and_its_leases(server_url: str) -> None:
    async with opened(server_url) as store:
        one, two = await joined(store, "one"), await joined(store, "two")
        await woken(store)
        await wakes.claim(store.db, "one", 9, START, 10_000)
        await store.db.touch(lambda conn: raw.put(conn, "UPDATE workers SET alive_until = 1"))

        assert len((await wakes.renew(store.db, "one", START, 10_000)).ours) == 3
        await wakes.renew(store.db, "two", START, 10_000)

        assert await two.free_dead() == []
        assert await store.every(OWNERS) == [("one",)]
        await one.close()
        await two.close()


@pytest.mark.postgres
async def test_a_worker_that_leaves_frees_what_it_held(server_url: str) -> None:
    async with opened(server_url) as store:
        one = await joined(store, "one")
        await woken(store)
        await wakes.claim(store.db, "one", 9, START, 10_000)

        await one.close()

        assert await store.every(OWNERS) == [(None,)]
        assert await store.every("SELECT id FROM workers") == []


async def joined(store: Store, name: str) -> Presence:
    presence = Presence(store.db, name, 10_000)
    await presence.start()
    return presence


async def woken(store: Store) -> None:
    """Three sessions that are due."""
    await asyncio.gather(*[store.start(f"ses_{n}", wake_at=START) for n in range(3)])
