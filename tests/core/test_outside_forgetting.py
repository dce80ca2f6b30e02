"""What an admin forgets of outside traces goes for good, a batch at a time, and is recorded."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from studio import app
from studio.core import faults
from studio.core.reader import AskedOutside
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.errors import Denied, Gone, Invalid, NotFound
from studio.core.rules.outside.claims import Claim
from studio.core.store import outside_sweeping, raw
from studio.core.verbs import outside as verbs
from tests.core.conftest import ALICE, BOB, CHARLIE, Core
from tests.core.rules.outside.spans import claim
from tests.core.store.test_outside_counts import connected

SENDER = Person(id="key:bot", role="sender", via="key")
OTHER = Person(id="key:cat", role="sender", via="key")
BOT, CAT = "application:bot", "application:cat"
HOUR = 3_600_000


def trace(number: int) -> str:
    return f"{number:032x}"


async def send(core: Core, *traces: str, spans: int = 3, first: int = 1, by: Any = SENDER) -> None:
    """Spans of each of these traces."""

    def sent(number: int, of: str) -> Claim:
        start = core.clock.now() * 1_000_000
        return claim(number, number - 1, trace_id=of, start=start, end=start + number)

    for of in traces:
        await core.runtime.take_spans(by, (sent(n, of) for n in range(first, first + spans)))


async def here(core: Core) -> dict[str, int]:
    """How many spans each trace shows."""
    found = await core.parts.reader.outside_traces(CHARLIE, AskedOutside(), limit=200)
    return {one.id: one.spans for one in found.items}


async def told(core: Core) -> list[Any]:
    """The facts of what was forgotten."""
    return [fact.event for fact in await core.facts("outside")]


async def rows(core: Core) -> Counter[str]:
    """How many spans of each trace lie in the store, seen or not."""
    found = await core.parts.db.read(
        lambda conn: raw.every(conn, "SELECT trace_id, count(*) FROM outside_spans GROUP BY 1")
    )
    return Counter(dict(map(tuple, found)))  # type: ignore[arg-type]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of few."""
    monkeypatch.setattr(verbs, "TRACES", 2)
    monkeypatch.setattr(outside_sweeping, "PIECE", 4)
    monkeypatch.setattr(outside_sweeping, "SWEPT", 4)


@pytest.mark.usefixtures("few")
async def test_all_of_a_sender_goes_and_nothing_of_others(core: Core) -> None:
    bots, cats = [trace(n) for n in range(1, 6)], [trace(n) for n in (8, 9)]
    await send(core, *bots)
    await send(core, *cats, by=OTHER)
    await send(core, bots[0], cats[0], first=7, spans=1, by=OTHER)
    await send(core, cats[0], first=8, spans=1)

    done = await core.runtime.forget_outside_sender(ALICE, BOT)
    again = await core.runtime.forget_outside_sender(ALICE, BOT)
    kept = await core.parts.reader.outside_sender(ALICE, BOT, core.clock.now())

    assert (done.traces, done.spans, again.traces) == (5, 16, 0)
    assert await here(core) == {cats[0]: 5, cats[1]: 3}
    assert set(await rows(core)) == set(cats)
    facts = await told(core)
    assert [len(one.trace_ids) for one in facts] == [2, 2, 1]
    assert sorted(id for one in facts for id in one.trace_ids) == bots
    assert {(one.sent_by, one.by) for one in facts} == {(BOT, ALICE.id)}
    assert sum(one.bytes for one in facts) == done.bytes
    assert 0 < (kept.bytes or 0) < done.bytes  # what it sent of another's trace


async def test_those_that_had_a_span_since_a_moment_stay(core: Core) -> None:
    await send(core, trace(1), trace(2))
    core.clock.pass_time(HOUR)
    await send(core, trace(2), first=4)
    await send(core, trace(3))

    asked = await core.parts.reader.outside_sender(ALICE, BOT, core.clock.now() - HOUR // 2)
    done = await core.runtime.forget_outside_sender(ALICE, BOT, before=core.clock.now() - HOUR // 2)

    assert asked.sum == done
    assert await here(core) == {trace(2): 6, trace(3): 3}


@pytest.mark.usefixtures("few")
async def test_what_was_cut_off_goes_on_and_says_no_trace_twice(core: Core) -> None:
    traces = [trace(n) for n in range(1, 6)]
    await send(core, *traces)
    faults.arm("outside.forgotten", "raise", hit=2)

    with pytest.raises(faults.Injected):
        await core.runtime.forget_outside_sender(ALICE, BOT)
    faults.disarm()
    named = [id for one in await told(core) for id in one.trace_ids]
    left = await here(core)
    await core.runtime.forget_outside_sender(ALICE, BOT)

    assert len(named) == 4
    assert set(left) == set(traces) - set(named)
    assert sorted(id for one in await told(core) for id in one.trace_ids) == traces
    assert await rows(core) == {}


@pytest.mark.usefixtures("few")
async def test_nothing_of_what_was_forgotten_comes_back_with_a_new_span(core: Core) -> None:
    await send(core, trace(1), spans=9)
    faults.arm("outside.forgotten", "raise")
    with pytest.raises(faults.Injected):
        await core.runtime.forget_outside_trace(ALICE, trace(1))
    faults.disarm()
    lies = await rows(core)

    await send(core, trace(1), trace(2), first=20, spans=1)

    assert lies == {trace(1): 9}
    assert await here(core) == await rows(core) == {trace(1): 1, trace(2): 1}


@pytest.mark.usefixtures("few")
async def test_what_is_much_is_left_to_the_sweep_which_is_rung_for(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verbs, "PIECES", 2)
    await send(core, trace(1), trace(2), trace(3), spans=8)

    await core.runtime.forget_outside_sender(ALICE, BOT)
    seen, lies = await here(core), await rows(core)
    assert core.runtime.is_to_clear.is_set()
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        sweeping = group.create_task(app._sweep(core.parts))  # its next round is in an hour
        while await rows(core):
            pass
        await send(core, trace(4), spans=24)
        await core.runtime.forget_outside_sender(ALICE, BOT)
        while await rows(core):
            pass
        sweeping.cancel()

    assert seen == {}
    assert sum(lies.values()) == 24 - 8


@pytest.mark.postgres
@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
async def test_who_keeps_a_span_delays_whoever_forgets_its_trace_and_nobody_else(
    core: Core, store_url: str
) -> None:
    await send(core, trace(1), trace(2), trace(3))
    in_hand = "UPDATE outside_traces SET taken = taken WHERE id IN (?, ?)"

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        with connected(store_url) as conn:
            raw.put(conn, in_hand, (trace(1), trace(3)))
            one = group.create_task(core.runtime.forget_outside_trace(ALICE, trace(3)))
            all_ = group.create_task(core.runtime.forget_outside_sender(ALICE, BOT))
            while trace(2) in await here(core):
                pass
            await core.runtime.make_key(ALICE, "another", "viewer")  # a fact of somebody else's
            assert set(await here(core)) == {trace(1), trace(3)}
            assert not one.done()
            assert not all_.done()

    assert await here(core) == await rows(core) == {}
    named = [id for fact in await told(core) for id in getattr(fact, "trace_ids", None)
             or [fact.trace_id]]  # fmt: skip
    assert sorted(named) == [trace(1), trace(2), trace(3)]


async def test_a_trace_that_is_not_here_says_why(core: Core) -> None:
    await send(core, trace(1), trace(2))
    await core.runtime.forget_outside_trace(ALICE, trace(1))
    await core.runtime.forget_outside_sender(ALICE, BOT)

    times = [fact.time for fact in await core.facts("outside")]
    for gone, at in zip((trace(1), trace(2)), times, strict=True):
        with pytest.raises(Gone, match="This trace was forgotten by alice at 20") as why:
            await core.parts.reader.outside_head(CHARLIE, gone)
        assert why.value.details == {"by": "alice", "at": at}
        with pytest.raises(Gone):
            await core.runtime.forget_outside_trace(ALICE, gone)
    for nothing in (trace(3), "%", "_" * 32, "x"):
        with pytest.raises(NotFound, match="no such trace"):
            await core.runtime.forget_outside_trace(ALICE, nothing)


async def test_only_an_admin_forgets_a_sender_and_only_one_that_is_named(core: Core) -> None:
    await send(core, trace(1))

    with pytest.raises(Denied):
        await core.runtime.forget_outside_sender(BOB, BOT)
    for nobody in ("", "a\0b", "\ud800"):
        with pytest.raises(Invalid):
            await core.runtime.forget_outside_sender(ALICE, nobody)
    none = await core.runtime.forget_outside_sender(ALICE, CAT)

    assert none.traces == 0
    assert await here(core) == {trace(1): 3}
    assert not [one for one in await told(core) if isinstance(one, e.OutsideSenderForgotten)]
