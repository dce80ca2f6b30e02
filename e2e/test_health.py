"""The store fails under open pages: each says so at once, and takes it back when it is well."""

from playwright.sync_api import Page, expect

from e2e.acts import begin, ends, look, same_as_reloaded, visit
from e2e.conftest import SignIn
from e2e.studio import Studio
from e2e.wire import Wire

WATCH = """
() => {
  window.said = [];
  const banner = document.querySelector('#banner');
  new MutationObserver(() => window.said.push(banner.textContent))
    .observe(banner, { childList: true, characterData: true, subtree: true });
}
"""
FULL = "Nothing can be recorded at the moment"


def say(page: Page) -> str:
    """What the banner says."""
    return page.locator("#banner").text_content() or ""


def test_a_full_disk_is_said_on_open_pages_once_and_until_there_is_room(
    own_studio: Studio, sign_in: SignIn, wire: Wire
) -> None:
    wire.is_cut = True  # the refused message is a 503
    page, home, policy = (sign_in(own_studio) for _ in range(3))
    session_id = begin(own_studio, "say ready")
    ends(own_studio, session_id)
    visit(page, own_studio, session_id)
    look(home, own_studio, "/")
    look(policy, own_studio, "/policy")
    for one in (page, home, policy):
        expect(one.get_by_role("alert")).to_have_count(0)
        one.evaluate(WATCH)

    own_studio.has_room(4096)
    page.get_by_label("Message to").fill("Are you there?")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#composer")).to_contain_text("The disk that holds the store failed.")
    for one in (home, policy):
        expect(one.locator("#banner")).to_contain_text(FULL, timeout=2500)
    expect(home.get_by_role("alert")).to_have_count(1)
    expect(page.get_by_label("Message to")).to_have_value("Are you there?")
    same_as_reloaded(home)

    own_studio.has_room()
    for one in (page, home, policy):
        expect(one.locator("#banner")).to_have_text("", timeout=5000)
        expect(one.locator("#banner")).to_be_hidden()
    same_as_reloaded(home)
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#timeline")).to_contain_text("Are you there?")

    for one in (home, policy):
        said = one.evaluate("() => window.said")
        assert [text.startswith(FULL) for text in said] == [True, False]
        assert said[-1] == ""
