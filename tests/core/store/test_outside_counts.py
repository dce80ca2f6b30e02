"""Counts of traces and senders from outside are of what is here, whatever is kept and swept."""

import random
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from studio.core.rules.outside.claims import MIB, Limits, Refusal
from studio.core.store import outside, outside_sweeping, places, raw
from studio.core.store.outside import Kept, Ready
from studio.core.store.outside_sweeping import DAY
from tests.core.rules.outside.spans import TRACE, span_id
from tests.core.store.conftest import Store, opened
from tests.core.store.test_outside import AGENT, AT, CHAT, keep, ready, row

OF_TRACES = """
SELECT t.id, t.spans - count(s.span_id), t.bytes - coalesce(sum(s.bytes), 0),
  t.models - coalesce(sum(CASE WHEN s.kind = 'model' THEN 1 ELSE 0 END), 0),
  t.tools - coalesce(sum(CASE WHEN s.kind = 'tool' THEN 1 ELSE 0 END), 0),
  t.errors - coalesce(sum(CASE WHEN s.state = 'failed' THEN 1 ELSE 0 END), 0),
  t.input_tokens - coalesce(sum(s.input_tokens), 0),
  t.output_tokens - coalesce(sum(s.output_tokens), 0), t.cost - coalesce(sum(s.cost), 0),
  t.unpriced - coalesce(sum(CASE WHEN s.kind = 'model' AND s.cost IS NULL THEN 1 ELSE 0 END), 0),
  t.began - min(s.began), t.ended - max(coalesce(s.ended, s.began)),
  t.rooted - max(CASE WHEN s.parent_id = '' THEN 1 ELSE 0 END)
FROM outside_traces t LEFT JOIN outside_spans s ON s.trace_id = t.id
GROUP BY t.id, t.spans, t.bytes, t.models, t.tools, t.errors, t.input_tokens, t.output_tokens,
  t.cost, t.unpriced, t.began, t.ended, t.rooted
"""
OF_SENDERS = """
SELECT o.sent_by, o.spans - count(s.span_id), o.bytes - coalesce(sum(s.bytes), 0)
FROM outside_senders o LEFT JOIN outside_spans s ON s.sent_by = o.sent_by
GROUP BY o.sent_by, o.spans, o.bytes
"""
PRICED = {**CHAT, "llm.cost.total": 0.25}
KINDS: tuple[dict[str, Any], ...] = (CHAT, PRICED, AGENT, {"gen_ai.tool.name": "t"}, {})


async def counts_are_true(store: Store) -> None:
    wrong = [
        found
        for statement in (OF_TRACES, OF_SENDERS)
        for found in await store.every(statement)
        if any(found[1:])
    ]
    assert wrong == []


async def swept(store: Store, now: int = AT, **limits: int) -> int:
    return await store.db.touch(
        lambda conn: outside_sweeping.sweep(conn, now, Limits(**limits))
    )  # fmt: skip


async def test_a_half_swept_trace_that_gets_a_span_counts_what_is_left(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside_sweeping, "SWEPT", 10)
    spans = [ready(1, attributes=AGENT), *(ready(n, 1, attributes=CHAT) for n in range(2, 36))]
    await keep(store, *spans, at=AT - 31 * DAY)
    for _ in range(2):  # mark it; then take ten, the root among them
        await swept(store)
    await counts_are_true(store)

    await keep(store, ready(50, 1, attributes=CHAT), by="bob")

    said = ("spans", "models", "input_tokens", "state", "rooted", "changed")
    assert await row(store, *said) == (26, 26, 26 * 7, "incomplete", 0, AT)
    await counts_are_true(store)
    assert await swept(store) == 0


async def test_a_root_that_comes_again_is_the_root_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside_sweeping, "SWEPT", 1)
    await keep(store, ready(1), ready(2, 1), at=AT - 31 * DAY)
    for _ in range(2):
        await swept(store)

    await keep(store, ready(1))

    assert await row(store, "spans", "state", "rooted") == (2, "completed", 1)
    await counts_are_true(store)


@pytest.mark.parametrize("seed", range(3))
async def test_counts_are_true_in_any_story(
    store: Store, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance, at = random.Random(seed), AT
    monkeypatch.setattr(outside_sweeping, "SWEPT", 7)

    for _ in range(60):
        at += chance.choice((1, DAY, 20 * DAY))
        if chance.random() < 0.5:
            await swept(store, at, traces=2)
        else:
            spans = [
                ready(
                    chance.randrange(1, 40), chance.randrange(2),
                    trace_id=f"{chance.randrange(1, 5):032x}", attributes=chance.choice(KINDS),
                    is_error=chance.random() < 0.2,
                )
                for _ in range(12)
            ]  # fmt: skip
            await keep(store, *spans, at=at, by=chance.choice("abc"), trace_spans=30)
        await counts_are_true(store)


async def test_a_trace_has_no_more_bytes_than_its_bound_and_the_rest_is_named(store: Store) -> None:
    long = {"input.value": "x" * 60_000}  # a few bytes once they are packed
    spans = [ready(n, 1, attributes=long) for n in range(1, 60)]

    kept = await keep(store, *spans, trace_bytes=MIB)
    more = await keep(store, ready(99, 1, attributes=long), ready(98, 1), trace_bytes=MIB)

    assert kept.new == 17
    assert kept.refused[0] == Refusal("trace_large", f"“span 18” {span_id(18)}")
    assert (more.new, len(more.refused)) == (1, 1)
    (size,) = await row(store, "bytes")
    assert 17 * 60_000 < size <= MIB
    await counts_are_true(store)


async def test_a_sender_has_no_more_bytes_than_its_bound_and_others_go_on(store: Store) -> None:
    long = {"input.value": "x" * 60_000}

    async def send(number: int, by: str) -> Kept:
        spans = [ready(n, trace_id=f"{number:032x}", attributes=long) for n in range(1, 11)]
        return await keep(store, *spans, by=by, sender_bytes=MIB)

    first, second, other = await send(1, "ann"), await send(2, "ann"), await send(3, "bob")

    assert (first.new, second.new, other.new) == (10, 7, 10)
    assert {one.code for one in second.refused} == {"sender_full"}
    await counts_are_true(store)
    while await swept(store, AT + 31 * DAY):
        pass
    assert (await send(4, "ann")).new == 10
    await counts_are_true(store)


# Two connections --------------------------------------------------------------------------------


@pytest.fixture
async def server(server_url: str) -> AsyncIterator[Store]:
    """An open store with many writers."""
    async with opened(server_url) as store:
        yield store


@contextmanager
def connected(url: str) -> Iterator[sa.Connection]:
    """A transaction of its own, as those that are in no line have; whoever waits for long fails."""
    engine = places.engine(*places.parse(url))
    with engine.connect() as conn:
        raw.put(conn, "BEGIN")
        raw.put(conn, "SET LOCAL lock_timeout = '8s'")
        yield conn
        raw.put(conn, "COMMIT")
    engine.dispose()


def kept_by(conn: sa.Connection, *spans: Ready, at: int = AT) -> Kept:
    return outside.keep(conn, spans, at=at, sent_by="ann", limits=Limits())


def swept_by(url: str, done: list[int]) -> threading.Thread:
    """A sweep on a connection of its own, begun."""

    def sweep() -> None:
        with connected(url) as conn:
            done.append(outside_sweeping.sweep(conn, AT, Limits()))

    thread = threading.Thread(target=sweep)
    thread.start()
    return thread


async def refuse_old(store: Store) -> None:
    old = AT - 40 * DAY
    await store.db.touch(
        lambda conn: outside.refuse(conn, [Refusal("late", "x")], at=old, sent_by="ann")
    )


@pytest.mark.postgres
async def test_a_sweep_does_not_wait_for_whoever_keeps_nor_they_for_it_in_a_ring(
    server: Store,
) -> None:
    await keep(server, ready(1), at=AT - 31 * DAY)
    await refuse_old(server)
    done = list[int]()

    with connected(server.url) as conn:
        kept_by(conn, ready(2, 1))  # the trace is ours now
        thread = swept_by(server.url, done)
        thread.join(2)  # it waits for us, at most at what we have already
        outside.refuse(conn, [Refusal("late", "y")], at=AT, sent_by="ann")
    thread.join()

    assert len(done) == 1
    assert await row(server, "spans", "changed") == (2, AT)
    await counts_are_true(server)


@pytest.mark.postgres
async def test_a_trace_that_was_just_swept_is_begun_anew(server: Store) -> None:
    await keep(server, ready(1), at=AT - 31 * DAY)
    await swept(server)
    found = list[Kept]()

    def keep_more() -> None:
        with connected(server.url) as conn:
            found.append(kept_by(conn, ready(2, 1), ready(1, trace_id="cd" * 16)))

    with connected(server.url) as conn:
        outside_sweeping.sweep(conn, AT, Limits())
        thread = threading.Thread(target=keep_more)
        thread.start()
        thread.join(1)  # it waits for the trace
        assert found == []
    thread.join()

    assert found[0].new == 2
    assert await row(server, "spans", "changed", trace=TRACE) == (1, AT)
    await counts_are_true(server)
