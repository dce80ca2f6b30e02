"""What people begin and stop: a session, a turn by its message, and the end of one."""

from collections.abc import Sequence
from typing import Any

from studio.core.rules import contents, ends, files
from studio.core.rules import events as e
from studio.core.rules.errors import Refused
from studio.core.rules.files import Given
from studio.core.rules.session import Session


def start(*, agent: str, agent_version: int, title: str, owner: str, private: bool,
          limits: e.Limits, model: Any = None,
          environment_id: str | None = None) -> list[e.Event]:  # fmt: skip
    """A new session."""
    return [
        e.SessionStarted(
            agent=agent, agent_version=agent_version, title=title, owner=owner, private=private,
            limits=limits, model=model, environment_id=environment_id,
        )
    ]  # fmt: skip


def choose_model(session: Session, *, model: Any, by: str) -> list[e.Event]:
    """Other turns get another model; the turn in hand keeps its own, so there may be none."""
    if session.busy:
        raise _busy(session)
    return [] if model == session.model else [e.SessionModelChosen(model=model, by=by)]


def accept(
    session: Session, *, turn_id: str, text: str, by: str, given: Sequence[Given] = (),
    caller: e.Caller | None = None,
) -> list[e.Event]:  # fmt: skip
    """A message opens a turn, unless one is in hand. Uploads among its files become artifacts."""
    if session.busy:
        raise _busy(session)
    return _opened(session, turn_id=turn_id, text=text, by=by, given=given, caller=caller)


def _opened(
    session: Session, *, turn_id: str, text: str, by: str, given: Sequence[Given],
    caller: e.Caller | None,
) -> list[e.Event]:  # fmt: skip
    opened = e.MessageAccepted(
        turn_id=turn_id, number=session.turns + 1, text=contents.of_text(text), by=by,
        files=tuple(item.ref for item in given), caller=caller,
    )  # fmt: skip
    uploads = [item for item in given if item.is_new]
    return [
        *(files.saved(item, source="upload", by=by, turn_id=turn_id) for item in uploads), opened,
    ]  # fmt: skip


def stop(session: Session, *, by: str, reason: str) -> list[e.Event]:
    """Stop the turn in hand now: nothing more is sent, and what had already run is named."""
    turn = session.turn
    if turn is None or turn.is_over:
        raise Refused(
            "No turn is running in this session, so there is nothing to stop.",
            code="turn.not_running",
        )
    words = f"Stopped by {by}" + (f": {reason}" if reason else ".")
    return [*ends.close(turn, by=by, words=words), ends.cancelled(turn, by, reason)]


def deny_and_accept(
    session: Session, *, turn_id: str, text: str, by: str, reason: str,
    given: Sequence[Given] = (), caller: e.Caller | None = None,
) -> list[e.Event]:  # fmt: skip
    """Deny every held call, stop the turn and open a new one, all at once."""
    turn = session.turn
    if turn is None or turn.is_over:
        return accept(session, turn_id=turn_id, text=text, by=by, given=given, caller=caller)
    denied: list[e.Event] = []
    for wait in turn.open_waits():
        if wait.kind == "approval":
            call = turn.calls[wait.effect_id]
            denied += [
                e.DecisionRecorded(
                    turn_id=turn.id, effect_id=call.effect_id, wait_id=wait.id, choice="deny",
                    by=by, reason=reason, digest_shown=call.decided, digest_decided=call.decided,
                ),
                e.CallDenied(turn_id=turn.id, effect_id=call.effect_id, by=by, reason=reason),
            ]  # fmt: skip
    gone = {event.effect_id for event in denied if isinstance(event, e.CallDenied)}
    closing = ends.close(turn, by=by, words="A new message took its place.", leave=gone)
    opened = _opened(session, turn_id=turn_id, text=text, by=by, given=given, caller=caller)
    return [*denied, *closing, ends.cancelled(turn, by, reason), *opened]


def _busy(session: Session) -> Refused:
    assert session.turn is not None, "a busy session has a turn"
    held = sum(wait.kind == "approval" for wait in session.turn.open_waits())
    what = f"{held} held call{'s' if held != 1 else ''}" if held else "its work"
    return Refused(
        f"A turn is {session.turn.status} in this session. Wait for {what}, stop the turn, or "
        + ("deny and send." if held else "send your message afterwards."),
        code="turn.running",
        details={
            "turn_id": session.turn.id,
            "status": session.turn.status,
            "held": held,
            "offers": ["stop", "deny_and_send"] if held else ["stop"],
        },
    )
