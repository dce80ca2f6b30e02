"""What surrounds every page: the theme that its reader wears, and one script."""

import re

import pytest

from studio.web import static
from tests.web import html
from tests.web.conftest import Visitor

PAGES = ["/", "/sessions", "/approvals", "/traces", "/policy", "/nowhere"]


async def theme(visitor: Visitor, path: str) -> str | None:
    """What the page says of its colours."""
    page = html.read((await visitor.get(path)).text)
    return page.one("html").attrs.get("data-theme")


@pytest.mark.parametrize("path", PAGES)
async def test_every_page_wears_the_theme_of_the_cookie(alice: Visitor, path: str) -> None:
    assert await theme(alice, path) is None

    alice.http.cookies.set("studio-theme", "dark")

    assert await theme(alice, path) == "dark"


async def test_it_is_worn_without_a_sign_in_too(guest: Visitor) -> None:
    guest.http.cookies.set("studio-theme", "light")

    assert await theme(guest, "/sign-in") == "light"


@pytest.mark.parametrize(
    "odd", ["system", "DARK", 'x" onload="a', "dark light", "%22><b>", "1" * 999]
)
async def test_another_word_in_the_cookie_is_no_theme(alice: Visitor, odd: str) -> None:
    answer = await alice.get(
        "/sessions", Cookie=f"studio-theme={odd}; studio={alice.http.cookies['studio']}"
    )

    assert answer.status_code == 200
    assert "data-theme=" not in answer.text.partition("<head>")[0]


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_has_one_script_at_its_end(alice: Visitor, path: str) -> None:
    text = (await alice.get(path)).text

    (script,) = re.findall(r"<script\b[^>]*>", text)
    assert f'src="{static.href(static.SCRIPTS)}"' in script
    assert text.rstrip().endswith("</script>\n</body>\n</html>")
    assert "icons.svg" not in text


def test_our_own_script_is_not_strict_for_what_stands_behind_it() -> None:
    found = static.find(static.SCRIPTS)

    assert found is not None
    own = (static.folder("static") / "js" / static.OWN).read_bytes()
    assert found.data.startswith(own)
    assert re.search(rb"^[\"']use strict", own, re.MULTILINE) is None
    assert own.rstrip().endswith(b"})();")
