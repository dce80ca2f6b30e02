"""What an operator comes to do: decide a held call, and see its real effect."""

import re

from playwright.sync_api import Page, expect

from e2e.conftest import SignIn
from e2e.studio import Studio

STAGING = "Publish 4.2.0 to staging and tell the team."
PRODUCTION = "Publish 4.2.0 to production for everybody at once."


def start(page: Page, studio: Studio, message: str) -> str:
    """A session that begins with this message, opened; its id."""
    session_id = studio.api.sessions.start("release-assistant", message=message)["session_id"]
    page.goto(f"{studio.url}/sessions/{session_id}")
    return str(session_id)


def card(page: Page, tool: str) -> "object":
    return page.get_by_role("article").filter(has_text=tool)


def test_an_approved_call_runs_and_its_effect_is_real(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    start(page, studio, STAGING)
    held = card(page, "publish_release")
    expect(held).to_contain_text('"staging"')

    held.get_by_role("button", name=re.compile("^Approve")).click()

    told = card(page, "notify_team")
    expect(told).to_be_visible()
    told.get_by_role("button", name=re.compile("^Approve")).click()
    expect(page.get_by_text("Done: 4.2.0 is on staging and the team was told.")).to_be_visible()
    page.goto(f"{studio.url}/demo")
    expect(page.locator("#world")).to_contain_text("4.2.0")
    expect(page.locator("#world")).to_contain_text("Version 4.2.0 is on staging.")
