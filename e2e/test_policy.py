"""The rules: changed as a draft, tried on what was recorded, saved, and then followed."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from e2e.acts import (
    PRODUCTION,
    WITHDRAW,
    approve,
    begin,
    card,
    ends,
    facts,
    held,
    types,
    visit,
    waits,
)
from e2e.conftest import SignIn
from e2e.studio import Studio


@pytest.fixture(autouse=True)
def rules(studio: Studio) -> Iterator[list[object]]:
    """The demo's rules, which are put back after each test."""
    plain = [rule["rule"] for rule in studio.api.policy.show()["rules"]]
    yield plain
    now = studio.api.policy.show()
    studio.api.policy.save(plain, version=now["version"])


def draft(page: Page) -> list[dict[str, object]]:
    """The rules that stand in the form."""
    found: list[dict[str, object]] = json.loads(page.get_by_label("Rules, as JSON").input_value())
    return found


def test_a_rule_is_added_tried_saved_and_followed(studio: Studio, sign_in: SignIn) -> None:
    ends_with = begin(studio, "Compare 4.1.0 and 4.2.0.")
    ends(studio, ends_with)
    page = sign_in(studio)
    page.goto(f"{studio.url}/policy")
    page.get_by_role("link", name="Change").click()
    before = len(draft(page))

    page.get_by_label("It", exact=True).select_option("deny")
    page.get_by_label("Tool").fill("read_changelog")
    page.get_by_label("Reason, shown on the card").fill("Nobody reads it today.")
    page.get_by_role("button", name="Add to the draft").click()
    expect(page.get_by_role("status")).to_contain_text("Nothing is saved yet")
    assert draft(page)[-1] == {
        "effect": "deny", "tool": "read_changelog", "reason": "Nobody reads it today.",
    }  # fmt: skip
    expect(page.get_by_role("button", name=re.compile("^Save as"))).to_have_count(0)
    page.get_by_role("button", name="Try on recorded calls").click()
    tried = page.get_by_role("region", name="Tried on recorded calls")
    expect(tried).to_contain_text("2 would have been denied instead of run")
    expect(tried.get_by_role("link", name="read_changelog")).to_have_count(2)
    assert len(studio.api.policy.show()["rules"]) == before
    page.get_by_label("Why, in a few words").fill("a quiet day")
    page.get_by_role("button", name=re.compile("^Save as version")).click()

    expect(page.get_by_role("heading", name="Policy", level=1)).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="read_changelog")).to_contain_text("denied")
    expect(page.locator("main")).to_contain_text("a quiet day")
    after = begin(studio, "Compare 4.1.0 and 4.2.0.")
    ends(studio, after)
    assert types(studio, after).count("call.denied") == 2


def test_faults_of_a_draft_are_marked_and_nothing_is_lost(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    version = studio.api.policy.show()["version"]
    page.goto(f"{studio.url}/policy/edit")
    field = page.get_by_label("Rules, as JSON")

    for wrong, words in {
        "[{": "line 1, column",
        '{"effect": "ask"}': "rules is needed",
        '[{"effect": "perhaps", "tool": "x"}]': "effect",
        '[{"effect": "ask", "toll": "x"}]': "toll",
        '[{"effect": "ask", "tool": "x", "when": [{"field": "a", "matches": "("}]}]': "when",
        '[{"effect": "allow", "tool": "x", "approvers": 2}]': "approvers",
    }.items():
        for button in ("Try on recorded calls", "SAVE"):
            field.fill(wrong)
            page.get_by_label("Why, in a few words").fill("kept")
            if button == "SAVE":  # a press that the page does not offer before it was tried
                page.locator("#policy-form").evaluate("(form) => form.requestSubmit()")
            else:
                page.get_by_role("button", name=button).click()
            expect(page.get_by_role("alert")).to_contain_text("Nothing was saved")
            expect(page.get_by_role("alert")).to_contain_text(words)
            expect(field).to_have_value(wrong)
            expect(field).to_have_attribute("aria-invalid", "true")
            expect(page.get_by_label("Why, in a few words")).to_have_value("kept")
            page.get_by_role("alert").get_by_role("link").first.click()
            expect(field).to_be_focused()

    assert studio.api.policy.show()["version"] == version


def test_a_draft_begun_before_somebody_else_saved_is_not_put_over_theirs(
    studio: Studio, sign_in: SignIn, rules: list[object]
) -> None:
    page = sign_in(studio)
    page.goto(f"{studio.url}/policy/edit")
    page.get_by_label("Why, in a few words").fill("mine")
    now = studio.api.policy.show()["version"]
    theirs = [*rules, {"effect": "deny", "tool": "theirs_*"}]
    studio.api.policy.save(theirs, version=now, note="theirs")

    page.locator("#policy-form").evaluate("(form) => form.requestSubmit()")

    expect(page.get_by_role("alert")).to_contain_text("Nothing was saved")
    expect(page.get_by_label("Why, in a few words")).to_have_value("mine")
    assert studio.api.policy.show()["version"] == now + 1
    assert "theirs_*" in json.dumps(studio.api.policy.show()["rules"])


def test_a_rule_written_from_a_card_lets_the_next_such_call_run(
    studio: Studio, sign_in: SignIn, rules: list[dict[str, object]]
) -> None:
    page = sign_in(studio)
    first = begin(studio, PRODUCTION)
    visit(page, studio, first)

    card(page, "publish_release").get_by_role("link", name="Write a rule").click()
    expect(page.get_by_label("Tool")).to_have_value("publish_release")
    expect(page.get_by_label("Plugin")).to_have_value("release-kit")
    page.get_by_role("button", name="Add to the draft").click()
    kept = [rule for rule in draft(page) if rule.get("tool") != "publish_release"
            or rule["effect"] == "allow"]  # fmt: skip
    page.get_by_label("Rules, as JSON").fill(json.dumps(kept))
    page.get_by_role("button", name="Try on recorded calls").click()
    page.get_by_role("button", name=re.compile("^Save as version")).click()
    expect(page.get_by_role("heading", name="Policy", level=1)).to_be_visible()

    assert len(waits(studio, first)) == 1  # what is held stays held
    second = begin(studio, PRODUCTION)
    ends(studio, second)
    assert "wait.opened" not in types(studio, second)
    assert "call.succeeded" in types(studio, second)


def test_a_call_that_was_held_before_is_not_approved_past_a_stricter_rule(
    studio: Studio, sign_in: SignIn, rules: list[dict[str, object]]
) -> None:
    page = sign_in(studio)
    session_id = begin(studio, WITHDRAW)
    held(studio, session_id)
    visit(page, studio, session_id)
    now = studio.api.policy.show()["version"]
    studio.api.policy.save(
        [*rules, {"effect": "deny", "tool": "withdraw_*", "reason": "Frozen."}], version=now
    )

    approve(card(page, "withdraw_release"))

    expect(page.locator("main")).to_contain_text(re.compile("policy|rule", re.I))
    page.wait_for_timeout(1_000)
    assert "call.started" not in types(studio, session_id)


def test_a_rule_for_two_people_needs_two(
    studio: Studio, sign_in: SignIn, rules: list[dict[str, object]]
) -> None:
    now = studio.api.policy.show()["version"]
    two = {"effect": "ask", "tool": "withdraw_*", "approvers": 2}
    studio.api.policy.save([*rules, two], version=now)
    session_id = begin(studio, WITHDRAW)
    held(studio, session_id)
    ann, bob = sign_in(studio, "ann"), sign_in(studio, "bob", "operator")
    visit(ann, studio, session_id)
    visit(bob, studio, session_id)
    expect(card(ann, "withdraw_release")).to_contain_text("0 of 2")

    approve(card(ann, "withdraw_release"))
    expect(card(ann, "withdraw_release")).to_contain_text("1 of 2")
    expect(card(bob, "withdraw_release")).to_contain_text("1 of 2")
    expect(card(ann, "withdraw_release").get_by_role("button", name="Approve")).to_have_count(0)
    assert "call.started" not in types(studio, session_id)
    approve(card(bob, "withdraw_release"))

    ends(studio, session_id)
    decided = [f for f in facts(studio, session_id) if f["type"] == "decision.recorded"]
    assert [fact["payload"]["by"] for fact in decided] == ["ann", "bob"]


def test_whoever_started_a_session_may_be_kept_from_approving_its_calls(
    studio: Studio, sign_in: SignIn, rules: list[dict[str, object]]
) -> None:
    now = studio.api.policy.show()["version"]
    other = {"effect": "ask", "tool": "withdraw_*", "not_own": True}
    studio.api.policy.save([*rules, other], version=now)
    ann, bob = sign_in(studio, "ann"), sign_in(studio, "bob", "operator")
    ann.goto(f"{studio.url}/sessions/new")
    ann.get_by_label("First message").fill(WITHDRAW)
    ann.get_by_role("button", name="Start").click()
    own = card(ann, "withdraw_release")

    expect(own).to_be_visible()
    expect(own.get_by_role("button", name="Approve")).to_have_count(0)
    session_id = re.findall("ses_[0-9a-z]+", ann.url)[0]
    visit(bob, studio, session_id)
    approve(card(bob, "withdraw_release"))

    ends(studio, session_id)
    expect(ann.locator("#timeline")).to_contain_text("bob")
