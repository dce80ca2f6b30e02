"""What the model is shown: every call has exactly one result, and doubt is shown as doubt."""

import json
from dataclasses import replace

import pytest

from studio.core.rules import approvals, calls, contents, context, messages, turn
from studio.core.rules import events as e
from studio.core.rules.context import Asked, Said
from studio.core.rules.session import Session
from tests.core.rules import facts as f


def _result(session: Session, index: int = 1) -> Said:
    return [said for said in context.talk(session) if said.role == "tool"][index - 1]


def test_talk_is_message_reply_results() -> None:
    asked = Asked(id="call_notify", name="notify", arguments={"to": "notify"})

    session = f.came(f.sent(), f.ok({"sent": True}))

    assert context.talk(session) == [
        Said(role="user", text="Hello"),
        Said(role="assistant", calls=(asked,)),
        Said(role="tool", text='{"sent": true}', call_id="call_notify", name="notify"),
    ]  # fmt: skip


def test_earlier_turns_come_first() -> None:
    session = f.reply(f.asked(), f.says("Done."))
    session = f.after(
        session, messages.accept(session, turn_id=f.NEXT_TURN, text="More", by=f.OWNER)
    )

    assert [(said.role, said.text) for said in context.talk(session)] == [
        ("user", "Hello"), ("assistant", "Done."), ("user", "More"),
    ]  # fmt: skip


def test_session_without_a_turn_has_no_talk() -> None:
    assert context.talk(f.idle()) == []


def test_long_message_is_shown_whole_when_the_caller_has_it() -> None:
    session = f.queued()

    assert context.talk(session, lambda content: "the whole")[0].text == "the whole"


def test_long_arguments_are_shown_shortened() -> None:
    long = contents.shorten(contents.of({"a": "x" * contents.INLINE_BYTES}))
    session = f.came(f.sent(arguments=long), f.ok())

    (asked,) = context.talk(session)[1].calls

    assert "bytes left out" in asked.arguments["shortened"]


def test_failure_is_told_with_its_code_and_result() -> None:
    bare = _result(f.came(f.sent(), f.BROKEN))
    full = _result(f.came(f.sent(), replace(f.BROKEN, result=contents.of("body"))))

    assert (bare.failed, bare.text) == (True, "Failed (http.500): It said 500.")
    same = _result(f.came(f.sent(), replace(f.BROKEN, result=contents.of("It said 500."))))
    assert full.text == "Failed (http.500): It said 500.\nbody"
    assert same.text == bare.text


def test_denial_is_told_with_who_and_why() -> None:
    session = f.held()
    given = approvals.Answer(
        choice="deny", by=f.OTHER, digest=f.call(session).digest, reason="Wrong release."
    )
    by_person = f.after(session, approvals.decide(session, f.wait_id(), given, f.NOW))
    timed = f.held(expires_seconds=1)
    by_deadline = f.after(timed, turn.advance(timed, f.NOW + f.HOUR).events)
    by_policy = f.proposed(f.judged(verdict="deny"))

    assert _result(by_person).text == "Denied by a person; it did not run. Wrong release."
    assert _result(by_deadline).text.startswith("Denied by a deadline; it did not run.")
    assert _result(by_policy).text.startswith("Denied by the policy; it did not run.")


def test_cancelled_call_is_told_as_not_run() -> None:
    session = f.proposed(f.judged())
    session = f.after(session, messages.stop(session, by=f.OWNER, reason=""))

    assert _result(session).text == "Not run. Stopped by alice."


@pytest.mark.parametrize("tells", ["ask", "tell"])
def test_doubt_is_told_as_doubt_and_never_as_success(tells: str) -> None:
    session = f.uncertain(on_uncertain=tells)
    if tells == "ask":
        session = f.after(session, messages.stop(session, by=f.OWNER, reason=""))

    said = _result(session)

    assert said.failed is True
    assert said.text.startswith("Outcome unknown")


def test_what_a_person_says_of_an_uncertain_call_is_told() -> None:
    session = f.uncertain()
    settled = e.CallSettled(
        turn_id=f.TURN, effect_id=f.effect(1), choice="ran", by=f.OTHER, reason="I saw it."
    )

    said = _result(f.after(session, [settled]))

    assert (said.failed, said.text) == (
        False, "A person says that it ran; its result is not known. I saw it.",
    )  # fmt: skip


def _edited(session: Session) -> Session:
    given = approvals.Answer(
        choice="approve", by=f.OTHER, digest=f.call(session).digest,
        arguments=contents.of({"to": "nobody"}), digest_decided="d" * 64,
    )  # fmt: skip
    return f.after(session, approvals.decide(session, f.wait_id(), given, f.NOW))


def test_edit_of_a_person_is_told_with_what_ran() -> None:
    session = f.came(f.send(_edited(f.held())), f.ok("fine"))

    assert _result(session).text == (
        "[A person changed the arguments before this ran. It ran with: "
        + json.dumps({"to": "nobody"})
        + "]\nfine"
    )
    assert context.talk(session)[1].calls[0].arguments == {"to": "notify"}


def test_edit_of_a_call_that_never_ran_is_not_told_as_if_it_had_run() -> None:
    session = _edited(f.held())
    session = f.after(
        session, calls.refuse_call(session, f.effect(1), code="tool.missing", message="It is gone.")
    )

    assert _result(session).text == "Failed (tool.missing): It is gone."


def test_result_of_nothing_is_null() -> None:
    session = f.came(f.sent(), f.ok())
    call = replace(f.call(session), result=None)

    assert context.result_words(call) == "null"
