"""Rows say what the folded session says, and what only the facts know."""

import json
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from studio.core.rules import contents, ids
from studio.core.rules import events as e
from studio.core.rules.session import Session, Turn
from studio.core.store import codec, raw, rows
from tests.core.store import stories
from tests.core.store.conftest import Store
from tests.core.store.stories import START

TURN = "trn_1"
CALL = ids.call_effect(TURN, 1, 1)
MODEL = ids.model_effect(TURN, 1, 1)
WAIT = ids.wait(CALL, 1)
ASK = e.Ruling(verdict="ask", policy_version=1, approvers=2)


def proposed(ruling: e.Ruling = ASK, **changes: Any) -> e.CallProposed:
    fields: dict[str, Any] = {
        "turn_id": TURN, "effect_id": CALL, "step": 1, "index": 1, "provider_call_id": "c1",
        "tool": "mail.send", "origin": e.Origin(kind="mcp", server="mail", plugin="office"),
        "arguments": contents.of({"to": "Bob", "body": "Hi"}), "tool_hash": "a" * 64,
        "digest": "d1", "ruling": ruling,
    }  # fmt: skip
    return e.CallProposed(**(fields | changes))


def begun(*calls: e.Event) -> list[Any]:
    """A session up to its first reply, and what the reply proposed."""
    return [
        e.SessionStarted(agent="helper", agent_version=2, title="Mail to Bob", owner="alice",
                         private=True),
        e.MessageAccepted(turn_id=TURN, number=1, text=contents.of_text("Send it"), by="alice"),
        e.TurnStarted(turn_id=TURN),
        e.ModelRequested(turn_id=TURN, effect_id=MODEL, step=1, attempt=1, provider="scripted",
                         model="small", request_hash="r" * 64),
        e.ModelReplied(turn_id=TURN, effect_id=MODEL, text=contents.of_text("I will."),
                       calls=len(calls), usage=e.Usage(input_tokens=9, output_tokens=4)),
        *calls,
    ]  # fmt: skip


def held(**changes: Any) -> list[e.Event]:
    opened = e.WaitOpened(
        turn_id=TURN, effect_id=CALL, wait_id=WAIT, kind="approval", approvers=2,
        deadline=START + 60_000, **changes,
    )  # fmt: skip
    return begun(proposed(), opened)


def decided(by: str, choice: Any = "approve", **changes: Any) -> e.DecisionRecorded:
    fields = {"turn_id": TURN, "effect_id": CALL, "wait_id": WAIT, "reason": "Fine."}
    return e.DecisionRecorded(choice=choice, by=by, **(fields | changes))


async def tell(store: Store, *appends: list[e.Event]) -> Session:
    """Append after append, a second apart."""
    session = None
    for number, events in enumerate(appends):
        at = START + number * 1_000
        append = stories.Append(session_id="ses_1", events=tuple(events), at=at)
        session = (await store.tell(append)).session
    assert session is not None
    return session


async def row(store: Store, table: str, key: str) -> dict[str, Any]:
    """One row by its column names."""

    def act(conn: Any) -> dict[str, Any]:
        found = conn.exec_driver_sql(f"SELECT * FROM {table} WHERE id = '{key}'").one()
        return dict(found._mapping)

    return await store.db.read(act)


@pytest.mark.parametrize("seed", range(10))
async def test_rows_agree_with_the_folded_session_after_every_append(
    store: Store, seed: int
) -> None:
    for append in stories.tell(Random(seed), 60):
        session = (await store.tell(append)).session
        of_session = await row(store, "sessions", session.id)

        assert of_session["status"] == session.status
        assert of_session["seq"] == session.seq
        assert of_session["uncertain"] == len(session.unsettled)
        assert of_session["cost"] == session.cost
        assert of_session["cost_known"] == session.cost_known
        if session.turn is not None:
            await agrees_with_turn(store, session.turn, of_session)


async def agrees_with_turn(store: Store, turn: Turn, of_session: dict[str, Any]) -> None:
    of_turn = await row(store, "turns", turn.id)
    columns = ("status", "started", "ended", "active", "steps", "calls", "code")
    assert [of_turn[name] for name in columns] == [
        turn.status, turn.started, turn.ended, turn.active, turn.step, len(turn.calls), turn.code,
    ]  # fmt: skip
    waits = {w.id for w in turn.waits.values() if w.is_open}
    found = await store.every("SELECT id FROM waits WHERE state = 'open' AND turn_id = ?", turn.id)
    if not turn.is_over:  # what is settled after the end is no longer in the turn
        calls = {c.effect_id: (c.state, c.sends, c.decided) for c in turn.calls.values()}
        rows = await store.every(
            "SELECT id, state, sends, decided FROM effects WHERE turn_id = ? AND kind <> 'model'",
            turn.id,
        )
        told = {c.effect_id for c in turn.calls.values() if c.is_final and c.state == "uncertain"}
        found_calls = {row[0]: row[1:] for row in rows}
        for effect_id in told:  # settled afterwards: the row knows, the turn has gone on
            assert found_calls.pop(effect_id)[0] in (calls.pop(effect_id)[0], "failed")
        assert found_calls == calls
        assert {row[0] for row in found} == waits
        assert of_session["held"] == sum(w.kind == "approval" for w in turn.open_waits())


async def test_a_held_call_has_a_card_with_all_that_a_person_needs(store: Store) -> None:
    await tell(store, held())

    card = await row(store, "waits", WAIT)
    assert (card["state"], card["kind"], card["approvers"], card["digest"]) == (
        "open", "approval", 2, "d1",
    )  # fmt: skip
    assert (card["agent"], card["tool"], card["server"], card["plugin"]) == (
        "helper", "mail.send", "mail", "office",
    )  # fmt: skip
    assert (card["owner"], card["private"], card["title"]) == ("alice", 1, "Mail to Bob")
    assert card["deadline"] == START + 60_000
    assert "mail.send helper mail to bob office mail" in card["search"]
    assert '"to": "bob"' in card["search"]
    session = await row(store, "sessions", "ses_1")
    assert (session["status"], session["held"]) == ("held", 1)


async def test_two_approvals_and_an_edit_show_in_card_and_call(store: Store) -> None:
    edited = contents.of({"to": "Charlie"})
    edit = decided("bob", arguments=edited, digest_decided="d2", digest_shown="d1", closes=False)
    await tell(store, held(), [edit])
    card = await row(store, "waits", WAIT)
    assert (card["state"], json.loads(card["approved_by"]), card["digest"]) == (
        "open", ["bob"], "d2",
    )  # fmt: skip

    await tell(store, [decided("charlie", digest_shown="d2", digest_decided="d2")])

    card, call = await row(store, "waits", WAIT), await row(store, "effects", CALL)
    assert (card["state"], card["choice"], card["closed_by"]) == ("closed", "approve", "charlie")
    assert json.loads(card["approved_by"]) == ["bob", "charlie"]
    assert (call["state"], call["decided"], call["edited_by"]) == ("ready", "d2", "bob")
    assert (call["decided_by"], call["choice"]) == ("charlie", "approve")
    assert codec.content(call["arguments"]) == edited
    assert codec.content(call["proposed"]).value == {"to": "Bob", "body": "Hi"}
    assert (call["peek"], call["size"]) == ('{"to": "Charlie"}', edited.size)


async def test_a_call_keeps_its_times_keys_and_result(store: Store) -> None:
    allow = e.Ruling(verdict="allow", policy_version=1)
    result = contents.of({"sent": True})
    await tell(
        store,
        begun(proposed(allow)),
        [e.CallStarted(turn_id=TURN, effect_id=CALL, key="k" * 64, send=1, digest_sent="d1")],
        [e.CallStarted(turn_id=TURN, effect_id=CALL, key="k" * 64, send=2, digest_sent="d1")],
        [e.CallSucceeded(turn_id=TURN, effect_id=CALL, result=result)],
    )

    call = await row(store, "effects", CALL)
    assert (call["state"], call["sends"], call["sent"], call["key"]) == (
        "succeeded", 2, "d1", "k" * 64,
    )  # fmt: skip
    assert (call["proposed_at"], call["started_at"], call["ended_at"]) == (
        START, START + 1_000, START + 3_000,
    )  # fmt: skip
    assert codec.content(call["result"]) == result


async def test_a_model_attempt_is_an_effect_with_its_usage(store: Store) -> None:
    await tell(store, begun())

    model = await row(store, "effects", MODEL)
    assert (model["kind"], model["tool"], model["server"], model["index"]) == (
        "model", "small", "scripted", 1,
    )  # fmt: skip
    assert (model["input_tokens"], model["output_tokens"], model["cost"]) == (9, 4, None)
    assert codec.content(model["result"]).value == "I will."
    of_turn = await row(store, "turns", TURN)
    assert (of_turn["input_tokens"], of_turn["cost_known"], of_turn["private"]) == (9, 0, 1)


async def test_an_uncertain_call_of_an_earlier_turn_can_be_settled(store: Store) -> None:
    allow = e.Ruling(verdict="allow", policy_version=1)
    await tell(
        store,
        begun(proposed(allow)),
        [e.CallStarted(turn_id=TURN, effect_id=CALL, key="k", send=1, digest_sent="d1")],
        [e.CallUncertain(turn_id=TURN, effect_id=CALL, reason="Gone."),
         e.WaitOpened(turn_id=TURN, effect_id=CALL, wait_id=WAIT, kind="uncertain"),
         e.TurnCancelled(turn_id=TURN, by="bob", unknown=(CALL,))],
        [e.MessageAccepted(turn_id="trn_2", number=2, text=contents.of_text("Next"), by="bob")],
    )  # fmt: skip
    uncertain = await row(store, "effects", CALL)
    assert (uncertain["state"], uncertain["settled"]) == ("uncertain", 0)
    assert (await row(store, "sessions", "ses_1"))["uncertain"] == 1
    assert (await row(store, "waits", WAIT))["state"] == "open"

    settled = e.CallSettled(turn_id=TURN, effect_id=CALL, choice="did_not_run", by="bob")
    await tell(store, [decided("bob", "did_not_run"), settled])

    call, card = await row(store, "effects", CALL), await row(store, "waits", WAIT)
    assert (call["state"], call["settled"]) == ("failed", 1)
    assert call["message"] == "A person confirmed that it did not run."
    assert (card["state"], card["choice"], card["closed_by"]) == ("closed", "did_not_run", "bob")
    assert (await row(store, "sessions", "ses_1"))["uncertain"] == 0
    assert (await row(store, "turns", TURN))["status"] == "cancelled"


async def test_a_late_outcome_settles_an_uncertain_call(store: Store) -> None:
    late = e.CallLate(turn_id=TURN, effect_id=CALL, outcome="succeeded")
    await tell(
        store,
        begun(proposed(e.Ruling(verdict="allow", policy_version=1))),
        [e.CallStarted(turn_id=TURN, effect_id=CALL, key="k", send=1, digest_sent="d1"),
         e.CallUncertain(turn_id=TURN, effect_id=CALL, reason="Gone."),
         e.WaitOpened(turn_id=TURN, effect_id=CALL, wait_id=WAIT, kind="uncertain")],
        [late, decided("runtime", "late")],
    )  # fmt: skip

    assert (await row(store, "effects", CALL))["settled"] == 1
    assert (await row(store, "waits", WAIT))["choice"] == "late"
    assert (await row(store, "sessions", "ses_1"))["uncertain"] == 0


async def test_search_finds_title_people_tools_and_the_last_failure(store: Store) -> None:
    failed = e.TurnFailed(turn_id=TURN, code="model.unreachable", message="Nobody ANSWERED\nyet.")
    await tell(store, begun(proposed(), proposed(effect_id="eff_2")), [failed])

    search = (await row(store, "sessions", "ses_1"))["search"]
    assert search == (
        "mail to bob\nhelper alice\nmail.send\nmodel.unreachable nobody answered yet."
    )


async def test_search_stays_short_however_many_tools_there_are(store: Store) -> None:
    calls = [proposed(effect_id=f"eff_{n}", tool=f"tool_{n}_" + "x" * 150) for n in range(40)]
    await tell(store, begun(*calls))

    assert len((await row(store, "sessions", "ses_1"))["search"]) <= 2_000


async def test_active_time_of_a_session_adds_up_over_its_turns(store: Store) -> None:
    message, started, asked, replied = begun()[1:]
    again = {"turn_id": "trn_2", "effect_id": "eff_2m"}
    await tell(
        store,
        [begun()[0], message, started, asked],
        [replied, e.TurnCompleted(turn_id=TURN)],
        [replace(message, turn_id="trn_2", number=2), e.TurnStarted(turn_id="trn_2")],
        [replace(asked, **again)],
        [replace(replied, **again)],
        [e.TurnCompleted(turn_id="trn_2")],
    )

    session = await row(store, "sessions", "ses_1")
    assert (session["active"], session["turns"], session["ended"]) == (2_000, 2, START + 5_000)
    assert (session["started"], session["last"]) == (START, START + 5_000)


async def test_rows_of_one_append_are_those_of_many(store: Store) -> None:
    events = [*held(), decided("bob", closes=False), decided("charlie"),
              e.CallStarted(turn_id=TURN, effect_id=CALL, key="k", send=1, digest_sent="d1"),
              e.CallSucceeded(turn_id=TURN, effect_id=CALL, result=contents.of(1)),
              e.TurnCompleted(turn_id=TURN)]  # fmt: skip
    await store.tell(stories.Append(session_id="ses_1", events=tuple(events), at=START))
    at_once = await store.derived()

    await store.db.record(one_by_one)

    assert await store.derived() == at_once


def one_by_one(conn: Any) -> None:
    """Derive again, with every fact an append of its own."""
    from studio.core.rules.session import apply
    from studio.core.store import facts

    for table in rows.DERIVED:
        raw.put(conn, f"DELETE FROM {table}")
    session = Session(id="ses_1")
    for fact in facts.facts(conn, "ses_1"):
        after = apply(session, fact)
        rows.derive(conn, session, after, [fact])
        session = after
