"""Text of agents as HTML: it looks like something, loads nothing and does nothing."""

import pytest

from studio.web.markdown import markdown
from tests.web import html

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![](https://evil.example/pixel.png)",
    "![a][b]\n\n[b]: https://evil.example/x.png",
    "[x](javascript:alert(1))",
    "[x](data:text/html,x)",
    "[x](vbscript:x) [y](file:///etc/passwd)",
    '<div hx-post="/x" hx-trigger="load">x</div>',
    "</div></li><form action=/approvals/x>",
    '<a href="https://x" hx-get="/x" id="main">x</a>',
    "<svg/onload=alert(1)>",
    "<style>*{background:url(//evil.example)}</style>",
    "[x](https://ok.example \"' onmouseover='alert(1)\")",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_it_acts_or_loads(text: str) -> None:
    tree = html.read(str(markdown(text)))

    tags = {element.tag for element in tree.walk()} - {"document"}
    named = {name for element in tree.walk() for name in element.attrs}
    assert tags <= {"p", "a", "em", "strong", "code", "pre", "ul", "ol", "li"}
    assert named <= {"href", "rel"}
    assert all(link.attrs["href"].startswith("http") for link in tree.all("a") if link.attrs)


def test_it_looks_like_what_was_meant() -> None:
    tree = html.read(str(markdown("# Title\n\n- one\n- *two*\n\n`x < y`")))

    assert [item.text for item in tree.all("li")] == ["one", "two"]
    assert tree.one("code").text == "x < y"


def test_a_link_tells_where_it_leads() -> None:
    tree = html.read(str(markdown("[our bank](https://evil.example/login)")))

    assert tree.text == "our bank (evil.example)"
    assert "noopener" in tree.one("a").attrs["rel"]


@pytest.mark.parametrize("text", ["<b>" * 50_000, "[" * 9_000, "**a*" * 4_000, "|a" * 5_000])
def test_a_very_long_or_odd_text_stays_plain(text: str) -> None:
    assert html.read(str(markdown(text))).children == [text]
