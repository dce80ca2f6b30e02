"""A caller's trace: a message that names it opens a turn in it, and what that sends says so."""

from json import loads

from studio.core.rules import conventions
from studio.core.rules.events import Caller, MessageAccepted
from studio.core.store import codec
from studio.core.tools.tool import Kit
from tests.core.conftest import ALICE, BOB
from tests.core.telemetry.conftest import Desk
from tests.fakes import tool

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CALLER = Caller(trace_id=TRACE, span_id=SPAN, state="rojo=1")


async def test_the_turn_is_a_part_of_its_callers_trace_on_page_in_json_and_export(desk: Desk):
    kits: list[Kit] = []

    async def look(arguments, kit: Kit):
        kits.append(kit)

    desk.core.offer(tool("look", look, read_only=True))
    async with desk.core.working(), desk.exporting():
        session_id = await desk.turn("call look {}\nsay done", caller=CALLER)
        await desk.until(lambda found: found.sent)

    told = await desk.core.parts.reader.trace(ALICE, session_id, "1")
    assert (told.id, told.root.parent, told.turn.caller) == (TRACE, "", CALLER)
    written = loads("".join(conventions.written(told, version="1")))
    json = written["resourceSpans"][0]["scopeSpans"][0]["spans"]
    exported = {span.span_id.hex(): span for span in desk.collector.spans}
    root, *others = [exported[span["spanId"]] for span in json]
    assert root.parent_span_id.hex() == json[0]["parentSpanId"] == SPAN
    assert root.flags == 0x300
    assert {span.parent_span_id for span in others} == {root.span_id}
    assert {span.trace_state for span in exported.values()} == {"rojo=1"}
    sent = next(span.id for span in told.spans if span.name == "execute_tool look")
    assert kits[0].traceparent == f"00-{TRACE}-{sent}-01"
    assert kits[0].tracestate == "rojo=1"


async def test_turns_of_one_caller_share_its_trace_and_no_span(desk: Desk):
    async with desk.core.working():
        session_id = await desk.turn("say one", caller=CALLER)
        await desk.core.runtime.send_message(BOB, session_id, "say two", caller=CALLER)
        await desk.core.over(session_id)
        first, second = [
            await desk.core.parts.reader.trace(ALICE, session_id, number) for number in "12"
        ]

    assert first.id == second.id == TRACE
    assert {span.id for span in first.spans} & {span.id for span in second.spans} == set()


def test_a_fact_from_before_there_were_callers_is_still_read():
    old = '{"turn_id": "trn_1", "number": 1, "by": "bob", "text": {"hash": "", "size": 2}}'

    event = codec.event(MessageAccepted.TYPE, old)

    assert isinstance(event, MessageAccepted)
    assert event.caller is None
    kept = MessageAccepted(turn_id="t", number=1, text=event.text, by="bob", caller=CALLER)
    assert codec.event(MessageAccepted.TYPE, codec.payload(kept)) == kept
