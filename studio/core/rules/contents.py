"""Content: a JSON value with its hash and size; large ones are kept apart with head and tail."""

import hashlib
import json
from typing import Any

from studio.core.rules import ids
from studio.core.rules.events import Content

OPAQUE = "application/vnd.operator-studio.provider-state+json"  # kept apart, shown to nobody
INLINE_BYTES = 32 * 1024
HEAD_BYTES = 4 * 1024
TAIL_BYTES = 1024
STUB_BYTES = 512


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


def fits(content: Content) -> bool:
    """Whether the whole may stand in a fact. What is `OPAQUE` may not, however small it is."""
    if content.media == OPAQUE:
        return False
    return content.size <= (INLINE_BYTES if content.room is None else content.room)


def shorten(content: Content) -> Content:
    """The same Content without its bytes when they are large: head and tail stay.

    Where there is no room for both, as in a step with many large results, a stub of 512 bytes does.
    """
    if content.stored or fits(content):
        return content
    if content.media == OPAQUE:
        return Content(hash=content.hash, size=content.size, media=OPAQUE, stored=True)
    raw, room = data(content), content.room
    has_room = room is None or room >= HEAD_BYTES + TAIL_BYTES
    head, tail = (HEAD_BYTES, TAIL_BYTES) if has_room else (STUB_BYTES, 0)
    return Content(
        hash=content.hash, size=content.size, media=content.media, stored=True, room=room,
        head=some_text(raw[:head]), tail=some_text(raw[len(raw) - tail :]),
    )  # fmt: skip


def some_text(some: bytes) -> str:
    """The text of some bytes out of a whole, without the letters that are cut at its ends."""
    try:
        return some.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        begin = next((at for at, byte in enumerate(some[:4]) if byte & 0xC0 != 0x80), 0)
        return some[begin:].decode("utf-8", "ignore")


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
