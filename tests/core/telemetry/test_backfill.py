"""Past turns sent once more, turns larger than a batch, and what content goes along."""

import json
from collections import Counter

import pytest

from studio.core.rules.errors import Denied, Invalid, NotFound, Refused
from studio.core.telemetry import batch
from tests.core.conftest import ALICE, BOB
from tests.core.telemetry.conftest import Desk
from tests.fakes import tool
from tests.standins.collector import refuses


def of_turns(desk: Desk) -> Counter[str]:
    """How often the root of each trace came."""
    return Counter(
        span.trace_id.hex() for span in desk.collector.spans if span.name.startswith("invoke")
    )


async def test_past_turns_go_out_under_the_ids_that_they_have(desk: Desk):
    async with desk.core.working():
        sessions = [await desk.turn() for _ in range(3)]
        async with desk.exporting():
            id = await desk.core.runtime.ask_backfill(ALICE)
            await desk.until(lambda found: found.backfill and found.backfill.ended)
            again = await desk.core.runtime.ask_backfill(ALICE, session_id=sessions[1])
            done = await desk.until(
                lambda found: found.backfill and found.backfill.id == again and found.backfill.ended
            )

    told = [(await desk.core.parts.reader.trace(ALICE, one, "1")).id for one in sessions]
    assert of_turns(desk) == Counter([*told, told[1]])
    first = await desk.core.parts.reader.backfill(BOB, id)
    assert (first.state, first.turns, first.done) == ("done", 3, 3)
    assert done.backfill is not None
    assert (done.backfill.done, done.backfill.by) == (1, "alice")
    assert first.sent + done.backfill.sent == len(desk.collector.spans)
    assert done.sent == 0  # the live place did not move for it


async def test_a_time_bounds_a_backfill(desk: Desk):
    async with desk.core.working():
        await desk.turn()
        desk.core.clock.pass_time(3_600_000)
        since = desk.core.clock.now() - 1_000
        late = await desk.turn()
        async with desk.exporting():
            await desk.core.runtime.ask_backfill(ALICE, since=since)
            await desk.until(lambda found: found.backfill and found.backfill.ended)

    told = await desk.core.parts.reader.trace(ALICE, late, "1")
    assert of_turns(desk) == Counter([told.id])


async def test_a_backfill_that_cannot_be_is_refused_in_words(desk: Desk, monkeypatch):
    ask = desk.core.runtime.ask_backfill
    with pytest.raises(Refused, match="No worker exports"):
        await ask(ALICE)
    async with desk.exporting():
        with pytest.raises(Denied):
            await ask(BOB)
        with pytest.raises(NotFound):
            await ask(ALICE, session_id="ses_nobody")
        with pytest.raises(Invalid, match="before"):
            await ask(ALICE, since=5, until=5)
    with pytest.raises(NotFound):
        await desk.core.parts.reader.backfill(ALICE, "bkf_nobody")


async def test_a_turn_larger_than_a_batch_is_parted_and_goes_on_where_it_was(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(batch, "MOST_SPANS", 2)
    desk.core.offer(tool("look", read_only=True))
    async with desk.core.working(), desk.exporting():
        session_id = await desk.turn("call look {}\ncall look {}\nsay done")
        await desk.until(lambda found: found.sent and found.behind == 0)

    told = await desk.core.parts.reader.trace(ALICE, session_id, "1")
    assert len(told.spans) > 4
    assert [span.span_id.hex() for span in desk.collector.spans] == [one.id for one in told.spans]
    assert max(desk.collector.sizes) == 2


async def attributes(desk: Desk, kinds: frozenset[str]) -> dict[str, dict[str, str]]:
    """By the name of a span, what it says in words."""

    async def look(arguments, kit):
        return {"seen": "ö" * 5_000, "secret": "no"}

    desk.core.offer(tool("look", look, read_only=True))
    async with desk.core.working(), desk.exporting(kinds=kinds):
        await desk.turn('call look {"a": "hunter2"}\nsay done, hunter2-hunter2')
        await desk.until(lambda found: found.sent)
    return {
        span.name: {pair.key: pair.value.string_value for pair in span.attributes}
        for span in desk.collector.spans
    }


async def test_no_content_goes_out_unless_it_is_asked_for(desk: Desk):
    found = await attributes(desk, frozenset())

    assert not {name for said in found.values() for name in said if "message" in name}
    assert "gen_ai.tool.call.arguments" not in found["execute_tool look"]
    assert "hunter2" not in str(desk.collector.requests)


async def test_content_goes_out_by_kind_cut_and_masked(desk: Desk):
    found = await attributes(desk, frozenset({"messages", "arguments", "results"}))

    call = found["execute_tool look"]
    assert json.loads(call["gen_ai.tool.call.arguments"]) == {"a": "hunter2"}
    result = call["gen_ai.tool.call.result"].encode()
    assert 8190 <= len(result) <= 8192
    asked = json.loads(found["invoke_agent helper"]["gen_ai.input.messages"])
    assert asked[0]["role"] == "user"
    assert asked[0]["parts"][0]["content"].endswith("say done, ***")
    said = json.loads(found["chat scripted"]["gen_ai.output.messages"])
    assert (said[0]["role"], said[0]["finish_reason"]) == ("assistant", "end")


async def test_a_backfill_waits_for_its_collector_and_is_given_up_after_a_day(desk: Desk):
    async with desk.core.working():
        await desk.turn()
        async with desk.exporting():
            desk.collector.answers = [refuses(503)]
            await desk.core.runtime.ask_backfill(ALICE)
            found = await desk.until(lambda found: found.backfill and found.backfill.ended)
            desk.collector.always = refuses(503)
            late = await desk.core.runtime.ask_backfill(ALICE)
            await desk.until(lambda found: found.state == "failing")
            desk.core.clock.pass_time(24 * 3_600_000 + 1)
            gone = await desk.until(
                lambda found: found.backfill and found.backfill.id == late and found.backfill.ended
            )

    assert found.backfill is not None
    assert gone.backfill is not None
    assert (found.backfill.state, found.backfill.done) == ("done", 1)
    assert (gone.backfill.state, gone.backfill.done, gone.backfill.sent) == ("given_up", 1, 0)
    assert gone.backfill.dropped == found.backfill.sent == len(desk.collector.spans)
