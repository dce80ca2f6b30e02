"""A message read as the request it would send, before it is sent."""

from playwright.sync_api import expect

from e2e.acts import begin, ends, facts, visit
from e2e.conftest import SignIn
from e2e.studio import Studio

MESSAGE = "say what was shown"


def requests(studio: Studio, session_id: str) -> list[str]:
    """The digests of what was sent to the model."""
    sent = [fact for fact in facts(studio, session_id) if fact["type"] == "model.requested"]
    return [fact["payload"]["request_hash"] for fact in sent]


def test_what_was_previewed_is_what_is_sent(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    session_id = begin(studio, "say ready")
    ends(studio, session_id)
    visit(page, studio, session_id)

    page.get_by_label("Message to").fill(MESSAGE)
    page.get_by_role("button", name="Preview the request").click()
    expect(page.get_by_role("heading", name="What would be sent")).to_be_visible()
    expect(page.locator("#preview pre", has_text=MESSAGE)).to_be_visible()
    digest = page.locator("#preview [title]").first.get_attribute("title")
    before = requests(studio, session_id)
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#timeline")).to_contain_text("Turn 2 completed.")

    assert [*before, digest] == requests(studio, session_id)
    expect(page.locator("#preview")).to_be_empty()
