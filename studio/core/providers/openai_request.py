"""A neutral request as the body of OpenAI's Responses: items, tools, reasoning. Nothing is stored
there: the talk is sent whole each time, with the reasoning that came encrypted.
"""

import json
from collections.abc import Iterator
from typing import Any

from studio.core.providers import order, parts
from studio.core.providers.parts import sound
from studio.core.providers.provider import FilePart, Message, ProposedCall, Request


def body(request: Request, owner: str) -> dict[str, Any]:
    """The arguments of one streamed response. `owner` is whose state is given back."""
    found: dict[str, Any] = {
        "model": request.model,
        "input": [item for message in request.messages for item in _items(message, owner)],
        "include": ["reasoning.encrypted_content"],
        "store": False,
        "stream": True,
    }
    if request.instructions:
        found["instructions"] = sound(request.instructions)
    if request.tools:
        found["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": sound(tool.description),
                "parameters": dict(tool.schema),
                "strict": False,
            }
            for tool in request.tools
        ]
    if request.output_schema is not None:
        form = {"type": "json_schema", "name": "answer", "schema": dict(request.output_schema)}
        found["text"] = {"format": {**form, "strict": False}}
    if most := request.options.get("max_output"):
        found["max_output_tokens"] = most
    if effort := request.options.get("effort"):
        summary = {} if effort == "none" else {"summary": "auto"}
        found["reasoning"] = {"effort": effort, **summary}
    if request.trace_headers:
        found["extra_headers"] = request.trace_headers
    return found


def _items(message: Message, owner: str) -> Iterator[dict[str, Any]]:
    if message.role == "tool":
        text = sound(message.text)
        yield {"type": "function_call_output", "call_id": message.call_id, "output": text}
    elif message.role == "user":
        yield {"role": "user", "content": _with_files(message)}
    elif message.state is not None and message.state.owner == owner:
        for part, item in order.parts(message, message.state.items):
            yield from _part(part, item)
    else:
        if message.text:
            yield {"role": "assistant", "content": sound(message.text)}
        for call in message.calls:
            yield _call(call, {})


def _part(part: Any, item: Any) -> Iterator[dict[str, Any]]:
    names = {name: item[name] for name in ("id", "phase") if item.get(name)}
    if isinstance(part, ProposedCall):
        yield _call(part, names)
    elif not isinstance(part, str):
        yield part
    elif part and "id" in names:
        text = {"type": "output_text", "text": sound(part), "annotations": []}
        message = {"type": "message", "role": "assistant", "status": "completed"}
        yield {**message, **names, "content": [text]}
    elif part:
        yield {"role": "assistant", "content": sound(part), **names}


def _call(call: ProposedCall, names: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": sound(json.dumps(parts.written(call), ensure_ascii=False)),
        **names,
    }


def _with_files(message: Message) -> str | list[dict[str, Any]]:
    text = sound(message.text)
    if not message.files:
        return text
    content = [_file(file) for file in message.files]
    return [*content, {"type": "input_text", "text": text}] if text else content


def _file(file: FilePart) -> dict[str, Any]:
    match parts.kind(file):
        case "image":
            return {"type": "input_image", "image_url": parts.data_url(file), "detail": "auto"}
        case "pdf":
            whole = {"filename": sound(file.name), "file_data": parts.data_url(file)}
            return {"type": "input_file", **whole}
        case "audio":
            audio = {"data": parts.coded(file), "format": parts.audio_format(file)}
            return {"type": "input_audio", "input_audio": audio}
        case _:
            return {"type": "input_text", "text": parts.as_text(file)}
