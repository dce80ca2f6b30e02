"""Content: a JSON value with its hash and size; large ones are kept apart with head and tail."""

import hashlib
import json
from typing import Any

from studio.core.rules import ids
from studio.core.rules.events import Content

INLINE_BYTES = 32 * 1024
HEAD_CHARACTERS = 6_000
TAIL_CHARACTERS = 2_000


def of(value: Any) -> Content:
    """Content of a JSON value. `value` stays set; the store moves it out when it is large."""
    data = ids.canonical(value).encode("utf-8", "surrogatepass")
    return Content(hash=hashlib.sha256(data).hexdigest(), size=len(data), value=value)


def of_text(text: str, media: str = "text/plain") -> Content:
    """Content of raw text, hashed as it is."""
    data = text.encode("utf-8", "surrogatepass")
    return Content(hash=hashlib.sha256(data).hexdigest(), size=len(data), media=media, value=text)


def data(content: Content) -> bytes:
    """The bytes behind an inline Content."""
    assert not content.stored, "the bytes of a stored content are in the blob store"
    if content.media == "application/json":
        return ids.canonical(content.value).encode("utf-8", "surrogatepass")
    return str(content.value).encode("utf-8", "surrogatepass")


def parse(raw: bytes, content: Content) -> Any:
    """The value of a stored Content from its bytes."""
    text = raw.decode("utf-8", "surrogatepass")
    return json.loads(text) if content.media == "application/json" else text


def shorten(content: Content) -> Content:
    """The same Content without its bytes when they are large: head and tail stay."""
    if content.stored or content.size <= INLINE_BYTES:
        return content
    text = data(content).decode("utf-8", "surrogatepass")
    return Content(
        hash=content.hash, size=content.size, media=content.media, stored=True,
        head=text[:HEAD_CHARACTERS], tail=text[-TAIL_CHARACTERS:],
    )  # fmt: skip


def words(content: Content) -> str:
    """The text a model or person reads: the whole, or head and tail with what is left out."""
    if content.stored:
        shown = (content.head + content.tail).encode("utf-8", "surrogatepass")
        left = content.size - len(shown)
        note = (
            f"\n[… {max(left, 0):,} of {content.size:,} bytes left out, sha256 {content.hash} …]\n"
        )
        return content.head + note + content.tail
    if isinstance(content.value, str):
        return content.value
    return json.dumps(content.value, ensure_ascii=False, indent=None)
