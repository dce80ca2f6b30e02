"""What comes after a turn's end goes out when it comes: its spans, with their ids, once."""

from collections import Counter
from typing import Any

from studio.core.rules import calls, contents
from studio.core.rules import events as e
from studio.core.rules.calls import Outcome
from studio.core.rules.events.environments import TurnRef
from studio.core.rules.session import Session
from studio.core.tools.tool import ToolError
from tests.core.conftest import ALICE, BOB
from tests.core.telemetry.conftest import Desk
from tests.fakes import tool
from tests.standins.collector import refuses


async def lost(arguments: Any, kit: Any) -> Any:
    raise ToolError("tool.lost", "The connection broke.", maybe_ran=True)


async def unsettled(desk: Desk) -> Session:
    """A turn that was stopped while nobody knew whether its call ran."""
    desk.core.offer(tool("pay", lost))
    await desk.core.runtime.save_policy(ALICE, [{"effect": "allow"}], expect=None)
    session_id = await desk.core.start("call pay {}")
    await desk.core.held(session_id)
    await desk.core.runtime.cancel_turn(BOB, session_id)
    return await desk.core.over(session_id)


async def late(desk: Desk, session: Session) -> None:
    """The outcome of its call comes after all."""
    turn, (item,) = session.turn, session.unsettled.values()
    assert turn is not None
    came = Outcome(result=contents.of({"paid": 5}))
    await desk.core.parts.journal.commit(
        session.id,
        lambda s: calls.outcome(s, turn.id, item.effect_id, came),
        at=desk.core.clock.now(),
    )


def sends(desk: Desk) -> Counter[bytes]:
    """How often each span came."""
    return Counter(span.span_id for span in desk.collector.spans)


def newest(desk: Desk, name: str) -> dict[str, str]:
    """What the span of this name said when it came last."""
    span = [span for span in desk.collector.spans if span.name == name][-1]
    return {pair.key: pair.value.string_value or pair.value.int_value for pair in span.attributes}


async def test_a_late_outcome_and_a_persons_word_send_their_spans_once_more(desk: Desk):
    async with desk.core.working(), desk.exporting():
        session = await unsettled(desk)
        before = (await desk.until(lambda found: found.sent and found.behind == 0)).sent
        first = set(sends(desk).values())
        desk.core.clock.pass_time(60_000)
        await late(desk, session)
        done = await desk.until(lambda found: found.sent > before)
        other = await desk.turn("say bye")
        await desk.until(lambda found: found.sent > done.sent)

    told = await desk.core.parts.reader.trace(ALICE, session.id, "1")
    again = {id.hex() for id, count in sends(desk).items() if count == 2}
    assert first == {1}
    assert again == {span.id for span in told.spans if span.what in ("pay", "uncertain")}
    assert len(again) == done.sent - before == 2
    assert max(sends(desk).values()) == 2
    assert newest(desk, "wait uncertain")["studio.state"] == "succeeded"
    assert int(newest(desk, "execute_tool pay")["studio.late_ms"]) >= 60_000
    assert other != session.id


async def test_what_comes_while_nobody_exports_or_in_a_kill_goes_once_with_the_next(desk: Desk):
    async with desk.core.working():
        async with desk.exporting("one"):
            session = await unsettled(desk)
            await desk.until(lambda found: found.sent and found.behind == 0)
        count = len(desk.collector.spans)
        await late(desk, session)
        desk.collector.always = refuses(503)
        async with desk.exporting("two"):  # it dies with them in hand
            await desk.until(lambda found: found.state == "failing")
        in_hand = desk.collector.sizes[-1]
        desk.collector.always = type(desk.collector.always)()
        async with desk.exporting("three"):
            await desk.until(lambda found: found.sent > count)
            found = await desk.turn("say bye")
            await desk.until(lambda found: found.sent > count + 2 and found.behind == 0)

    assert (in_hand, found != session.id) == (2, True)
    assert Counter(sends(desk).values())[2] == 2
    assert max(sends(desk).values()) == 2


async def kept(desk: Desk, environment: str, session: Session) -> None:
    """A version of the disk is kept for its turn, and a try to reach a host is told."""
    assert session.turn is not None
    of = TurnRef(session_id=session.id, turn_id=session.turn.id)
    facts = (
        e.DiskKept(
            version=1, digest="d", files=1, folders=0, bytes=1, added=1, reason="turn", turn=of
        ),
        e.EgressTried(host="example.org", port=443, outcome="refused", turns=(of,)),
    )  # fmt: skip
    await desk.core.parts.journal.commit_environment(
        environment, lambda conn, _: facts, at=desk.core.clock.now(), actor="runtime"
    )


async def test_what_an_environment_keeps_of_a_turn_goes_out_when_it_is_kept(desk: Desk):
    await desk.core.runtime.save_policy(ALICE, [{"effect": "allow"}], expect=None)
    made = await desk.core.runtime.make_environment(ALICE, "lab", definition={})
    async with desk.core.working(), desk.exporting():
        session_id = await desk.core.start("say hello", environment=made.id)
        session = await desk.core.over(session_id)
        before = (await desk.until(lambda found: found.sent and found.behind == 0)).sent
        desk.core.clock.pass_time(1_000)
        await kept(desk, made.id, session)
        await desk.until(lambda found: found.sent >= before + 3)

    told = await desk.core.parts.reader.trace(ALICE, session_id, "1")
    assert {span.what for span in told.spans} >= {"keep", "connect"}
    assert set(sends(desk)) == {bytes.fromhex(span.id) for span in told.spans}
    assert [id.hex() for id, count in sends(desk).items() if count == 2] == [told.root.id]
    root = [span for span in desk.collector.spans if span.name.startswith("invoke")][-1]
    assert root.end_time_unix_nano == (told.root.end or 0) * 10**6


async def test_what_was_there_when_a_turn_was_told_goes_once(desk: Desk):
    await desk.core.runtime.save_policy(ALICE, [{"effect": "allow"}], expect=None)
    made = await desk.core.runtime.make_environment(ALICE, "lab", definition={})
    async with desk.core.working():
        async with desk.exporting("one"):
            await desk.turn("say first")
            await desk.until(lambda found: found.sent)
        session = await desk.core.over(await desk.core.start("say hello", environment=made.id))
        await kept(desk, made.id, session)  # nobody exports
        async with desk.exporting("two"):
            await desk.until(lambda found: found.behind == 0)

    assert "keep disk" in desk.collector.names()
    assert set(sends(desk).values()) == {1}
