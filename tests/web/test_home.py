"""The first page: what needs a person, what is in hand, what failed."""

from tests.web.conftest import Studio, Visitor


async def test_an_empty_studio_says_how_to_begin(alice: Visitor) -> None:
    page = await alice.open("/")

    assert page.role("link", "Start a session")


async def test_what_needs_a_person_stands_first(studio: Studio, alice: Visitor) -> None:
    _session, _effect, wait_id = await studio.story.held("Release 4.2")

    page = await alice.open("/")

    assert page.one(id=f"need-{wait_id}").role("link", "publish_release")
    assert page.one(id="pending").text == "1"


async def test_the_count_is_in_the_title_of_every_page(studio: Studio, alice: Visitor) -> None:
    await studio.story.held()

    for path in ("/", "/sessions", "/approvals", "/agents", "/policy", "/sessions/new", "/nothing"):
        answer = await alice.get(path)
        assert "<title>(1) " in answer.text


async def test_failed_turns_are_told(studio: Studio, alice: Visitor) -> None:
    session_id = await studio.story.session("Broken")
    await studio.story.message(session_id)
    await studio.story.end(session_id, code="model.failed", message="No answer")

    text = (await alice.open("/")).one(id="today").text

    assert "Broken" in text
    assert "1 failed" in text


async def test_a_cost_that_nobody_told_is_not_laid_on_a_price(
    studio: Studio, alice: Visitor
) -> None:
    session_id = await studio.story.session("Cut off")
    await studio.story.message(session_id)
    await studio.story.reply(session_id, cost=None)
    await studio.story.end(session_id)

    page = await alice.open("/")

    assert "part of it is not known" in page.one("main").text


async def test_a_stranger_counts_nothing_private(studio: Studio, charlie: Visitor) -> None:
    await studio.story.held("Secret plans", private=True)

    page = await charlie.open("/")

    assert "Secret plans" not in page.text
    assert page.one(id="pending").text == ""


async def test_its_region_is_only_that(studio: Studio, alice: Visitor) -> None:
    await studio.story.held()

    answer = await alice.get("/?region=today", HX_Request="true")

    assert "<html" not in answer.text
    assert "publish_release" in answer.text
