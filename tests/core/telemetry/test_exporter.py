"""What goes out to a collector, and what does not when it fails, over a real socket."""

from collections import Counter
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from studio.core.store import collector as rows
from studio.core.telemetry.sending import Sender, Target
from tests.core.conftest import ALICE
from tests.core.telemetry.conftest import Desk
from tests.fakes import tool
from tests.standins.collector import Told, partial, refuses

CALLS = 'call look {"a": 1}\nsay done'


async def test_a_turns_spans_are_those_of_its_page(desk: Desk):
    desk.core.offer(tool("look", read_only=True))
    async with desk.core.working(), desk.exporting():
        session_id = await desk.turn(CALLS)
        await desk.until(lambda found: found.sent)

    told = await desk.core.parts.reader.trace(ALICE, session_id, "1")
    assert len(told.spans) >= 4
    found = {span.span_id.hex(): span for span in desk.collector.spans}
    assert {
        (s.span_id.hex(), s.parent_span_id.hex(), s.name, s.start_time_unix_nano,
         s.end_time_unix_nano - s.start_time_unix_nano, s.trace_id.hex())
        for s in found.values()
    } == {
        (s.id, s.parent, s.name, s.start * 10**6, s.lasted(told.now) * 10**6, told.id)
        for s in told.spans
    }  # fmt: skip
    path, headers = desk.collector.asked[0]
    assert (path, headers["content-type"]) == ("/v1/traces", "application/x-protobuf")


async def test_what_ended_before_anybody_exported_is_left_and_nothing_is_sent_twice(desk: Desk):
    async with desk.core.working():
        await desk.turn()
        async with desk.exporting():
            await desk.turn()
            await desk.until(lambda found: found.sent)
        first = len(desk.collector.spans)
        await desk.turn()  # nobody exports
        async with desk.exporting("two"):
            await desk.until(lambda found: found.behind == 0 and found.sent > first)

    assert len({span.trace_id for span in desk.collector.spans}) == 2
    assert set(Counter(span.span_id for span in desk.collector.spans).values()) == {1}


@pytest.mark.parametrize(
    "answer",
    [
        refuses(503), refuses(502), refuses(504), refuses(429), Told(kind="cut"),
        Told(kind="half"), Told(kind="hang"),
    ],
    ids=["503", "502", "504", "429", "cut", "half", "slow"],
)  # fmt: skip
async def test_a_collector_that_fails_for_a_while_gets_the_same_again(desk: Desk, answer: Told):
    desk.collector.answers = [answer, answer]
    async with (
        desk.core.working(),
        desk.exporting(target=Target(url=desk.collector.url, seconds=0.3)),
    ):
        await desk.turn()
        failing = await desk.until(lambda found: found.state == "failing")
        done = await desk.until(lambda found: found.state == "well" and found.behind == 0)

    assert failing.failing_since is not None
    assert failing.retry_at is not None
    assert failing.error.startswith("It ")
    assert (done.sent, done.refused, done.dropped) == (len(desk.collector.spans), 0, 0)
    assert len(desk.collector.sizes) == 3
    assert len(set(desk.collector.sizes)) == 1


@pytest.mark.parametrize("status", [400, 401, 404, 413, 500])
async def test_a_final_answer_costs_the_batch_and_the_next_one_goes(desk: Desk, status: int):
    desk.collector.answers = [
        refuses(status, b"no\x1b[31m hunter2-hunter2", content_type="text/plain")
    ]
    async with desk.core.working(), desk.exporting():
        await desk.turn()
        lost = await desk.until(lambda found: found.refused)
        await desk.turn()
        found = await desk.until(lambda found: found.sent)

    assert lost.state == "refusing"
    assert found.state == "well"
    assert lost.error == f"It answered {status}: no [31m ***"
    assert lost.refused == desk.collector.sizes[0]
    assert found.sent == desk.collector.sizes[1] == len(desk.collector.spans)


async def test_partial_success_is_counted_and_its_reason_told(desk: Desk):
    desk.collector.answers = [partial(1, "bad clock")]
    async with desk.core.working(), desk.exporting():
        await desk.turn()
        found = await desk.until(lambda found: found.refused)

    assert (found.refused, found.sent) == (1, desk.collector.sizes[0] - 1)
    assert found.error == "It refused 1 of the spans: bad clock"


async def test_a_dead_collector_delays_no_turn_and_costs_its_spans_after_a_day(desk: Desk):
    dead = Target(url="http://127.0.0.1:9", seconds=1)
    async with desk.core.working(), desk.exporting(target=dead):
        for _ in range(3):
            await desk.turn()
        await desk.until(lambda found: found.state == "failing" and found.behind == 3)
        desk.core.clock.pass_time(24 * 3_600_000 + 1)
        gone = await desk.until(lambda found: found.behind == 0)

    assert (gone.sent, gone.refused) == (0, 0)
    assert gone.dropped >= 6
    assert "waited for longer than 24 h" in gone.error
    assert gone.failing_since is not None


async def test_one_of_two_exports_and_the_other_takes_over(desk: Desk):
    if desk.core.parts.db.kind == "sqlite":
        pytest.skip("one process alone has a SQLite file")
    async with desk.core.working():
        async with desk.exporting("one"), desk.exporting("two"):
            await desk.turn()
            await desk.until(lambda found: found.sent)
            row = await desk.core.parts.db.read(rows.read)
        async with desk.exporting("three"):
            await desk.turn()
            await desk.until(lambda found: found.behind == 0)

    assert row is not None
    assert row.owner == "one"
    assert set(Counter(span.span_id for span in desk.collector.spans).values()) == {1}


async def test_a_lease_that_is_gone_moves_nothing(desk: Desk):
    db, now = desk.core.parts.db, desk.core.clock.now()
    place = await rows.take(db, "one", now, -1, "http://here")
    assert place is not None
    assert await rows.take(db, "two", now, 60_000, "http://here") == place

    with pytest.raises(rows.NotOurs):
        await rows.renew(db, "one", now, 60_000)
    with pytest.raises(rows.NotOurs):
        await rows.move(db, "one", place, rows.Place(at=9), rows.Came(sent=1), now)
    assert (await desk.export()).sent == 0


async def test_retry_after_is_kept_as_a_number_and_as_a_date(desk: Desk):
    async def rest(text: str) -> float | None:
        desk.collector.answers = [refuses(429, retry_after=text)]
        target = Target(url=desk.collector.url)
        sender = Sender(target, hide=str, now=lambda: 1_800_000_000_000)
        try:
            return (await sender.send(b"")).rest
        finally:
            await sender.close()

    later = format_datetime(datetime.fromtimestamp(1_800_000_090, UTC), usegmt=True)
    assert await rest("7") == 7.0
    assert await rest(later) == 90.0
    assert await rest("99999") == 3600.0
    assert await rest("soon") is None


async def test_a_worker_without_a_collector_leaves_alone_the_one_that_exports(desk: Desk):
    db, now = desk.core.parts.db, desk.core.clock.now()
    await rows.take(db, "one", now, 60_000, "http://here")
    if db.kind == "postgresql":  # a SQLite file has one worker
        assert not await rows.unset(db, now)
        await rows.leave(db, "one")
    assert await rows.unset(db, now)
    off = await desk.export()
    await rows.take(db, "two", now, 60_000, "http://there")

    assert (off.state, off.endpoint) == ("off", "")
    assert (await desk.export()).endpoint == "http://there"
