"""How much of the past the model is shown, and in what words.

The talk of the last turns within the window (`session.WINDOW_TURNS`), whole turns only. Every call
has exactly one result before the next message, whatever became of it; doubt is shown as doubt.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from studio.core.rules import contents, media
from studio.core.rules.events import Content, FileRef
from studio.core.rules.session import Call, Session, Turn

READS = "read_artifact"


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
    files: tuple[FileRef, ...] = ()


def talk(session: Session, whole: Callable[[Content], str] = contents.words) -> list[Said]:
    """What the model is shown. `whole` gives the full text of a person's message."""
    turns = [*session.past, session.turn] if session.turn else list(session.past)
    return [said for turn in turns for said in of_turn(turn, whole(turn.message))]


def of_turn(
    turn: Turn, message: str, texts: Mapping[str, str] | None = None,
    reads: frozenset[str] = frozenset(),
) -> list[Said]:  # fmt: skip
    """What one turn adds to the talk; `message` is the person's, whole.

    A turn in hand is given `texts`, those of its message's text files by artifact: it brings its
    files, those of its last step too when the model `reads` them. A turn that is over only refers.
    """
    in_hand = texts is not None
    said = [_asked(turn, message, texts)]
    for number, reply in enumerate(turn.replies, 1):
        calls = [turn.calls[effect] for effect in reply.effects]
        asked = tuple(
            Asked(id=call.provider_call_id, name=call.tool, arguments=_arguments(call.proposed))
            for call in calls
        )
        text = contents.words(reply.text)
        said.append(Said(role="assistant", text=text, calls=asked, state=reply.state))
        said += [_result(call) for call in calls]
        if in_hand and number == len(turn.replies):
            said += _brought(calls, reads)
    return said


def _asked(turn: Turn, message: str, texts: Mapping[str, str] | None) -> Said:
    """A person's message, with its files or with words about them."""
    if texts is None:
        lines = [f"[Uploaded {referred(ref)} · read_artifact to view]" for ref in turn.files]
        return Said(role="user", text=_joined(message, *lines))
    parts = [
        f"[Uploaded {referred(ref)} · {ref.media} · {ref.size:,} bytes]\n{texts[ref.artifact_id]}"
        if ref.artifact_id in texts
        else f"[Uploaded {referred(ref)} · {ref.media} · attached]"
        for ref in turn.files
    ]
    files = tuple(ref for ref in turn.files if media.kind(ref.media) != "text")
    return Said(role="user", text=_joined(message, *parts), files=files)


def _brought(calls: list[Call], reads: frozenset[str]) -> list[Said]:
    """The files that the calls of the last step left, as far as the model reads them."""
    found = [
        (call, ref)
        for call in calls
        for ref in call.files
        if media.kind(ref.media) in reads - {"text"}
        and (media.kind(ref.media) != "image" or ref.media in media.INLINE_IMAGES)
    ]
    if not found:
        return []
    lines = [f"[From {call.tool}: {referred(ref)} · {ref.media}]" for call, ref in found]
    files = tuple(ref for _, ref in found)
    return [Said(role="user", name="files", text="\n".join(lines), files=files)]


def referred(ref: FileRef) -> str:
    """How a file is called in the talk: its name, its artifact and the version."""
    name = ref.name.replace('"', "'")
    return f'artifact "{name}" · {ref.artifact_id} v{ref.version}'


def _joined(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text.strip())


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
            return (contents.words(call.result) if call.result else "null") + _left(call)
        case "failed":
            told = contents.words(call.result) if call.result else ""
            more = f"\n{told}" if told not in ("", call.message) else ""  # nothing is said twice
            return f"Failed ({call.code or 'failed'}): {call.message}{more}{_left(call)}"
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


def _left(call: Call) -> str:
    """Words about the files that a call left behind; what it read out is there already."""
    if call.origin.kind == "platform" and call.tool == READS:
        return ""
    return "".join(
        f"\n[Tool {call.tool} returned {referred(ref)} · {ref.media} · {ref.size:,} bytes · "
        "read_artifact to view]"
        for ref in call.files
    )
