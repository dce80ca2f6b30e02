"""A neutral request as the body of a chat completion: messages, tools, the form of the answer."""

import json
from collections.abc import Iterator
from typing import Any

from studio.core.providers import parts
from studio.core.providers.parts import sound
from studio.core.providers.provider import FilePart, Message, ProposedCall, Request


def body(request: Request, owner: str) -> dict[str, Any]:
    """The arguments of one chat completion, streamed and with its usage.

    `owner` is whose state is sent along with the replies it came with.
    """
    found: dict[str, Any] = {
        "model": request.model,
        "messages": list(_messages(request, owner)),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        found["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": sound(tool.description),
                    "parameters": dict(tool.schema),
                },
            }
            for tool in request.tools
        ]
    if request.output_schema is not None:
        schema = {"name": "answer", "schema": dict(request.output_schema)}
        found["response_format"] = {"type": "json_schema", "json_schema": schema}
    if most := request.options.get("max_output"):
        found["max_tokens"] = most
    if effort := request.options.get("effort"):
        found["reasoning_effort"] = effort
    if request.trace_headers:
        found["extra_headers"] = request.trace_headers
    return found


def _messages(request: Request, owner: str) -> Iterator[dict[str, Any]]:
    if request.instructions:
        yield {"role": "system", "content": sound(request.instructions)}
    people = [
        at for at, item in enumerate(request.messages) if item.role == "user" and not item.name
    ]  # what calls left comes as the user's too, with a name
    last = max(people, default=-1)
    for at, message in enumerate(request.messages):
        yield _message(message, owner, is_current=at > last)


def _message(message: Message, owner: str, *, is_current: bool) -> dict[str, Any]:
    text = sound(message.text)
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": text}
    elif message.role == "user":
        return {"role": "user", "content": _with_files(text, message.files)}
    found: dict[str, Any] = {"role": "assistant", "content": text}
    if message.calls:
        found["content"] = text or None
        found["tool_calls"] = [_call(call) for call in message.calls]
    if message.state is not None and message.state.owner == owner:
        _put_state(found, message.state.items, is_current=is_current)
    return found


def _call(call: ProposedCall) -> dict[str, Any]:
    written = json.dumps(parts.written(call), ensure_ascii=False)
    function = {"name": call.name, "arguments": sound(written)}
    return {"id": call.id, "type": "function", "function": function}


def _put_state(found: dict[str, Any], items: tuple[Any, ...], *, is_current: bool) -> None:
    """Give back what came with the reply. Plain thinking goes back within its turn alone: servers
    want it beside the calls it led to, and refuse it once the turn is over.
    """
    extras = {item["call"]: item["extra_content"] for item in items if "call" in item}
    for call in found.get("tool_calls", ()):
        if call["id"] in extras:
            call["extra_content"] = extras[call["id"]]
    for item in items:
        if "reasoning_details" in item:
            found["reasoning_details"] = item["reasoning_details"]
        elif "reasoning_content" in item and is_current and found.get("tool_calls"):
            found["reasoning_content"] = item["reasoning_content"]


def _with_files(text: str, files: tuple[FilePart, ...]) -> str | list[dict[str, Any]]:
    if not files:
        return text
    content = [_file(file) for file in files]
    return [*content, {"type": "text", "text": text}] if text else content


def _file(file: FilePart) -> dict[str, Any]:
    match parts.kind(file):
        case "image":
            return {"type": "image_url", "image_url": {"url": parts.data_url(file)}}
        case "pdf":
            whole = {"filename": sound(file.name), "file_data": parts.data_url(file)}
            return {"type": "file", "file": whole}
        case "audio":
            audio = {"data": parts.coded(file), "format": parts.audio_format(file)}
            return {"type": "input_audio", "input_audio": audio}
        case _:
            return {"type": "text", "text": parts.as_text(file)}
