"""The beginning of a content, as an exported span may carry it."""

import json

MOST_BYTES = 8 * 1024


def cut(text: str) -> str:
    """At most `MOST_BYTES` of UTF-8, whole characters."""
    return cut_bytes(text.encode("utf-8", "replace"))


def cut_bytes(data: bytes) -> str:
    """The same of bytes; what is no UTF-8 is replaced, but for a character that the end cut."""
    end = len(data)
    if end > MOST_BYTES:
        end = MOST_BYTES
        while end > MOST_BYTES - 4 and data[end] & 0xC0 == 0x80:
            end -= 1
    text = data[:end].decode("utf-8", "replace")
    again = text.encode()
    return text if len(again) <= MOST_BYTES else cut_bytes(again)  # what replaces is longer


def messages(role: str, text: str, *, finish: str = "") -> str:
    """One message as the conventions have it, in JSON; `text` is cut already."""
    said = {"role": role, "parts": [{"type": "text", "content": text}]}
    return json.dumps([{**said, "finish_reason": finish} if finish else said], ensure_ascii=False)
