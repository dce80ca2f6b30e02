"""A session as Markdown to be read: its facts in words, and nothing in it that could pass for ours.

What people, models and tools said stands in fences longer than any they hold, names in code spans;
characters that would not be seen are written as escapes.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from studio.core.rules import reveal

Payload = Mapping[str, Any]
_TICKS = re.compile("`+")


def code(text: object) -> str:
    """A code span that holds this text on one line, whatever is in it."""
    plain = reveal.plain(str(text), one_line=True)
    ticks = "`" * (_longest(plain) + 1)
    edge = " " if not plain.strip() or plain[0] in "` " or plain[-1] in "` " else ""
    return f"{ticks}{edge}{plain or '(empty)'}{edge}{ticks}"


def fence(text: str, kind: str = "text") -> str:
    """A fenced block that holds this text, whatever is in it."""
    ticks = "`" * max(_longest(text) + 1, 3)
    return f"{ticks}{kind}\n{reveal.plain(text)}\n{ticks}\n"


def head(session: Mapping[str, Any]) -> str:
    """The beginning of a session: `session` has title, id, agent, agent_version, owner, started."""
    return (
        f"# Session {code(session['title'])}\n\n"
        f"{code(session['id'])}, agent {code(session['agent'])} version "
        f"{session['agent_version']}, of {code(session['owner'])}, begun "
        f"{moment(session['started'])}.\n\n"
    )


def fact(kind: str, time: int, actor: str, payload: Payload) -> str:
    """One fact in words; "" where it says nothing to a reader. `time` is ms, UTC."""
    write = _WRITERS.get(kind)
    return write(payload, f"{moment(time)}, {code(actor)}") if write is not None else ""


def moment(milliseconds: int) -> str:
    """`2026-11-30 17:00:00 UTC`."""
    at = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return at.strftime("%Y-%m-%d %H:%M:%S UTC")


def body(content: Mapping[str, Any] | None) -> str:
    """A Content in a fence: the whole, or head and tail with what is left out between them."""
    if content is None:
        return ""
    kind = "json" if content.get("media", "application/json") == "application/json" else "text"
    if content.get("stored"):
        shown = fence(content.get("head", ""), kind) if content.get("head") else ""
        tail = fence(content["tail"], kind) if content.get("tail") else ""
        return (
            f"{shown}\n{content['size']:,} bytes in all, SHA-256 {code(content['hash'])}.\n\n{tail}"
        )
    value = content.get("value")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return fence(text, "text" if isinstance(value, str) else kind)


def _longest(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)


def _message(p: Payload, who: str) -> str:
    files = _files(p.get("files"))
    return f"## Turn {p['number']}\n\n{who}, a message:\n\n{body(p['text'])}{files}\n"


def _reply(p: Payload, who: str) -> str:
    said = body(p["text"]) if p["text"].get("size") else ""
    usage = p.get("usage") or {}
    read, written = (usage.get(name) for name in ("input_tokens", "output_tokens"))
    tokens = f"{_known(read)} tokens in, {_known(written)} out"
    cost = f"${usage['cost']:.6f}" if usage.get("cost") is not None else "cost unknown"
    by = code(p["model"]) if p.get("model") else "the model"
    asks = f", asks for {p['calls']} call{'' if p['calls'] == 1 else 's'}" if p["calls"] else ""
    return f"{who}, a reply of {by} ({tokens}, {cost}){asks}:\n\n{said}\n"


def _call(p: Payload, who: str) -> str:
    origin = p["origin"]
    from_ = " of ".join(
        f"{name} {code(origin[name])}" for name in ("server", "plugin") if origin.get(name)
    )
    verdict = (p.get("ruling") or {}).get("verdict", "")
    told = f" ({origin['kind']}{', ' + from_ if from_ else ''}; the policy says {verdict})"
    name = f"### Call of {code(p['tool'])}\n\n"
    return f"{name}{who}{told}, {code(p['effect_id'])}, with:\n\n{body(p['arguments'])}\n"


def _wait(p: Payload, who: str) -> str:
    asks = f":\n\n{fence(p['prompt'])}" if p.get("prompt") else ".\n"
    return f"{who}: {code(p['effect_id'])} stands on a wait, {code(p['kind'])}{asks}\n"


def _decision(p: Payload, who: str) -> str:
    why = f":\n\n{fence(p['reason'])}" if p.get("reason") else ".\n"
    edited = f"\nWith other arguments:\n\n{body(p['arguments'])}" if p.get("arguments") else ""
    answer = f"\nThe answer:\n\n{body(p['answer'])}" if p.get("answer") else ""
    of = code(p["effect_id"])
    return f"{who}: {code(p['choice'])} for {of} by {code(p['by'])}{why}{edited}{answer}\n"


def _result(words: str) -> Any:
    def write(p: Payload, who: str) -> str:
        why = " ".join(
            code(p[name]) for name in ("code", "message", "reason", "outcome") if p.get(name)
        )
        result = body(p.get("result"))
        end = f":\n\n{result}" if result else ".\n"
        says = f" ({why})" if why else ""
        return f"{who}: {code(p['effect_id'])} {words}{says}{end}{_files(p.get('files'))}\n"

    return write


def _end(words: str) -> Any:
    def write(p: Payload, who: str) -> str:
        why = " ".join(code(p[name]) for name in ("code", "message", "reason") if p.get(name))
        output = f"\nIts output:\n\n{body(p['output'])}" if p.get("output") else ""
        return f"**The turn {words}** {who}{': ' + why if why else ''}.\n{output}\n"

    return write


def _model_failed(p: Payload, who: str) -> str:
    why = " ".join(code(p[name]) for name in ("code", "message", "reason") if p.get(name))
    return f"{who}: an attempt at the model ended without a reply{': ' + why if why else ''}.\n\n"


def _compacted(p: Payload, who: str) -> str:
    words = "what was said before is shown to the model as a summary from here on"
    return f"{who}: {words}:\n\n{body(p['text'])}\n"


def _limit(p: Payload, who: str) -> str:
    ends = "which ends the turn" if p["hard"] else "which is only told"
    return f"{who}: the limit {code(p['limit'])} of {p['value']:,} was reached, {ends}.\n\n"


def _fault(p: Payload, who: str) -> str:
    tries = f"try {p['tries']} of {p['most']}, fault {code(p['fault'])}"
    return f"{who}: the studio itself failed over the turn ({tries}) and tries again.\n\n"


def _artifact(p: Payload, who: str) -> str:
    return f"{who}: a file was kept, {_file(p)}.\n\n"


def _files(found: Any) -> str:
    return "".join(f"\nFile {_file(one)}.\n" for one in found or ())


def _file(p: Payload) -> str:
    return (
        f"{code(p['name'])} ({code(p['media'])}, {p['size']:,} bytes), version {p['version']} of "
        f"{code(p['artifact_id'])}, SHA-256 {code(p['hash'])}"
    )


def _known(count: int | None) -> str:
    return "unknown" if count is None else f"{count:,}"


_WRITERS = {
    "message.accepted": _message, "model.replied": _reply, "model.failed": _model_failed,
    "model.uncertain": _model_failed, "summary.failed": _model_failed,
    "context.compacted": _compacted, "call.proposed": _call,
    "wait.opened": _wait, "decision.recorded": _decision,
    "call.succeeded": _result("succeeded"), "call.failed": _result("failed"),
    "call.denied": _result("was denied"), "call.cancelled": _result("was cancelled"),
    "call.uncertain": _result("was sent, and nobody recorded what came of it"),
    "call.settled": _result("was settled by a person"), "call.late": _result("came late"),
    "limit.reached": _limit, "turn.faulted": _fault, "artifact.saved": _artifact,
    "turn.completed": _end("completed."), "turn.failed": _end("failed."),
    "turn.cancelled": _end("was stopped."),
}  # fmt: skip
