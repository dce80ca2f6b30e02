"""A simulated world around the rules: a worker that dies, tools, people, deadlines.

It does what the real worker and runtime do, one act at a time, chosen by whoever calls it; after
every act it checks what must always hold. It reads the facts alone and shares no code with the
rules that it checks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from studio.core.rules import (
    approvals,
    calls,
    contents,
    context,
    messages,
    replies,
    summaries,
    turn,
)
from studio.core.rules import events as e
from studio.core.rules.calls import Outcome
from studio.core.rules.errors import StudioError
from studio.core.rules.replies import Judged, ModelAnswer
from studio.core.rules.session import Call, Place, Session, apply, fold
from studio.core.rules.summaries import Plan, Written
from tests.core.rules import facts as f

PEOPLE = ("alice", "bob", "charlie")
FINAL = {"call.succeeded", "call.failed", "call.denied", "call.cancelled"}
ENDS = {"turn.completed", "turn.failed", "turn.cancelled"}
CHAIN = tuple({"provider": name, "name": "m"} for name in ("a", "b", "c"))
PLATFORM = e.Origin(kind="platform")

Pick = Callable[[int], int]  # a number below this one


@dataclass
class World:
    """One session and everything around it. `pick` makes every choice."""

    pick: Pick
    session: Session
    now: int = f.NOW
    facts: list[e.Fact] = field(default_factory=list)
    running: set[str] = field(default_factory=set)
    lost: set[tuple[str, str]] = field(default_factory=set)  # sent by a worker that then died
    sent_again: set[str] = field(default_factory=set)
    turns: int = 0

    # Acts ----------------------------------------------------------------------------------------

    def act(self) -> None:
        """One thing happens."""
        acts = [
            *[self.work] * 10, *[self.answer] * 5, *[self.come_back] * 4, *[self.decide] * 5,
            self.crash, self.crash, self.wait_a_little, self.wait_long, self.wait_until_due,
            self.stop, self.deny_and_send, self.send, self.come_late,
        ]  # fmt: skip
        acts[self.pick(len(acts))]()

    def work(self) -> bool:
        """What a worker does in one round; false when there is nothing to do."""
        following = turn.advance(self.session, self.now, frozenset(self.running))
        if following.events:
            before = self.session
            self.record(following.events)
            same = replace(self.session, seq=before.seq, time=before.time)
            assert same != before, f"nothing moved: {following.events}"
        elif following.ask is not None and self.pick(5) == 0 and self._ask_for_summary():
            pass
        elif following.ask is not None:
            intent = replies.intend_model(
                self.session, following.ask, provider=("chat", "scripted")[self.pick(2)],
                model="m", request_hash="r",
            )  # fmt: skip
            assert intent, "what follows was refused"
            self.record(intent)
            self.running.add(following.ask.effect_id)
        elif following.sends:
            for send in following.sends:
                self._send(send)
        else:
            assert following.until is None or following.until > self.now, "it would spin"
            return False
        return True

    def _ask_for_summary(self) -> bool:
        """Up to any place that moves on and leaves the newest step."""
        hand = self.session.turn
        assert hand is not None
        steps = range(1, len(hand.replies))
        places = [Place(turn=number) for number in range(2, hand.number + 1)]
        places += [Place(turn=hand.number, replies=count) for count in steps]
        places = [place for place in places if place > summaries.behind(self.session)]
        if not places:
            return False
        planned = Plan(place=places[self.pick(len(places))], tokens=9)
        provider = ("chat", "scripted")[self.pick(2)]
        intent = summaries.intend(
            self.session, planned, provider=provider, model="m", request_hash="r"
        )
        assert intent, "what follows was refused"
        self.record(intent)
        self.running.add(intent[-1].effect_id)  # type: ignore[attr-defined]
        return True

    def _summarise(self, effect_id: str, *, kind: bool = False) -> None:
        """The summary comes, or does not."""
        if kind or self.pick(3):
            came = Written(
                text=contents.of_text("In short."), usage=e.Usage(), tokens_after=1,
                tokens=1 + self.pick(2), replaced=2,
            )  # fmt: skip
            self.record(summaries.written(self.session, effect_id, came))
        else:
            self.record(summaries.failed(
                self.session, effect_id, code="model.server", message="No.", maybe_billed=True
            ))  # fmt: skip
        self.running.discard(effect_id)

    def _send(self, send: turn.SendCall) -> None:
        call = self.calls[send.effect_id]
        if call.origin.kind == "platform":
            due = self.now + 1_000 * (1 + self.pick(50))
            kind: e.WaitKind = "question" if call.tool == "ask_person" else "timer"
            deadline = due if kind == "timer" or self.pick(2) else None
            self.record(calls.stand(self.session, send.effect_id, kind=kind, deadline=deadline))
        elif self.pick(20) == 0:
            self.record(
                calls.refuse_call(
                    self.session, send.effect_id, code="tool.missing", message="Gone."
                )
            )
        else:
            digest = "moved" if self.pick(30) == 0 else call.decided
            intent = calls.intend_call(self.session, send, digest_sent=digest)
            assert intent, "what follows was refused"
            self.record(intent)
            if f.kinds(intent) == ["call.started"]:
                self.running.add(send.effect_id)

    def answer(self) -> None:
        """The model answers, if it is asked."""
        short = self.session.turn.summary if self.session.turn else None
        if short is not None and short.effect_id in self.running:
            self._summarise(short.effect_id)
            return
        model = self.session.turn.model if self.session.turn else None
        if model is None or model.effect_id not in self.running:
            return
        if self.pick(5) == 0:
            permanent = self.pick(6) == 0
            failure = replies.Failure(
                code=("model.busy", "model.key")[self.pick(2)], message="", permanent=permanent,
                retry_after=float(self.pick(15)) if self.pick(2) else None,
                begun=bool(self.pick(2)),
            )  # fmt: skip
            self.record(
                replies.model_failed(
                    self.session, model.effect_id, failure, now=self.now, candidates=CHAIN
                )
            )
        else:
            self.record(replies.reply(self.session, model.effect_id, self._reply(), self.now))
        self.running.discard(model.effect_id)

    def _reply(self) -> ModelAnswer:
        kind = self.pick(8)
        if kind == 0:
            return f.says("Done.", output=contents.of({"a": 1}))
        if kind == 1:
            return f.says("" if self.pick(2) else "bad", bad_output="Bad." if self.pick(2) else "")
        return f.calls(*[self._judged(n) for n in range(1 + self.pick(4))], text="I shall.")

    def _judged(self, number: int) -> Judged:
        verdict: e.Verdict = ("allow", "allow", "ask", "ask", "deny")[self.pick(5)]  # type: ignore[assignment]
        more: dict[str, Any] = {
            "repeatable": self.pick(2) == 0, "on_uncertain": ("ask", "tell")[self.pick(2)],
            "terminal": self.pick(8) == 0, "alone": self.pick(4) == 0,
        }  # fmt: skip
        if verdict == "ask":
            more |= {
                "approvers": 1 + self.pick(2), "not_own": self.pick(4) == 0,
                "expires_seconds": (None, 5, 60)[self.pick(3)],
            }  # fmt: skip
        if self.pick(8) == 0:
            more["problem"] = ("arguments.invalid", "No.")
        tool = (*["notify", "publish"] * 3, "ask_person", "wait_until")[self.pick(8)]
        if tool in ("ask_person", "wait_until"):
            more["origin"] = PLATFORM
        return f.judged(tool, verdict, provider_call_id=f"call_{len(self.facts)}_{number}", **more)

    def come_back(self) -> None:
        """A call that is out comes back, or is given up."""
        out = sorted(set(self.calls) & self.running)
        if out:
            effect_id = out[self.pick(len(out))]
            self.record(calls.outcome(self.session, self.turn_id, effect_id, self._outcome()))
            self.running.discard(effect_id)

    def _outcome(self) -> Outcome:
        return (f.ok(), f.ok(), f.BROKEN, f.LOST)[self.pick(4)]

    def come_late(self) -> None:
        """An outcome comes of a send that a dead worker made."""
        if self.lost:
            turn_id, effect_id = sorted(self.lost)[self.pick(len(self.lost))]
            if effect_id not in self.running:
                self.lost.discard((turn_id, effect_id))
                self.record(calls.outcome(self.session, turn_id, effect_id, self._outcome()))

    def crash(self) -> None:
        """The worker dies with all it knows."""
        self.lost |= {(self.turn_id, effect) for effect in self.running & set(self.calls)}
        self.running.clear()

    def decide(self) -> None:
        """Somebody answers a wait, rightly or not."""
        turn_in_hand = self.session.turn
        waits = sorted({*self.session.unsettled, *(turn_in_hand.waits if turn_in_hand else ())})
        if not waits:
            return
        wait_id = waits[self.pick(len(waits))]
        given = self._given(wait_id)
        try:
            events = approvals.decide(self.session, wait_id, given, self.now)
        except StudioError:
            return
        self.record(events)
        if given.choice == "send_again":
            self.sent_again.add(events[0].effect_id)  # type: ignore[attr-defined]

    def _given(self, wait_id: str) -> approvals.Answer:
        wait = self.session.turn.waits.get(wait_id) if self.session.turn else None
        kind = wait.kind if wait is not None else "uncertain"
        fits = sorted(approvals.ANSWERS[kind]) or ["approve"]
        choice: e.Choice = fits[self.pick(len(fits))]  # type: ignore[assignment]
        item = self.session.unsettled.get(wait_id)
        digest = self.calls[wait.effect_id].decided if wait is not None else ""
        given = approvals.Answer(
            choice=choice, by=PEOPLE[self.pick(3)], digest=item.digest if item else digest,
            answer=contents.of("yes") if choice == "answer" else None,
        )  # fmt: skip
        if self.pick(10) == 0:
            return replace(given, digest="stale")
        if choice == "approve" and self.pick(3) == 0:
            number = len(self.facts)
            ruling = f.ruling("ask", approvers=1 + self.pick(2)) if self.pick(2) else None
            return replace(
                given, arguments=contents.of({"n": number}), digest_decided=f"edited {number}",
                ruling=ruling,
            )  # fmt: skip
        return given

    def wait_a_little(self) -> None:
        self.now += self.pick(3_000)

    def wait_long(self) -> None:
        self.now += 1_000 * self.pick(100)

    def wait_until_due(self) -> None:
        """Time passes until the session wants to be looked at again."""
        until = turn.advance(self.session, self.now, frozenset(self.running)).until
        if until is not None:
            self.now = max(self.now, until)

    def stop(self) -> None:
        """A person stops the turn; the worker drops what is out."""
        if self.session.busy and self.pick(6) == 0:
            self.record(messages.stop(self.session, by="bob", reason=""))
            self.crash()

    def deny_and_send(self) -> None:
        """A person denies what is held and sends something else."""
        if self.pick(6) == 0:
            self.crash()
            events = messages.deny_and_accept(
                self.session, turn_id=self._new_turn(), text="Instead", by="alice", reason="No."
            )
            self.record(events)

    def send(self) -> None:
        """A person sends a message."""
        if not self.session.busy:
            self.crash()
            self.record(
                messages.accept(self.session, turn_id=self._new_turn(), text="Go on", by="alice")
            )

    def _new_turn(self) -> str:
        self.turns += 1
        return f"trn_{self.turns:026d}"

    def finish(self, within: int = 400) -> None:
        """With a kind world from now on the turn comes to its end in bounded work."""
        for _ in range(within):
            if not self.session.busy:
                return
            if self.work():
                continue
            if self.running:
                self._be_kind()
            elif not self._settle_something():
                self.wait_until_due()
        raise AssertionError(f"still {self.session.status} after {within} rounds")

    def _be_kind(self) -> None:
        effect_id = min(self.running)
        self.running.discard(effect_id)
        if effect_id in self.calls:
            self.record(calls.outcome(self.session, self.turn_id, effect_id, f.ok()))
        elif self.session.turn and self.session.turn.summary:
            self._summarise(effect_id, kind=True)
        else:
            self.record(replies.reply(self.session, effect_id, f.says("Done."), self.now))

    def _settle_something(self) -> bool:
        """The first open wait is answered by as many people as it takes."""
        assert self.session.turn is not None
        for wait in self.session.turn.open_waits():
            if wait.kind != "timer":
                choice: e.Choice = "did_not_run" if wait.kind == "uncertain" else "deny"
                given = approvals.Answer(
                    choice=choice, by="bob", digest=self.calls[wait.effect_id].decided
                )
                if wait.deadline is None or wait.deadline > self.now:
                    self.record(approvals.decide(self.session, wait.id, given, self.now))
                return True
        return False

    # The record ----------------------------------------------------------------------------------

    @property
    def calls(self) -> dict[str, Call]:
        return self.session.turn.calls if self.session.turn else {}

    @property
    def turn_id(self) -> str:
        return self.session.turn.id if self.session.turn else ""

    def record(self, events: Sequence[e.Event]) -> None:
        """Append facts, and check what must hold of each and after each."""
        for event in events:
            seq = len(self.facts) + 1
            fact = e.Fact(
                session_id="ses_1", seq=seq, position=seq, id=f"evt_{seq}", time=self.now,
                actor="test", evidence=event.EVIDENCE, event=event,
            )  # fmt: skip
            before = self.session
            self.check_next(before, event)
            self.facts.append(fact)
            self.session = apply(before, fact)
            self.check_kept(before)
        self.check_status()

    # What always holds ---------------------------------------------------------------------------

    def of(self, effect_id: str, *names: str) -> list[Any]:
        """The facts of one effect, by their names."""
        return [
            fact.event
            for fact in self.facts
            if getattr(fact.event, "effect_id", None) == effect_id and fact.event.TYPE in names
        ]

    def check_next(self, session: Session, event: e.Event) -> None:
        """May this fact follow at all?"""
        match event:
            case e.CallStarted():
                self._check_send(event)
            case e.CallSucceeded() | e.CallFailed() | e.CallDenied() | e.CallCancelled():
                assert not self.of(event.effect_id, *FINAL), f"a second result: {event}"
                if event.TYPE in ("call.denied", "call.cancelled"):
                    assert not self.of(event.effect_id, "call.started"), "it was sent"
            case e.DecisionRecorded():
                earlier = self.of(event.effect_id, "decision.recorded")
                closed = [one for one in earlier if one.closes and one.wait_id == event.wait_id]
                assert not closed, f"a second decision: {event}"
                if event.by in PEOPLE and event.choice != "stopped":
                    self._check_shown(event)
            case e.ModelRequested() | e.MessageAccepted():
                self._check_paired(session)
            case e.SummaryRequested():
                assert session.turn is not None
                assert not session.turn.out(), "summarised while something is out"
            case e.TurnCompleted() | e.TurnFailed() | e.TurnCancelled():
                ended = {x.event.turn_id for x in self.facts if x.event.TYPE in ENDS}  # type: ignore[attr-defined]
                assert event.turn_id not in ended, "a second end"
            case _:
                pass

    def _check_shown(self, event: e.DecisionRecorded) -> None:
        """A person decided on what was there to be seen, and in time."""
        shown = [self.of(event.effect_id, "call.proposed")[0].digest]
        for one in self.of(event.effect_id, "decision.recorded"):
            if one.choice == "approve":
                shown.append(one.digest_decided)
        assert event.digest_shown == shown[-1], "decided on something else"
        wait = next(x for x in self._all(e.WaitOpened) if x.wait_id == event.wait_id)
        in_time = wait.deadline is None or self.now < wait.deadline
        assert in_time or event.choice == "deny", "decided too late"

    def _check_send(self, event: e.CallStarted) -> None:
        """No call goes out that may not, twice unless it may, or otherwise than it was decided."""
        proposed = self.of(event.effect_id, "call.proposed")[0]
        sends = self.of(event.effect_id, "call.started")
        assert not self.of(event.effect_id, *FINAL), "sent after its result"
        assert event.send == len(sends) + 1, "sends are counted"
        assert proposed.ruling.verdict != "deny", "a denied call went out"
        again = event.effect_id in self.sent_again
        if sends:
            assert event.key == sends[0].key, "another key"
            assert proposed.repeatable or again, "sent twice"
        if not again:
            assert event.send <= 3, "too many sends"
        self._check_decided(event, proposed)

    def _check_decided(self, event: e.CallStarted, proposed: e.CallProposed) -> None:
        decisions = self.of(event.effect_id, "decision.recorded")
        approved = [one for one in decisions if one.choice == "approve"]
        assert not [one for one in decisions if one.choice in ("deny", "expired", "stopped")]
        if proposed.ruling.verdict != "ask":
            assert event.digest_sent == proposed.digest
            return
        assert approved, "a held call went out undecided"
        assert approved[-1].closes, "too few approvals"
        assert event.digest_sent == approved[-1].digest_decided, "not what was decided"
        edits = [n for n, one in enumerate(approved) if one.arguments is not None]
        since = approved[edits[-1] if edits else 0 :]
        people = {one.by for one in since}
        assert len(people) >= proposed.ruling.approvers, "not enough people"
        assert len(people) == len(since), "somebody counts twice"
        assert len({one.digest_decided for one in since}) == 1, "they approved different calls"
        if proposed.ruling.not_own:
            assert "alice" not in people, "decided one's own"

    def _check_paired(self, session: Session) -> None:
        """Every call the model made has exactly one result behind it, in order (TA-02)."""
        self._check_pairs(context.talk(session))
        start = summaries.behind(session)
        turns = [*session.past, *([session.turn] if session.turn else [])]
        shown: list[context.Said] = []
        for one in turns:
            if one.number >= start.turn:
                talk = context.of_turn(one, contents.words(one.message))
                first = start.replies if one.number == start.turn else 0
                shown += summaries.cut(talk, first)
                assert shown[-1] == talk[-1], "the newest was left out"
        self._check_pairs(shown)

    def _check_pairs(self, said: Sequence[context.Said]) -> None:
        while said:
            head, said = said[0], said[1:]
            assert head.role != "tool", "a result without its call"
            for asked in head.calls:
                assert said, f"no result of {asked.id}"
                assert (said[0].role, said[0].call_id) == ("tool", asked.id)
                said = said[1:]

    def check_kept(self, before: Session) -> None:
        """What is final stays as it is."""
        was, is_now = before.turn, self.session.turn
        if was is None or is_now is None or was.id != is_now.id:
            return
        for effect_id, call in was.calls.items():
            if call.is_final:
                kept = replace(is_now.calls[effect_id], waits=call.waits)
                assert kept == call, "a result changed"
        if was.is_over:
            assert replace(is_now, waits=was.waits) == was, "a turn changed after its end"
        for wait_id, wait in was.waits.items():
            if not wait.is_open:
                assert is_now.waits[wait_id] == wait, "a closed wait changed"

    def check_status(self) -> None:
        """The status, told from the facts alone."""
        if self.session.turn is None:
            return
        mine = [fact.event for fact in self.facts if fact.turn_id == self.turn_id]
        names = f.kinds(mine)
        ended = [name for name in names if name in ENDS]
        status = self.session.status
        if ended:
            assert status == ended[0].removeprefix("turn.")
        elif "turn.started" not in names:
            assert status == "queued"
        else:
            assert status == self._stands_on(mine)

    def _stands_on(self, mine: Sequence[e.Event]) -> str:
        waits = {x.wait_id: x for x in mine if isinstance(x, e.WaitOpened)}
        for x in mine:
            if isinstance(x, e.DecisionRecorded) and x.closes:
                waits.pop(x.wait_id, None)
        proposals = [x for x in mine if isinstance(x, e.CallProposed)]
        proposed = {x.effect_id for x in proposals}
        tells = {x.effect_id for x in proposals if x.on_uncertain == "tell"}
        kinds = {
            x.kind for x in waits.values() if x.kind != "uncertain" or x.effect_id not in tells
        }
        done = {
            x.effect_id
            for x in mine
            if x.TYPE in FINAL or (isinstance(x, e.CallSettled) and x.choice != "send_again")
            or (isinstance(x, e.CallUncertain) and x.effect_id in tells)
        }  # fmt: skip
        on_a_wait = {x.effect_id for x in waits.values()}
        if proposed - done - on_a_wait or not kinds:
            return "running"
        return "held" if kinds & {"approval", "uncertain"} else "waiting"

    def check_whole(self) -> None:
        """At the end: folding all at once, active time, and what is left to settle."""
        assert fold(Session(id="ses_1"), self.facts) == self.session
        self._check_active()
        opened = {x.wait_id for x in self._all(e.WaitOpened) if x.kind == "uncertain"}
        closed = {x.wait_id for x in self._all(e.DecisionRecorded) if x.closes}
        assert set(self.session.unsettled) == opened - closed

    def _all(self, kind: type[Any]) -> list[Any]:
        return [fact.event for fact in self.facts if isinstance(fact.event, kind)]

    def _check_active(self) -> None:
        """Active time is never more than the time in which something was out."""
        out: set[str] = set()
        spent, since = 0, 0
        for fact in self.facts:
            if fact.turn_id != self.turn_id:
                continue
            if out:
                spent += fact.time - since
            since = fact.time
            match fact.event:
                case e.ModelRequested() | e.CallStarted() | e.SummaryRequested() as event:
                    out.add(event.effect_id)
                case e.ModelReplied() | e.ModelFailed() | e.ModelUncertain() as event:
                    out.discard(event.effect_id)
                case e.CallSucceeded() | e.CallFailed() | e.CallUncertain() as event:
                    out.discard(event.effect_id)
                case e.ContextCompacted() | e.SummaryFailed() as event:
                    out.discard(event.effect_id)
                case _:
                    pass
        assert self.session.turn is not None
        active = self.session.turn.active
        lost = ("model.uncertain", "call.uncertain", "summary.failed")
        found = [x for x in self.facts if x.event.TYPE in lost]
        sends = [x for x in self.facts if isinstance(x.event, e.CallStarted) if x.event.send > 1]
        if found or sends:
            assert active <= spent
        elif self.session.turn.is_over:
            assert active == spent


def begin(pick: Pick) -> World:
    """A new session with limits of some kind, and its first message."""
    limits = f.limits(
        steps=e.Limit(value=1 + pick(6), hard=pick(3) > 0),
        calls=e.Limit(value=1 + pick(8), hard=pick(3) > 0),
        active_seconds=e.Limit(value=(30, 600, 86_400)[pick(3)], hard=pick(3) > 0),
        total_seconds=e.Limit(value=(600, 86_400, 86_400)[pick(3)], hard=pick(3) > 0),
    )
    world = World(pick=pick, session=Session(id="ses_1"))
    started = messages.start(
        agent="helper", agent_version=1, title="", owner="alice", private=False, limits=limits
    )
    world.record(started)
    world.send()
    return world
