"""The scripted model: does what its script or the message says, the same every time. No key.

It decides from the request alone: the number of replies since the last message is the step. What
it says of calls is what the talk says became of them, so it never claims what did not happen.
"""

import asyncio
import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from studio.core.providers import arguments, recalled, script
from studio.core.providers.provider import (
    Message,
    ProposedCall,
    ProviderError,
    Reply,
    Request,
    TextDelta,
)
from studio.core.rules.events import Usage

PIECE_CHARACTERS = 24
QUOTED_CHARACTERS = 4_000
KEPT_COUNTS = 10_000
COUNTED_ONCE = 2_000  # characters of a text whose words are remembered

HELP = (
    "I am the scripted model: I do what your message says, one line at a time.\n"
    "  say <text>                    answer\n"
    "  slow <milliseconds> <text>    answer word by word\n"
    "  call <tool> <json>            call a tool; lines in a row run side by side\n"
    "  then                          next step\n"
    "  ask <question> [json schema]  ask a person\n"
    "  wait <seconds>                wait\n"
    "  repeat <n> call …, loop call …   the same call n times, or for ever\n"
    "  fail <rate|refused|context|server|garbage|empty> [times]   break\n"
)

_FAILURES: dict[str, ProviderError] = {
    "rate": ProviderError(
        "model.rate_limited", "The model has too much to do: try again later.",
        permanent=False, retry_after=0.5,
    ),
    "refused": ProviderError("model.refused", "The model refused this request.", permanent=True),
    "context": ProviderError(
        "model.context", "The talk is longer than the model can read.", permanent=True
    ),
    "server": ProviderError("model.server", "The model's server failed (500).", permanent=False),
    "garbage": ProviderError(
        "model.garbage", "The model's server sent something that is not an answer.", permanent=True
    ),
}  # fmt: skip


class Scripted:
    """The scripted provider. All it keeps is how often a request was told to fail."""

    name = "scripted"

    def __init__(self) -> None:
        self._failed: OrderedDict[str, int] = OrderedDict()

    async def stream(self, request: Request) -> AsyncIterator[TextDelta | Reply]:
        """Yield the step's text in pieces, then the reply."""
        if request.purpose == "summary":
            text = recalled.summary(request.messages[-1].text, outcome)
            yield Reply(text=text, usage=_usage(request, text))
            return
        step, text = decide(request)
        if step.fail and self._fails(step.fail, request):
            if step.fail.kind == "empty":
                yield Reply(text="", usage=_usage(request, ""))
                return
            told = _FAILURES[step.fail.kind]
            raise ProviderError(
                told.code, told.message, permanent=told.permanent, retry_after=told.retry_after
            )
        for piece in _pieces(text, step.slow):
            await asyncio.sleep(step.slow / 1000)
            yield TextDelta(text=piece)
        calls = _proposed(request, step)
        yield Reply(
            text=text, calls=calls, usage=_usage(request, text), stop="calls" if calls else "end"
        )

    async def close(self) -> None:
        """Nothing is held."""

    def _fails(self, failure: script.Failure, request: Request) -> bool:
        """Whether this attempt fails; when it does not, the next request like it starts anew."""
        if failure.times is None:
            return True
        key = _identity(request)
        count = self._failed.pop(key, 0)
        if count >= failure.times:
            return False
        self._failed[key] = count + 1
        if len(self._failed) > KEPT_COUNTS:
            self._failed.popitem(last=False)
        return True


def decide(request: Request) -> tuple[script.Step, str]:
    """The step to do now and its text, from the request alone."""
    message, replies = _since_last_message(request.messages)
    try:
        program = script.choose(request.options.get("script", ()), message)
    except script.BadScript as wrong:
        raise ProviderError(
            "model.script", f"The agent's script does not make sense. {wrong}.", permanent=True
        ) from None
    if program is None:
        return script.Step(), HELP + _offered(request)
    outcomes = [{outcome(item) for item in results} for results in replies]
    step = _walk(program.steps, [*recalled.before(request.messages), *outcomes])
    results = replies[-1] if replies else []
    if step is None:
        return script.Step(), _summary(results)
    names = {"message": message, "match": list(program.found), **_told(results)}
    return _filled(step, names), fill(step.say, names)


def _since_last_message(messages: Sequence[Message]) -> tuple[str, list[list[Message]]]:
    """The last message of a person, and the results of each reply since."""
    text, replies = "", list[list[Message]]()
    places = range(len(messages) - 1, -1, -1)
    start = next((at for at in places if _is_message(messages[at])), -1)
    if start >= 0:
        text = messages[start].text.partition(_FILES)[0].strip()
    for item in messages[start + 1 :]:
        if item.role == "assistant":
            replies.append([])
        elif item.role == "tool" and replies:
            replies[-1].append(item)
    return text, replies


def _is_message(item: Message) -> bool:
    """A person wrote it; files that a call left come as a message of the user's too."""
    return item.role == "user" and item.name != "files"


def _walk(steps: Iterable[script.Step], replies: Iterable[set[str]]) -> script.Step | None:
    """Follow the steps that were done, turning where their calls' outcomes say so."""
    ahead = iter(steps)
    for outcomes in replies:
        done = next(ahead, None)
        if done is None:
            return None
        branch = next((kind for kind in done.after if kind in outcomes), None)
        if branch is not None:
            ahead = iter(done.after[branch])
    return next(ahead, None)


_FILES = "[Uploaded artifact "  # what follows a person's words when files came with them
_LEFT = re.compile(r"(\n\[Tool \S+ returned artifact .*\])+$")
_EDITED = re.compile(r"\[A person changed the arguments before this ran\. It ran with: (.*)\]\n")
_DENIED = re.compile(r"(?:Denied by [^;.]*; it did not run\.|tool\.denied:)\s*")
_UNKNOWN = re.compile(r"Outcome unknown:|A person says that it ran;")
_FAILED = re.compile(r"(?:Failed \([\w. ]*\):|Not run\.)\s*")


def outcome(result: Message) -> str:
    """What the talk says became of a call, in the words of `rules.context`."""
    text = _EDITED.sub("", result.text, count=1)
    if _UNKNOWN.match(text):
        return "uncertain"
    elif _DENIED.match(text):
        return "denied"
    elif result.failed:
        return "failed"
    elif _EDITED.match(result.text):
        return "edited"
    return "done"


def _told(results: list[Message]) -> dict[str, Any]:
    """The names a script may quote: results, what an edited call ran with, why a call did not."""
    values = [_json(_LEFT.sub("", _EDITED.sub("", item.text, count=1))) for item in results]
    edited = next((note[1] for item in results if (note := _EDITED.match(item.text))), "")
    worst = next((item for item in results if item.failed), None)
    return {
        "results": values,
        "result": values[0] if values else None,
        "edited": _json(edited),
        "reason": _reason(worst.text) if worst else "",
    }


def _reason(text: str) -> str:
    text = _EDITED.sub("", text, count=1)
    return _FAILED.sub("", _DENIED.sub("", text, count=1), count=1).strip()


def _json(text: str) -> Any:
    """The JSON that a result is, else its text."""
    value, broken = arguments.parse(text)
    return text if broken is not None else value


_PLACEHOLDER = re.compile(r"\{(message|match|reason|edited|results?)((?:\.\w+|\[\d+\])*)\}")


def fill(text: str, names: Mapping[str, Any]) -> str:
    """Put values where `{result.field}` and the like stand; what is not there is left out."""

    def put(found: re.Match[str]) -> str:
        value = names.get(found[1])
        for part in re.findall(r"\w+", found[2]):
            value = _inside(value, part)
        words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return "(nothing)" if value is None else words[:QUOTED_CHARACTERS]

    return _PLACEHOLDER.sub(put, text)


def _inside(value: Any, part: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(part)
    elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
        return value[int(part)]
    return None


def _filled(step: script.Step, names: Mapping[str, Any]) -> script.Step:
    calls = tuple(
        script.ScriptCall(
            tool=call.tool, arguments=_fill_in(call.arguments, names), broken=call.broken
        )
        for call in step.calls
    )
    return script.Step(slow=step.slow, calls=calls, fail=step.fail)


def _fill_in(value: Any, names: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        return fill(value, names)
    elif isinstance(value, Mapping):
        return {key: _fill_in(item, names) for key, item in value.items()}
    elif isinstance(value, list):
        return [_fill_in(item, names) for item in value]
    return value


def _summary(results: list[Message]) -> str:
    """What happened, call by call, when the script has nothing more to say."""
    lines = [f"{item.name or 'The call'}: {item.text[:QUOTED_CHARACTERS]}" for item in results]
    return "\n".join(lines) or "Done."


def _offered(request: Request) -> str:
    names = ", ".join(tool.name for tool in request.tools)
    return f"Tools I may call: {names}." if names else "I have no tools."


def _pieces(text: str, slow: int) -> list[str]:
    """Words when slow, else runs of words; joined they are the text."""
    words = re.findall(r"\s*\S+\s*$|\s*\S+", text) if text.strip() else [text] * bool(text)
    if slow:
        return words
    pieces, piece = list[str](), ""
    for word in words:
        piece += word
        if len(piece) >= PIECE_CHARACTERS:
            pieces.append(piece)
            piece = ""
    return [*pieces, piece] if piece else pieces


def _proposed(request: Request, step: script.Step) -> tuple[ProposedCall, ...]:
    stem = _identity(request)[:12]
    return tuple(
        ProposedCall(
            id=f"call_{stem}_{number}", name=call.tool, arguments=call.arguments, broken=call.broken
        )
        for number, call in enumerate(step.calls)
    )


def _identity(request: Request) -> str:
    """What tells this request from others: its trace, its place in the talk, its last words."""
    trace = (request.traceparent or "").split("-")[1:2]
    last = request.messages[-1].text[:1000] if request.messages else ""
    text = json.dumps([trace, len(request.messages), last])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _usage(request: Request, text: str) -> Usage:
    """Words stand for tokens, and it costs nothing: that is known, so it is zero."""
    read = _words(request.instructions) + sum(_words(item.text) for item in request.messages)
    return Usage(
        input_tokens=read, output_tokens=_words(text), cached_tokens=0, cache_write_tokens=0,
        reasoning_tokens=0, cost=0.0,
    )  # fmt: skip


def _words(text: str) -> int:
    return len(text.split()) if len(text) > COUNTED_ONCE else _few_words(text)


@lru_cache(maxsize=8_192)
def _few_words(text: str) -> int:
    return len(text.split())
