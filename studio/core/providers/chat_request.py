"""A neutral request as the body of a chat completion: messages, tools, the form of the answer."""

import json
from collections.abc import Iterator
from typing import Any

from studio.core.providers.provider import Message, ProposedCall, Request


def body(request: Request) -> dict[str, Any]:
    """The arguments of one chat completion, streamed and with its usage."""
    found: dict[str, Any] = {
        "model": request.model,
        "messages": list(_messages(request)),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        found["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": _sound(tool.description),
                    "parameters": dict(tool.schema),
                },
            }
            for tool in request.tools
        ]
    if request.output_schema is not None:
        schema = {"name": "answer", "schema": dict(request.output_schema)}
        found["response_format"] = {"type": "json_schema", "json_schema": schema}
    if request.traceparent:
        found["extra_headers"] = {"traceparent": request.traceparent}
    return found


def _messages(request: Request) -> Iterator[dict[str, Any]]:
    if request.instructions:
        yield {"role": "system", "content": _sound(request.instructions)}
    for message in request.messages:
        yield _message(message)


def _message(message: Message) -> dict[str, Any]:
    text = _sound(message.text)
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": text}
    elif message.role == "assistant" and message.calls:
        calls = [_call(call) for call in message.calls]
        return {"role": "assistant", "content": text or None, "tool_calls": calls}
    return {"role": message.role, "content": text}


def _call(call: ProposedCall) -> dict[str, Any]:
    # A server reads old arguments again and refuses a talk in which they are not JSON.
    value = {"unreadable": call.broken} if call.broken is not None else call.arguments
    function = {"name": call.name, "arguments": _sound(json.dumps(value, ensure_ascii=False))}
    return {"id": call.id, "type": "function", "function": function}


def _sound(text: str) -> str:
    """Text that can be sent: half of a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")
