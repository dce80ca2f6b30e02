"""A neutral request as the body of Anthropic's messages: blocks, tools, thinking, caching."""

import re
from collections.abc import Iterator
from typing import Any

from studio.core.providers import order, parts
from studio.core.providers.parts import sound
from studio.core.providers.provider import FilePart, Message, ProposedCall, Request
from studio.core.rules import models

_SHORT = re.compile(r"claude-(2|instant|3-(opus|haiku|sonnet)$)")
_MIDDLE = re.compile(r"claude-3-5")
_ADAPTIVE = re.compile(
    r"claude-(opus|sonnet)-4-[6-9]|claude-(opus|sonnet|haiku|fable|mythos)-[5-9]"
)
_SHAPED = re.compile(rf"claude-(opus|sonnet|haiku)-4-5|{_ADAPTIVE.pattern}")
_BUDGETS = {"low": 2_048, "medium": 8_192, "high": 24_576}
_ID = re.compile(r"[^a-zA-Z0-9_-]")
_CACHED = {"type": "ephemeral"}


def body(request: Request, owner: str) -> dict[str, Any]:
    """The arguments of one streamed message. `owner` is whose state is given back."""
    family = models.family({"name": request.model})
    instructions, schema = request.instructions, request.output_schema
    if schema is not None and not _SHAPED.match(family):
        instructions = parts.form_words(instructions, schema)
    found: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.options.get("max_output") or _most(family),
        "messages": _messages(request, owner),
        "stream": True,
    }
    if instructions:
        found["system"] = [{"type": "text", "text": sound(instructions), "cache_control": _CACHED}]
    if request.tools:
        found["tools"] = [
            {
                "name": tool.name,
                "description": sound(tool.description),
                "input_schema": dict(tool.schema),
            }
            for tool in request.tools
        ]
    if schema is not None and _SHAPED.match(family):
        found["output_config"] = {"format": {"type": "json_schema", "schema": dict(schema)}}
    _put_effort(found, request)
    if request.trace_headers:
        found["extra_headers"] = request.trace_headers
    return found


def is_summarized(request: Request) -> bool:
    """Whether the thinking that comes back is a summary for people: it is where we ask for one."""
    effort, family = request.options.get("effort"), models.family({"name": request.model})
    return effort not in (None, "none") and bool(_ADAPTIVE.match(family))


def _most(family: str) -> int:
    """The tokens of an answer: they have to be said, and a model refuses more than it can give."""
    return 4_096 if _SHORT.match(family) else 8_192 if _MIDDLE.match(family) else 32_000


def _put_effort(found: dict[str, Any], request: Request) -> None:
    effort = request.options.get("effort")
    if effort == "none":
        found["thinking"] = {"type": "disabled"}
    elif is_summarized(request):
        found["thinking"] = {"type": "adaptive", "display": "summarized"}
        found.setdefault("output_config", {})["effort"] = effort
    elif effort and (budget := min(_BUDGETS[effort], found["max_tokens"] // 2)) >= 1_024:
        found["thinking"] = {"type": "enabled", "budget_tokens": budget}


def _messages(request: Request, owner: str) -> list[dict[str, Any]]:
    """Turns of user and assistant; results of calls are the user's, all of a step in one."""
    found: list[dict[str, Any]] = []
    for message in request.messages:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = list(_blocks(message, owner))
        if not blocks:
            continue
        if found and found[-1]["role"] == role:
            found[-1]["content"] += blocks
        else:
            found.append({"role": role, "content": blocks})
    if found and found[-1]["role"] == "user":  # what stands before is read from the cache next time
        found[-1]["content"][-1]["cache_control"] = _CACHED
    return found


def _blocks(message: Message, owner: str) -> Iterator[dict[str, Any]]:
    if message.role == "tool":
        yield {
            "type": "tool_result",
            "tool_use_id": _id(message.call_id),
            "content": sound(message.text) or "(nothing)",
            **({"is_error": True} if message.failed else {}),
        }
    elif message.role == "user":
        for file in message.files:
            yield _file(file)
        yield from _text(message.text)
    elif message.state is not None and message.state.owner == owner:
        for part, _ in order.parts(message, message.state.items):
            yield from _part(part)
    else:
        yield from _text(message.text)
        for call in message.calls:
            yield _call(call)


def _part(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, str):
        yield from _text(part)
    elif isinstance(part, ProposedCall):
        yield _call(part)
    else:
        yield part


def _text(text: str) -> Iterator[dict[str, Any]]:
    """A block of text; one without a word in it is refused."""
    if text.strip():
        yield {"type": "text", "text": sound(text)}


def _call(call: ProposedCall) -> dict[str, Any]:
    value = parts.written(call)
    return {
        "type": "tool_use",
        "id": _id(call.id),
        "name": call.name,
        "input": value if isinstance(value, dict) else {"value": value},
    }


def _id(call_id: str) -> str:
    """An id that another provider made may have letters that are not known here."""
    return _ID.sub("_", call_id) or "call"


def _file(file: FilePart) -> dict[str, Any]:
    name = sound(file.name)
    match parts.kind(file):
        case "image":
            source = {"type": "base64", "media_type": parts.media_type(file)}
            return {"type": "image", "source": {**source, "data": parts.coded(file)}}
        case "pdf":
            source = {"type": "base64", "media_type": "application/pdf"}
            return {
                "type": "document",
                "title": name[:500],
                "source": {**source, "data": parts.coded(file)},
            }
        case "audio":
            return {"type": "text", "text": f"[Audio {name}: this model does not hear it.]"}
        case _:
            text = sound(file.data.decode("utf-8", "replace"))
            source = {"type": "text", "media_type": "text/plain", "data": text or " "}
            return {"type": "document", "title": name[:500], "source": source}
