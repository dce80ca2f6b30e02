"""The files beside the pages: kept for good by hash, found nowhere else."""

import gzip

import pytest

from studio.web import static
from tests.web.conftest import Visitor


async def test_a_hashed_address_is_kept_for_good(guest: Visitor) -> None:
    answer = await guest.get(static.href("css/tokens.css"))

    assert answer.status_code == 200
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-type"].startswith("text/css")


async def test_another_hash_is_kept_a_while_only(guest: Visitor) -> None:
    answer = await guest.get("/static/css/tokens.css?v=0")

    assert "immutable" not in answer.headers["cache-control"]


async def test_what_a_browser_has_is_not_sent_again(guest: Visitor) -> None:
    etag = (await guest.get("/static/css/tokens.css")).headers["etag"]

    answer = await guest.get("/static/css/tokens.css", If_None_Match=etag)

    assert (answer.status_code, answer.content) == (304, b"")


def test_a_file_packs_to_itself() -> None:
    found = static.find("css/tokens.css")

    assert found is not None
    assert gzip.decompress(found.packed) == found.data


def test_the_bundle_begins_with_the_layers_and_holds_every_sheet() -> None:
    found = static.find(static.STYLES)

    assert found is not None
    assert found.data.startswith(b"@layer reset, base")
    assert b".card" in found.data


def test_the_font_that_pages_ask_for_is_the_one_of_the_styles() -> None:
    styles = static.find(static.STYLES)

    assert styles is not None
    assert f'url("..{static.FONT.removeprefix("/static")}")'.encode() in styles.data
    assert static.find(static.FONT.removeprefix("/static/")) is not None


def test_the_guard_stands_before_what_it_guards() -> None:
    found = static.find(static.SCRIPTS)

    assert found is not None
    assert 0 < found.data.index(b'"hx-csp"') < found.data.index(b'registerExtension("sse"')


@pytest.mark.parametrize(
    "path",
    [
        "../pyproject.toml", "css/../../pyproject.toml", "/etc/passwd", "css", "nothing.css",
        "css/tokens.css\0", "..%2fpyproject.toml", "....//pyproject.toml",
    ],
)  # fmt: skip
def test_nothing_else_is_found(path: str) -> None:
    assert static.find(path) is None
