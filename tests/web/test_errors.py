"""What each error looks like to a person: a status and words, for a page and for a part of one."""

import pytest

from studio.core.rules import errors as e
from studio.core.store import people, raw, writer
from studio.web import errors
from tests.web import html
from tests.web.conftest import Studio, Visitor

TREE = [kind for kind in vars(e).values() if isinstance(kind, type) and issubclass(kind, Exception)]


@pytest.mark.parametrize("kind", TREE)
def test_every_error_of_the_tree_has_a_status(kind: type[e.StudioError]) -> None:
    assert kind in errors.STATUS


def test_a_new_kind_has_the_status_of_what_it_is() -> None:
    class Busy(e.Refused):
        pass

    assert errors.status(Busy("Busy.")) == 409


@pytest.mark.parametrize("kind", [kind for kind in TREE if kind is not e.StudioError])
async def test_each_is_a_page_in_words(
    studio: Studio, alice: Visitor, monkeypatch: pytest.MonkeyPatch, kind: type[e.StudioError]
) -> None:
    async def refuse(*args: object, **more: object) -> None:
        raise kind("Why it is so, and what next.")

    monkeypatch.setattr(studio.reader, "home", refuse)

    answer = await alice.get("/")

    page = html.read(answer.text).one(id="main")
    assert answer.status_code == errors.STATUS[kind]
    assert "Why it is so, and what next." in page.text
    assert page.all("h1")[0].text == errors.TITLES[answer.status_code]


async def test_a_part_of_a_page_gets_a_notice(alice: Visitor) -> None:
    answer = await alice.get("/sessions/ses_none/held", HX_Request="true")

    assert answer.status_code == 404
    assert (answer.headers["hx-retarget"], answer.headers["hx-reswap"]) == ("#notices", "beforeend")
    assert html.read(answer.text).one("div", class_="notice").text


async def test_a_method_that_is_not_taken_says_so(alice: Visitor) -> None:
    answer = await alice.post("/approvals")

    assert answer.status_code == 405
    assert "Nothing was changed" in answer.text


async def test_words_survive_a_store_that_is_away(
    studio: Studio, alice: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*args: object, **more: object) -> None:
        raise e.Unavailable("The disk is full. Make room; nothing was lost.")

    monkeypatch.setattr(studio.reader, "pending", away)

    answer = await alice.get("/")

    assert answer.status_code == 503
    assert "The disk is full" in answer.text


def banner(text: str) -> str:
    return html.read(text).one(id="banner").text


async def test_a_full_disk_is_said_on_every_page_until_something_is_written(
    studio: Studio, alice: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LOOK_SECONDS", 600.0)  # not by the writer itself, meanwhile
    db = studio.story.db
    pages = await db.record(lambda conn: raw.one(conn, "PRAGMA page_count")[0])
    await db.record(lambda conn: raw.one(conn, f"PRAGMA max_page_count = {pages}"))
    large = "x" * 1_000_000
    with pytest.raises(e.Unavailable):
        await db.record(lambda conn: people.spend(conn, "one", large, "alice", 0))
    await db.record(lambda conn: None)  # as a heartbeat that has nothing to write

    shown = [(await alice.get(path)).text for path in ("/", "/policy", "/sessions/none")]
    await db.record(lambda conn: raw.one(conn, "PRAGMA max_page_count = 100000"))
    await db.record(lambda conn: people.spend(conn, "one", large, "alice", 0))
    after = (await alice.get("/")).text

    assert all("disk that holds the store is full" in banner(text) for text in shown)
    assert banner(after) == ""
