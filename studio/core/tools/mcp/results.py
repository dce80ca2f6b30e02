"""What an MCP tool gave back, as a result of ours: structured content first, then text, parts.

Images, audio and the bytes of embedded resources are handed on as files; the value refers to the
artifacts that they become.
"""

import base64
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from studio.core.masking import Mask
from studio.core.rules import files, ids
from studio.core.tools import strict
from studio.core.tools.tool import Result, ResultFile, ToolError

if TYPE_CHECKING:
    import mcp_types

LARGEST_RESULT = 8 * 1024 * 1024


def result(answer: "mcp_types.CallToolResult", mask: Mask, effect_id: str = "") -> Result:
    """The result of a call; ToolError when it cannot be kept. Without a call no file is kept."""
    try:
        found = _result(answer, mask, effect_id)
        strict.check(found.value)
    except strict.NotJson as wrong:
        raise ToolError("tool.bad_result", f"The result cannot be kept: {wrong}.") from None
    size = len(ids.canonical(found.value)) if found.text is None else len(found.text)
    size += sum(len(file.data) for file in found.files)
    if size > LARGEST_RESULT:
        raise ToolError("tool.too_large", f"The result is larger than {LARGEST_RESULT:,} bytes.")
    if found.text is not None:
        hidden = mask.hide(found.text)
        masked = found.masked + hidden.count
        return Result(text=hidden.value, media=found.media, masked=masked)
    kept = tuple(replace(file, data=mask.data(file.data)) for file in found.files)
    hidden = mask.hide(found.value)
    return Result(value=hidden.value, files=kept, masked=found.masked + hidden.count)


def words(answer: "mcp_types.CallToolResult", mask: Mask) -> str:
    """What a tool says of its own failure, on one line."""
    texts = mask.value([block.text for block in answer.content if block.type == "text"])
    said = " ".join(" ".join(texts).split())[:1_000]
    return said or "The tool says that it failed, and not why."


def _result(answer: "mcp_types.CallToolResult", mask: Mask, effect_id: str) -> Result:
    blocks = answer.content
    found = list[ResultFile]()
    parts = [_part(block, found, effect_id) for block in blocks]
    if answer.structured_content is not None:
        return Result(value=answer.structured_content, files=tuple(found))
    if not blocks:
        return Result(value=None)
    if all(block.type == "text" for block in blocks):
        # looked at side by side first: what is put between them could part a secret
        texts = mask.hide([block.text for block in blocks if block.type == "text"])
        return replace(_of_text("\n\n".join(texts.value)), masked=texts.count)
    return Result(value=parts, files=tuple(found))


def _of_text(text: str) -> Result:
    """Text, or the JSON object or list that older servers write into it."""
    if text[:1] in {"{", "["}:
        try:
            return Result(value=strict.loads(text))
        except strict.NotJson:
            pass
    return Result(text=text, media="text/plain")


def _part(block: Any, found: list[ResultFile], effect_id: str) -> dict[str, Any]:
    kind = block.type
    if kind == "text":
        return {"type": "text", "text": block.text}
    elif kind in {"image", "audio"}:
        return {"type": kind, **_file(block.data, block.mime_type, "", found, effect_id)}
    elif kind == "resource":
        return {"type": "resource", **_resource(block.resource, found, effect_id)}
    made: dict[str, Any] = json.loads(block.model_dump_json(by_alias=True, exclude_none=True))
    return made


def _resource(resource: Any, found: list[ResultFile], effect_id: str) -> dict[str, Any]:
    uri, text = str(resource.uri), getattr(resource, "text", None)
    if text is not None:
        return {"uri": uri, "media": resource.mime_type, "text": text}
    name = uri.partition("?")[0].rpartition("/")[2]
    return {"uri": uri, **_file(resource.blob, resource.mime_type or "", name, found, effect_id)}


def _file(
    encoded: str, media: str, name: str, found: list[ResultFile], effect_id: str
) -> dict[str, Any]:  # fmt: skip
    """Bytes out of the way, and what stands in their place."""
    try:
        data = base64.b64decode(encoded, validate=True)
    except ValueError:
        raise ToolError("tool.bad_result", "The result has a file that is not base64.") from None
    found.append(ResultFile(data=data, media=media, name=name))
    kept = {"artifact": files.artifact_of_call(effect_id, len(found))} if effect_id else {}
    return {"media": media, "bytes": len(data), **kept}
