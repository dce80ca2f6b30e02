"""Small builders: a session as some facts leave it. Every builder ends in what the rules say."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from studio.core.rules import calls as calls_rule
from studio.core.rules import contents, messages, replies, turn
from studio.core.rules import events as e
from studio.core.rules.calls import Outcome
from studio.core.rules.replies import Judged, ModelAnswer
from studio.core.rules.session import Call, Session, Turn, Wait, apply
from studio.core.rules.turn import AskModel, SendCall

NOW = 1_700_000_000_000
SECOND = 1_000
HOUR = 3_600 * SECOND
TURN = "trn_01aaaaaaaaaaaaaaaaaaaaaaaa"
NEXT_TURN = "trn_02bbbbbbbbbbbbbbbbbbbbbbbb"
OWNER, OTHER, THIRD = "alice", "bob", "charlie"


def after(session: Session, events: Iterable[e.Event], at: int = NOW) -> Session:
    """The session with these facts recorded."""
    for event in events:
        seq = session.seq + 1
        fact = e.Fact(
            session_id=session.id, seq=seq, position=seq, id=f"evt_{seq}", time=at, actor="test",
            evidence=event.EVIDENCE, event=event,
        )  # fmt: skip
        session = apply(session, fact)
    return session


def limits(**values: int | e.Limit) -> e.Limits:
    """Limits with some of them set; a number is a hard one."""
    given = {k: v if isinstance(v, e.Limit) else e.Limit(value=v) for k, v in values.items()}
    return replace(e.Limits(), **given)


def soft(value: int) -> e.Limit:
    return e.Limit(value=value, hard=False)


def idle(**values: int | e.Limit) -> Session:
    """A session without a turn."""
    started = messages.start(
        agent="helper", agent_version=3, title="Help", owner=OWNER, private=False,
        limits=limits(**values),
    )  # fmt: skip
    return after(Session(id="ses_1"), started)


def queued(text: str = "Hello", **values: int | e.Limit) -> Session:
    """A message was accepted."""
    session = idle(**values)
    return after(session, messages.accept(session, turn_id=TURN, text=text, by=OWNER))


def ask(session: Session, at: int = NOW) -> Session:
    """The model is asked what follows."""
    following = turn.advance(session, at)
    assert following.ask is not None, f"the model is not asked: {following}"
    intent = replies.intend_model(
        session, following.ask, provider="chat", model="m", request_hash="r" * 64
    )
    return after(session, intent, at)


def asked(**values: int | e.Limit) -> Session:
    """The model is thinking."""
    return ask(queued(**values))


def model(session: Session) -> str:
    """The effect of the model call in hand."""
    thinking = the_turn(session).model
    assert thinking is not None
    return thinking.effect_id


def reply(session: Session, answer: ModelAnswer, at: int = NOW) -> Session:
    return after(session, replies.reply(session, model(session), answer, at), at)


def says(text: str, **more: Any) -> ModelAnswer:
    """A final answer."""
    return ModelAnswer(text=contents.of_text(text), **more)


def calls(*judged: Judged, text: str = "") -> ModelAnswer:
    """A reply that asks for calls."""
    return ModelAnswer(text=contents.of_text(text), calls=judged)


def proposed(*judged: Judged, at: int = NOW, **values: int | e.Limit) -> Session:
    """The model replied with these calls."""
    return reply(asked(**values), calls(*judged), at)


def ruling(verdict: e.Verdict = "allow", **more: Any) -> e.Ruling:
    return e.Ruling(verdict=verdict, policy_version=1, **more)


def judged(tool: str = "notify", verdict: e.Verdict = "allow", **more: Any) -> Judged:
    """A call that the model proposes; what a ruling takes goes to the ruling."""
    asks = {
        name: more.pop(name)
        for name in ("approvers", "not_own", "expires_seconds", "rules")
        if name in more
    }
    values: dict[str, Any] = {
        "provider_call_id": f"call_{tool}", "tool": tool, "origin": e.Origin(kind="http"),
        "arguments": contents.of({"to": tool}), "tool_hash": "t" * 64,
        "destination": f"https://example.test/{tool}", "ruling": ruling(verdict, **asks),
    }  # fmt: skip
    return Judged(**{**values, **more})


def held(**more: Any) -> Session:
    """One call is held."""
    return proposed(judged(verdict="ask", **more))


def question(deadline: int | None = None) -> Session:
    """The turn stands on a question."""
    session = proposed(judged("ask_person", origin=e.Origin(kind="platform")))
    stands = calls_rule.stand(
        session, effect(1), kind="question", deadline=deadline, prompt="Which one?",
        schema={"type": "string"},
    )  # fmt: skip
    return after(session, stands)


def timer(due: int) -> Session:
    """The turn stands on a timer."""
    session = proposed(judged("wait_until", origin=e.Origin(kind="platform")))
    return after(session, calls_rule.stand(session, effect(1), kind="timer", deadline=due))


def effect(index: int, step: int = 1, turn_id: str = TURN) -> str:
    """The effect of the n-th call of a step."""
    return f"eff_{turn_id.removeprefix('trn_')}s{step:03d}c{index:03d}"


def call(session: Session, index: int = 1, step: int = 1) -> Call:
    return the_turn(session).calls[effect(index, step)]


def the_turn(session: Session) -> Turn:
    assert session.turn is not None
    return session.turn


def wait(session: Session, index: int = 1, ordinal: int = 1) -> Wait:
    """A wait of a call of the first step."""
    return the_turn(session).waits[wait_id(index, ordinal)]


def wait_id(index: int = 1, ordinal: int = 1, turn_id: str = TURN) -> str:
    return f"wai_{effect(index, turn_id=turn_id).removeprefix('eff_')}w{ordinal}"


def send(session: Session, index: int = 1, at: int = NOW, step: int = 1) -> Session:
    """A call is out."""
    the_call = call(session, index, step)
    going = SendCall(effect_id=the_call.effect_id, send=the_call.sends + 1)
    return after(session, calls_rule.intend_call(session, going, digest_sent=the_call.decided), at)


def sent(*, at: int = NOW, **more: Any) -> Session:
    """One call is out."""
    return send(proposed(judged(**more)), at=at)


def came(session: Session, outcome: Outcome, index: int = 1, at: int = NOW) -> Session:
    """The outcome of a call is recorded."""
    the_turn_id = the_turn(session).id
    return after(session, calls_rule.outcome(session, the_turn_id, effect(index), outcome), at)


def ok(value: Any = "done") -> Outcome:
    return Outcome(result=contents.of(value))


LOST = Outcome(failed=True, unknown=True, code="tool.timeout", message="No answer within 10 s.")
BROKEN = Outcome(failed=True, code="http.500", message="It said 500.")


def uncertain(**more: Any) -> Session:
    """One unrepeatable call was sent and its worker died."""
    session = sent(**more)
    return after(session, turn.advance(session, NOW).events)


def kinds(events: Iterable[e.Event]) -> list[str]:
    """The names of facts."""
    return [event.TYPE for event in events]


def some(ask: AskModel | None) -> AskModel:
    assert ask is not None
    return ask


def fails(session: Session, effect: str, **more: Any) -> list[e.Event]:
    chain = more.pop("candidates", ())
    given = {"code": "model.busy", "message": "Busy.", "permanent": False, "retry_after": 0.005}
    failure = replies.Failure(**(given | more))
    return replies.model_failed(session, effect, failure, now=NOW, candidates=chain)


def stopped(session: Session) -> Session:
    return after(session, messages.stop(session, by=OWNER, reason=""))


def sent_again() -> Session:
    session = uncertain()
    settled = e.CallSettled(
        turn_id=TURN, effect_id=effect(1), choice="send_again", by=OTHER, reason=""
    )
    return after(session, [settled])


def deny_and_send(session: Session) -> list[e.Event]:
    return messages.deny_and_accept(
        session, turn_id=NEXT_TURN, text="Do this instead", by=OTHER, reason="Wrong release."
    )
