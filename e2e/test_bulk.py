"""One answer for several cards: each decided once, and each told of as it is."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from e2e.acts import (
    WITHDRAW,
    approve,
    begin,
    card_in,
    facts,
    fits,
    held,
    look,
    nothing_waits,
    same_as_reloaded,
    waits,
)
from e2e.conftest import SignIn
from e2e.studio import Studio, until
from e2e.test_accessibility import is_accessible
from e2e.test_keyboard import go_to, press
from e2e.test_phone import on_phone
from e2e.test_without_javascript import plain
from e2e.wire import Wire

EVIL = "<form action=/sign-out><b data-evil hx-post=/sign-out hx-trigger=load>" + "\u202e x"
HIDDEN = {"version": "4.2.0", "channel": "staging", "notify": [], "notes": EVIL}
LONG = {**HIDDEN, "notify": [f"person-{n}@example.org" for n in range(3_500)]}


@pytest.fixture(autouse=True)
def quiet(studio: Studio) -> Iterator[None]:
    """Every list begins and ends empty."""
    nothing_waits(studio)
    yield
    nothing_waits(studio)


def several(studio: Studio, many: int, message: str = WITHDRAW, **more: str) -> list[str]:
    """So many sessions with a held call each."""
    made = [begin(studio, message, **more) for _ in range(many)]
    for session_id in made:
        held(studio, session_id)
    return made


def calls(arguments: object) -> str:
    return f"call publish_release {json.dumps(arguments)}"


def bar(page: Page) -> Locator:
    return page.locator("#bulk")


def approving(page: Page) -> Locator:
    return bar(page).get_by_role("button", name=re.compile("^Approve"))


def tick(card: Locator) -> Locator:
    return card.get_by_role("checkbox", name=re.compile("^Tick"))


def check(card: Locator) -> None:
    """Tick it, once it stands still: a card that just moved takes no press of a pointer."""

    def is_ticked() -> bool:
        if not tick(card).is_checked():
            tick(card).click()
        return tick(card).is_checked()

    until(is_ticked, what="the tick")


def read_all(page: Page) -> None:
    """Look at every ticked card that was not read, one after the other."""
    for _ in range(30):
        if approving(page).is_enabled():
            return
        bar(page).get_by_role("button", name="Show the next").click()
        page.wait_for_timeout(150)
    raise AssertionError("Approve stays off")


def decided(studio: Studio, session_id: str) -> list[tuple[str, str]]:
    """Who decided in this session, and how."""
    return [
        (fact["payload"]["by"], fact["payload"]["choice"])
        for fact in facts(studio, session_id)
        if fact["type"] == "decision.recorded"
    ]


def told(page: Page) -> dict[str, str]:
    """What the results say of each session's call."""
    expect(page.get_by_role("link", name="Back to what waits")).to_be_visible()
    return {
        str(row.locator('a[href^="/sessions/"]').get_attribute("href")).rpartition("/")[2]:
        row.inner_text()
        for row in page.locator("tbody tr").all()
    }  # fmt: skip


def test_two_operators_race_over_ten_cards_and_each_is_told_the_truth(
    studio: Studio, sign_in: SignIn, wire: Wire
) -> None:
    wire.is_cut = True
    made = several(studio, 10)
    ann, bob = sign_in(studio, "ann"), sign_in(studio, "bob", "operator")
    for page in (ann, bob):
        page.route("**/live/**", lambda route: route.abort())  # neither hears of the other
        page.goto(f"{studio.url}/approvals")
        page.get_by_label("All on this page").check()
    read_all(ann)
    bar(bob).get_by_text("Deny 10…").click()
    bar(bob).get_by_label("Why not?").fill("not at night")

    expect(bar(bob).get_by_role("button", name="Deny 10", exact=True)).to_be_enabled()
    for page, button in ((ann, "approves"), (bob, "denies")):
        page.evaluate(
            f"() => {{ setTimeout(() => document.querySelector('[data-{button}]').click()) }}"
        )

    anns, bobs = told(ann), told(bob)
    for session_id in made:
        ((by, choice),) = decided(studio, session_id)
        assert (by, choice) in [("ann", "approve"), ("bob", "deny")]
        first, second = (anns, bobs) if by == "ann" else (bobs, anns)
        assert ("It runs." if by == "ann" else "It does not run.") in first[session_id]
        word = "approved" if by == "ann" else "denied"
        assert f"Already {word} by {by}" in second[session_id]
        assert "refused" in second[session_id]


def test_cards_are_ticked_and_approved_by_keys_and_enter_in_a_box_decides_nothing(
    studio: Studio, sign_in: SignIn
) -> None:
    made = several(studio, 2)
    page = sign_in(studio)
    look(page, studio, "/approvals")
    for session_id in made:
        go_to(page, card_in(page, "withdraw_release", session_id))
        press(page, "x")
    expect(approving(page)).to_have_text("Approve 2")
    tick(card_in(page, "withdraw_release", made[0])).focus()
    press(page, "Enter")
    assert [decided(studio, session_id) for session_id in made] == [[], []]
    press(page, "x", "x")

    read_all(page)
    approving(page).focus()
    press(page, "Enter")

    expect(page.get_by_role("heading", name="2 approved")).to_be_visible()
    assert [decided(studio, one) for one in made] == [[("ann", "approve")]] * 2


def test_ticks_outlive_what_arrives_and_the_page_is_as_a_reload(
    studio: Studio, sign_in: SignIn
) -> None:
    first, second = several(studio, 2)
    page = sign_in(studio)
    look(page, studio, "/approvals")
    check(card_in(page, "withdraw_release", second))

    (third,) = several(studio, 1)
    expect(card_in(page, "withdraw_release", third)).to_be_visible()

    expect(tick(card_in(page, "withdraw_release", second))).to_be_checked()
    expect(tick(card_in(page, "withdraw_release", third))).not_to_be_checked()
    expect(approving(page)).to_have_text("Approve 1")
    same_as_reloaded(page)
    approve(card_in(page, "withdraw_release", second))
    expect(approving(page)).to_have_text("Approve 0")
    assert decided(studio, first) == []


def test_what_was_not_read_is_not_approved_with_the_rest(studio: Studio, sign_in: SignIn) -> None:
    (hidden,) = several(studio, 1, calls(HIDDEN), title=EVIL[:100])
    (long,) = several(studio, 1, calls(LONG))
    several(studio, 8)
    page = sign_in(studio)
    look(page, studio, "/approvals")
    check(card_in(page, "publish_release", long))
    expect(bar(page)).to_contain_text("1 can only be denied here.")
    expect(approving(page)).to_be_disabled()
    tick(card_in(page, "publish_release", long)).uncheck()

    check(page.locator("article.card").nth(9))
    expect(bar(page)).to_contain_text("1 not read to the end.")
    expect(approving(page)).to_be_disabled()
    read_all(page)
    check(card_in(page, "publish_release", hidden))
    read_all(page)
    approving(page).click()

    expect(page.get_by_role("heading", name="2 approved")).to_be_visible()
    assert page.locator("[data-evil], main form[action='/sign-out']").count() == 0
    assert decided(studio, hidden) == [("ann", "approve")]
    assert decided(studio, long) == []


def test_without_scripts_one_ticks_what_is_open_and_the_rest_says_why(
    studio: Studio, sign_in: SignIn
) -> None:
    made = several(studio, 9)
    several(studio, 1, calls(HIDDEN))
    page = plain(sign_in, studio)
    page.goto(f"{studio.url}/approvals")
    cards = page.locator("article.card")
    expect(tick(cards.nth(1))).to_be_hidden()
    expect(cards.nth(9)).to_contain_text("Answered on its own card alone")

    for place in (1, 2):
        cards.nth(place).locator("summary.card__head").click()
        check(cards.nth(place))
    cards.nth(9).locator("summary.card__head").click()
    expect(cards.nth(9).locator("[data-tick]")).to_be_hidden()
    bar(page).locator("summary").click()
    bar(page).get_by_label("Why not?").fill("by hand")
    bar(page).locator("[data-denies]").click()

    expect(page.get_by_role("heading", name="2 denied")).to_be_visible()
    answers = [decided(studio, session_id) for session_id in made]
    assert sorted(answers) == [[]] * 7 + [[("ann", "deny")]] * 2


def test_on_a_phone_all_are_denied_with_a_thumb(studio: Studio, sign_in: SignIn) -> None:
    made = several(studio, 3)
    page = on_phone(sign_in, studio)
    look(page, studio, "/approvals")
    expect(bar(page)).to_be_in_viewport()
    page.get_by_label("All").check()
    fits(page)

    bar(page).get_by_text("Deny 3…").tap()
    bar(page).get_by_label("Why not?").fill("from the bed")
    expect(bar(page).locator("[data-denies]")).to_be_in_viewport()
    bar(page).locator("[data-denies]").tap()

    expect(page.get_by_role("heading", name="3 denied")).to_be_visible()
    fits(page)
    until(lambda: not any(waits(studio, one) for one in made), what="the denials")


def test_every_state_of_it_is_accessible(studio: Studio, sign_in: SignIn) -> None:
    several(studio, 2)
    several(studio, 1, calls(HIDDEN))
    page = sign_in(studio)
    look(page, studio, "/approvals")
    page.get_by_label("All on this page").check()
    is_accessible(page)
    bar(page).get_by_text("Deny 3…").click()
    is_accessible(page)
    bar(page).get_by_label("Why not?").fill("x" * 5_000)

    bar(page).locator("[data-denies]").click()

    expect(page.get_by_role("heading", name="0 denied, 3 refused")).to_be_visible()
    is_accessible(page)
