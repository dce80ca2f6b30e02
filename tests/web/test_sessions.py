"""The session pages: the list, a new one, one of them, its composer, and who may see what."""

import pytest

from studio.web.format import duration
from tests.web import html
from tests.web.conftest import Studio, Visitor


async def test_list_shows_sessions_newest_first(studio: Studio, alice: Visitor) -> None:
    await studio.story.session("First")
    await studio.story.session("Second")

    page = await alice.open("/sessions")

    assert [row.role("link")[0].text for row in page.one("tbody").all("tr")] == ["Second", "First"]


async def test_private_session_is_nowhere_for_a_stranger(studio: Studio, charlie: Visitor) -> None:
    session_id = await studio.story.session("Secret plans", private=True)

    listed = await charlie.get("/sessions")
    shown = await charlie.open(f"/sessions/{session_id}", status=404)

    assert "Secret plans" not in listed.text
    assert "Secret plans" not in shown.text


async def test_filters_are_kept_in_the_address(studio: Studio, alice: Visitor) -> None:
    await studio.story.session("Apples")
    await studio.story.session("Pears")

    page = await alice.open("/sessions?q=apples")

    assert page.one("input", name="q", type="search", value="apples")
    assert [row.text for row in page.one("tbody").all("tr") if "Pears" in row.text] == []


async def test_a_session_is_started_with_its_first_message(studio: Studio, alice: Visitor) -> None:
    form = (await alice.open("/sessions/new")).form("/sessions")

    answer = await alice.press(form, message="Please begin.")

    assert answer.status_code == 303
    assert "Please begin." in (await alice.open(answer.headers["location"])).one(id="timeline").text


async def test_the_same_form_sent_twice_starts_one_session(studio: Studio, alice: Visitor) -> None:
    form = (await alice.open("/sessions/new")).form("/sessions")

    first = await alice.press(form, message="Once.")
    second = await alice.press(form, message="Once.")

    assert first.headers["location"] == second.headers["location"]


async def test_a_refused_start_keeps_what_was_typed(studio: Studio, alice: Visitor) -> None:
    sent = {"agent": "nobody", "title": "My title", "message": "My words"}

    answer = await alice.post("/sessions", sent)

    page = html.read(answer.text)
    assert answer.status_code == 404
    assert page.form("/sessions").fields()["message"] == "My words"
    assert "There is no agent named nobody" in page.one(id="main").one(role="alert").text


LONG = "ж" * (512 * 1024) + "!"  # one byte more than 1 MiB, and three times as much in a form


async def test_a_first_message_that_is_too_long_comes_back_whole(alice: Visitor) -> None:
    form = (await alice.open("/sessions/new")).form("/sessions")

    answer = await alice.press(form, message=LONG, title="My title", private="true")

    kept = html.read(answer.text).form("/sessions").fields()
    assert answer.status_code == 413
    assert (kept["message"], kept["title"], kept["private"]) == (LONG, "My title", "true")
    assert "1,048,577 bytes; 1,048,576 are allowed" in answer.text


@pytest.mark.parametrize("headers", [{}, {"HX_Request": "true"}], ids=["page", "swap"])
async def test_a_message_that_is_too_long_comes_back_whole(
    studio: Studio, alice: Visitor, headers: dict[str, str]
) -> None:
    session_id = await studio.story.session()
    sent = {"text": LONG, "key": "k"}

    answer = await alice.post(f"/sessions/{session_id}/messages", sent, **headers)

    kept = html.read(answer.text).form("/messages").fields()
    assert answer.status_code == 413
    assert kept["text"] == LONG
    assert "1,048,577 bytes; 1,048,576 are allowed" in answer.text
    assert (await studio.reader.session(alice.person, session_id)).row.status == "idle"


async def test_a_message_of_any_script_may_have_all_it_is_allowed(
    studio: Studio, alice: Visitor
) -> None:
    session_id = await studio.story.session()

    answer = await alice.post(f"/sessions/{session_id}/messages", {"text": LONG[:-1]})

    assert answer.status_code == 303


async def test_stopping_a_turn_keeps_what_is_written_however_long(
    studio: Studio, alice: Visitor
) -> None:
    session_id = await studio.story.session()
    await studio.story.message(session_id)

    answer = await alice.post(f"/sessions/{session_id}/stop", {"text": LONG}, HX_Request="true")

    assert html.read(answer.text).form("/messages").fields()["text"] == LONG


async def test_a_viewer_is_offered_nothing_that_acts(studio: Studio, charlie: Visitor) -> None:
    session_id, _effect, _wait = await studio.story.held()

    page = await charlie.open(f"/sessions/{session_id}")

    assert page.one(id="main").all("form", method="post") == []


async def test_a_viewer_may_not_send(studio: Studio, charlie: Visitor) -> None:
    session_id = await studio.story.session()

    answer = await charlie.post(f"/sessions/{session_id}/messages", {"text": "Let me in"})

    assert answer.status_code == 403


async def test_a_message_opens_a_turn(studio: Studio, alice: Visitor) -> None:
    session_id = await studio.story.session()
    form = (await alice.open(f"/sessions/{session_id}")).form("/messages")

    answer = await alice.press(form, text="Hello there")

    assert answer.status_code == 303
    assert "Hello there" in (await alice.open(f"/sessions/{session_id}")).one(id="timeline").text


async def test_sending_while_a_turn_runs_says_why_and_keeps_the_text(
    studio: Studio, alice: Visitor
) -> None:
    session_id = await studio.story.session()
    await studio.story.message(session_id)

    answer = await alice.post(f"/sessions/{session_id}/messages", {"text": "Too early"})

    page = html.read(answer.text)
    assert answer.status_code == 409
    assert page.form("/messages").fields()["text"] == "Too early"
    assert page.role("button", "Stop this turn")


async def test_sending_while_a_call_is_held_offers_to_deny_in_one_click(
    studio: Studio, alice: Visitor
) -> None:
    session_id, _effect, wait_id = await studio.story.held()
    refused = await alice.post(f"/sessions/{session_id}/messages", {"text": "Do this instead"})
    form = html.read(refused.text).form("/messages")

    answer = await alice.press(form, "how", "deny")

    assert refused.status_code == 409
    assert answer.status_code == 303
    assert (
        "Do this instead" in (await alice.open(f"/sessions/{session_id}")).one(id="timeline").text
    )
    assert "denied" in (await alice.open(f"/approvals/{wait_id}")).one("article").text.lower()


async def test_an_empty_message_is_marked(studio: Studio, alice: Visitor) -> None:
    session_id = await studio.story.session()

    answer = await alice.post(f"/sessions/{session_id}/messages", {"text": "  "})

    assert answer.status_code == 422
    assert html.read(answer.text).one("textarea", aria_invalid="true")


async def test_stopping_says_what_had_run(studio: Studio, alice: Visitor) -> None:
    session_id = await studio.story.session()
    await studio.story.message(session_id)
    (effect_id,) = await studio.story.reply(session_id, "I look.", {"tool": "look"})
    await studio.story.run(session_id, effect_id)

    answer = await alice.post(f"/sessions/{session_id}/stop", HX_Request="true")

    assert "One call had already run" in html.read(answer.text).text


async def test_stopping_twice_is_refused_in_words(studio: Studio, alice: Visitor) -> None:
    session_id = await studio.story.session()

    answer = await alice.post(f"/sessions/{session_id}/stop")

    assert answer.status_code == 409
    assert "there is nothing to stop" in html.read(answer.text).one(id="composer").text


async def test_a_part_of_the_page_is_only_that_part(studio: Studio, alice: Visitor) -> None:
    session_id, _effect, wait_id = await studio.story.held()

    page = await alice.open(f"/sessions/{session_id}/held", HX_Request="true")

    assert page.all("html") == []
    assert page.one("article").attrs["id"] == f"card-{wait_id}"


async def test_every_htmx_element_carries_the_nonce_of_its_answer(
    studio: Studio, alice: Visitor
) -> None:
    session_id, _effect, _wait = await studio.story.held()

    for path in (f"/sessions/{session_id}", f"/sessions/{session_id}/held"):
        answer = await alice.get(path)
        nonce = answer.headers["content-security-policy"].split("'nonce-")[1].split("'")[0]
        acting = [
            element
            for element in html.read(answer.text).walk()
            if any(name in element.attrs for name in ("hx-get", "hx-post", "hx-sse:connect"))
        ]
        assert acting
        assert {element.attrs.get("hx-nonce") for element in acting} == {nonce}


async def test_lines_come_in_windows(studio: Studio, alice: Visitor) -> None:
    session_id = await studio.story.session()
    for number in range(60):
        await studio.story.message(session_id, f"Message {number}")
        await studio.story.end(session_id)

    page = await alice.open(f"/sessions/{session_id}")
    older = await alice.get(
        page.one(id="line-older").role("link")[0].attrs["hx-get"], HX_Request="true"
    )

    assert "Message 59" in page.one(id="timeline").text
    assert "Message 5 " not in page.one(id="timeline").text + " "
    assert "Message 5" in html.read(older.text).text
    assert "<html" not in older.text


async def test_panels_are_addresses(studio: Studio, alice: Visitor) -> None:
    session_id, _effect, _wait = await studio.story.held()

    events = await alice.open(f"/sessions/{session_id}?panel=events")
    agent = await alice.open(f"/sessions/{session_id}?panel=agent")

    assert "call.proposed" in events.one(id="panel").text
    assert "Help." in agent.one(id="panel").text


async def test_the_turn_in_hand_counts_to_the_active_time(studio: Studio, alice: Visitor) -> None:
    session_id, _effect, _wait = await studio.story.held()

    view = await studio.reader.session(alice.person, session_id)
    panel = (await alice.open(f"/sessions/{session_id}")).one(id="panel")

    assert view.row.active == 0 < view.turns[0].active
    assert f"Active time {duration(view.turns[0].active)} Session" in panel.text


async def test_what_an_agent_wrote_is_text(studio: Studio, alice: Visitor) -> None:
    session_id = await studio.story.session("<script>alert(1)</script>")
    await studio.story.message(session_id, '<div hx-post="/x" hx-trigger="load">hi</div>')
    await studio.story.reply(session_id, "<img src=x onerror=alert(1)> **bold** [a](javascript:x)")

    answer = await alice.get(f"/sessions/{session_id}")

    page = html.read(answer.text).one(id="timeline")
    assert page.all("img") == []
    assert [link for link in page.all("a") if link.attrs.get("href", "").startswith("java")] == []
    assert page.one("strong").text == "bold"
    assert all("hx-trigger" not in element.attrs for element in page.walk() if element.tag == "div")
