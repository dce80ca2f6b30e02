"""Every journey with scripts off: real links, real forms, a reload where a live page would move."""

import re

import pytest
from playwright.sync_api import Page, expect

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
    fits,
    held,
    nothing_waits,
    status,
    types,
    waits,
)
from e2e.conftest import Open, SignIn
from e2e.studio import Studio, until


def plain(sign_in: SignIn, studio: Studio, *who: str) -> Page:
    """A page of somebody whose browser runs no scripts."""
    return sign_in(studio, *who, java_script_enabled=False)


def test_one_signs_in_and_out(studio: Studio, context: Open) -> None:
    page = context(studio, java_script_enabled=False).new_page()
    page.goto(studio.link("paul", "operator"))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Home", level=1)).to_be_visible()

    page.get_by_role("button", name="Sign out").click()

    expect(page).to_have_url(re.compile("/sign-in"))
    page.goto(studio.url)
    expect(page).to_have_url(re.compile("/sign-in"))


def test_a_message_that_is_too_long_comes_back_whole(studio: Studio, sign_in: SignIn) -> None:
    page = plain(sign_in, studio)
    session_id = begin(studio, "say ready")
    ends(studio, session_id)
    page.goto(f"{studio.url}/sessions/{session_id}")
    long = "x" * (1024 * 1024 + 1)
    page.get_by_label("Message to").fill(long)

    page.get_by_role("button", name="Send").click()

    expect(page.locator("#composer")).to_contain_text("1,048,577 bytes; 1,048,576 are allowed")
    assert page.get_by_label("Message to").input_value() == long
    page.get_by_label("Message to").fill("say shorter")
    page.get_by_role("button", name="Send").click()
    until(lambda: types(studio, session_id).count("turn.completed") == 2, what="the second turn")


def test_a_call_is_approved_in_the_inbox(studio: Studio, sign_in: SignIn) -> None:
    nothing_waits(studio)
    page = plain(sign_in, studio)
    session_id = begin(studio, PRODUCTION)
    held(studio, session_id)
    page.goto(f"{studio.url}/approvals")

    approve(card_in(page, "publish_release", session_id))

    expect(page.locator("article[data-state=approved]")).to_be_visible()
    ends(studio, session_id)
    assert "call.succeeded" in types(studio, session_id)


def test_a_call_is_denied_with_a_reason(studio: Studio, sign_in: SignIn) -> None:
    page = plain(sign_in, studio)
    session_id = begin(studio, WITHDRAW)
    held(studio, session_id)
    page.goto(f"{studio.url}/sessions/{session_id}")

    deny(card(page, "withdraw_release"), "no scripts here")

    ends(studio, session_id)
    assert "call.started" not in types(studio, session_id)
    page.goto(f"{studio.url}/sessions/{session_id}")
    expect(page.locator("#timeline")).to_contain_text("no scripts here")


def test_arguments_are_edited_with_rows_added_and_taken_away(
    studio: Studio, sign_in: SignIn
) -> None:
    page = plain(sign_in, studio)
    session_id = begin(studio, PRODUCTION)
    wait = held(studio, session_id)
    page.goto(f"{studio.url}/approvals/{wait['id']}")

    page.get_by_role("link", name=re.compile("^Edit")).click()
    page.get_by_label("percent").fill("1000")
    page.get_by_role("button", name="Approve edited").click()
    expect(page.get_by_role("alert")).to_contain_text("percent")
    expect(page.get_by_label("percent")).to_have_value("1000")
    page.get_by_label("percent").fill("10")
    page.get_by_role("button", name="Add a row").click()
    expect(page.get_by_label("percent")).to_have_value("10")
    notified = page.get_by_role("group", name=re.compile("^notify"))
    expect(notified.get_by_role("textbox")).to_have_count(2)
    notified.get_by_role("textbox").last.fill("me@example.org")
    notified.get_by_role("button", name="Remove").first.click()
    expect(notified.get_by_role("textbox")).to_have_value("me@example.org")
    page.get_by_role("button", name="Show the difference").last.click()
    expect(page.get_by_role("complementary")).to_contain_text("2 differences")
    assert len(waits(studio, session_id)) == 1
    page.get_by_role("button", name="Approve edited").click()

    ends(studio, session_id)
    (decision,) = [f for f in facts(studio, session_id) if f["type"] == "decision.recorded"]
    assert "me@example.org" in str(decision["payload"])


def test_a_question_is_answered(studio: Studio, sign_in: SignIn) -> None:
    page = plain(sign_in, studio)
    session_id = begin(studio, ASK)
    held(studio, session_id)
    page.goto(f"{studio.url}/sessions/{session_id}")
    asked = page.locator("#held article")

    asked.get_by_label("channel").select_option("staging")
    asked.get_by_label("percent").fill("none")
    asked.get_by_role("button", name="Answer", exact=True).click()
    asked = page.locator("article.card")
    expect(asked.get_by_label("percent")).to_have_attribute("aria-invalid", "true")
    expect(asked.get_by_label("percent")).to_have_value("none")
    asked.get_by_label("percent").fill("50")
    asked.get_by_role("button", name="Answer", exact=True).click()

    ends(studio, session_id)
    page.goto(f"{studio.url}/sessions/{session_id}")
    expect(page.locator("#timeline")).to_contain_text('"percent": 50')


def test_a_session_is_started_written_to_and_stopped(studio: Studio, sign_in: SignIn) -> None:
    page = plain(sign_in, studio)
    page.goto(f"{studio.url}/sessions/new")
    page.get_by_label("Agent", exact=True).select_option("release-assistant")
    page.get_by_label("First message").fill("say hello without scripts")
    page.get_by_role("button", name="Start").click()
    expect(page).to_have_url(re.compile("/sessions/ses_"))
    session_id = re.findall("ses_[0-9a-z]+", page.url)[0]
    ends(studio, session_id)
    page.reload()
    expect(page.locator("#timeline")).to_contain_text("hello without scripts")
    expect(page.locator("#live")).to_contain_text("reload to update")

    page.get_by_label("Message to").fill("wait 600")
    page.get_by_role("button", name="Send").click()
    until(lambda: status(studio, session_id) == "waiting", what="the wait")
    page.reload()
    page.get_by_label("Message to").fill("kept while refused")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_label("Message to")).to_have_value("kept while refused")
    page.get_by_role("button", name="Stop this turn").click()

    expect(page.locator("#timeline")).to_contain_text("ann stopped turn 2")


def test_a_message_denies_what_is_held(studio: Studio, sign_in: SignIn) -> None:
    page = plain(sign_in, studio)
    session_id = begin(studio, WITHDRAW)
    held(studio, session_id)
    page.goto(f"{studio.url}/sessions/{session_id}")

    page.get_by_label("Message to").fill("say instead")
    page.get_by_role("button", name="Deny and send").click()

    ends(studio, session_id)
    assert waits(studio, session_id) == []
    assert "call.started" not in types(studio, session_id)


def test_an_uncertain_call_is_settled(own_studio: Studio, sign_in: SignIn) -> None:
    studio = own_studio
    session_id = begin(studio, WITHDRAW)
    wait = held(studio, session_id)
    studio.kill()
    studio.start(fault="call.after_intent:kill:1")
    studio.api.approvals.decide(wait["id"], "approve", digest=wait["digest"])
    studio.dies()
    studio.start()
    held(studio, session_id)
    page = plain(sign_in, studio)
    page.goto(f"{studio.url}/sessions/{session_id}")

    page.get_by_text("Say more…").click()
    page.get_by_label("What did you find?").fill("the ledger says so")
    page.get_by_role("button", name="It ran", exact=True).click()

    ends(studio, session_id)
    page.goto(f"{studio.url}/sessions/{session_id}")
    expect(page.locator("#timeline")).to_contain_text("the ledger says so")


def test_the_policy_is_changed(own_studio: Studio, sign_in: SignIn) -> None:
    page = plain(sign_in, own_studio)
    page.goto(f"{own_studio.url}/policy")
    page.get_by_role("row").filter(has_text="upload_artifact").get_by_role("link").click()
    expect(page.get_by_role("status")).to_contain_text("left out of this draft")
    page.get_by_label("Tool").fill("upload_*")
    page.get_by_label("It", exact=True).select_option("deny")
    page.get_by_role("button", name="Add to the draft").click()
    page.get_by_role("button", name="Try on recorded calls").click()
    expect(page.get_by_role("region", name="Tried on recorded calls")).to_be_visible()

    page.get_by_role("button", name=re.compile("^Save as version")).click()

    expect(page.get_by_role("row").filter(has_text="upload_*")).to_contain_text("denied")
    expect(page.get_by_role("row").filter(has_text="upload_artifact")).to_have_count(0)


def test_a_key_is_made_and_revoked(studio: Studio, sign_in: SignIn) -> None:
    page = plain(sign_in, studio)
    page.goto(f"{studio.url}/keys")
    page.get_by_label("Name of the program").fill("nightly")
    page.get_by_role("button", name="Make the key").click()
    key = page.locator("pre.code").inner_text()
    assert key.startswith("stk_")

    row = page.get_by_role("row").filter(has_text="nightly")
    row.get_by_text("Revoke…").click()
    row.get_by_role("button", name="Revoke nightly").click()

    expect(page.get_by_role("row").filter(has_text="nightly")).to_contain_text("revoked")
    answer = page.request.get(
        f"{studio.url}/v1/sessions", headers={"Authorization": f"Bearer {key}"}
    )
    assert answer.status == 401
    page.goto(f"{studio.url}/keys")
    assert key not in page.content()


def test_earlier_lines_and_details_are_behind_links(studio: Studio, sign_in: SignIn) -> None:
    session_id = begin(studio, "say first of all")
    ends(studio, session_id)
    for _ in range(3):
        calls = ["call delete_everything {}"] * 90
        studio.api.sessions.send(session_id, "\n".join([*calls, "then", "say so"]))
        ends(studio, session_id)
    page = plain(sign_in, studio)
    page.goto(f"{studio.url}/sessions/{session_id}")
    expect(page.get_by_text("first of all").first).to_be_visible()  # in the title alone
    assert "first of all" not in page.locator("#timeline").inner_text()

    for _ in range(8):
        if page.get_by_role("link", name="Earlier lines").count():
            page.get_by_role("link", name="Earlier lines").click()

    assert "first of all" in page.locator("#timeline").inner_text()
    expect(page.get_by_text("These are older lines")).to_be_visible()
    page.locator("#timeline details.call summary").first.click()
    page.get_by_role("link", name="Open the call").first.click()
    expect(page.get_by_role("heading", name="delete_everything", level=1)).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("link", name=re.compile("^Download")).first.click()
    assert saved.value.suggested_filename == "delete_everything-arguments.json"


@pytest.mark.parametrize("width", [1280, 390, 360])
def test_every_page_can_be_read(studio: Studio, sign_in: SignIn, width: int) -> None:
    session_id = begin(studio, PRODUCTION)
    wait = held(studio, session_id)
    page = sign_in(
        studio, java_script_enabled=False, viewport={"width": width, "height": 800}
    )  # fmt: skip

    for path in (
        "/", "/approvals", "/approvals?state=closed", "/sessions", "/agents", "/policy",
        "/agents/release-assistant", "/agents/new", "/usage", "/policy/edit",
        "/demo", "/keys", f"/sessions/{session_id}",
        f"/sessions/{session_id}?panel=events", f"/approvals/{wait['id']}/edit", "/nothing",
    ):  # fmt: skip
        page.goto(studio.url + path)
        expect(page.get_by_role("heading", level=1)).to_be_attached()
        expect(page.locator("[data-needs-script]:visible")).to_have_count(0)
        expect(page.locator("main")).not_to_have_text("")
        fits(page)
    if width < 600:
        page.locator(".rail__menu summary").click()
        page.get_by_role("link", name="Approvals").click()
        expect(page.get_by_role("heading", name="Approvals", level=1)).to_be_visible()
    page.goto(f"{studio.url}/approvals/{wait['id']}")
    expect(page.get_by_role("button", name=APPROVE)).to_be_enabled()


OVERLAPS = """
() => [...document.querySelectorAll('#timeline .line')].flatMap((line) => {
  const boxes = (node) => {
    const text = document.createRange();
    text.selectNodeContents(node);
    return [...text.getClientRects()].filter((box) => box.width && box.height);
  };
  const time = line.querySelector('.line__time'), rest = line.lastElementChild;
  if (!time || time === rest) return [];
  const hits = boxes(time).filter((one) => boxes(rest).some((other) =>
    one.left < other.right - 1 && other.left < one.right - 1
    && one.top < other.bottom - 1 && other.top < one.bottom - 1));
  return hits.length ? [`${line.dataset.kind}: ${line.textContent.trim().slice(0, 60)}`] : [];
})
"""


def _approved(studio: Studio, session_id: str) -> bool:
    """Approve whatever waits; whether the turn is over."""
    for wait in waits(studio, session_id):
        studio.api.approvals.decide(wait["id"], "approve", digest=wait["digest"])
    return status(studio, session_id) == "completed"


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_times_stand_beside_the_words_and_not_over_them(
    studio: Studio, sign_in: SignIn, width: int
) -> None:
    session_id = begin(studio, STAGING)
    until(lambda: _approved(studio, session_id), what="the end of the turn")
    page = sign_in(studio, java_script_enabled=False, viewport={"width": width, "height": 800})
    page.goto(f"{studio.url}/sessions/{session_id}")

    kinds = page.eval_on_selector_all(".line", "lines => lines.map(one => one.dataset.kind)")
    assert {"person", "agent", "call", "event"} <= {*kinds}
    assert page.evaluate(OVERLAPS) == []
    fits(page)
