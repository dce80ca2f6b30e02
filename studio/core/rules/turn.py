"""What happens next in a turn: the crux of the runtime, and pure.

`advance` looks at a session and says what to record, what to send and until when to rest. What
came back from outside becomes facts in `replies` and `calls`, what people begin and stop in
`messages`. Nothing here knows a clock: `now` is milliseconds, UTC, and `running` names the effects
whose answer this very worker is waiting for. A started effect that is not running was left behind
by a worker that died: see `effects.recover`.
"""

from dataclasses import dataclass

from studio.core.rules import effects, ends, ids
from studio.core.rules import events as e
from studio.core.rules.session import Call, Session, Turn

A_DAY = 86_400_000  # ms
SIDE_BY_SIDE = 8
MODEL_ATTEMPTS = 5


@dataclass(frozen=True, kw_only=True)
class AskModel:
    """Ask a model: the n-th attempt at this step, of this candidate of the agent's chain."""

    effect_id: str
    step: int
    attempt: int
    candidate: int = 0


@dataclass(frozen=True, kw_only=True)
class SendCall:
    """Send this call, for the `send`-th time."""

    effect_id: str
    send: int


@dataclass(frozen=True, kw_only=True)
class Next:
    """What follows: facts to record first, else things to do, else rest until `until` (ms)."""

    events: tuple[e.Event, ...] = ()
    ask: AskModel | None = None
    sends: tuple[SendCall, ...] = ()
    until: int | None = None


def advance(session: Session, now: int, running: frozenset[str] = frozenset()) -> Next:
    """What happens next, or how long to rest."""
    turn = session.turn
    if turn is None or turn.is_over:
        return Next()
    if closing := _closing(session, turn, now, running):
        return Next(events=tuple(closing))
    if left := _left_behind(turn, running):
        return Next(events=tuple(left))
    sends = _sends(turn, running)
    if sends:
        return Next(sends=sends, until=_until(session, turn, now, running))
    return _step(session, turn, now, running)


def until(session: Session, now: int) -> int:
    """When the turn in hand is to be looked at, at the latest, though nothing comes."""
    turn = session.turn
    if turn is None or turn.is_over:
        return now + A_DAY
    return _until(session, turn, now, frozenset())


def _closing(session: Session, turn: Turn, now: int, running: frozenset[str]) -> list[e.Event]:
    """Deadlines that have passed: of waits, and of the turn itself."""
    events: list[e.Event] = []
    for wait in turn.waits.values():
        if wait.is_open and wait.deadline is not None and wait.deadline <= now:
            events += ends.expire(turn, wait)
    if events:
        return events
    limits = session.limits
    if now - turn.opened >= limits.total_seconds.value * 1000:
        events = ends.reach(turn, "total_seconds", limits.total_seconds)
    since = _active_since(turn, running)
    active = turn.active + (now - since if since is not None else 0)
    if not events and active >= limits.active_seconds.value * 1000:
        events = ends.reach(turn, "active_seconds", limits.active_seconds)
    return events


def _active_since(turn: Turn, running: frozenset[str]) -> int | None:
    """Since when the turn works, unless a worker died meanwhile: then nobody knows how long."""
    return None if turn.out() - running else turn.active_since


def _left_behind(turn: Turn, running: frozenset[str]) -> list[e.Event]:
    """Facts about effects whose worker died with the answer."""
    events: list[e.Event] = []
    model = turn.model
    if model is not None and model.state == "started" and model.effect_id not in running:
        events.append(e.ModelUncertain(turn_id=turn.id, effect_id=model.effect_id))
    summary = turn.summary
    if summary is not None and summary.state == "started" and summary.effect_id not in running:
        events.append(
            ends.fail_summary(turn, ends.LOST, "The worker stopped while it was written.")
        )
    for call in turn.calls.values():
        if call.state == "started" and call.effect_id not in running:
            events += effects.recover(turn, call)
    return events


def _sends(turn: Turn, running: frozenset[str]) -> tuple[SendCall, ...]:
    """The calls that may go out now, in call order: side by side, or alone if the tool asks."""
    out = [call for call in turn.calls.values() if call.effect_id in running]
    going: list[Call] = []
    for call in turn.calls.values():
        left_behind = call.state == "started" and call.effect_id not in running
        if call.state != "ready" and not left_behind:
            continue
        together = out + going
        if len(together) >= SIDE_BY_SIDE or (together and (call.alone or together[-1].alone)):
            break
        going.append(call)
    return tuple(SendCall(effect_id=call.effect_id, send=call.sends + 1) for call in going)


def _step(session: Session, turn: Turn, now: int, running: frozenset[str]) -> Next:
    """Ask the model for the next step, or again, when nothing else is open."""
    model = turn.model
    until = _until(session, turn, now, running)
    if turn.summary is not None and turn.summary.state == "started":
        return Next(until=until)
    if model is not None:
        if model.state == "started":
            return Next(until=until)
        if model.state == "failed" and model.retry_at is not None and model.retry_at > now:
            return Next(until=min(model.retry_at, until))
        if model.successor is not None:
            ask = _ask(turn, model.step, model.attempt + 1, model.successor)
            return Next(ask=ask, until=until)
        if model.tries >= MODEL_ATTEMPTS:
            words = f"The model did not answer in {model.tries} attempts."
            return Next(events=tuple(ends.fail(turn, "model.unreachable", words)))
        ask = _ask(turn, model.step, model.attempt + 1, model.candidate)
        return Next(ask=ask, until=until)
    if not all(call.is_final for call in turn.calls.values()):
        return Next(until=until)
    if any(call.terminal and call.state == "succeeded" for call in turn.calls.values()):
        return Next(events=(e.TurnCompleted(turn_id=turn.id),))
    if turn.step >= session.limits.steps.value:
        told = ends.reach(turn, "steps", session.limits.steps)
        if told:
            return Next(events=tuple(told))
    return Next(ask=_ask(turn, turn.step + 1, 1, turn.candidate), until=until)


def _ask(turn: Turn, step: int, attempt: int, candidate: int) -> AskModel:
    effect_id = ids.model_effect(turn.id, step, attempt)
    return AskModel(effect_id=effect_id, step=step, attempt=attempt, candidate=candidate)


def _until(session: Session, turn: Turn, now: int, running: frozenset[str]) -> int:
    """When to look again at the latest: the nearest deadline of a wait or of the turn."""
    limits = session.limits
    times = [wait.deadline for wait in turn.waits.values() if wait.is_open and wait.deadline]
    if "total_seconds" not in turn.told:
        times.append(turn.opened + limits.total_seconds.value * 1000)
    since = _active_since(turn, running)
    if since is not None and "active_seconds" not in turn.told:
        times.append(since + limits.active_seconds.value * 1000 - turn.active)
    return min(times, default=now + A_DAY)
