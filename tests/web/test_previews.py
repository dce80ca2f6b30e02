"""The preview of a message: what would be sent, or why it cannot be, with the text kept."""

from tests.web import html
from tests.web.conftest import Studio, Visitor

TEXT = "Please <b>begin</b> \u202enow."


async def test_it_shows_the_request_and_offers_to_send_it(studio: Studio, alice: Visitor) -> None:
    session_id = await studio.story.session("Plans")

    answer = await alice.post(f"/sessions/{session_id}/preview", {"text": TEXT})

    page = html.read(answer.text)
    assert answer.status_code == 200
    assert "Nothing was recorded or sent." in page.one("main").text
    assert "Please <b>begin</b> \u202e now." in [pre.text for pre in page.all("pre")]
    form = page.form(f"/sessions/{session_id}/messages")
    sent = await alice.press(form, "how", "send")
    assert sent.status_code == 303
    assert (
        "Please <b>begin</b>"
        in (await alice.open(sent.headers["location"])).one(id="timeline").text
    )


async def test_an_open_page_gets_the_request_alone(studio: Studio, alice: Visitor) -> None:
    session_id = await studio.story.session("Plans")

    answer = await alice.post(f"/sessions/{session_id}/preview", {"text": TEXT}, HX_Request="true")

    part = html.read(answer.text)
    assert part.one(id="preview-title").text == "What would be sent"
    assert part.all("form") == []


async def test_what_cannot_be_sent_is_said_and_the_text_is_kept(
    studio: Studio, alice: Visitor
) -> None:
    session_id = await studio.story.session("Plans")

    answer = await alice.post(f"/sessions/{session_id}/preview", {"text": " \n"})

    page = html.read(answer.text)
    assert answer.status_code == 422
    assert "The message is empty." in page.one("main").text
    assert page.one("textarea", name="text")


async def test_a_viewer_may_not_ask_for_it(studio: Studio, charlie: Visitor) -> None:
    session_id = await studio.story.session("Plans")

    answer = await charlie.post(f"/sessions/{session_id}/preview", {"text": TEXT})

    assert answer.status_code == 403


async def test_a_private_session_is_nowhere(studio: Studio, charlie: Visitor) -> None:
    session_id = await studio.story.session("Secret plans", private=True)

    answer = await charlie.post(f"/sessions/{session_id}/preview", {"text": TEXT})

    assert answer.status_code == 404
    assert "Secret plans" not in answer.text
