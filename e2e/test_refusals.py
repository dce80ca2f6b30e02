"""What is refused says so in words, and keeps what was typed."""

import re

from playwright.sync_api import expect

from e2e.acts import (
    APPROVE,
    PRODUCTION,
    WITHDRAW,
    approve,
    begin,
    card,
    ends,
    facts,
    held,
    look,
    status,
    types,
    visit,
    waits,
)
from e2e.conftest import SignIn
from e2e.studio import Studio, until
from e2e.wire import Wire

NOWHERE = "ses_01m0000000000000000000000a"


def test_an_empty_message_keeps_the_form_and_opens_no_turn(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    session_id = begin(studio, "say ready")
    ends(studio, session_id)
    visit(page, studio, session_id)

    page.get_by_label("Message to").fill("   ")
    page.get_by_role("button", name="Send").click()

    expect(page.locator("#composer [role=status]")).to_be_visible()
    expect(page.get_by_label("Message to")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Message to").fill("say again")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#timeline")).to_contain_text("Turn 2 completed.")
    expect(page.get_by_label("Message to")).to_have_value("")


def test_a_message_that_is_too_long_is_kept_and_may_be_shortened(
    studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(studio)
    session_id = begin(studio, "say ready")
    ends(studio, session_id)
    visit(page, studio, session_id)
    long = "x" * (1024 * 1024 + 1)

    page.get_by_label("Message to").fill(long)
    page.get_by_role("button", name="Send").click()

    expect(page.locator("#composer")).to_contain_text("1,048,577 bytes; 1,048,576 are allowed")
    assert page.get_by_label("Message to").input_value() == long
    page.get_by_label("Message to").fill("say shorter")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#timeline")).to_contain_text("Turn 2 completed.")


def test_a_new_session_keeps_what_was_typed_when_it_is_refused(
    studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(studio)
    page.goto(f"{studio.url}/sessions/new")
    page.get_by_label("First message").fill("say kept")
    page.get_by_label("Title").fill("a title")
    page.get_by_label("Only I and admins").check()
    chosen = page.get_by_label("Agent", exact=True).locator("option:checked")
    chosen.evaluate("(option) => option.value = 'gone-meanwhile'")

    page.get_by_role("button", name="Start").click()

    expect(page.get_by_role("alert")).to_contain_text("Nothing was started")
    expect(page.get_by_label("First message")).to_have_value("say kept")
    expect(page.get_by_label("Title")).to_have_value("a title")
    expect(page.get_by_label("Only I and admins")).to_be_checked()
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("heading", name="a title", level=1)).to_be_visible()


def test_a_first_message_that_is_too_long_comes_back_in_its_form(
    studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(studio)
    page.goto(f"{studio.url}/sessions/new")
    long = "x" * (1024 * 1024 + 1)
    page.get_by_label("First message").fill(long)

    page.get_by_role("button", name="Start").click()

    expect(page.get_by_role("alert")).to_contain_text("1,048,577 bytes; 1,048,576 are allowed")
    assert page.get_by_label("First message").input_value() == long


def test_a_message_to_a_session_with_a_held_call_denies_and_sends_at_once(
    studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(studio)
    session_id = begin(studio, WITHDRAW)
    visit(page, studio, session_id)
    expect(card(page, "withdraw_release")).to_be_visible()
    expect(page.locator("#composer")).to_contain_text("Sending denies 1 held call")

    page.get_by_label("Message to").fill("say something else instead")
    page.get_by_role("button", name="Deny and send").click()

    expect(page.locator("#timeline")).to_contain_text("something else instead")
    expect(page.locator("#timeline")).to_contain_text("Turn 2 completed.")
    expect(card(page, "withdraw_release")).to_have_count(0)
    assert waits(studio, session_id) == []
    assert "call.started" not in types(studio, session_id)


def test_a_message_while_a_turn_runs_is_kept_and_offers_to_stop_it(
    studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(studio)
    session_id = begin(studio, "wait 600")
    until(lambda: status(studio, session_id) == "waiting", what="the wait")
    visit(page, studio, session_id)

    page.get_by_label("Message to").fill("say now")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#composer [role=status]")).to_contain_text(re.compile("turn", re.I))
    expect(page.get_by_label("Message to")).to_have_value("say now")
    page.get_by_role("button", name="Stop this turn").click()
    expect(page.locator("#notices")).to_contain_text("Stopped.")
    expect(page.get_by_label("Message to")).to_have_value("say now")
    page.get_by_role("button", name="Send").click()

    expect(page.locator("#timeline")).to_contain_text("Turn 2 completed.")


def test_a_decision_after_the_deadline_says_so_and_runs_nothing(
    own_studio: Studio, sign_in: SignIn, wire: Wire
) -> None:
    studio, wire.is_cut = own_studio, True
    policy = studio.api.policy.show()
    studio.api.policy.save(
        [{"effect": "ask", "tool": "*_release", "expires_seconds": 6}], version=policy["version"]
    )
    page = sign_in(studio)
    session_id = begin(studio, WITHDRAW)
    held(studio, session_id)
    page.route("**/live/**", lambda route: route.abort())  # this page hears nothing of the end
    page.goto(f"{studio.url}/sessions/{session_id}")
    expect(card(page, "withdraw_release")).to_contain_text("denied in")
    until(lambda: not waits(studio, session_id), seconds=90, what="the deadline")

    approve(card(page, "withdraw_release"))

    expect(card(page, "withdraw_release")).to_contain_text(re.compile("expired", re.I))
    expect(card(page, "withdraw_release").get_by_role("button", name=APPROVE)).to_have_count(0)
    assert "call.started" not in types(studio, session_id)
    page.reload()
    expect(page.locator("#timeline")).to_contain_text("expired, not run")


def test_an_old_form_of_a_card_is_refused_with_what_became_of_it(
    studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(studio, java_script_enabled=False)
    session_id = begin(studio, PRODUCTION)
    wait = held(studio, session_id)
    page.goto(f"{studio.url}/approvals/{wait['id']}")
    studio.api.approvals.decide(wait["id"], "deny", digest=wait["digest"], reason="too early")
    ends(studio, session_id)

    approve(card(page, "publish_release"))

    expect(page.locator("main")).to_contain_text("too early")
    expect(page.get_by_role("button", name=APPROVE)).to_have_count(0)
    assert "call.started" not in types(studio, session_id)


def test_what_is_not_there_and_what_one_may_not_see_look_the_same(
    studio: Studio, sign_in: SignIn
) -> None:
    private = begin(studio, WITHDRAW, title="Ann's own", private=True)
    wait = held(studio, private)
    call = next(f for f in facts(studio, private) if f["type"] == "call.proposed")
    page = sign_in(studio, "bob", "operator")
    said = set()

    for path in (
        f"/sessions/{NOWHERE}", f"/sessions/{private}", f"/approvals/{wait['id']}",
        "/approvals/wai_01m0000000000000000000000a", f"/calls/{call['effect_id']}",
        "/calls/eff_01m0000000000000000000000a", f"/sessions/{private}?panel=events",
        "/agents/nobody", "/nothing/here", "/policy?version=999",
    ):  # fmt: skip
        answer = page.goto(studio.url + path)
        assert answer is not None
        assert answer.status == 404, path
        expect(page.get_by_role("heading", name="Not found")).to_be_visible()
        expect(page.get_by_role("link", name="Home").last).to_be_visible()
        if path.startswith(("/sessions/", "/approvals/", "/calls/")):
            said.add(page.locator("main").inner_text())
        assert "Ann's own" not in page.content()
    assert page.request.get(f"{studio.url}/live/session/{private}").status == 404
    for path in ("/sessions", "/approvals", "/"):
        look(page, studio, path)
        assert "Ann's own" not in page.content()
    assert len(said) <= 3, said  # one sentence for each kind of thing


def test_what_a_role_may_not_do_is_not_offered_and_refused(studio: Studio, sign_in: SignIn) -> None:
    session_id = begin(studio, WITHDRAW)
    wait = held(studio, session_id)
    for person, role in (("vera", "viewer"), ("bob", "operator")):
        page = sign_in(studio, person, role)
        page.goto(f"{studio.url}/policy")
        expect(page.get_by_role("link", name="Change")).to_have_count(0)
        for path in ("/policy/edit", "/keys"):
            answer = page.goto(studio.url + path)
            assert answer is not None
            assert answer.status == 403
            expect(page.get_by_role("heading", name="Not allowed")).to_be_visible()

    page = sign_in(studio, "vera", "viewer")
    look(page, studio, f"/sessions/{session_id}")
    assert page.locator("main form[method=post]").count() == 0
    expect(page.locator("#composer")).to_contain_text("needs the role operator")
    for path, form in {
        f"/approvals/{wait['id']}/decision": {"decision": "approve", "digest": wait["digest"]},
        f"/sessions/{session_id}/messages": {"text": "hello"},
        f"/sessions/{session_id}/stop": {"reason": "x"},
        "/sessions": {"agent": "release-assistant"},
        "/policy": {"rules": "[]", "expect": "1"},
        "/agents": {"text": "name: mine", "expect": "0"},
        "/agents/draft": {"text": "name: mine", "step": "plan"},
        "/keys": {"name": "mine", "role": "admin"},
    }.items():
        answer = page.request.post(studio.url + path, form=form, headers={"Origin": studio.url})
        assert answer.status == 403, path
    assert [one["id"] for one in waits(studio, session_id)] == [wait["id"]]
