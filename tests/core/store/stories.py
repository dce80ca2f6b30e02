"""Legal histories of one session, made by the real rules and a source of chance.

`tell` plays person, model, tools and clock at once and gives the appends in the order they would
be recorded. Nothing here knows a store.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

from studio.core.rules import (
    approvals,
    calls,
    contents,
    digests,
    ends,
    ids,
    media,
    messages,
    replies,
    summaries,
    turn,
)
from studio.core.rules import events as e
from studio.core.rules.errors import StudioError
from studio.core.rules.session import Call, Place, Session, apply
from studio.core.rules.summaries import Plan, Written

START = 1_700_000_000_000
LARGE = "A long story. " * 4_000  # 56,000 bytes: over what stands in a fact
PEOPLE = ("alice", "bob", "charlie")
CHAIN = tuple({"provider": name, "name": "m"} for name in ("a", "b", "c"))
VERDICTS: tuple[e.Verdict, ...] = ("allow", "allow", "ask", "ask", "deny")


@dataclass(frozen=True, kw_only=True)
class Append:
    """Events that are recorded together."""

    session_id: str
    events: tuple[e.Event, ...]
    at: int
    actor: str | None = None


@dataclass
class Teller:
    """A session as it goes, and what is out in the world."""

    random: Random
    session: Session
    at: int = START
    running: set[str] = field(default_factory=set)
    position: int = 0
    told: list[Append] = field(default_factory=list)
    kept: dict[str, int] = field(default_factory=dict)  # newest version of each artifact

    def record(self, events: list[e.Event] | tuple[e.Event, ...], actor: str | None = None) -> None:
        """Append and fold."""
        if not events:
            return
        self.told.append(
            Append(session_id=self.session.id, events=tuple(events), at=self.at, actor=actor)
        )
        for event in events:
            self.position += 1
            fact = e.Fact(
                session_id=self.session.id, seq=self.session.seq + 1, position=self.position,
                id=f"fct_{self.position}", time=max(self.at, self.session.time), actor="",
                evidence=event.EVIDENCE, event=event,
            )  # fmt: skip
            self.session = apply(self.session, fact)

    def chance(self, share: float) -> bool:
        return self.random.random() < share


def tell(random: Random, steps: int, session_id: str = "ses_1") -> list[Append]:
    """A history of up to `steps` moves."""
    teller = Teller(random=random, session=Session(id=session_id))
    limits = e.Limits(steps=e.Limit(value=4), calls=e.Limit(value=9, hard=teller.chance(0.5)))
    teller.record(
        messages.start(agent="helper", agent_version=3, title="Ünïcode\x00 and \ud800 half a pair",
                   owner="alice", private=teller.chance(0.3), limits=limits,
                       environment_id=random.choice((None, "env_1"))),
        "alice",
    )  # fmt: skip
    for _ in range(steps):
        teller.at += random.choice((0, 1, 40, 1_500, 90_000))
        random.choice(MOVES)(teller)
    return teller.told


# Moves --------------------------------------------------------------------------------------------


def _message(t: Teller) -> None:
    text = t.random.choice(("Hello", "Send the mail\x00 now", LARGE))
    turn_id = f"trn_{ids.core(t.session.id)}{t.session.turns + 1:04d}"
    by = t.random.choice(PEOPLE)
    if t.session.busy and t.chance(0.1):
        t.record(
            messages.deny_and_accept(t.session, turn_id=turn_id, text=text, by=by, reason="no"), by
        )
    elif not t.session.busy:
        if t.chance(0.1):
            model = t.random.choice((None, {"provider": "house", "name": "large\x00"}))
            t.record(messages.choose_model(t.session, model=model, by=by), by)
        t.record(messages.accept(t.session, turn_id=turn_id, text=text, by=by), by)


def _worker(t: Teller) -> None:
    """One look of the worker, which may have died since its last."""
    if t.chance(0.05):
        t.running.clear()
    if t.chance(0.02):
        t.record(ends.fault(t.session, f"flt_{t.position}", tries=1, most=5, wait=2_000))
    following = turn.advance(t.session, t.at, frozenset(t.running))
    if following.events:
        t.record(following.events)
    elif following.ask is not None and t.chance(0.2) and (places := _places(t)):
        planned = Plan(place=t.random.choice(places), tokens=900)
        asked = summaries.intend(
            t.session, planned, provider="chat", model="m", request_hash="f" * 64
        )
        t.record(asked)
        t.running |= {x.effect_id for x in asked if isinstance(x, e.SummaryRequested)}
    elif following.ask is not None:
        ask = following.ask
        t.record(
            replies.intend_model(
                t.session, ask, provider="scripted", model="m", request_hash="f" * 64
            )
        )
        t.running.add(ask.effect_id)
    for send in following.sends if following.ask is None and not following.events else ():
        _send(t, send)


def _places(t: Teller) -> list[Place]:
    """Where a summary may end."""
    hand = t.session.turn
    assert hand is not None
    places = [Place(turn=number) for number in range(2, hand.number + 1)]
    places += [Place(turn=hand.number, replies=n) for n in range(1, len(hand.replies))]
    return [place for place in places if place > summaries.behind(t.session)]


def _summary(t: Teller) -> None:
    """The summary comes, or does not."""
    asked = t.session.turn.summary if t.session.turn is not None else None
    if asked is None or asked.effect_id not in t.running:
        return
    t.running.discard(asked.effect_id)
    usage = e.Usage(input_tokens=90, output_tokens=9, cost=t.random.choice((None, 0.01)))
    if t.chance(0.7):
        text = contents.of_text(t.random.choice(("In short\x00.", LARGE)))
        came = Written(
            text=text,
            usage=usage,
            tokens_after=100,
            tokens=t.random.choice((9, 90)),
            replaced=90,
            first_token=t.random.choice((None, 0, 250)),
        )
        t.record(summaries.written(t.session, asked.effect_id, came))
    else:
        t.record(
            summaries.failed(
                t.session, asked.effect_id, code="model.server", message="No.", usage=usage,
                maybe_billed=t.chance(0.5),
            )
        )  # fmt: skip


def _send(t: Teller, send: turn.SendCall) -> None:
    call = calls.current_call(t.session, send.effect_id)
    assert call is not None
    match t.random.randrange(8):
        case 0 if call.state == "ready":
            kind = t.random.choice(("question", "timer"))
            deadline = t.at + 60_000 if kind == "timer" or t.chance(0.5) else None
            t.record(calls.stand(t.session, call.effect_id, kind=kind, deadline=deadline,
                                prompt="Which?", schema={"type": "string"}))  # fmt: skip
        case 1:
            t.record(
                calls.refuse_call(t.session, call.effect_id, code="tool.gone", message="It left.")
            )
        case _:
            events = calls.intend_call(t.session, send, digest_sent=call.decided)
            t.record(events)
            t.running.add(call.effect_id)


def _model(t: Teller) -> None:
    current = t.session.turn.model if t.session.turn is not None else None
    if current is None or current.effect_id not in t.running:
        return
    t.running.discard(current.effect_id)
    if t.chance(0.15):
        t.record(
            replies.model_failed(
                t.session, current.effect_id,
                replies.Failure(
                    code=t.random.choice(("model.busy", "model.key")), message="Busy.",
                    permanent=t.chance(0.2), retry_after=1.0, begun=t.chance(0.5),
                    usage=e.Usage(input_tokens=5, cache_write_tokens=2),
                ),
                now=t.at, candidates=CHAIN,
            )
        )  # fmt: skip
        return
    usage = e.Usage(input_tokens=7, output_tokens=3, cost=t.random.choice((None, 0.001, 0.07)),
                    cached_tokens=t.random.choice((None, 0, 4)), reasoning_tokens=1)  # fmt: skip
    calls = tuple(_judged(t, n) for n in range(t.random.choice((0, 1, 2, 4))))
    text = contents.of_text(t.random.choice(("", "Done.", LARGE)))
    state = contents.of_text("[signed]", media=contents.OPAQUE) if t.chance(0.3) else None
    answer = replies.ModelAnswer(
        text=text, usage=usage, calls=calls, state=state, model="m",
        first_token=t.random.choice((None, 0, 250)),
    )  # fmt: skip
    t.record(replies.reply(t.session, current.effect_id, answer, t.at))


def _judged(t: Teller, number: int) -> replies.Judged:
    verdict = t.random.choice(VERDICTS)
    rule = e.MatchedRule(number=1, effect=verdict, words="a rule", reason="It is so.")
    return replies.Judged(
        provider_call_id=f"c{number}", tool=t.random.choice(("mail.send", "shell", "odd\x00name")),
        origin=e.Origin(kind="mcp", server=t.random.choice((None, "mail")), plugin="office"),
        arguments=contents.of({"to": "bob", "body": t.random.choice(("x", LARGE)), "n": 1.0}),
        tool_hash="a" * 64, destination="mail", repeatable=t.chance(0.3),
        on_uncertain=t.random.choice(("ask", "tell")), terminal=t.chance(0.1),
        ruling=e.Ruling(
            verdict=verdict, policy_version=1, rules=(rule,), approvers=t.random.choice((1, 2)),
            expires_seconds=t.random.choice((None, 60)),
        ),
        problem=("arguments.invalid", "No.") if t.chance(0.1) else None,
    )  # fmt: skip


def _outcome(t: Teller) -> None:
    """An answer from outside, of a call of any turn that is out."""
    out = sorted(effect for effect in t.running if "c" in effect.rpartition("s")[2])
    if not out:
        return
    effect_id = t.random.choice(out)
    t.running.discard(effect_id)
    result = contents.of({"text": t.random.choice(("ok", LARGE))})
    came = t.random.choice((
        calls.Outcome(result=result), calls.Outcome(result=result),
        calls.Outcome(failed=True, code="tool.error", message="No.", settled=t.chance(0.5)),
        calls.Outcome(unknown=True, message="Time ran out."),
    ))  # fmt: skip
    turn_id = f"trn_{effect_id.removeprefix('eff_').rpartition('s')[0]}"
    t.record(calls.outcome(t.session, turn_id, effect_id, came))


def _decision(t: Teller) -> None:
    current = t.session.turn
    waits = {w.id: (w.kind, w.effect_id) for w in current.open_waits()} if current else {}
    waits |= {w.wait_id: ("uncertain", w.effect_id) for w in t.session.unsettled.values()}
    if not waits:
        return
    wait_id = t.random.choice(sorted(waits))
    kind, effect_id = waits[wait_id]
    call = current.calls.get(effect_id) if current else None
    by = t.random.choice(PEOPLE)
    choice = t.random.choice(sorted(approvals.ANSWERS[kind]) or ["approve"])
    item = t.session.unsettled.get(wait_id)
    digest = call.decided if call is not None else item.digest if item is not None else ""
    edit = _edit(t, call) if choice == "approve" and call is not None and t.chance(0.3) else {}
    answer = contents.of("yes") if choice == "answer" else None
    given = approvals.Answer(
        choice=choice, by=by, digest=digest, reason="Because.", answer=answer, **edit
    )
    with suppress(StudioError):  # twice by the same person, too late, and so on
        t.record(approvals.decide(t.session, wait_id, given, t.at), by)


def _edit(t: Teller, call: Call) -> dict[str, object]:
    arguments = contents.of({"to": "charlie", "body": t.random.choice(("y", LARGE))})
    decided = digests.of_call(
        effect_id=call.effect_id, tool=call.tool, tool_hash=call.tool_hash, origin=call.origin,
        destination=call.destination, arguments=arguments, agent=t.session.agent,
        agent_version=t.session.agent_version,
    )  # fmt: skip
    return {"arguments": arguments, "digest_decided": decided}


def _stop(t: Teller) -> None:
    if t.session.busy and t.chance(0.15):
        t.record(messages.stop(t.session, by="bob", reason="enough"), "bob")


def _artifact(t: Teller) -> None:
    """A person or the agent keeps a file, or a new version of one."""
    number = t.random.choice((1, 1, 2))
    artifact_id = f"art_{ids.core(t.session.id)}{number}"
    version = t.kept[artifact_id] = t.kept.get(artifact_id, 0) + 1
    source: e.Any = "upload" if number == 1 else "agent"
    turn_id = t.session.turn.id if t.session.turn is not None and t.chance(0.5) else None
    saved = e.ArtifactSaved(
        artifact_id=artifact_id, version=version, name=f"file\x00{number}.txt", media="text/plain",
        size=7 * version, hash=f"{version:064x}", source=source, by="alice", turn_id=turn_id,
    )  # fmt: skip
    t.record([saved], "alice" if source == "upload" else None)


def _folder(t: Teller) -> None:
    """The agent keeps a folder, and somebody makes a link to it or takes one back."""
    artifact_id = f"art_{ids.core(t.session.id)}3"
    version = t.kept[artifact_id] = t.kept.get(artifact_id, 0) + 1
    saved = e.ArtifactSaved(
        artifact_id=artifact_id, version=version, name="site", media=media.FOLDER,
        size=70 * version, hash=f"{version:064x}", source="agent", by="helper", files=3,
        skipped=("pipe (fifo)",) * (version % 2), moving=("a.log",) * (version % 3),
    )  # fmt: skip
    t.record([saved])
    link_id = f"lnk_{ids.core(t.session.id)}{version}"
    made = e.ArtifactLinkMade(
        link_id=link_id, artifact_id=artifact_id, version=version, expires=t.at + 60_000, by="bob"
    )
    t.record([made], "bob")
    if t.chance(0.5):
        gone = e.ArtifactLinkRevoked(link_id=link_id, artifact_id=artifact_id, by="alice")
        t.record([gone], "alice")


MOVES: tuple[Callable[[Teller], None], ...] = (
    _message, _worker, _worker, _worker, _worker, _worker, _model, _model, _model, _summary,
    _outcome,
    _outcome, _outcome, _decision, _decision, _stop, _artifact, _folder,
)  # fmt: skip
