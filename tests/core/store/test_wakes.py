"""Wakes are never lost, leases never overlap, and time goes by one clock."""

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from studio.core.store import raw, wakes
from studio.core.store.wakes import Lease
from tests.core.store.conftest import Store, opened

NOW = 1_700_000_000_000
TTL = 10_000
ROW = "SELECT due, generation, owner, fence FROM wakes WHERE session_id = 'ses_1'"


async def wake(store: Store, *session_ids: str, due: int = NOW) -> None:
    def act(conn: Any) -> None:
        for session_id in session_ids:
            wakes.set(conn, session_id, due)

    await store.db.record(act)


async def claim(store: Store, owner: str = "one", now: int = NOW, **options: Any) -> list[Lease]:
    return await wakes.claim(store.db, owner, 10, now, TTL, **options)


async def test_the_earliest_wake_counts(store: Store) -> None:
    await wake(store, "ses_1", due=NOW + 500)
    await wake(store, "ses_1", due=NOW + 100)
    await wake(store, "ses_1", due=NOW + 900)

    assert await store.one(ROW) == (NOW + 100, 3, None, 0)


async def test_nothing_is_claimed_before_it_is_due(store: Store) -> None:
    await wake(store, "ses_1", due=NOW + 100)

    assert await claim(store) == []
    assert await claim(store, now=NOW + 100) == [
        Lease(session_id="ses_1", owner="one", fence=1, generation=1)
    ]


async def test_what_is_held_is_not_claimed_again(store: Store) -> None:
    await wake(store, "ses_1")
    await claim(store, "one")
    await wake(store, "ses_1")

    assert await claim(store, "two") == []


async def test_a_wake_during_the_lease_keeps_it_for_another_round(store: Store) -> None:
    await wake(store, "ses_1")
    (lease,) = await claim(store)
    await wake(store, "ses_1")

    again = await wakes.release(store.db, lease, NOW + 60_000)

    assert again == replace(lease, generation=2)
    assert await wakes.release(store.db, again, NOW + 60_000) is None
    assert await store.one(ROW) == (NOW + 60_000, 2, None, 1)


async def test_released_for_good_it_sleeps_until_somebody_wakes_it(store: Store) -> None:
    await wake(store, "ses_1")
    (lease,) = await claim(store)
    await wakes.release(store.db, lease, None)

    assert await claim(store, now=NOW * 2) == []
    await wake(store, "ses_1")
    assert (await claim(store))[0].fence == 2


async def test_a_lapsed_lease_is_taken_over_and_its_holder_is_out(store: Store) -> None:
    await wake(store, "ses_1")
    (old,) = await claim(store, "frozen")
    await lapse(store)

    (new,) = await claim(store, "fresh", NOW + TTL + 1)

    assert (new.owner, new.fence) == ("fresh", 2)
    assert await wakes.release(store.db, old, None) is None
    assert (await wakes.renew(store.db, "frozen", NOW, TTL)).ours == frozenset()
    assert (await wakes.renew(store.db, "fresh", NOW, TTL)).extended == {"ses_1"}


async def test_a_holder_does_not_take_over_from_itself(store: Store) -> None:
    await wake(store, "ses_1")
    await claim(store, "one")
    await lapse(store)

    assert await claim(store, "one", NOW + TTL + 1) == []


async def test_renewed_leases_do_not_lapse(store: Store) -> None:
    await wake(store, "ses_1", "ses_2")
    await claim(store, "one")
    await lapse(store)

    assert (await wakes.renew(store.db, "one", NOW + TTL, TTL)).ours == {"ses_1", "ses_2"}
    assert await claim(store, "two", NOW + TTL + 5) == []


async def test_only_the_named_are_claimed(store: Store) -> None:
    await wake(store, "ses_1", "ses_2", "ses_3")

    taken = await claim(store, only=["ses_1", "ses_3", "ses_none"])

    assert {lease.session_id for lease in taken} == {"ses_1", "ses_3"}


async def test_no_more_are_claimed_than_asked_for(store: Store) -> None:
    await wake(store, *[f"ses_{n}" for n in range(9)])

    assert len(await wakes.claim(store.db, "one", 4, NOW, TTL)) == 4
    assert len(await wakes.claim(store.db, "two", 4, NOW, TTL)) == 4
    assert len(await wakes.claim(store.db, "one", 4, NOW, TTL)) == 1


async def test_soon_names_timers_that_nobody_holds(store: Store) -> None:
    await wake(store, "ses_1", due=NOW + 300)
    await wake(store, "ses_2", due=NOW + 200)
    await wake(store, "ses_far", due=NOW + 9_000)
    await wake(store, "ses_due", due=NOW)

    assert await wakes.soon(store.db, NOW, 1_000) == [("ses_2", NOW + 200), ("ses_1", NOW + 300)]


async def test_many_claimers_never_share_a_session(store: Store) -> None:
    await wake(store, *[f"ses_{n}" for n in range(40)])

    claims = [wakes.claim(store.db, f"w{n}", 7, NOW, TTL) for n in range(12)]
    taken = [lease.session_id for leases in await asyncio.gather(*claims) for lease in leases]

    assert max(Counter(taken).values()) == 1
    assert len(taken) + len(await wakes.claim(store.db, "last", 99, NOW, TTL)) == 40


async def test_wakes_under_way_are_never_lost_and_rounds_never_overlap(store: Store) -> None:
    """Two workers serve five sessions while others wake them: every wake has a later round."""
    woken: Counter[str] = Counter()
    served: dict[str, int] = {}
    inside: set[str] = set()

    async def waker(number: int) -> None:
        for turn in range(20):
            session_id = f"ses_{(number + turn) % 5}"
            await wake(store, session_id)
            woken[session_id] += 1

    async def worker(name: str) -> None:
        while True:
            leases = await wakes.claim(store.db, name, 3, NOW, TTL)
            await asyncio.gather(*[round_of(lease) for lease in leases])
            if not leases and done.is_set():
                return

    async def round_of(lease: Lease | None) -> None:
        while lease is not None:
            assert lease.session_id not in inside
            inside.add(lease.session_id)
            await asyncio.sleep(0)
            served[lease.session_id] = lease.generation
            inside.discard(lease.session_id)
            lease = await wakes.release(store.db, lease, None)

    done = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for name in ("one", "two"):
            group.create_task(worker(name))
        await asyncio.gather(*[waker(number) for number in range(4)])
        done.set()

    assert served == dict(woken)
    assert await store.one("SELECT count(*) FROM wakes WHERE due IS NOT NULL") == (0,)


async def test_leases_of_a_process_that_ended_are_free_at_the_next_start(sqlite_url: str) -> None:
    async with opened(sqlite_url) as store:
        await wake(store, "ses_1")
        await claim(store, "one")

    async with opened(sqlite_url) as again:
        (lease,) = await claim(again, "two")

    assert lease.fence == 2


async def lapse(store: Store) -> None:
    """On PostgreSQL the server's clock counts, so the lease is aged instead."""
    await store.db.touch(lambda conn: raw.put(conn, "UPDATE wakes SET expires = 1"))


# Leases beside a trivial model --------------------------------------------------------------------


class Leases(RuleBasedStateMachine):
    """Three sessions, three workers, a clock that is told; the model is four small dictionaries."""

    store: Store
    runner: asyncio.Runner
    number = 0

    def __init__(self) -> None:
        super().__init__()
        Leases.number += 1
        self.now = NOW
        self.due: dict[str, int | None] = {}
        self.generation: Counter[str] = Counter()
        self.fence: Counter[str] = Counter()
        self.holder: dict[str, Lease] = {}
        self.known: list[Lease] = []
        self.run(self.store.db.touch(lambda conn: raw.put(conn, "DELETE FROM wakes")))

    def run(self, coroutine: Any) -> Any:
        return self.runner.run(coroutine)

    @rule(session_id=st.sampled_from("abc"), later=st.sampled_from([0, 0, 50, 400]))
    def wake(self, session_id: str, later: int) -> None:
        at = self.now + later
        self.run(wake(self.store, session_id, due=at))
        old = self.due.get(session_id)
        self.due[session_id] = at if old is None else min(old, at)
        self.generation[session_id] += 1

    @rule(owner=st.sampled_from(["one", "two", "six"]), limit=st.integers(1, 4))
    def claim(self, owner: str, limit: int) -> None:
        free = {s for s, d in self.due.items()
                if d is not None and d <= self.now and s not in self.holder}  # fmt: skip
        leases = self.run(wakes.claim(self.store.db, owner, limit, self.now, TTL))
        assert {lease.session_id for lease in leases} <= free
        assert len(leases) == min(limit, len(free))
        for lease in leases:
            self.fence[lease.session_id] += 1
            assert lease.fence == self.fence[lease.session_id]
            assert lease.generation == self.generation[lease.session_id]
            self.holder[lease.session_id] = lease
            self.known.append(lease)

    @rule(data=st.data(), later=st.sampled_from([None, 10, 300]))
    def release(self, data: Any, later: int | None) -> None:
        if not self.known:
            return
        lease = data.draw(st.sampled_from(self.known))
        due = None if later is None else self.now + later
        answer = self.run(wakes.release(self.store.db, lease, due))
        held = self.holder.get(lease.session_id)
        if held is None or held.fence != lease.fence:
            assert answer is None
        elif self.generation[lease.session_id] != lease.generation:
            assert answer == replace(lease, generation=self.generation[lease.session_id])
            self.known.append(answer)
        else:
            assert answer is None
            del self.holder[lease.session_id]
            self.due[lease.session_id] = due

    @rule(owner=st.sampled_from(["one", "two", "six"]))
    def renew(self, owner: str) -> None:
        mine = {s for s, lease in self.holder.items() if lease.owner == owner}
        renewed = self.run(wakes.renew(self.store.db, owner, self.now, TTL))
        assert renewed.ours == renewed.extended == mine

    @rule(passed=st.sampled_from([1, 60, 500]))
    def time_passes(self, passed: int) -> None:
        self.now += passed


def test_leases_agree_with_a_trivial_model(ready_url: str) -> None:
    with asyncio.Runner() as runner:
        context = opened(ready_url)
        machine = type("Machine", (Leases,), {
            "store": runner.run(context.__aenter__()), "runner": runner,
        })  # fmt: skip
        try:
            run_state_machine_as_test(
                machine,
                settings=settings(
                    max_examples=30 if ready_url.startswith("sqlite") else 8,
                    stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck),
                    phases=(Phase.explicit, Phase.reuse, Phase.generate),
                ),
            )  # fmt: skip
        finally:
            runner.run(context.__aexit__(None, None, None))


@pytest.mark.postgres
async def test_claims_of_several_connections_skip_what_others_hold(server_url: str) -> None:
    async with opened(server_url) as one, opened(server_url) as two:
        await wake(one, *[f"ses_{n}" for n in range(30)])

        claims = [wakes.claim((one if n % 2 else two).db, f"w{n}", 5, NOW, TTL) for n in range(10)]
        taken = [lease.session_id for leases in await asyncio.gather(*claims) for lease in leases]

        assert max(Counter(taken).values()) == 1
