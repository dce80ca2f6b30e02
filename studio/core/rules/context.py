"""How much of the past the model is shown, and in what words.

The talk of the last turns within the window (`session.WINDOW_TURNS`), whole turns only. Every call
has exactly one result before the next message, whatever became of it; doubt is shown as doubt.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from studio.core.rules import contents
from studio.core.rules.events import Content
from studio.core.rules.session import Call, Session, Turn


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A call as the model proposed it."""

    id: str
    name: str
    arguments: Any


@dataclass(frozen=True, kw_only=True)
class Said:
    """One message of the talk, neutral to providers; the fields are those of `provider.Message`.

    `state` refers to what the provider of this reply wants back unchanged.
    """

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    calls: tuple[Asked, ...] = ()
    call_id: str = ""
    name: str = ""
    failed: bool = False
    state: Content | None = None


def talk(session: Session, whole: Callable[[Content], str] = contents.words) -> list[Said]:
    """What the model is shown. `whole` gives the full text of a person's message."""
    turns = [*session.past, session.turn] if session.turn else list(session.past)
    return [said for turn in turns for said in of_turn(turn, whole(turn.message))]


def of_turn(turn: Turn, message: str) -> list[Said]:
    """What one turn adds to the talk; `message` is the person's, whole."""
    said = [Said(role="user", text=message)]
    for reply in turn.replies:
        calls = [turn.calls[effect] for effect in reply.effects]
        asked = tuple(
            Asked(id=call.provider_call_id, name=call.tool, arguments=_arguments(call.proposed))
            for call in calls
        )
        text = contents.words(reply.text)
        said.append(Said(role="assistant", text=text, calls=asked, state=reply.state))
        said += [_result(call) for call in calls]
    return said


def _arguments(proposed: Content) -> Any:
    return {"shortened": contents.words(proposed)} if proposed.stored else proposed.value


def _result(call: Call) -> Said:
    failed = call.state != "succeeded" and not call.said_to_run
    return Said(
        role="tool", text=result_words(call), call_id=call.provider_call_id, name=call.tool,
        failed=failed,
    )  # fmt: skip


def result_words(call: Call) -> str:
    """The one result of a call in words for the model; a person's edit is always said."""
    text = _outcome_words(call)
    if call.edited_by and (call.sends or call.state == "succeeded"):
        used = json.dumps(_arguments(call.arguments), ensure_ascii=False)
        return f"[A person changed the arguments before this ran. It ran with: {used}]\n{text}"
    return text


def _outcome_words(call: Call) -> str:
    match call.state:
        case "succeeded":
            return contents.words(call.result) if call.result else "null"
        case "failed":
            more = f"\n{contents.words(call.result)}" if call.result else ""
            return f"Failed ({call.code or 'failed'}): {call.message}{more}"
        case "denied":
            who = {"policy": "the policy", "deadline": "a deadline"}.get(call.closed_by, "a person")
            return f"Denied by {who}; it did not run. {call.message}"
        case "cancelled":
            return f"Not run. {call.message}"
        case "uncertain" if call.said_to_run:
            return f"A person says that it ran; its result is not known. {call.message}"
        case _:
            return (
                "Outcome unknown: it was sent and nobody recorded what came of it. "
                "Do not assume that it ran, or that it did not."
            )
