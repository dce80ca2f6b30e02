"""Which word, and which colour, stands for a state: the same on every page.

Each filter gives (state, label): the first is a word of the style sheet, the second is read.
"""

from collections.abc import Callable, Mapping
from typing import Any

from studio.core.projections.environments import EnvironmentRow
from studio.core.reader import CallRow, Line, OperationRow, WaitRow
from studio.core.rules import contents, summaries
from studio.core.rules.events import Content
from studio.web import arguments, commands
from studio.web.arguments import Node
from studio.web.attachments import is_picture, kind_icon, kind_word
from studio.web.format import count, pretty

State = tuple[str, str]

CALLS: dict[str, State] = {
    "proposed": ("queued", "proposed"),
    "held": ("held", "held"),
    "ready": ("queued", "ready"),
    "started": ("running", "running"),
    "waiting": ("waiting", "waiting"),
    "succeeded": ("completed", "done"),
    "failed": ("failed", "failed"),
    "denied": ("denied", "denied"),
    "cancelled": ("cancelled", "cancelled"),
    "uncertain": ("uncertain", "uncertain"),
}
OPEN: dict[str, State] = {
    "approval": ("held", "held"),
    "question": ("waiting", "question"),
    "timer": ("waiting", "waits for a time"),
    "uncertain": ("uncertain", "uncertain"),
}
CHOICES: dict[str, State] = {
    "approve": ("approved", "approved"),
    "deny": ("denied", "denied"),
    "answer": ("answered", "answered"),
    "ran": ("completed", "settled: it ran"),
    "did_not_run": ("cancelled", "settled: it did not run"),
    "send_again": ("approved", "sent again"),
    "expired": ("expired", "expired, not run"),
    "due": ("completed", "due"),
    "stopped": ("cancelled", "stopped"),
    "late": ("completed", "closed by its late outcome"),
}
VERDICTS: dict[str, State] = {
    "allow": ("approved", "runs"),
    "ask": ("held", "asks"),
    "deny": ("denied", "denied"),
    "depends": ("waiting", "depends"),
}
ENVIRONMENTS: dict[str, State] = {
    "made": ("queued", "made"),
    "running": ("approved", "running"),
    "stopped": ("cancelled", "stopped"),
    "lost": ("failed", "lost"),
    "deleted": ("denied", "deleted"),
}
TRIES: dict[str, State] = {
    "allowed": ("completed", "allowed"),
    "refused": ("denied", "refused"),
    "failed": ("failed", "failed"),
}
SETUPS: dict[str, State] = {
    "": ("queued", "not set up yet"),
    "started": ("running", "setting up"),
    "ok": ("completed", "set up"),
    "failed": ("failed", "setup failed"),
}
ACTS: dict[str, str] = {
    "keep": "keep a version", "restore": "restore version", "reset": "reset the disk",
    "start": "start it", "stop": "stop it", "import": "import an archive",
}  # fmt: skip
DOING: dict[str, str] = {
    "keep": "keeping a version", "restore": "restoring version", "reset": "resetting the disk",
    "start": "starting", "stop": "stopping", "import": "importing an archive",
}  # fmt: skip
DONE: dict[str, str] = {
    "keep": "kept a version", "restore": "restored version", "reset": "reset the disk",
    "start": "started", "stop": "stopped", "import": "imported an archive",
}  # fmt: skip
OPERATIONS = {"waiting": "queued", "running": "running", "done": "completed", "failed": "failed"}
SHOWN_CHARACTERS = 6_000


def call_state(call: CallRow) -> State:
    """How a call stands."""
    if call.state == "uncertain" and call.settled:
        return "completed", "settled"
    return CALLS.get(call.state, ("queued", call.state))


def wait_state(wait: WaitRow) -> State:
    """How a wait stands, or how it was answered."""
    if wait.state == "open":
        return OPEN.get(wait.kind, ("waiting", wait.kind))
    return CHOICES.get(wait.choice or "", ("cancelled", wait.choice or "closed"))


def environment_state(row: EnvironmentRow) -> State:
    """How an environment stands, in one word: while it is set up that is what it does."""
    if row.setup in ("started", "failed") and row.state not in ("lost", "deleted"):
        return SETUPS[row.setup]
    return ENVIRONMENTS.get(row.state, ("queued", row.state))


def try_state(outcome: str) -> State:
    """What came of a connection that was tried."""
    return TRIES.get(outcome, ("queued", outcome))


def setup_state(word: str) -> State:
    """How the setup of a disk went."""
    return SETUPS.get(word, ("queued", word))


def operation_state(operation: OperationRow) -> State:
    """How something that was asked of a disk stands, with what it is: `restoring version 3`."""
    words = {"running": DOING, "done": DONE}.get(operation.state, ACTS)
    told = words.get(operation.act, operation.act)
    number = f" {operation.source}" if operation.act == "restore" else ""
    what = f"{told}{number}" + (f" {operation.archive_name}" if operation.archive_name else "")
    return OPERATIONS.get(operation.state, "queued"), what


def fact_brief(payload: Mapping[str, Any]) -> str:
    """What tells a fact of an environment from others of its kind, in a few words."""
    match payload:
        case {"host": str(host), "port": port, "outcome": outcome}:
            tries = int(payload.get("tries", 1))
            more = f", {tries:,} tries" if tries > 1 else ""
            return f"{host or 'many hosts'}:{port} {outcome}{more}"
        case {"version": int(version), "reason": str(reason)} if reason:
            return f"version {version}, {reason}"
        case {"source": int(source), "version": version}:
            return f"version {source} as {version}"
        case {"act": str(act)}:
            return act
        case {"ok": bool(ok)}:
            said = payload.get("message") or payload.get("problem")
            return str(said or ("done" if ok else "failed"))
        case {"labels": dict(labels)} if "name" not in payload:
            return ", ".join(f"{key}={value}" for key, value in labels.items()) or "none"
    return str(payload.get("name") or payload.get("reason") or payload.get("isolation") or "")


def line_words(line: Line) -> str:
    """What an event of the timeline says."""
    turn = f"Turn {line.turn_number}"
    match line.kind:
        case "completed":
            return f"{turn} completed."
        case "failed":
            return f"{turn} failed: {line.message or line.text}"
        case "cancelled":
            why = f": {line.text}" if line.text else "."
            return f"{line.by} stopped {turn.lower()}{why} {_left(line.payload)}".strip()
        case "model_failed":
            after = ["It may have been billed."] if line.payload.get("maybe_billed") else []
            if line.payload.get("successor") is not None:
                after.append("The agent's next model is asked.")
            said = f"The model call failed: {line.message or line.text}"
            return "\n".join([said, " ".join(after)]) if after else said
        case "compacted":
            return _compacted(line.payload)
        case "summary_failed":
            return _not_summarised(line)
        case _:
            return line.text or line.message


def _compacted(payload: dict[str, Any]) -> str:
    """What a summary stands for, and what it saves."""
    part = summaries.covered(payload["before_turn"], payload["replies"])
    are = "is" if part in ("turn 1", "the first step of turn 1") else "are"
    before, after = payload["tokens_before"], payload["tokens_after"]
    return (
        f"{part[:1].upper()}{part[1:]} {are} summarised for the model: about {before:,} tokens "
        f"became {after:,}."
    )


def _not_summarised(line: Line) -> str:
    """Why there is no summary, and what the model is shown instead."""
    billed = " It may have been billed." if line.payload.get("maybe_billed") else ""
    if line.code == "model.stopped":
        return f"The summary of the older part was given up: {line.message}{billed}"
    then = (
        "It is asked for again."
        if line.payload.get("again")
        else "For this turn the model is shown the newest part alone."
    )
    return f"The older part could not be summarised: {line.message}{billed} {then}"


def _left(payload: dict[str, Any]) -> str:
    """What a stopped turn had done."""
    ran, unknown = len(payload.get("ran", ())), len(payload.get("unknown", ()))
    parts = [f"{count(ran, 'call')} had run"] if ran else ["No call had run"]
    if unknown:
        parts.append(f"the outcome of {count(unknown, 'call')} is unknown")
    return ", ".join(parts) + "."


def stopped_words(ran: int, unknown: int) -> str:
    """What had become of the calls of a turn that a person stopped."""
    said = "Stopped. "
    if ran == 0:
        said += "No call had run. "
    else:
        said += "One call had already run. " if ran == 1 else f"{ran} calls had already run. "
    if unknown:
        said += f"The outcome of {'one call' if unknown == 1 else f'{unknown} calls'} is not known."
    return said


def verdict(word: str | None) -> State:
    """What the policy said: allow, ask or deny; or words that say what may become of it."""
    return VERDICTS.get(word or "", ("queued", word or "not judged"))


def words(content: Content, most: int = SHOWN_CHARACTERS) -> str:
    """A content to be read as text: the beginning of it when it is long."""
    if content.stored:
        return contents.words(content)
    text = content.value if isinstance(content.value, str) else pretty(content.value)
    return text if len(text) <= most else text[:most] + "\n…"


def tree(content: Content, cut: int = arguments.SHOWN_CHARACTERS) -> Node:
    """A content as a tree of exact values; a large one as the text that is kept beside the fact."""
    value = contents.words(content) if content.stored else content.value
    return arguments.tree(value, cut=cut)


def is_cut(content: Content, most: int = SHOWN_CHARACTERS) -> bool:
    """Whether `words` leaves something out."""
    return content.stored or len(words(content, most + 2)) > most


FILTERS: dict[str, Callable[..., Any]] = {
    "call_state": call_state,
    "wait_state": wait_state,
    "environment_state": environment_state,
    "try_state": try_state,
    "fact_brief": fact_brief,
    "setup_state": setup_state,
    "operation_state": operation_state,
    "line_words": line_words,
    "verdict": verdict,
    "words": words,
    "is_cut": is_cut,
    "tree": tree,
    "command": commands.command,
    "ran": commands.ran,
    "kind_icon": kind_icon,
    "kind_word": kind_word,
    "is_picture": is_picture,
}
