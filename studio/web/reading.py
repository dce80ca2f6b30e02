"""Texts that people read, as HTML: what would not be seen or misleads is marked, as on held cards.

Ordinary writing of any script stays as it is. The marks are those that the macro `ui.chars` draws.
"""

import re
from functools import lru_cache
from html import unescape

from markupsafe import Markup, escape

from studio.core.rules import reveal

LOOKED = 100_000  # characters in which marks are set; behind them what is hidden is an escape
MOST_MARKS = 500  # in one text; with more of them all are escapes
KEPT = 20_000  # characters of a text that is worth remembering
MARK = Markup('<span class="mark-char" data-code="{}" title="{}">{}</span>')
# Tags as the wall of `markdown` writes them: attributes stand between double quotes.
TAG = re.compile(r'(<(?:"[^"]*"|[^">])*>)')


def revealed(text: str) -> Markup:
    """A text as HTML."""
    return _kept(text) if len(text) <= KEPT else _marked(text)


def within(html: str) -> Markup:
    """The same for HTML that is clean already: its tags are left alone."""
    if html.isascii() and html.replace("\n", "").isprintable():
        return Markup(html)  # noqa: S704 - clean
    parts = [
        part if at % 2 else str(_marked(unescape(part))) for at, part in enumerate(TAG.split(html))
    ]
    return Markup("".join(parts))  # noqa: S704 - clean, and what is between tags is escaped


@lru_cache(maxsize=512)
def _kept(text: str) -> Markup:
    return _marked(text)


def _marked(text: str) -> Markup:
    if text.isascii() and text.replace("\n", "").isprintable():
        return escape(text)
    found = reveal.segments(text[:LOOKED], prose=True)
    if sum(segment.label is not None for segment in found) > MOST_MARKS:
        return escape(reveal.plain(text, prose=True))
    parts = [
        escape(segment.shown)
        if segment.label is None
        else MARK.format(segment.label.split(" ")[0], segment.label, segment.shown)
        for segment in found
    ]
    return Markup("").join(parts) + escape(reveal.plain(text[LOOKED:], prose=True))
