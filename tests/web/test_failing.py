"""What people see of a session that the studio itself fails over."""

import pytest

from studio.core.rules import ends
from studio.core.store import failing, wakes
from studio.core.store.failing import TRIES, Failing
from tests.web import html
from tests.web.conftest import Studio, Visitor
from tests.web.streams import Message, listening

FAULT = "flt_01m8qq5qvk2nyd7nexf5avhn07"


async def stuck(studio: Studio) -> str:
    """A session whose turn could not even be ended, as a worker leaves it."""
    story = studio.story
    session_id = await story.session(private=True)
    await story.message(session_id)
    again = story.clock.now() + 60_000
    row = Failing(session_id=session_id, tries=TRIES, seq=3, fault=FAULT, again=again)
    await story.db.touch(lambda conn: failing.keep(conn, row))
    await story.db.touch(lambda conn: wakes.set(conn, session_id, again))
    return session_id


@pytest.fixture
async def secret(studio: Studio) -> str:
    """The secret of a signed-in browser."""
    return (await studio.runtime.sign_in(studio.runtime.link("alice", "operator")))[0]


def pushed(messages: list[Message]) -> str:
    return "".join(message.data for message in messages)


def banner(text: str) -> str:
    return html.read(text).one(id="banner").text


async def test_the_page_says_why_a_turn_was_ended_and_what_to_do(
    studio: Studio, alice: Visitor
) -> None:
    story = studio.story
    session_id = await story.session()
    await story.message(session_id)
    session = await story.journal.session(session_id)
    assert session is not None
    await story.record(session_id, *ends.give_up(session, TRIES, FAULT))

    page = await alice.open(f"/sessions/{session_id}")

    words = page.one("main").text
    assert "The studio itself failed over this turn 5 times in a row" in words
    assert "nothing more is sent" in words
    assert FAULT in words
    assert "Send a message to try again" in words
    assert page.one(id="banner").text == ""


async def test_every_page_says_which_session_is_stuck_to_admins_alone(
    studio: Studio, alice: Visitor, ada: Visitor
) -> None:
    session_id = await stuck(studio)

    named = [banner((await ada.get(path)).text) for path in ("/", "/policy", "/sessions/none")]
    told = banner((await alice.get("/policy")).text)

    assert all(session_id in words and "studio doctor" in words for words in named)
    assert "1 session" in told
    assert "Tell an admin" in told
    assert session_id not in told


async def test_the_banner_of_an_open_page_is_its_readers_own(studio: Studio, secret: str) -> None:
    async with (
        listening(studio, secret, ("health", "admin")) as admin,
        listening(studio, secret, ("health", "viewer")) as viewer,
    ):
        await admin.live()
        await viewer.live()
        session_id = await stuck(studio)
        named = pushed(await admin.until(lambda m: "#banner" in m.data))
        told = pushed(await viewer.until(lambda m: "#banner" in m.data))

    assert session_id in named
    assert "1 session" in told
    assert session_id not in told


async def test_a_session_that_rests_again_is_said_no_longer(studio: Studio, ada: Visitor) -> None:
    session_id = await stuck(studio)
    db, now = studio.story.db, studio.story.clock.now() + 60_000
    (lease,) = await wakes.claim(db, "worker", 1, now, 10_000)
    claimed = banner((await ada.get("/policy")).text)
    await wakes.release(db, lease, None)

    assert session_id in claimed
    assert banner((await ada.get("/policy")).text) == ""
