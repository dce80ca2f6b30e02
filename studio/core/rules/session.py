"""Session: what the facts of one session add up to, by folding them one at a time.

The state is bounded: it holds the turn in hand, totals, and the last `WINDOW_TURNS` turns of talk.
Older talk stays in the journal, so the cost of a step does not grow with the session's length.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from studio.core.rules import events as e
from studio.core.rules.copies import replace

WINDOW_TURNS = 40
WINDOW_BYTES = 512 * 1024

CallState = Literal[
    "proposed", "held", "ready", "started", "waiting", "succeeded", "failed", "denied",
    "cancelled", "uncertain",
]  # fmt: skip
TurnStatus = Literal["queued", "running", "held", "waiting", "completed", "failed", "cancelled"]
FINAL = frozenset({"succeeded", "failed", "denied", "cancelled"})
ENDED = frozenset({"completed", "failed", "cancelled"})


@dataclass(frozen=True, kw_only=True)
class Wait:
    """Something the turn stands on until it is closed, once."""

    id: str
    effect_id: str
    kind: e.WaitKind
    opened: int
    deadline: int | None = None
    approvers: int = 1
    not_own: bool = False
    approved_by: tuple[str, ...] = ()
    is_open: bool = True
    choice: e.Choice | None = None
    closed_by: str | None = None
    closed: int | None = None
    schema: object = None


@dataclass(frozen=True, kw_only=True)
class Call:
    """One tool call of the turn in hand. `arguments` may run: those proposed, or edited."""

    effect_id: str
    step: int
    index: int
    provider_call_id: str
    tool: str
    origin: e.Origin
    proposed: e.Content
    arguments: e.Content
    tool_hash: str
    digest: str
    decided: str
    destination: str
    repeatable: bool
    on_uncertain: Literal["ask", "tell"]
    terminal: bool
    alone: bool
    ruling: e.Ruling
    state: CallState = "proposed"
    edited_by: str | None = None
    key: str | None = None
    sends: int = 0
    waits: int = 0
    result: e.Content | None = None
    code: str = ""
    message: str = ""
    closed_by: str = ""
    settled: bool = False
    files: tuple[e.FileRef, ...] = ()

    @property
    def is_final(self) -> bool:
        """It has its one result for the model."""
        return self.state in FINAL or (self.state == "uncertain" and self.settled)

    @property
    def was_sent(self) -> bool:
        """It went out, perhaps before a person sent it again, and has no outcome yet."""
        return self.sends > 0 and self.state in ("ready", "started")

    @property
    def said_to_run(self) -> bool:
        """Its outcome was never recorded, and a person says that it ran."""
        return self.state == "uncertain" and self.settled and self.on_uncertain == "ask"


@dataclass(frozen=True, kw_only=True)
class ModelCall:
    """The model call in hand. `state` is started, failed (to be tried again) or uncertain.

    `tries` counts the attempts of this candidate at this step; `successor` takes its place.
    """

    effect_id: str
    step: int
    attempt: int
    provider: str = ""
    state: Literal["started", "failed", "uncertain"] = "started"
    retry_at: int | None = None
    candidate: int = 0
    tries: int = 1
    successor: int | None = None
    too_long: bool = False  # its provider said that the talk is, and it is to be made shorter


@dataclass(frozen=True, kw_only=True, order=True)
class Place:
    """A place in the talk: behind it lie the turns before `turn`, and its first `replies` steps."""

    turn: int = 1
    replies: int = 0


@dataclass(frozen=True, kw_only=True)
class SummaryCall:
    """The summary that is asked for, up to `place`. `failed`: what lies behind it is left out.

    `lost`: its worker died, and it is asked for again. `tokens` is as in `SummaryRequested`.
    """

    effect_id: str
    place: Place
    attempt: int
    provider: str
    tokens: int
    state: Literal["started", "failed", "lost"] = "started"


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What the model is shown instead of the talk behind `place`."""

    place: Place
    text: e.Content
    effect_id: str


@dataclass(frozen=True, kw_only=True)
class Read:
    """How many tokens the talk had up to and with the reply before `place`, by the provider."""

    place: Place
    tokens: int


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One reply of the model within a turn, with the effects of the calls it asked for.

    `state` is what its provider wants back unchanged.
    """

    text: e.Content
    effects: tuple[str, ...] = ()
    state: e.Content | None = None


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A turn: from a message to its end. `calls` maps effect id to call, in order of proposal.

    Active is the time (ms) in which a model call or a call was out; `active_since` is set while one
    is. The time until a lost one was found is left out: nobody worked while the worker was dead.
    `longer` is how many tokens a summary had that was no shorter than what it stands for.
    `candidate` is who answered last, `closed` are those whose account or address failed. `weight`
    is what its talk takes of `WINDOW_BYTES`, counted once it is past.
    """

    id: str
    number: int
    message: e.Content
    by: str
    opened: int
    status: TurnStatus = "queued"
    started: int | None = None
    weight: int = 0
    step: int = 0
    model: ModelCall | None = None
    replies: tuple[Reply, ...] = ()
    calls: dict[str, Call] = field(default_factory=dict)
    waits: dict[str, Wait] = field(default_factory=dict)
    told: tuple[str, ...] = ()
    ended: int | None = None
    code: str = ""
    active: int = 0
    active_since: int | None = None
    summary: SummaryCall | None = None
    summaries: int = 0
    longer: int = 0
    overflowed: bool = False  # its provider said once that the talk was too long
    files: tuple[e.FileRef, ...] = ()
    candidate: int = 0
    closed: tuple[int, ...] = ()
    caller: e.Caller | None = None

    @property
    def is_over(self) -> bool:
        """It has ended, one way or another."""
        return self.status in ENDED

    def out(self) -> set[str]:
        """The effects that were sent and have no outcome yet."""
        out = {call.effect_id for call in self.calls.values() if call.state == "started"}
        if self.model is not None and self.model.state == "started":
            out.add(self.model.effect_id)
        if self.summary is not None and self.summary.state == "started":
            out.add(self.summary.effect_id)
        return out

    def open_waits(self) -> list[Wait]:
        """What the turn stands on now. An uncertain call the model was told about holds nothing."""
        return [
            wait
            for wait in self.waits.values()
            if wait.is_open
            and not (wait.kind == "uncertain" and self.calls[wait.effect_id].is_final)
        ]


@dataclass(frozen=True, kw_only=True)
class Unsettled:
    """An uncertain call of this session that nobody has settled; it outlives its turn."""

    wait_id: str
    turn_id: str
    effect_id: str
    digest: str


@dataclass(frozen=True, kw_only=True)
class Session:
    """What is known of a session after `seq` facts. `time` is that of its last fact (ms, UTC)."""

    id: str
    seq: int = 0
    time: int = 0
    started: int = 0
    agent: str = ""
    agent_version: int = 0
    title: str = ""
    owner: str = ""
    private: bool = False
    limits: e.Limits = field(default_factory=e.Limits)
    model: Any = None  # {provider, name} when it is not the one its agent names
    environment_id: str | None = None
    turns: int = 0
    turn: Turn | None = None
    past: tuple[Turn, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    cost_known: bool = True
    summary: Summary | None = None
    read: Read | None = None
    maybe_billed: int = 0  # attempts that ended without word of what they cost
    unsettled: dict[str, Unsettled] = field(default_factory=dict)

    @property
    def status(self) -> str:
        """The word shown for the session: its last turn's status, or `idle`."""
        return self.turn.status if self.turn else "idle"

    @property
    def busy(self) -> bool:
        """A turn is in hand."""
        return self.turn is not None and not self.turn.is_over


def fold(session: Session, facts: "list[e.Fact]") -> Session:
    """The session after these facts."""
    for fact in facts:
        session = apply(session, fact)
    return session


def apply(session: Session, fact: e.Fact) -> Session:
    """The session after one more fact."""
    at = fact.time
    session = replace(session, seq=fact.seq, time=max(session.time, at))
    match fact.event:
        case e.SessionStarted() as f:
            return replace(
                session, started=at, agent=f.agent, agent_version=f.agent_version, title=f.title,
                owner=f.owner, private=f.private, limits=f.limits, model=f.model,
                environment_id=f.environment_id,
            )  # fmt: skip
        case e.SessionModelChosen() as f:
            return replace(session, model=f.model)
        case e.MessageAccepted() as f:
            past = _window(session)
            opened = Turn(
                id=f.turn_id, number=f.number, message=f.text, by=f.by, opened=at, files=f.files,
                caller=f.caller,
            )  # fmt: skip
            cut = session.turn is not None and session.turn.summary is not None
            read = None if cut else session.read  # what was left out is shown again
            return replace(session, turns=f.number, turn=opened, past=past, read=read)
        case e.WaitOpened(kind="uncertain") as f:
            session = _unsettled(session, f)
        case e.DecisionRecorded() as f if f.wait_id in session.unsettled:
            left = {key: item for key, item in session.unsettled.items() if key != f.wait_id}
            past = tuple(_closed(ended, f, at) for ended in session.past)
            session = replace(session, unsettled=left, past=past)
        case e.ModelReplied() as f:
            session = _read(_spent(session, f.usage, billed=True), f)
        case e.ContextCompacted() as f:
            place = Place(turn=f.before_turn, replies=f.replies)
            summary = Summary(place=place, text=f.text, effect_id=f.effect_id)
            session = replace(session, summary=summary, read=None)
            session = _spent(session, f.usage, billed=True)
        case e.SummaryFailed() as f:
            session = _spent(session, f.usage, billed=f.maybe_billed)
            session = replace(session, maybe_billed=session.maybe_billed + f.maybe_billed)
        case e.ModelFailed() as f:
            session = _spent(session, f.usage, billed=f.maybe_billed)
            session = replace(session, maybe_billed=session.maybe_billed + f.maybe_billed)
        case e.ModelUncertain():
            session = replace(session, cost_known=False, maybe_billed=session.maybe_billed + 1)
        case _:
            pass
    turn = session.turn
    if turn is None or fact.turn_id != turn.id:
        return session
    moved = _turn(turn, fact)
    return replace(session, turn=_standing(_timed(turn, moved, fact)))


def _turn(turn: Turn, fact: e.Fact) -> Turn:
    at = fact.time
    if turn.is_over:  # what comes after the end is for the reader; the turn stays as it ended
        return _closed(turn, fact.event, at)
    match fact.event:
        case e.TurnStarted():
            return replace(turn, status="running", started=at)
        case e.ModelRequested() as f:
            return replace(turn, step=f.step, model=_asked(turn, f))
        case e.ModelReplied() as f:
            replies = (*turn.replies, Reply(text=f.text, state=f.state))
            return replace(turn, model=None, replies=replies, candidate=f.candidate)
        case e.ModelFailed() as f:
            model = _model(turn)
            closed = (*turn.closed, model.candidate) if f.account else turn.closed
            too_long = f.code == "model.context" and not f.permanent and f.successor is None
            model = replace(
                model, state="failed", retry_at=f.retry_at, successor=f.successor, too_long=too_long
            )
            overflowed = turn.overflowed or too_long
            return replace(turn, model=model, closed=closed, overflowed=overflowed)
        case e.SummaryRequested() | e.ContextCompacted() | e.SummaryFailed() as f:
            return _summarised(turn, f)
        case e.ModelUncertain():
            return replace(turn, model=replace(_model(turn), state="uncertain"))
        case e.CallProposed() as f:
            last = turn.replies[-1]
            replies = (*turn.replies[:-1], replace(last, effects=(*last.effects, f.effect_id)))
            return replace(turn, replies=replies, calls={**turn.calls, f.effect_id: _proposed(f)})
        case e.WaitOpened() as f:
            wait = Wait(
                id=f.wait_id, effect_id=f.effect_id, kind=f.kind, opened=at, deadline=f.deadline,
                approvers=f.approvers, not_own=f.not_own, schema=f.schema,
            )  # fmt: skip
            call = turn.calls[f.effect_id]
            state: CallState = {"approval": "held", "uncertain": "uncertain"}.get(f.kind, "waiting")  # type: ignore[assignment]
            call = replace(call, state=state, waits=call.waits + 1)
            return replace(_with(turn, call), waits={**turn.waits, f.wait_id: wait})
        case e.DecisionRecorded() as f:
            return _decided(turn, f, at)
        case e.CallStarted() as f:
            call = turn.calls[f.effect_id]
            return _with(turn, replace(call, state="started", key=f.key, sends=f.send))
        case e.CallSucceeded() as f:
            call = turn.calls[f.effect_id]
            return _with(turn, replace(call, state="succeeded", result=f.result, files=f.files))
        case e.CallFailed() as f:
            call = replace(turn.calls[f.effect_id], state="failed", message=f.message, code=f.code)
            call = replace(call, result=f.result, settled=f.settled, files=f.files)
            return _with(turn, call)
        case e.CallDenied() as f:
            call = replace(turn.calls[f.effect_id], state="denied", message=f.reason)
            return _with(turn, replace(call, closed_by=f.by))
        case e.CallCancelled() as f:
            call = replace(turn.calls[f.effect_id], state="cancelled", message=f.reason)
            return _with(turn, call)
        case e.CallUncertain() as f:
            call = replace(turn.calls[f.effect_id], state="uncertain", message=f.reason)
            return _with(turn, replace(call, settled=call.on_uncertain == "tell"))
        case e.CallSettled() as f:
            return _settled(turn, f)
        case e.LimitReached() as f:
            return replace(turn, told=(*turn.told, f.limit))
        case e.TurnCompleted():
            return _over(turn, "completed", "", at)
        case e.TurnFailed() as f:
            return _over(turn, "failed", f.code, at)
        case e.TurnCancelled():
            return _over(turn, "cancelled", "cancelled", at)
        case _:
            return turn


def _asked(turn: Turn, f: e.ModelRequested) -> ModelCall:
    before = turn.model
    is_again = before is not None and (before.step, before.candidate) == (f.step, f.candidate)
    return ModelCall(
        effect_id=f.effect_id, step=f.step, attempt=f.attempt, provider=f.provider,
        candidate=f.candidate, tries=before.tries + 1 if before is not None and is_again else 1,
    )  # fmt: skip


def _summarised(turn: Turn, f: e.SummaryRequested | e.ContextCompacted | e.SummaryFailed) -> Turn:
    """Where the summary of the older talk stands."""
    if isinstance(f, e.SummaryRequested):
        call = SummaryCall(
            effect_id=f.effect_id, place=Place(turn=f.before_turn, replies=f.replies),
            attempt=f.attempt, provider=f.provider, tokens=f.tokens,
        )  # fmt: skip
        return replace(turn, summary=call, summaries=turn.summaries + 1)
    again = isinstance(f, e.SummaryFailed) and f.again
    model = turn.model
    if model is not None and not again:
        model = replace(model, too_long=False)
    if isinstance(f, e.ContextCompacted) or turn.summary is None:
        return replace(turn, summary=None, model=model)
    state: Literal["failed", "lost"] = "lost" if again else "failed"
    longer = max(turn.longer, f.tokens)
    return replace(turn, summary=replace(turn.summary, state=state), model=model, longer=longer)


def _read(session: Session, f: e.ModelReplied) -> Session:
    """What the provider counted, when it did."""
    turn, usage = session.turn, f.usage
    if turn is None or turn.is_over or f.turn_id != turn.id or usage.input_tokens is None:
        return session
    place = Place(turn=turn.number, replies=len(turn.replies) + 1)
    tokens = usage.input_tokens + (usage.output_tokens or 0)
    return replace(session, read=Read(place=place, tokens=tokens))


def _proposed(f: e.CallProposed) -> Call:
    return Call(
        effect_id=f.effect_id, step=f.step, index=f.index, provider_call_id=f.provider_call_id,
        tool=f.tool, origin=f.origin, proposed=f.arguments, arguments=f.arguments,
        tool_hash=f.tool_hash, digest=f.digest, decided=f.digest, destination=f.destination,
        repeatable=f.repeatable, on_uncertain=f.on_uncertain, terminal=f.terminal, alone=f.alone,
        ruling=f.ruling,
        state="ready" if f.ruling.verdict == "allow" else "proposed",
    )  # fmt: skip


def _decided(turn: Turn, f: e.DecisionRecorded, at: int) -> Turn:
    wait = turn.waits[f.wait_id]
    if f.choice == "approve":
        earlier = () if f.arguments is not None else wait.approved_by  # an edit starts afresh
        wait = replace(wait, approved_by=(*earlier, f.by))
    if f.closes:
        wait = replace(wait, is_open=False, choice=f.choice, closed_by=f.by, closed=at)
    turn = replace(turn, waits={**turn.waits, wait.id: wait})
    call = turn.calls[f.effect_id]
    if f.arguments is not None:
        call = replace(call, arguments=f.arguments, decided=f.digest_decided, edited_by=f.by)
    if f.closes and f.choice == "approve":
        call = replace(call, state="ready")
    return _with(turn, call)


def _closed(turn: Turn, event: e.Event, at: int) -> Turn:
    """A turn that is over, with a wait of it closed: the second person is told who was first."""
    if not isinstance(event, e.DecisionRecorded) or event.wait_id not in turn.waits:
        return turn
    wait = replace(
        turn.waits[event.wait_id], is_open=False, choice=event.choice, closed_by=event.by, closed=at
    )
    return replace(turn, waits={**turn.waits, wait.id: wait})


def _unsettled(session: Session, f: e.WaitOpened) -> Session:
    assert session.turn is not None, "an uncertain call belongs to a turn"
    call = session.turn.calls[f.effect_id]
    item = Unsettled(
        wait_id=f.wait_id, turn_id=f.turn_id, effect_id=f.effect_id, digest=call.decided
    )
    return replace(session, unsettled={**session.unsettled, f.wait_id: item})


def _settled(turn: Turn, f: e.CallSettled) -> Turn:
    call = turn.calls[f.effect_id]
    if call.on_uncertain == "tell":  # the model has its one result already
        return turn
    match f.choice:
        case "ran":
            call = replace(
                call, settled=True, message=f.reason or "A person confirmed that it ran."
            )
        case "did_not_run":
            message = f.reason or "A person confirmed that it did not run."
            call = replace(call, state="failed", settled=True, message=message)
        case _:  # send_again
            call = replace(call, state="ready", settled=False)
    return _with(turn, call)


def _with(turn: Turn, call: Call) -> Turn:
    return replace(turn, calls={**turn.calls, call.effect_id: call})


def _model(turn: Turn) -> ModelCall:
    assert turn.model is not None, "a model outcome needs a model call"
    return turn.model


def _over(turn: Turn, status: TurnStatus, code: str, at: int) -> Turn:
    return replace(turn, status=status, code=code, ended=at, model=None)


def _timed(before: Turn, after: Turn, fact: e.Fact) -> Turn:
    """Keep the active time: it runs while something is out."""
    is_out = bool(after.out()) and not after.is_over
    since = before.active_since
    if since is not None and _found_lost(before, fact.event):
        return replace(after, active_since=fact.time if is_out else None)
    if is_out and since is None:
        return replace(after, active_since=fact.time)
    if not is_out and since is not None:
        return replace(after, active=before.active + fact.time - since, active_since=None)
    return after


def _found_lost(before: Turn, event: e.Event) -> bool:
    """The fact says that an effect was left behind, at a time that nobody knows."""
    if isinstance(event, e.CallStarted):
        return before.calls[event.effect_id].state == "started"
    return isinstance(event, e.ModelUncertain | e.CallUncertain)


def _standing(turn: Turn) -> Turn:
    """Bring the status up to date: what does the turn stand on now?"""
    if turn.started is None or turn.is_over:
        return turn
    status = _status(turn)
    return replace(turn, status=status) if status != turn.status else turn


def _status(turn: Turn) -> TurnStatus:
    waits = turn.open_waits()
    moving = any(call.state in ("proposed", "ready", "started") for call in turn.calls.values())
    if moving or turn.model is not None or not waits:
        return "running"
    return "held" if any(wait.kind in ("approval", "uncertain") for wait in waits) else "waiting"


def _spent(session: Session, usage: e.Usage, *, billed: bool) -> Session:
    known = usage.cost is not None or not billed
    return replace(
        session,
        input_tokens=session.input_tokens + (usage.input_tokens or 0),
        output_tokens=session.output_tokens + (usage.output_tokens or 0),
        cost=round(session.cost + (usage.cost or 0.0), 9),
        cost_known=session.cost_known and known,
    )


def _window(session: Session) -> tuple[Turn, ...]:
    """The turns whose talk is still shown to the model, newest last, within the window's bounds."""
    if session.turn is None:
        return ()
    ended = replace(session.turn, weight=_weight(session.turn))
    turns = (*session.past, ended)[-WINDOW_TURNS:]
    weight = sum(turn.weight for turn in turns)
    while len(turns) > 1 and weight > WINDOW_BYTES:
        weight -= turns[0].weight
        turns = turns[1:]
    return turns


def _weight(turn: Turn) -> int:
    said = turn.message.size + sum(reply.text.size for reply in turn.replies)
    calls = sum(min(c.arguments.size, 32768) + (min(c.result.size, 32768) if c.result else 0)
                for c in turn.calls.values())  # fmt: skip
    return said + calls
