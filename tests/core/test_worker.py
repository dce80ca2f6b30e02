"""The worker on real stores with recording tools: what runs, what is held, what is told."""

import asyncio
from typing import Any

import pytest

from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.errors import Denied, Gone, Refused
from studio.core.rules.session import Session
from studio.core.store import raw
from studio.core.tokens import DecisionToken
from studio.core.tools.tool import Kit, Offered, Result, ToolError
from tests.core.conftest import ALICE, BOB, Core
from tests.fakes import FakeCatalog, Gate, tool

READ = {"read_only": True}
DORA = Person(id="dora", role="operator")
EMIL = Person(id="emil", role="operator")
SCHEMA = {
    "type": "object",
    "properties": {"amount": {"type": "integer"}},
    "required": ["amount"],
    "additionalProperties": False,
}


def only_wait(session: Session) -> Any:
    assert session.turn is not None
    (wait,) = session.turn.open_waits()
    return wait


def only_call(session: Session) -> Any:
    assert session.turn is not None
    (call,) = session.turn.calls.values()
    return call


async def decide(core: Core, session: Session, choice: str, person: Any = BOB, **more: Any) -> Any:
    wait, call = only_wait(session), only_call(session)
    if person.via == "browser":
        value = core.runtime.decision_token(person, wait.id, call.decided, "browser")
        more["token"] = DecisionToken(value=value, secret="browser")
    return await core.runtime.decide(person, wait.id, choice, digest=call.decided, **more)


async def test_a_message_gets_an_answer(core: Core) -> None:
    async with core.working():
        session_id = await core.start("say hello there")
        session = await core.over(session_id)

    assert session.turn is not None
    assert session.status == "completed"
    assert session.turn.replies[-1].text.value.strip() == "hello there"


async def test_a_reply_says_when_its_first_token_came(core: Core) -> None:
    async with core.working():
        session_id = await core.start("say hello there")
        await core.over(session_id)

    facts = [fact.event for fact in await core.facts(session_id)]
    (replied,) = [event for event in facts if isinstance(event, e.ModelReplied)]
    assert replied.first_token is not None
    assert 0 <= replied.first_token < 60_000


async def test_a_read_only_call_runs_without_asking(core: Core) -> None:
    look = tool("look", **READ)
    core.offer(look)
    async with core.working():
        session = await core.over(await core.start("call look {}\nthen\nsay done"))

    assert session.status == "completed"
    assert len(look.calls) == 1


async def test_calls_of_one_step_run_side_by_side(core: Core) -> None:
    both = asyncio.Barrier(2)

    async def meet(arguments: Any, kit: Kit) -> Any:
        async with asyncio.timeout(10):
            await both.wait()
        return {"met": True}

    core.offer(tool("left", meet, **READ), tool("right", meet, **READ))
    async with core.working():
        session = await core.over(await core.start("call left {}\ncall right {}"))

    assert session.turn is not None
    assert [call.state for call in session.turn.calls.values()] == ["succeeded"] * 2


async def test_a_call_that_asks_is_held_and_does_not_run(core: Core) -> None:
    pay = tool("pay", schema=SCHEMA)
    core.offer(pay)
    async with core.working():
        session = await core.held(await core.start('call pay {"amount": 5}'))

    assert session.status == "held"
    assert pay.calls == []


async def test_an_approved_call_runs_once_with_what_was_shown(core: Core) -> None:
    pay = tool("pay", schema=SCHEMA)
    core.offer(pay)
    async with core.working():
        session = await core.held(await core.start('call pay {"amount": 5}\nthen\nsay paid'))
        await decide(core, session, "approve")
        session = await core.over(session.id)

    assert [arguments for arguments, _ in pay.calls] == [{"amount": 5}]
    facts = {fact.event.TYPE: fact.event for fact in await core.facts(session.id)}
    proposed, decided, sent = (
        facts["call.proposed"].digest, facts["decision.recorded"], facts["call.started"].digest_sent
    )  # fmt: skip
    assert proposed == decided.digest_shown == decided.digest_decided == sent


async def test_an_approval_survives_without_any_worker(core: Core) -> None:
    pay = tool("pay", schema=SCHEMA)
    core.offer(pay)
    async with core.working("first"):
        session = await core.held(await core.start('call pay {"amount": 5}'))
    await decide(core, session, "approve")
    assert pay.calls == []

    core.pass_leases()
    async with core.working("second"):
        session = await core.over(session.id)

    assert len(pay.calls) == 1


async def test_a_denied_call_never_runs_and_the_model_is_told_why(core: Core) -> None:
    pay = tool("pay", schema=SCHEMA)
    core.offer(pay)
    async with core.working():
        session = await core.held(await core.start('call pay {"amount": 5}\nthen\nsay understood'))
        await decide(core, session, "deny", reason="use the staging account")
        session = await core.over(session.id)

    assert pay.calls == []
    assert session.status == "completed"
    assert only_call(session).state == "denied"
    assert only_call(session).message == "use the staging account"


async def test_edited_arguments_are_exactly_what_runs(core: Core) -> None:
    pay = tool("pay", schema=SCHEMA)
    core.offer(pay)
    async with core.working():
        session = await core.held(await core.start('call pay {"amount": 500}'))
        await decide(core, session, "approve", arguments={"amount": 5})
        session = await core.over(session.id)

    assert [arguments for arguments, _ in pay.calls] == [{"amount": 5}]
    assert only_call(session).edited_by == "bob"


async def test_a_second_decision_is_told_who_was_first(core: Core) -> None:
    core.offer(tool("pay", schema=SCHEMA))
    async with core.working():
        session = await core.held(await core.start('call pay {"amount": 5}'))
        wait, call = only_wait(session), only_call(session)
        await core.runtime.decide(BOB, wait.id, "deny", digest=call.decided)

        with pytest.raises(Refused, match="Already denied by bob") as refused:
            await core.runtime.decide(ALICE, wait.id, "approve", digest=call.decided)

    assert refused.value.code == "decision.decided"
    assert refused.value.details["by"] == "bob"


async def test_an_old_digest_is_refused(core: Core) -> None:
    core.offer(tool("pay", schema=SCHEMA))
    async with core.working():
        session = await core.held(await core.start('call pay {"amount": 5}'))

        with pytest.raises(Refused) as refused:
            await core.runtime.decide(BOB, only_wait(session).id, "approve", digest="0" * 64)

    assert refused.value.code == "decision.changed"


async def test_an_expired_hold_is_denied_and_a_late_click_says_so(core: Core) -> None:
    pay = tool("pay", schema=SCHEMA)
    core.offer(pay)
    rules = [{"effect": "ask", "tool": "pay", "expires_seconds": 60}]
    await core.runtime.save_policy(ALICE, rules, expect=None)
    async with core.working():
        session = await core.held(await core.start('call pay {"amount": 5}\nthen\nsay oh well'))
        wait, call = only_wait(session), only_call(session)
        core.clock.pass_time(61_000)

        with pytest.raises(Gone):
            await core.runtime.decide(BOB, wait.id, "approve", digest=call.decided)
        session = await core.over(session.id)

    assert pay.calls == []
    assert only_call(session).closed_by == "deadline"


async def test_two_people_must_approve_where_the_policy_says_so(core: Core) -> None:
    pay = tool("pay", schema=SCHEMA)
    core.offer(pay)
    rules = [{"effect": "ask", "tool": "pay", "approvers": 2}]
    await core.runtime.save_policy(ALICE, rules, expect=None)
    async with core.working():
        session = await core.held(await core.start('call pay {"amount": 5}'))
        first = await decide(core, session, "approve", person=DORA)
        assert (first.closed, first.approvals, first.needed) == (False, 1, 2)
        with pytest.raises(Denied) as twice:
            await decide(core, session, "approve", person=DORA)
        with pytest.raises(Denied) as by_key:
            await decide(core, session, "approve", person=ALICE)
        assert (twice.value.code, by_key.value.code) == ("decision.twice", "decision.key")
        assert pay.calls == []

        await decide(core, session, "approve", person=EMIL)
        await core.over(session.id)

    assert len(pay.calls) == 1


async def test_what_the_policy_denies_by_now_can_no_longer_be_approved(core: Core) -> None:
    pay = tool("pay", schema=SCHEMA)
    core.offer(pay)
    async with core.working():
        session = await core.held(await core.start('call pay {"amount": 5}'))
        await core.runtime.save_policy(ALICE, [{"effect": "deny", "tool": "pay"}], expect=None)

        with pytest.raises(Refused) as refused:
            await decide(core, session, "approve")

    assert refused.value.code == "arguments.denied"
    assert pay.calls == []


async def test_an_answer_that_cannot_be_used_says_that_the_call_ran(core: Core) -> None:
    async def odd(arguments: Any, kit: Kit) -> Any:
        raise ToolError("tool.bad_result", "It is not what the schema says.")

    core.offer(tool("pay", odd))
    await core.runtime.save_policy(ALICE, [{"effect": "allow", "tool": "pay"}], expect=None)
    async with core.working():
        session = await core.over(await core.start("call pay {}\nthen\nsay noted"))

    assert only_call(session).message.startswith("It ran, but its answer cannot be used.")


async def test_one_held_call_does_not_stop_its_siblings(core: Core) -> None:
    look, pay = tool("look", **READ), tool("pay", schema=SCHEMA)
    core.offer(look, pay)
    async with core.working():
        session_id = await core.start('call look {}\ncall pay {"amount": 1}\ncall look {"n": 2}')
        await core.until(session_id, lambda s: s.status == "held" and len(look.calls) == 2)

    assert pay.calls == []


async def test_stopping_names_what_had_run_and_stops_what_runs(core: Core) -> None:
    look, slow = tool("look", **READ), Gate()
    core.offer(look, tool("slow", slow, **READ, timeout=60.0))
    async with core.working():
        session_id = await core.start("call look {}\ncall slow {}")
        await slow.reached.wait()
        await core.until(session_id, lambda s: any(
            call.state == "succeeded" for call in s.turn.calls.values()))  # fmt: skip
        stopped = await core.runtime.cancel_turn(BOB, session_id, reason="enough")

    session = await core.session(session_id)
    assert session.status == "cancelled"
    assert len(stopped.ran) == 1
    assert not slow.open.is_set()


async def test_stopping_works_when_no_worker_lives(core: Core) -> None:
    session_id = await core.start("say hello")

    await core.runtime.cancel_turn(BOB, session_id)

    assert (await core.session(session_id)).status == "cancelled"


async def test_a_question_is_answered_by_a_person(core: Core) -> None:
    async with core.working():
        session_id = await core.start("ask Which channel?\nthen\nsay thanks")
        session = await core.held(session_id)
        assert session.status == "waiting"
        await decide(core, session, "answer", answer={"answer": "staging"})
        session = await core.over(session_id)

    assert only_call(session).result.value == {"answer": "staging"}


async def test_a_timer_wakes_the_turn(core: Core) -> None:
    async with core.working():
        session_id = await core.start("wait 3600\nthen\nsay good morning")
        await core.until(session_id, lambda s: s.status == "waiting")
        core.clock.pass_time(3_601_000)
        session = await core.over(session_id)

    assert session.status == "completed"


async def test_bad_arguments_fail_the_call_and_the_turn_goes_on(core: Core) -> None:
    pay = tool("pay", schema=SCHEMA)
    core.offer(pay)
    async with core.working():
        session = await core.over(await core.start('call pay {"amount": "lots"}\nthen\nsay ok'))

    assert pay.calls == []
    assert only_call(session).code == "arguments.invalid"
    assert session.status == "completed"


async def test_an_unknown_tool_fails_the_call_and_the_turn_goes_on(core: Core) -> None:
    async with core.working():
        session = await core.over(await core.start("call nothing {}\nthen\nsay ok"))

    assert only_call(session).code == "tool.unknown"
    assert session.status == "completed"


async def test_a_call_left_out_by_a_dead_worker_is_uncertain_and_settled(core: Core) -> None:
    stuck = Gate()
    pay = tool("pay", stuck, timeout=600.0)
    core.offer(pay)
    await core.runtime.save_policy(ALICE, [{"effect": "allow", "tool": "pay"}], expect=None)
    async with core.working("first"):
        session_id = await core.start('call pay {"amount": 5}\nthen\nsay noted')
        await stuck.reached.wait()
    await free_leases(core)
    async with core.working("second"):
        session = await core.held(session_id)
        assert only_call(session).state == "uncertain"
        assert only_wait(session).kind == "uncertain"
        await decide(core, session, "ran", reason="seen in the bank")
        session = await core.over(session_id)

    assert len(pay.calls) == 1
    assert session.status == "completed"


async def test_a_repeatable_call_left_out_is_sent_again_under_the_same_key(core: Core) -> None:
    hangs = [Gate()]

    async def first_hangs(arguments: Any, kit: Kit) -> Any:
        if hangs:
            await hangs.pop()(arguments, kit)
        return {"ok": True}

    stuck = hangs[0]
    put = tool("put", first_hangs, repeatable=True, timeout=600.0)
    core.offer(put)
    await core.runtime.save_policy(ALICE, [{"effect": "allow", "tool": "put"}], expect=None)
    async with core.working("first"):
        session_id = await core.start("call put {}\nthen\nsay noted")
        await stuck.reached.wait()
    await free_leases(core)
    async with core.working("second"):
        session = await core.over(session_id)

    keys = [key for _, key in put.calls]
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert session.status == "completed"


async def test_a_time_out_after_the_send_is_uncertain(core: Core) -> None:
    async def lost(arguments: Any, kit: Kit) -> Any:
        raise ToolError("tool.lost", "The connection broke.", maybe_ran=True)

    core.offer(tool("pay", lost))
    await core.runtime.save_policy(ALICE, [{"effect": "allow", "tool": "pay"}], expect=None)
    async with core.working():
        session = await core.held(await core.start("call pay {}"))

    assert only_call(session).state == "uncertain"


async def test_a_large_result_is_kept_whole_and_shown_in_part(core: Core) -> None:
    text = "x" * 5_000_000

    async def big(arguments: Any, kit: Kit) -> Any:
        return Result(text=text, media="text/plain")

    core.offer(tool("big", big, **READ))
    async with core.working():
        session = await core.over(await core.start("call big {}\nthen\nsay long"))

    result = only_call(session).result
    assert result.stored
    assert result.size == len(text)
    assert await core.parts.journal.blob(result.hash) == text.encode()


async def test_a_message_while_a_turn_runs_is_refused_with_what_can_be_done(core: Core) -> None:
    core.offer(tool("pay", schema=SCHEMA))
    async with core.working():
        session = await core.held(await core.start('call pay {"amount": 5}'))

        with pytest.raises(Refused) as refused:
            await core.runtime.send_message(BOB, session.id, "hello?")

    assert refused.value.code == "turn.running"
    assert refused.value.details["offers"] == ["stop", "deny_and_send"]


async def test_deny_and_send_does_both_at_once(core: Core) -> None:
    pay = tool("pay", schema=SCHEMA)
    core.offer(pay)
    async with core.working():
        session = await core.held(await core.start('call pay {"amount": 5}'))
        await core.runtime.deny_and_send(BOB, session.id, "say something else", reason="no")
        session = await core.over(session.id)

    assert pay.calls == []
    assert session.turns == 2
    assert session.status == "completed"


async def test_a_model_that_answers_nothing_fails_the_turn_in_words(core: Core) -> None:
    async with core.working():
        session = await core.over(await core.start("fail empty"))

    assert session.turn is not None
    assert (session.status, session.turn.code) == ("failed", "model.empty")


async def test_the_same_call_for_ever_ends_at_the_limit_of_steps(core: Core) -> None:
    core.offer(tool("look", **READ))
    async with core.working():
        session = await core.over(await core.start("loop call look {}"))

    assert session.turn is not None
    assert (session.status, session.turn.code) == ("failed", "limit.steps")
    assert session.turn.step == 25


async def test_a_session_whose_lease_ran_out_unnoticed_moves_again(core: Core) -> None:
    """As after a process was frozen: nobody took it, so the store still says that it is ours."""
    async with core.working() as worker:

        class Freezing(FakeCatalog):
            async def offered(self, manifest: Any, lends: Any = None) -> Offered:
                for hold in worker.holds.values():
                    hold.good_until = 0.0
                worker.driver.catalog = core.catalog
                return await core.catalog.offered(manifest)

        worker.driver.catalog = Freezing()
        session_id = await core.start("say still here")
        await core.until(session_id, lambda s: s.turn and s.turn.model)
        core.clock.pass_time(3_000)
        session = await core.over(session_id)

    assert session.status == "completed"


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
async def test_a_session_that_could_not_be_let_go_moves_again(core: Core) -> None:
    """As after a full disk: neither the outcome nor the release could be written."""
    full = Gate()
    core.offer(tool("look", full, **READ, timeout=60.0))

    async def carry_out(statement: str) -> None:
        await core.parts.db.touch(lambda conn: raw.put(conn, statement))

    async with core.working():
        session_id = await core.start("call look {}\nthen\nsay seen")
        await full.reached.wait()
        for name, act in (("facts", "INSERT ON events"), ("leases", "UPDATE ON wakes")):
            await carry_out(
                f"CREATE TRIGGER no_{name} BEFORE {act} BEGIN SELECT RAISE(ABORT, 'full'); END"
            )
        full.open.set()
        await asyncio.sleep(0.5)
        await carry_out("DROP TRIGGER no_facts")
        await carry_out("DROP TRIGGER no_leases")
        await asyncio.sleep(1.5)
        core.clock.pass_time(3_000)
        session = await core.over(session_id)

    assert session.status == "completed"


async def test_how_far_a_call_is_is_forgotten_once_it_is_over(core: Core) -> None:
    async def tell(arguments: Any, kit: Kit) -> Any:
        kit.progress(1, 2, "half")
        return {"done": True}

    core.offer(tool("look", tell, **READ))
    async with core.working():
        session_id = await core.start("call look {}\nthen\nsay seen")
        await core.over(session_id)

    assert core.parts.feed.progress(session_id) == {}


async def free_leases(core: Core) -> None:
    """As time would: the dead worker's leases are over."""
    core.clock.pass_time(11_000)
