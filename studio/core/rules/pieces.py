"""A large text a piece at a time, so that whoever writes it or looks through it lets others have
their turn.
"""

import json
import re
from codecs import getincrementaldecoder
from collections.abc import Collection, Iterator

from studio.core.rules import reveal

PIECE = 64 * 1024  # characters, or bytes, that are dealt with in one go
_TICKS = re.compile(b"`+")


def texts(data: bytes) -> Iterator[str]:
    """The text of these bytes."""
    decoder = getincrementaldecoder("utf-8")("replace")
    for at in range(0, len(data), PIECE):
        yield decoder.decode(data[at : at + PIECE], final=at + PIECE >= len(data))


def having(data: bytes, words: Collection[str]) -> set[str]:
    """Which of these words, given in small letters, the text of these bytes has in any letters.

    A piece is looked through with the end of the one before it, so that no border parts a word.
    """
    left, beside, before = set(words), 2 * max(map(len, words), default=1), ""
    for text in texts(data):
        window = before + text
        low = window.lower()
        left = {word for word in left if word not in low}
        if not left:
            break
        before = window[-beside:]
    return set(words) - left


def as_json(data: bytes, *, is_json: bool) -> Iterator[str]:
    """The value as JSON; what is JSON already was written by us, on one line."""
    if is_json:
        yield from texts(data)
        return
    yield '"'
    for text in texts(data):
        yield json.dumps(text, ensure_ascii=False)[1:-1]
    yield '"'


def as_fence(data: bytes, ticks: int) -> Iterator[str]:
    """The same in a fence of Markdown, as `transcripts.fence` has it."""
    yield f"{'`' * ticks}text\n"
    for text in texts(data):
        yield reveal.plain(text)
    yield f"\n{'`' * ticks}\n"


def ticks(data: bytes) -> int:
    """How long a fence must be that holds these bytes."""
    longest, at = 0, data.find(b"`")
    while at >= 0:
        run = _TICKS.match(data, at)
        assert run is not None, "it begins there"
        longest, at = max(longest, run.end() - at), data.find(b"`", run.end())
    return max(longest + 1, 3)
