"""Every journey by keys alone: what has the focus is seen, and typed letters are letters."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from e2e.acts import (
    ASK,
    LIVE,
    PRODUCTION,
    WITHDRAW,
    begin,
    card_in,
    ends,
    facts,
    held,
    look,
    nothing_waits,
    types,
    visit,
    waits,
)
from e2e.conftest import Open, SignIn
from e2e.studio import Studio

# Whether what has the focus is drawn otherwise than without it: an outline, a ring, another edge.
IS_MARKED = """
() => {
  const at = document.activeElement;
  const look = (node) => {
    const style = getComputedStyle(node);
    const outline = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
    return [outline && style.outlineColor, style.boxShadow, style.borderColor].join(' | ');
  };
  const parts = [at, ...(at.labels ?? []), at.closest('.find, .composer__box, [data-row]')];
  const focused = parts.map((node) => node && look(node));
  at.blur();
  const plain = parts.map((node) => node && look(node));
  at.focus({ preventScroll: true });
  return focused.some((one, place) => one !== plain[place]);
}
"""
WHAT = "() => document.activeElement.outerHTML.slice(0, 160)"


def press(page: Page, *keys: str) -> None:
    """Press one key after the other."""
    for key in keys:
        page.keyboard.press(key)


def tab_to(page: Page, wanted: Locator, most: int = 60) -> None:
    """Tab until this has the focus."""
    element = wanted.element_handle()
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("(it) => it === document.activeElement", element):
            return
    raise AssertionError(f"{most} tabs did not reach it; at {page.evaluate(WHAT)}")


def test_a_link_is_used_by_keys(studio: Studio, context: Open) -> None:
    page = context(studio).new_page()
    page.goto(studio.link("kay", "operator"))

    tab_to(page, page.get_by_role("button", name="Sign in"))
    press(page, "Enter")

    expect(page.get_by_role("heading", name="Home", level=1)).to_be_visible()


def test_a_held_call_is_found_and_approved(studio: Studio, sign_in: SignIn) -> None:
    nothing_waits(studio)
    page = sign_in(studio)
    session_id = begin(studio, PRODUCTION)
    held(studio, session_id)
    look(page, studio, "/")

    press(page, "g", "a")
    expect(page.get_by_role("heading", name="Approvals", level=1)).to_be_visible()
    expect(page.locator(LIVE)).to_be_visible()
    wanted = card_in(page, "publish_release", session_id)
    go_to(page, wanted)
    expect(wanted.get_by_role("button", name="Approve")).to_be_enabled()
    press(page, "a")

    ends(studio, session_id)
    assert "call.succeeded" in types(studio, session_id)


def go_to(page: Page, row: Locator) -> None:
    """Press j until this row has the focus, then see that k and j lead away and back."""
    element = row.element_handle()
    for _ in range(30):
        press(page, "j")
        if page.evaluate("(it) => it === document.activeElement", element):
            return
    raise AssertionError("j did not reach the row")


def test_a_held_call_is_denied_with_a_reason(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    session_id = begin(studio, WITHDRAW)
    visit(page, studio, session_id)
    expect(card_in(page, "withdraw_release", session_id)).to_be_visible()

    press(page, "d")
    expect(page.get_by_label("Why not?")).to_be_focused()
    page.keyboard.type("jade asked a question: eggs? / gs")
    expect(page.get_by_label("Why not?")).to_have_value("jade asked a question: eggs? / gs")
    tab_to(page, page.get_by_role("button", name="Deny", exact=True))
    press(page, "Enter")

    expect(page.locator("#timeline")).to_contain_text("jade asked a question: eggs? / gs")
    assert "call.started" not in types(studio, session_id)


def test_denying_is_left_by_escape_and_nothing_is_decided(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    session_id = begin(studio, WITHDRAW)
    visit(page, studio, session_id)
    row = card_in(page, "withdraw_release", session_id)
    expect(row).to_be_visible()

    press(page, "d")
    expect(page.get_by_label("Why not?")).to_be_focused()
    press(page, "Escape")

    expect(page.get_by_label("Why not?")).to_be_hidden()
    expect(row).to_be_focused()
    assert len(waits(studio, session_id)) == 1


def test_arguments_are_edited_and_approved(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    session_id = begin(studio, PRODUCTION)
    visit(page, studio, session_id)
    expect(card_in(page, "publish_release", session_id)).to_be_visible()

    press(page, "e")
    percent = page.get_by_label("percent")
    expect(percent).to_be_visible()
    tab_to(page, percent)
    press(page, "Control+a")
    page.keyboard.type("10")
    tab_to(page, page.get_by_role("button", name="Approve edited"))
    press(page, "Enter")

    ends(studio, session_id)
    (decision,) = [f for f in facts(studio, session_id) if f["type"] == "decision.recorded"]
    assert decision["payload"]["choice"] == "approve"
    page.goto(f"{studio.url}/sessions/{session_id}")
    expect(page.locator("#timeline")).to_contain_text('"percent": 10')


def test_enter_in_the_edit_form_shows_the_difference_and_decides_nothing(
    studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(studio)
    session_id = begin(studio, PRODUCTION)
    wait = held(studio, session_id)
    page.goto(f"{studio.url}/approvals/{wait['id']}/edit")

    page.get_by_label("percent").focus()
    press(page, "Control+a", "5", "Enter")

    expect(page.get_by_role("complementary")).to_contain_text("1 difference")
    assert len(waits(studio, session_id)) == 1


def test_a_question_is_answered(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    session_id = begin(studio, ASK)
    visit(page, studio, session_id)
    asked = page.locator("#held article")
    expect(asked).to_be_visible()

    tab_to(page, asked.get_by_label("channel"))
    page.keyboard.type("prod")
    tab_to(page, asked.get_by_label("percent"))
    page.keyboard.type("25")
    tab_to(page, asked.get_by_role("button", name="Answer", exact=True))
    press(page, "Enter")

    expect(page.locator("#timeline")).to_contain_text('"percent": 25')


def test_a_session_is_started_written_to_and_stopped(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    look(page, studio, "/")

    press(page, "g", "s")
    tab_to(page, page.get_by_role("link", name="New session").first)
    press(page, "Enter")
    tab_to(page, page.get_by_label("First message"))
    page.keyboard.type("say from the keys")
    tab_to(page, page.get_by_role("button", name="Start"))
    press(page, "Enter")
    expect(page.locator("#timeline")).to_contain_text("Turn 1 completed.")
    tab_to(page, page.get_by_label("Message to"))
    page.keyboard.type("wait 600")
    press(page, "Control+Enter")
    expect(page.locator("#header [data-state=waiting]")).to_be_visible()
    tab_to(page, page.get_by_role("button", name="Stop this turn"))
    press(page, "Enter")

    expect(page.locator("#timeline")).to_contain_text("ann stopped turn 2")


def test_a_row_is_opened_and_the_search_found(studio: Studio, sign_in: SignIn) -> None:
    session_id = begin(studio, "say zebra crossing")
    ends(studio, session_id)
    page = sign_in(studio)
    look(page, studio, "/sessions")

    press(page, "/")
    expect(page.get_by_role("searchbox", name="Search sessions")).to_be_focused()
    page.keyboard.type("zebra")
    press(page, "Enter")
    expect(page).to_have_url(re.compile("q=zebra"))
    expect(page.locator(LIVE)).to_be_visible()
    press(page, "j", "Enter")

    expect(page).to_have_url(f"{studio.url}/sessions/{session_id}")


def test_each_place_has_its_keys_and_the_help_shows_them(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    look(page, studio, "/")
    press(page, "?")
    told = page.get_by_role("dialog", name="Keys")
    expect(told).to_be_visible()
    for key in ("j", "k", "Enter", "a", "d", "e", "/", "?", "g", "s"):
        expect(
            told.locator("kbd", has_text=re.compile(f"^{re.escape(key)}$", re.I)).first
        ).to_be_visible()
    press(page, "j", "g", "s")  # the page behind it hears nothing
    expect(told).to_be_visible()
    press(page, "Escape")
    expect(told).to_be_hidden()

    for key, name in {"a": "Approvals", "s": "Sessions", "t": "Agents", "p": "Policy",
                      "m": "Demo", "h": "Home"}.items():  # fmt: skip
        press(page, "g", key)
        expect(page.get_by_role("heading", name=name, level=1, exact=True)).to_be_visible()


def test_letters_typed_in_a_field_are_letters(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    session_id = begin(studio, WITHDRAW)
    visit(page, studio, session_id)
    expect(card_in(page, "withdraw_release", session_id)).to_be_visible()
    all_keys = "a d e j k x g s g a / ? "

    for field in (page.get_by_label("Message to"), page.get_by_role("searchbox")):
        field.focus()
        page.keyboard.type(all_keys)
        expect(field).to_have_value(all_keys)
        field.fill("")

    expect(page).to_have_url(re.compile(session_id))
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert len(waits(studio, session_id)) == 1
    press(page, "Control+a", "Alt+d", "Shift+A")  # with a modifier they are the browser's
    page.wait_for_timeout(300)
    assert len(waits(studio, session_id)) == 1


def test_a_key_held_down_decides_one_card_and_no_more(studio: Studio, sign_in: SignIn) -> None:
    nothing_waits(studio)
    page = sign_in(studio)
    first, second = begin(studio, WITHDRAW), begin(studio, WITHDRAW)
    held(studio, first)
    held(studio, second)
    look(page, studio, "/approvals?tool=withdraw_release")
    row = card_in(page, "withdraw_release", first)
    go_to(page, row)
    expect(row.get_by_role("button", name="Approve")).to_be_enabled()

    for _ in range(20):
        page.keyboard.down("a")  # repeats, as a key does that is held down
    page.keyboard.up("a")

    expect(row).to_have_count(0)
    page.wait_for_timeout(700)  # longer than a card takes no press after it moved
    assert len(waits(studio, second)) == 1


@pytest.mark.parametrize(
    "path",
    ["/", "/approvals", "/sessions", "/sessions/new", "/policy", "/policy/edit", "/agents",
     "/agents/release-assistant", "/agents/new", "/usage",
     "/demo", "/keys", "SESSION", "EDIT", "/sign-in"],
)  # fmt: skip
def test_every_stop_of_the_tab_key_is_seen_and_leads_on(
    studio: Studio, sign_in: SignIn, path: str
) -> None:
    page = sign_in(studio)
    wait = held(studio, begin(studio, PRODUCTION))
    path = path.replace("SESSION", f"/sessions/{wait['session_id']}")
    page.goto(studio.url + path.replace("EDIT", f"/approvals/{wait['id']}/edit"))
    expect(page.get_by_role("heading", level=1)).to_be_attached()

    press(page, "Tab")
    expect(page.get_by_role("link", name="Skip to the page")).to_be_focused()
    seen = 0
    for _ in range(400):
        assert page.evaluate(IS_MARKED), f"not marked: {page.evaluate(WHAT)}"
        box = page.evaluate("() => document.activeElement.getBoundingClientRect().toJSON()")
        assert box["width"] > 0, page.evaluate(WHAT)
        assert -1 < box["x"] < 1280, page.evaluate(WHAT)
        seen += 1
        press(page, "Tab")
        if page.evaluate("() => document.activeElement === document.body"):
            break  # out of the page again
    else:
        raise AssertionError(f"Tab never leaves the page; at {page.evaluate(WHAT)}")
    assert seen > 5
    page.goto(page.url)
    press(page, "Tab", "Enter", "Tab")
    assert page.evaluate("() => document.querySelector('main').contains(document.activeElement)")


def test_outcomes_are_said_to_screen_readers(studio: Studio, sign_in: SignIn) -> None:
    nothing_waits(studio)
    page = sign_in(studio)
    look(page, studio, "/approvals")
    said = page.locator("[data-said]")

    session_id = begin(studio, WITHDRAW)

    expect(said).to_contain_text("withdraw_release: held, release-assistant")
    visit(page, studio, session_id)
    studio.api.approvals.decide(
        held(studio, session_id)["id"], "deny", digest=held(studio, session_id)["digest"]
    )
    expect(said).to_contain_text("Turn 1 completed.")
