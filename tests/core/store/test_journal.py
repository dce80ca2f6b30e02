"""The journal: places, receipts, fences, large contents, checkpoints, and what can go wrong."""

import asyncio
from random import Random
from typing import Any

import pytest

from studio.core import faults
from studio.core.rules import contents
from studio.core.rules import events as e
from studio.core.rules.errors import NotFound, Refused
from studio.core.rules.session import Session, fold
from studio.core.store import codec, raw, wakes
from studio.core.store import facts as reading
from studio.core.store.journal import CHECKPOINT, LeaseLost, Receipt
from tests.core.store import stories
from tests.core.store.conftest import Store, opened, started
from tests.core.store.stories import START

FACTS = "SELECT seq, position FROM events ORDER BY position"
RECEIPT = Receipt(scope="alice send", key="k1", request="a" * 64)


def message(number: int, text: str = "Hello") -> Any:
    turn_id = f"trn_{number:04d}"
    return lambda _: [
        e.MessageAccepted(turn_id=turn_id, number=number, text=contents.of_text(text), by="alice")
    ]


def refuses(session: Session) -> list[e.Event]:
    raise Refused("No.", code="test.no")


async def test_concurrent_appends_get_gap_free_places(store: Store) -> None:
    await store.start()

    async def append() -> e.Fact:
        done = await store.journal.commit(
            "ses_1", lambda s: [e.TurnStarted(turn_id=f"trn_{s.seq}")], at=START
        )
        return done.facts[0]

    made = await asyncio.gather(*[append() for _ in range(50)])

    assert sorted(fact.seq for fact in made) == list(range(2, 52))
    assert sorted(fact.position for fact in made) == list(range(2, 52))
    assert await store.every(FACTS) == [(n, n) for n in range(1, 52)]
    assert all(fact.event == e.TurnStarted(turn_id=f"trn_{fact.seq - 1}") for fact in made)


async def test_a_rule_that_refuses_records_nothing_and_does_not_disturb_others(
    store: Store,
) -> None:
    await store.start()
    commits = [
        store.journal.commit("ses_1", refuses if n % 2 else message(n + 1), at=START)
        for n in range(20)
    ]

    results = await asyncio.gather(*commits, return_exceptions=True)

    assert sum(isinstance(result, Refused) for result in results) == 10
    assert await store.every(FACTS) == [(n, n) for n in range(1, 12)]


async def test_a_rule_that_says_nothing_records_nothing(store: Store) -> None:
    await store.start()

    done = await store.journal.commit("ses_1", lambda _: [], at=START)

    assert (done.facts, done.session.seq, done.replayed) == ([], 1, False)


async def test_a_session_nobody_started_is_not_found(store: Store) -> None:
    with pytest.raises(NotFound) as caught:
        await store.journal.commit("ses_none", message(1), at=START)

    assert caught.value.code == "session.not_found"
    assert await store.journal.session("ses_none") is None


async def test_time_of_a_session_never_goes_back(store: Store) -> None:
    await store.start()

    done = await store.journal.commit("ses_1", message(1), at=START - 5_000)

    assert done.facts[0].time == START


async def test_facts_illegal_to_fold_are_refused_whole(store: Store) -> None:
    await store.start()
    decided = e.DecisionRecorded(
        turn_id="trn_0001", effect_id="eff_x", wait_id="wai_x", choice="approve", by="alice"
    )

    with pytest.raises(KeyError):
        await store.journal.commit("ses_1", lambda s: [*message(1)(s), decided], at=START)

    assert await store.every(FACTS) == [(1, 1)]


# Who wrote it -------------------------------------------------------------------------------------


async def test_actors_are_people_agents_tools_or_the_runtime(store: Store) -> None:
    await store.start(actor="operator:alice")
    for seed in range(2, 8):
        for append in stories.tell(Random(seed), 80, f"ses_{seed}"):
            await store.tell(append)
    actors = dict(await store.every("SELECT type, min(actor) FROM events GROUP BY type"))

    assert actors["session.started"] == "runtime"
    assert actors["message.accepted"] in stories.PEOPLE
    assert actors["model.replied"] == "agent:helper"
    tools = ("tool:mail", "tool:mail.send", "tool:odd\ufffdname", "tool:shell")
    assert actors["call.succeeded"] in tools
    assert actors["model.requested"] == "runtime"


# Receipts -----------------------------------------------------------------------------------------


async def test_a_repeated_command_answers_as_the_first_did(store: Store) -> None:
    await store.start()
    answer = lambda session, made: {"seq": made[0].seq}  # noqa: E731

    first = await store.journal.commit(
        "ses_1", message(1), at=START, receipt=RECEIPT, answer=answer
    )
    again = await store.journal.commit("ses_1", refuses, at=START, receipt=RECEIPT, answer=answer)

    assert (first.answer, first.replayed) == ({"seq": 2}, False)
    assert (again.answer, again.replayed, again.facts) == ({"seq": 2}, True, [])
    assert again.session == first.session
    assert len(await store.every(FACTS)) == 2


async def test_twenty_at_once_with_one_key_do_it_once(store: Store) -> None:
    commits = [
        store.journal.commit(
            f"ses_{n}", lambda _: [started()], at=START, receipt=RECEIPT, must_exist=False,
            answer=lambda session, made: session.id,
        )
        for n in range(20)
    ]  # fmt: skip

    done = await asyncio.gather(*commits)

    assert len({one.answer for one in done}) == 1
    assert [one.replayed for one in done].count(False) == 1
    assert len(await store.every(FACTS)) == 1


async def test_a_key_used_for_something_else_is_refused(store: Store) -> None:
    await store.start(receipt=RECEIPT)
    other = Receipt(scope="alice send", key="k1", request="b" * 64)

    with pytest.raises(Refused) as caught:
        await store.journal.commit("ses_1", message(1), at=START, receipt=other)

    assert caught.value.code == "idempotency.mismatch"


async def test_a_refused_command_leaves_its_key_unused(store: Store) -> None:
    await store.start()
    with pytest.raises(Refused):
        await store.journal.commit("ses_1", refuses, at=START, receipt=RECEIPT)

    done = await store.journal.commit("ses_1", message(1), at=START, receipt=RECEIPT)

    assert not done.replayed
    assert len(done.facts) == 1


# Fences -------------------------------------------------------------------------------------------


async def test_a_lease_that_was_taken_over_can_record_nothing(store: Store) -> None:
    await store.start(wake_at=START)
    (old,) = await wakes.claim(store.db, "frozen", 5, START, 0)
    await store.db.touch(lambda conn: raw.put(conn, "UPDATE wakes SET expires = 1"))
    (new,) = await wakes.claim(store.db, "fresh", 5, START + 1, 10_000)

    with pytest.raises(LeaseLost):
        await store.journal.commit("ses_1", message(1), at=START, fence=old)
    done = await store.journal.commit("ses_1", message(1), at=START, fence=new)

    assert new.fence == old.fence + 1
    assert done.facts[0].seq == 2
    assert await wakes.release(store.db, old, None) is None
    assert await store.one("SELECT owner FROM wakes") == ("fresh",)


async def test_release_in_the_last_commit_lets_go_with_it(store: Store) -> None:
    await store.start(wake_at=START)
    (lease,) = await wakes.claim(store.db, "one", 5, START, 10_000)
    said: list[bool] = []

    await store.journal.commit(
        "ses_1", message(1), at=START, fence=lease,
        also=lambda conn, session, made: said.append(wakes.release_in(conn, lease, START + 9)),
    )  # fmt: skip

    assert said == [True]
    assert await store.one("SELECT owner, due FROM wakes") == (None, START + 9)


# Large contents -----------------------------------------------------------------------------------


async def test_a_large_content_lies_in_the_blobs(store: Store) -> None:
    await store.start()

    done = await store.journal.commit("ses_1", message(1, stories.LARGE), at=START)

    (fact,) = done.facts
    assert isinstance(fact.event, e.MessageAccepted)
    assert fact.event.text.stored
    assert fact.event.text.value is None
    assert await store.journal.blob(fact.event.text.hash) == stories.LARGE.encode()
    assert (await store.one("SELECT length(payload) FROM events WHERE seq = 2"))[0] < 10_000
    assert done.session == await fresh_fold(store, "ses_1")


async def test_the_same_bytes_are_kept_once(store: Store) -> None:
    await store.start()
    for number in (1, 2):
        await store.journal.commit("ses_1", message(number, stories.LARGE), at=START)

    assert await store.one("SELECT count(*) FROM blobs") == (1,)


# Folding ------------------------------------------------------------------------------------------


async def fresh_fold(store: Store, session_id: str) -> Session:
    """From the first fact on, through the database."""
    facts = await store.db.read(lambda conn: reading.facts(conn, session_id, limit=10_000))
    return fold(Session(id=session_id), facts)


async def test_a_checkpoint_and_the_facts_after_it_are_the_whole_fold(ready_url: str) -> None:
    async with opened(ready_url) as store:
        await store.start()
        for n in range(1, CHECKPOINT + 40):
            await store.journal.commit("ses_1", message(n), at=START + n)
        seq, fold = await store.one("SELECT seq, fold FROM checkpoints")
        whole = await fresh_fold(store, "ses_1")
    async with opened(ready_url) as again:
        cold = await again.journal.session("ses_1")
        await again.db.record(lambda conn: raw.put(conn, "UPDATE checkpoints SET fold = 'old'"))
    async with opened(ready_url) as third:
        anew = await third.journal.session("ses_1")

    assert (seq, fold) == (CHECKPOINT, codec.FOLD)
    assert cold == whole
    assert anew == whole


async def test_a_session_read_while_it_grows_is_never_behind_its_commit(store: Store) -> None:
    await store.start()

    for n in range(1, 20):
        done = await store.journal.commit("ses_1", message(n), at=START)
        found = await store.journal.session("ses_1")
        assert found == done.session


@pytest.mark.postgres
async def test_two_processes_on_one_session_see_each_other(server_url: str) -> None:
    async with opened(server_url) as one, opened(server_url) as two:
        await one.start()
        for n in range(1, 11):
            await (one if n % 2 else two).journal.commit("ses_1", message(n), at=START)

        assert await one.journal.session("ses_1") == await two.journal.session("ses_1")
        assert await one.every(FACTS) == [(n, n) for n in range(1, 12)]


# Reading windows ----------------------------------------------------------------------------------


async def test_windows_of_facts_go_both_ways(store: Store) -> None:
    await store.start()
    for n in range(1, 10):
        await store.journal.commit("ses_1", message(n), at=START)

    def windows(conn: Any) -> list[list[int]]:
        journal = store.journal
        return [
            [f.seq for f in journal.facts(conn, "ses_1", after=4, limit=3)],
            [f.seq for f in journal.before(conn, "ses_1", 5, 3)],
            [f.position for f in journal.after_position(conn, 8)],
        ]

    assert await store.db.read(windows) == [[5, 6, 7], [2, 3, 4], [9, 10]]


# Other journals -----------------------------------------------------------------------------------


async def test_agents_policy_and_people_have_journals_of_the_same_shape(store: Store) -> None:
    made = e.KeyMade(key_id="key_1", name="ci", role="operator", hash="h" * 64, by="alice")
    for _ in range(2):
        await store.journal.commit_other(
            "policy", lambda conn: [e.PolicySaved(version=_next(conn), rules=[], by="alice")],
            at=START, actor="operator:alice",
        )  # fmt: skip
    facts = await store.journal.commit_other(
        "people", lambda _: [made], at=START, actor="operator:alice"
    )

    assert [(f.session_id, f.seq, f.position, f.actor) for f in facts] == [
        ("people", 1, 3, "operator:alice")
    ]
    assert await store.every("SELECT version FROM policies ORDER BY version") == [(1,), (2,)]
    assert await store.every("SELECT id, revoked FROM keys") == [("key_1", None)]


def _next(conn: Any) -> int:
    return int(raw.one(conn, "SELECT count(*) FROM policies")[0]) + 1


# Crash points -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "point", ["journal.before_append", "journal.after_append", "journal.before_commit"]
)
async def test_what_fails_before_the_commit_leaves_nothing(store: Store, point: str) -> None:
    await store.start(wake_at=START)
    before = await store.derived()
    faults.arm(point, "raise")

    with pytest.raises(faults.Injected):
        await store.journal.commit("ses_1", message(1), at=START, wake_at=START, receipt=RECEIPT)

    assert await store.derived() == before
    assert await store.one("SELECT generation FROM wakes") == (1,)
    assert await store.one("SELECT count(*) FROM receipts") == (0,)
    done = await store.journal.commit("ses_1", message(1), at=START, receipt=RECEIPT)
    assert (done.facts[0].seq, done.facts[0].position) == (2, 2)


@pytest.mark.parametrize("point", ["journal.after_commit", "journal.before_publish"])
async def test_what_fails_after_the_commit_is_recorded_once(store: Store, point: str) -> None:
    await store.start()
    faults.arm(point, "raise")

    with pytest.raises(faults.Injected):
        await store.journal.commit("ses_1", message(1), at=START, receipt=RECEIPT)
    again = await store.journal.commit("ses_1", message(1), at=START, receipt=RECEIPT)

    assert again.replayed
    assert again.session.seq == 2
    assert len(await store.every(FACTS)) == 2


async def test_a_commit_is_published_even_when_its_caller_is_gone(store: Store) -> None:
    await store.start()
    async with store.feed.subscribe() as growth:
        task = asyncio.ensure_future(store.journal.commit("ses_1", message(1), at=START))
        await asyncio.sleep(0)
        task.cancel()
        await store.start("ses_2")
        grown = await growth.get()
        seen = grown | (await growth.get() if "ses_2" not in grown else set())

    recorded = len(await store.every("SELECT seq FROM events WHERE session_id = 'ses_1'"))
    assert ("ses_1" in seen) == (recorded == 2)
