"""What stands over a page at its end leaves in sight what matters more."""

import pytest
from playwright.sync_api import Page, expect

from e2e.acts import LIVE, WITHDRAW, begin, card, deny, ends, held, look, visit
from e2e.conftest import SignIn
from e2e.studio import Studio

POSITION = "one => getComputedStyle(one).position"
HIDDEN_BY_BAR = """
() => {
  const card = document.activeElement.closest(".card").getBoundingClientRect();
  return card.bottom - document.querySelector("#bulk").getBoundingClientRect().top;
}
"""


def dock(page: Page) -> str:
    """How the place to write stands on the page."""
    return str(page.locator("#composer").evaluate(POSITION))


@pytest.mark.parametrize("width, stands", [(1280, "sticky"), (390, "static")])
def test_where_one_writes_stays_in_sight_where_there_is_room(
    studio: Studio, sign_in: SignIn, width: int, stands: str
) -> None:
    page = sign_in(studio, viewport={"width": width, "height": 800})
    session_id = begin(studio, "say " + "long " * 4000)
    ends(studio, session_id)
    visit(page, studio, session_id)
    page.evaluate("scrollTo(0, 0)")

    assert dock(page) == stands
    if stands == "sticky":
        expect(page.locator("#composer-text")).to_be_in_viewport()


def test_while_a_call_is_held_nothing_covers_its_card(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    session_id = begin(studio, WITHDRAW)
    held(studio, session_id)
    visit(page, studio, session_id)
    expect(card(page, "withdraw_release")).to_be_visible()
    assert dock(page) == "static"

    deny(card(page, "withdraw_release"), "Not now.")
    expect(card(page, "withdraw_release")).to_have_count(0)

    assert dock(page) == "sticky"


def test_keys_leave_a_card_above_the_bar_of_all(studio: Studio, sign_in: SignIn) -> None:
    for _ in range(4):
        held(studio, begin(studio, WITHDRAW))
    page = sign_in(studio)
    look(page, studio, "/approvals")
    expect(page.locator(LIVE)).to_be_visible()
    cards = page.locator("[data-tickable]").count()
    assert cards > 3

    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator("#bulk")).to_be_visible()
    for place in range(1, cards):
        page.keyboard.press("j")
        assert page.evaluate(HIDDEN_BY_BAR) <= 0, place
