"""What an operator comes to do: decide held calls, and see their real effects."""

import re

from playwright.sync_api import expect

from e2e.acts import (
    APPROVE,
    ASK,
    PRODUCTION,
    STAGING,
    WITHDRAW,
    approve,
    begin,
    card,
    card_in,
    deny,
    ends,
    facts,
    held,
    look,
    types,
    visit,
    waits,
)
from e2e.conftest import SignIn
from e2e.studio import Studio, until
from e2e.wire import Wire


def test_an_approved_call_runs_and_its_effect_is_real(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    visit(page, studio, begin(studio, STAGING))
    expect(card(page, "publish_release")).to_contain_text('"staging"')

    approve(card(page, "publish_release"))
    approve(card(page, "notify_team"))

    expect(page.get_by_text("Done: 4.2.0 is on staging and the team was told.")).to_be_visible()
    page.goto(f"{studio.url}/demo")
    expect(page.locator("#world")).to_contain_text("4.2.0")
    expect(page.locator("#world")).to_contain_text("Version 4.2.0 is on staging.")


def test_the_tour_begins_with_a_press_in_the_demo(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    page.goto(f"{studio.url}/demo")

    page.get_by_role("button", name="Send it: Publish, and approve it").click()

    expect(page.get_by_role("heading", name="Publish, and approve it", level=1)).to_be_visible()
    approve(card(page, "publish_release"))
    expect(card(page, "notify_team")).to_be_visible()
    page.locator("#timeline").get_by_text("publish_release").click()
    page.get_by_role("link", name="Open the call").last.click()
    expect(page.get_by_text("What was shown is what ran.")).to_be_visible()


def test_a_denied_call_never_runs_and_the_agent_takes_up_the_reason(
    studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(studio)
    session_id = begin(studio, WITHDRAW)
    visit(page, studio, session_id)

    deny(card(page, "withdraw_release"), "customers still need it")

    expect(page.locator("#timeline")).to_contain_text("I take up what you said")
    expect(page.locator("#timeline")).to_contain_text("customers still need it")
    assert "call.started" not in types(studio, session_id)


def test_edited_arguments_are_checked_shown_and_exactly_what_runs(
    studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(studio)
    session_id = begin(studio, PRODUCTION)
    visit(page, studio, session_id)
    card(page, "publish_release").get_by_role("link", name=re.compile("^Edit")).click()

    percent = page.get_by_label(re.compile("percent", re.I))
    percent.fill("1000")
    page.get_by_role("button", name="Approve edited").click()
    expect(page.get_by_role("alert")).to_contain_text("percent")
    expect(percent).to_have_value("1000")
    percent.fill("10")
    page.get_by_role("button", name="Show the difference").click()
    expect(page.get_by_role("complementary")).to_contain_text("1 difference")
    page.get_by_role("button", name="Approve edited").click()

    ends(studio, session_id)
    page.goto(f"{studio.url}/sessions/{session_id}")
    expect(page.locator("#timeline")).to_contain_text("Published as you changed it")
    expect(page.locator("#timeline")).to_contain_text('"percent": 10')


def test_a_question_is_answered_in_a_form(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    visit(page, studio, begin(studio, ASK))
    asked = page.locator("#held article")

    asked.get_by_label("channel").select_option("production")
    asked.get_by_label("percent").fill("250")
    asked.get_by_role("button", name="Answer", exact=True).click()
    expect(asked.get_by_label("percent")).to_have_attribute("aria-invalid", "true")
    expect(asked.get_by_label("channel")).to_have_value(re.compile("production"))
    asked.get_by_label("percent").fill("25")
    asked.get_by_role("button", name="Answer", exact=True).click()

    expect(page.locator("#timeline")).to_contain_text("I will prepare it like this")
    expect(page.locator("#timeline")).to_contain_text('"percent": 25')


def test_a_call_the_policy_denies_asks_nobody(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    visit(page, studio, begin(studio, "Clean up: delete everything."))

    expect(page.locator("#timeline")).to_contain_text("I may not do that here")
    expect(page.locator("#timeline [data-state=denied]").first).to_be_visible()


def test_calls_of_one_step_have_a_line_each(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    visit(page, studio, begin(studio, "Compare 4.1.0 and 4.2.0."))

    expect(page.locator("#timeline details.call[data-state=completed]")).to_have_count(4)
    expect(page.locator("#timeline")).to_contain_text("release-kit 1.2.0")


def test_the_second_of_two_operators_is_told_who_was_first(
    studio: Studio, sign_in: SignIn, wire: Wire
) -> None:
    wire.is_cut = True
    ann, bob = sign_in(studio, "ann"), sign_in(studio, "bob", "operator")
    session_id = begin(studio, WITHDRAW)
    held(studio, session_id)
    visit(ann, studio, session_id)
    bob.route("**/live/**", lambda route: route.abort())  # bob's page hears nothing
    bob.goto(f"{studio.url}/sessions/{session_id}")
    expect(card(bob, "withdraw_release")).to_be_visible()

    deny(card(ann, "withdraw_release"), "not today")
    until(lambda: not waits(studio, session_id), what="ann's decision")
    approve(card(bob, "withdraw_release"))

    expect(card(bob, "withdraw_release")).to_contain_text(re.compile("denied by ann", re.I))
    expect(card(bob, "withdraw_release").get_by_role("button", name=APPROVE)).to_have_count(0)
    decisions = [f for f in facts(studio, session_id) if f["type"] == "decision.recorded"]
    assert [fact["payload"]["by"] for fact in decisions] == ["ann"]
    assert "call.started" not in types(studio, session_id)


def test_a_double_click_decides_once(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    session_id = begin(studio, PRODUCTION)
    visit(page, studio, session_id)

    card(page, "publish_release").get_by_role("button", name=APPROVE).dblclick()

    ends(studio, session_id)
    assert types(studio, session_id).count("decision.recorded") == 1
    assert types(studio, session_id).count("call.started") == 1


def test_the_inbox_shows_cards_of_all_sessions_and_filters_by_the_url(
    studio: Studio, sign_in: SignIn
) -> None:
    one, other = begin(studio, WITHDRAW), begin(studio, PRODUCTION)
    held(studio, one)
    held(studio, other)
    page = sign_in(studio)
    look(page, studio, "/approvals")
    expect(card_in(page, "withdraw_release", one)).to_be_visible()
    expect(card_in(page, "publish_release", other)).to_be_visible()

    page.get_by_label("Tool", exact=True).fill("withdraw_release")
    page.get_by_role("button", name="Filter").click()

    expect(page).to_have_url(re.compile("tool=withdraw_release"))
    expect(card_in(page, "withdraw_release", one)).to_be_visible()
    expect(card(page, "publish_release")).to_have_count(0)


def test_a_viewer_sees_no_control_that_changes_anything(studio: Studio, sign_in: SignIn) -> None:
    session_id = begin(studio, WITHDRAW)
    page = sign_in(studio, "vera", "viewer")
    page.goto(f"{studio.url}/sessions/{session_id}")
    expect(card(page, "withdraw_release")).to_be_visible()

    assert page.locator("main form[method=post]").count() == 0
    token = page.evaluate("() => document.cookie")
    answer = page.request.post(
        f"{studio.url}/sessions/{session_id}/messages",
        form={"text": "hello"},
        headers={"Origin": studio.url, "Sec-Fetch-Site": "same-origin"},
    )
    assert token == ""
    assert answer.status == 403
