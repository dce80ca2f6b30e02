"""Text of agents as HTML: Markdown without HTML, then a wall that keeps a short list of tags.

Nothing in it loads anything: an image becomes its words, a link shows the host it leads to.
"""

import re
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from markupsafe import Markup

from studio.web import reading
from studio.web.format import sound

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

TAGS = {
    "p", "br", "ul", "ol", "li", "pre", "code", "blockquote", "strong", "em", "s", "hr", "a",
    "table", "thead", "tbody", "tr", "th", "td", "small",
}  # fmt: skip
LONGEST = 20_000
MOST_MARKS = 2_000  # a text of nothing but brackets or stars would take very long
MARKS = re.compile(r"[\[\]*_`|<>!~]")


def markdown(text: str) -> Markup:
    """Safe HTML of a text in Markdown; a very long or very odd one stays plain."""
    if len(text) > LONGEST or len(MARKS.findall(text)) > MOST_MARKS:
        return reading.revealed(text)
    return _cleaned(sound(text))


@lru_cache(maxsize=256)
def _cleaned(text: str) -> Markup:
    import nh3

    reader = _reader()
    clean = nh3.clean(
        reader.renderer.render(_tame(reader.parse(text)), reader.options, {}),
        tags=TAGS,
        attributes={"*": set(), "a": {"href"}, "ol": {"start"}},
        url_schemes={"http", "https"},
        url_relative="deny",
        link_rel="noopener noreferrer nofollow",
    )
    return reading.within(clean)


@lru_cache(maxsize=1)
def _reader() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # both are loaded with the first text that is shown

    return MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": True}).enable(
        ["table", "strikethrough"]
    )


def _tame(tokens: "list[Token]") -> "list[Token]":
    """Headings become paragraphs in bold, images their words, links tell their host."""
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "p"
        if token.children:
            token.children = _inline(token.children)
    return tokens


def _inline(tokens: "list[Token]") -> "list[Token]":
    tame: list[Token] = []
    leads = ""
    for token in tokens:
        if token.type == "image":
            tame.append(_text(f"[image: {token.content or 'without words'}]"))
            continue
        if token.type == "link_open":
            leads = urlsplit(str(token.attrs.get("href", ""))).netloc
        tame.append(token)
        if token.type == "link_close" and leads:
            tame.append(_text(f" ({leads})"))
            leads = ""
    return tame


def _text(words: str) -> "Token":
    from markdown_it.token import Token

    token = Token("text", "", 0)
    token.content = words
    return token
