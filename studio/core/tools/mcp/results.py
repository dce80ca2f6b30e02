"""What an MCP tool gave back, as a result of ours: structured content first, then text, parts."""

import json
from typing import TYPE_CHECKING, Any

from studio.core.masking import Mask
from studio.core.rules import ids
from studio.core.tools import strict
from studio.core.tools.tool import Result, ToolError

if TYPE_CHECKING:
    import mcp_types

LARGEST_RESULT = 8 * 1024 * 1024


def result(answer: "mcp_types.CallToolResult", mask: Mask) -> Result:
    """The result of a call that went well; ToolError when it cannot be kept."""
    try:
        found = _result(answer)
        strict.check(found.value)
    except strict.NotJson as wrong:
        raise ToolError("tool.bad_result", f"The result cannot be kept: {wrong}.") from None
    size = len(ids.canonical(found.value)) if found.text is None else len(found.text)
    if size > LARGEST_RESULT:
        raise ToolError("tool.too_large", f"The result is larger than {LARGEST_RESULT:,} bytes.")
    if found.text is not None:
        return Result(text=mask.text(found.text), media=found.media)
    return Result(value=mask.value(found.value))


def words(answer: "mcp_types.CallToolResult", mask: Mask) -> str:
    """What a tool says of its own failure, on one line."""
    texts = [block.text for block in answer.content if block.type == "text"]
    said = " ".join(" ".join(texts).split())[:1_000]
    return mask.text(said) or "The tool says that it failed, and not why."


def _result(answer: "mcp_types.CallToolResult") -> Result:
    if answer.structured_content is not None:
        return Result(value=answer.structured_content)
    blocks = answer.content
    if not blocks:
        return Result(value=None)
    if all(block.type == "text" for block in blocks):
        return _of_text("\n\n".join(block.text for block in blocks if block.type == "text"))
    return Result(value=[_part(block) for block in blocks])


def _of_text(text: str) -> Result:
    """Text, or the JSON object or list that older servers write into it."""
    if text[:1] in {"{", "["}:
        try:
            return Result(value=strict.loads(text))
        except strict.NotJson:
            pass
    return Result(text=text, media="text/plain")


def _part(block: Any) -> dict[str, Any]:
    kind = block.type
    if kind == "text":
        return {"type": "text", "text": block.text}
    elif kind in {"image", "audio"}:
        return {"type": kind, "media": block.mime_type, "base64": block.data}
    elif kind == "resource":
        return {"type": "resource", **_resource(block.resource)}
    found: dict[str, Any] = json.loads(block.model_dump_json(by_alias=True, exclude_none=True))
    return found


def _resource(resource: Any) -> dict[str, Any]:
    found = {"uri": str(resource.uri), "media": resource.mime_type}
    text = getattr(resource, "text", None)
    return {**found, **({"text": text} if text is not None else {"base64": resource.blob})}
