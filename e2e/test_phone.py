"""On a phone: read the card, decide, find one's way; a GET of any link changes nothing."""

import re

import pytest
from playwright.sync_api import Page, expect

from e2e.acts import (
    PRODUCTION,
    STAGING,
    WITHDRAW,
    approve,
    begin,
    card,
    deny,
    ends,
    fits,
    held,
    types,
    visit,
    waits,
)
from e2e.conftest import SignIn
from e2e.studio import Studio

PHONE = {
    "viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True,
    "device_scale_factor": 2,
}  # fmt: skip


def on_phone(sign_in: SignIn, studio: Studio, **more: object) -> Page:
    """A phone of 390 px that is signed in."""
    return sign_in(studio, **{**PHONE, **more})


def test_the_card_is_read_and_approved(studio: Studio, sign_in: SignIn) -> None:
    page = on_phone(sign_in, studio)
    session_id = begin(studio, STAGING)
    wait = held(studio, session_id)
    page.goto(f"{studio.url}/approvals/{wait['id']}")  # as from a notice
    shown = card(page, "publish_release")

    for text in ("4.2.0", "staging", "team@example.org", "release-assistant", "release-kit"):
        expect(shown).to_contain_text(text)
    expect(shown.get_by_text("People get a release at once").first).to_be_visible()
    fits(page)
    shown.get_by_role("button", name=re.compile("^Approve")).tap()

    expect(page.locator("article[data-state=approved]")).to_be_visible()
    assert "decision.recorded" in types(studio, session_id)


def test_a_call_is_denied_with_a_reason(studio: Studio, sign_in: SignIn) -> None:
    page = on_phone(sign_in, studio)
    session_id = begin(studio, WITHDRAW)
    visit(page, studio, session_id)

    deny(card(page, "withdraw_release"), "from the train")

    expect(page.locator("#timeline")).to_contain_text("from the train")
    fits(page)


def test_the_menu_opens_and_the_count_of_what_waits_is_seen_before(
    studio: Studio, sign_in: SignIn
) -> None:
    page = on_phone(sign_in, studio)
    held(studio, begin(studio, WITHDRAW))
    page.goto(f"{studio.url}/policy")

    expect(page.locator("#pending")).to_be_visible()
    expect(page.locator("#pending")).to_be_in_viewport()
    expect(page.get_by_role("link", name="Sessions", exact=True)).to_be_hidden()
    page.locator(".rail__menu summary").tap()
    expect(page.get_by_role("link", name="Sessions", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    fits(page)
    page.get_by_role("link", name="Sessions", exact=True).tap()

    expect(page.get_by_role("heading", name="Sessions", level=1)).to_be_visible()


def test_what_is_pressed_is_large_enough_for_a_thumb(studio: Studio, sign_in: SignIn) -> None:
    page = on_phone(sign_in, studio)
    session_id = begin(studio, WITHDRAW)
    visit(page, studio, session_id)
    shown = card(page, "withdraw_release")
    expect(shown).to_be_visible()

    buttons = shown.locator(".card__answers .button:visible")
    heights = "all => all.map((one) => one.getBoundingClientRect().height)"
    assert buttons.count() >= 3
    assert min(buttons.evaluate_all(heights)) >= 36
    fits(page)


@pytest.mark.parametrize("width", [390, 360])
def test_a_turn_of_all_kinds_of_lines_needs_no_scrolling_sideways(
    studio: Studio, sign_in: SignIn, width: int
) -> None:
    page = on_phone(sign_in, studio, viewport={"width": width, "height": 740})
    long = "say `" + "long-word-" * 40 + "` and https://example.org/" + "path/" * 60
    session_id = begin(studio, long + "\n" + 'call read_changelog {"version": "' + "9" * 300 + '"}')
    ends(studio, session_id)
    studio.api.sessions.send(session_id, PRODUCTION)
    held(studio, session_id)
    visit(page, studio, session_id)

    page.locator("#timeline details.call").first.locator("summary").tap()
    fits(page)
    for panel in ("events", "agent"):
        visit(page, studio, session_id, f"?panel={panel}")
        fits(page)
    page.goto(f"{studio.url}/approvals/{waits(studio, session_id)[0]['id']}/edit")
    fits(page)


def test_a_scanner_that_opens_every_link_decides_nothing(studio: Studio, sign_in: SignIn) -> None:
    page = on_phone(sign_in, studio)
    session_id = begin(studio, WITHDRAW)
    wait = held(studio, session_id)
    page.goto(f"{studio.url}/approvals/{wait['id']}")
    links = page.locator("a[href]").evaluate_all("all => all.map((one) => one.href)")
    assert len(links) > 8

    for link in set(links):
        assert page.request.get(link).status in (200, 404)
    for path in ("decision", "edit", "whole", "card"):
        page.request.get(f"{studio.url}/approvals/{wait['id']}/{path}?decision=approve")

    assert [one["id"] for one in waits(studio, session_id)] == [wait["id"]]
    page.reload()
    approve(card(page, "withdraw_release"))
    ends(studio, session_id)


def test_a_long_draft_keeps_the_end_in_sight(studio: Studio, sign_in: SignIn) -> None:
    page = on_phone(sign_in, studio)
    words = " ".join(f"word{number}" for number in range(120))
    visit(page, studio, begin(studio, f"slow 30 {words}"))

    expect(page.locator("#timeline")).to_contain_text("word119")
    expect(page.get_by_text("Turn 1 completed.").first).to_be_in_viewport()
    fits(page)
