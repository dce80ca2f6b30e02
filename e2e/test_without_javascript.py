"""The important journeys with scripts off: real links, real forms."""

import re

from playwright.sync_api import expect

from e2e.acts import PRODUCTION, WITHDRAW, begin, card, facts, status, waits
from e2e.conftest import SignIn
from e2e.studio import Studio, until


def test_a_call_is_approved(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio, java_script_enabled=False)
    session_id = begin(studio, PRODUCTION)
    until(lambda: waits(studio, session_id), what="the held call")
    page.goto(f"{studio.url}/approvals")

    held = card(page, "publish_release").filter(
        has=page.locator(f'a[href="/sessions/{session_id}"]')
    )
    held.get_by_role("button", name=re.compile("^Approve")).click()

    until(lambda: status(studio, session_id) == "completed", what="the end of the turn")


def test_a_call_is_denied_with_a_reason(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio, java_script_enabled=False)
    session_id = begin(studio, WITHDRAW)
    until(lambda: waits(studio, session_id), what="the held call")
    page.goto(f"{studio.url}/sessions/{session_id}")

    held = card(page, "withdraw_release")
    held.get_by_text("Deny…").click()
    held.get_by_label("Why not?").fill("no scripts here")
    held.get_by_role("button", name="Deny", exact=True).click()

    until(lambda: status(studio, session_id) == "completed", what="the end of the turn")
    assert "call.started" not in [fact["type"] for fact in facts(studio, session_id)]


def test_a_session_is_started_and_a_message_sent(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio, java_script_enabled=False)
    page.goto(f"{studio.url}/sessions/new")

    page.get_by_label("Agent", exact=True).select_option("release-assistant")
    page.get_by_label("First message").fill("say hello without scripts")
    page.get_by_role("button", name="Start").click()

    expect(page).to_have_url(re.compile("/sessions/ses_"))
    session_id = page.url.rpartition("/")[2].partition("?")[0].partition("#")[0]
    until(lambda: status(studio, session_id) == "completed", what="the end of the turn")
    page.reload()
    expect(page.locator("#timeline")).to_contain_text("hello without scripts")


def test_every_page_can_be_read(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio, java_script_enabled=False)

    for path in ("/", "/approvals", "/sessions", "/agents", "/agents/release-assistant",
                 "/policy", "/policy/edit", "/demo", "/keys"):  # fmt: skip
        page.goto(f"{studio.url}{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
