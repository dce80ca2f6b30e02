"""What a span carries: the first 50 KB of it to be read, what is found in it, and its download.

A payload does not say where it comes from: a call, or a span that another system sent.
"""

import asyncio
import json
from dataclasses import dataclass

from starlette.requests import Request

from studio.core.reader import CallRow
from studio.core.rules import contents
from studio.core.rules.events import Content
from studio.web import format as formats
from studio.web.visit import person, reader

SHOWN_BYTES = 50_000
LONGEST = 8 * 1024 * 1024  # that is searched
SNIPPETS = 20
BESIDE = 60  # characters on each side of what was found
LONGER = "\u0130"  # the one letter that is longer when it is small: places would not agree


@dataclass(frozen=True, kw_only=True)
class Snippet:
    """One place where the words are: what stands before and behind, and its character from 1."""

    before: str
    found: str
    behind: str
    at: int


@dataclass(frozen=True, kw_only=True)
class Search:
    """What was found in a payload; `snippets` are the first few."""

    words: str
    count: int
    snippets: tuple[Snippet, ...]


@dataclass(frozen=True, kw_only=True)
class Payload:
    """One part of a span. `size` is bytes; `text` its first 50 KB; `is_cut` when there is more.

    `url` downloads the whole and never runs here. `content` is set when it is shown as exact
    arguments instead.
    """

    title: str
    media: str
    size: int
    hash: str
    text: str
    is_cut: bool
    url: str
    content: Content | None = None
    search: Search | None = None


async def of_call(request: Request, call: CallRow, find: str = "") -> tuple[Payload, ...]:
    """The arguments and the result of a call, or a model's reply."""
    parts = [("arguments", "Arguments", call.arguments)] if call.kind != "model" else []
    parts.append(("result", "Reply" if call.kind == "model" else "Result", call.result))
    return tuple([
        await _payload(request, call, name, title, content, find)
        for name, title, content in parts
        if content is not None
    ])  # fmt: skip


async def _payload(
    request: Request, call: CallRow, name: str, title: str, content: Content, find: str
) -> Payload:
    wanted = LONGEST if find else SHOWN_BYTES
    text = _text(content)
    if content.stored:
        data = await reader(request).call_part(person(request), call.id, name, length=wanted)
        text = contents.some_text(data)
    begin = text[:SHOWN_BYTES].encode("utf-8", "surrogatepass")
    shown = contents.some_text(begin[:SHOWN_BYTES])
    return Payload(
        title=title, media=content.media, size=content.size, hash=content.hash, text=shown,
        is_cut=len(shown) < len(text) or content.size > SHOWN_BYTES,
        url=f"/calls/{call.id}/{name}", search=await _searched(content, text, find),
        content=content if name == "arguments" and not content.stored else None,
    )  # fmt: skip


def _text(content: Content) -> str:
    """A value to be read by a person."""
    return content.value if isinstance(content.value, str) else formats.pretty(content.value)


async def _searched(content: Content, text: str, find: str) -> Search | None:
    """What is found in it; in a thread, as it may be long. What is JSON may write words its way."""
    if not find:
        return None
    found = await asyncio.to_thread(search, text, find)
    written = json.dumps(find, ensure_ascii=False)[1:-1]
    if found.count or not content.stored or content.media != "application/json":
        return found
    return found if written == find else await asyncio.to_thread(search, text, written)


def search(text: str, words: str) -> Search:
    """Every place of these words, without regard to capitals."""
    low, wanted = (one.replace(LONGER, "i").lower() for one in (text, words))
    count, at, snippets = 0, low.find(wanted), list[Snippet]()
    while at >= 0:
        count += 1
        if len(snippets) < SNIPPETS:
            end = at + len(wanted)
            snippets.append(
                Snippet(
                    before=text[max(at - BESIDE, 0) : at], found=text[at:end],
                    behind=text[end : end + BESIDE], at=at + 1,
                )
            )  # fmt: skip
        at = low.find(wanted, at + len(wanted))
    return Search(words=words, count=count, snippets=tuple(snippets))
