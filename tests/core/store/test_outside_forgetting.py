"""A trace from outside that somebody forgets goes whole, and makes room for its senders."""

import pytest

from studio.core.store import outside, outside_forgetting, outside_sweeping
from tests.core.rules.outside.spans import TRACE
from tests.core.store.conftest import Store
from tests.core.store.test_outside import AT, keep, ready, row
from tests.core.store.test_outside_counts import counts_are_true

OTHER = "cd" * 16


async def take_away(store: Store, most: int = 99) -> int:
    steps = 0
    while steps < most and await store.db.touch(
        lambda conn: outside_sweeping.take_away(conn, TRACE)
    ):
        steps += 1
    return steps


async def test_it_goes_in_pieces_and_nothing_else_goes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside_sweeping, "SWEPT", 4)
    await keep(store, *(ready(n) for n in range(1, 10)), by="ann")
    await keep(store, ready(10), by="bo")
    await keep(store, ready(1, trace_id=OTHER), by="ann")

    found = await store.db.touch(lambda conn: outside_forgetting.mark(conn, TRACE))
    again = await store.db.touch(lambda conn: outside_forgetting.mark(conn, TRACE))
    steps = await take_away(store)

    assert found == ("ann", 10)
    assert again is None
    assert steps == 3
    assert await store.every("SELECT trace_id FROM outside_spans") == [(OTHER,)]
    await counts_are_true(store)


async def test_nothing_of_it_comes_back_with_a_span_that_comes_while_it_goes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside_sweeping, "SWEPT", 4)
    await keep(store, *(ready(n) for n in range(1, 10)))
    await store.db.touch(lambda conn: outside_forgetting.mark(conn, TRACE))
    await take_away(store, most=1)

    with pytest.raises(outside.StillGoing):
        await keep(store, ready(20), ready(1, trace_id=OTHER), at=AT + 1)
    assert await store.every("SELECT id FROM outside_traces") == [(TRACE,)]
    await take_away(store)
    await keep(store, ready(20), at=AT + 1)

    assert await row(store, "spans", "changed") == (1, AT + 1)
    await counts_are_true(store)


async def test_what_is_not_marked_stays(store: Store) -> None:
    await keep(store, ready())

    assert await take_away(store) == 0
    assert await row(store, "spans") == (1,)


async def test_a_sender_has_room_and_an_oldest_trace(store: Store) -> None:
    await keep(store, ready(1), at=AT + 5, by="ann")
    await keep(store, ready(1, trace_id=OTHER), at=AT, by="ann")

    ann, nobody = [
        await store.db.read(lambda conn, name=name: outside.room(conn, name))  # type: ignore[misc]
        for name in ("ann", "nobody")
    ]

    assert (ann.oldest, ann.changed) == (OTHER, AT)
    assert ann.kept > 0
    assert (nobody.kept, nobody.oldest, nobody.changed) == (0, "", None)
