"""The trace of a turn: true while the turn moves, by keyboard, and without scripts."""

import re

from playwright.sync_api import Page, Route, expect

from e2e.acts import (
    LIVE,
    STAGING,
    approve,
    begin,
    card,
    ends,
    fits,
    held,
    look,
    same_as_reloaded,
    visit,
)
from e2e.browser import axe_source
from e2e.conftest import SignIn
from e2e.studio import Studio


def test_a_trace_grows_with_its_turn_and_is_what_a_reload_shows(
    studio: Studio, sign_in: SignIn
) -> None:
    page, other = sign_in(studio), sign_in(studio)
    session_id = begin(studio, STAGING)
    held(studio, session_id)
    page.goto(f"{studio.url}/sessions/{session_id}/turns/1")
    expect(page.locator(LIVE)).to_be_visible()
    expect(page.get_by_role("link", name="wait approval")).to_have_count(1)

    visit(other, studio, session_id)
    approve(card(other, "publish_release"))
    expect(page.get_by_role("link", name="execute_tool publish_release")).to_be_visible()
    approve(card(other, "notify_team"))
    ends(studio, session_id)

    expect(page.get_by_role("link", name="execute_tool notify_team")).to_be_visible()
    expect(page.locator(".head .state")).to_have_text("completed")
    same_as_reloaded(page)


def test_a_span_is_opened_by_keyboard_and_stays_in_the_address(
    studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(studio)
    session_id = begin(studio, "Compare 4.1.0 and 4.2.0.")
    ends(studio, session_id)
    page.goto(f"{studio.url}/sessions/{session_id}/turns/1")
    expect(page.locator(LIVE)).to_be_visible()

    names = page.locator(".wf__link").all_inner_texts()
    for _ in range(names.index("execute_tool read_changelog") + 1):
        page.keyboard.press("j")
    page.keyboard.press("Enter")

    expect(page.locator("#span-title")).to_contain_text("execute_tool")
    assert "span=" in page.url
    expect(page.locator(".wf__row[aria-current]")).to_have_count(1)
    same_as_reloaded(page)


# calls of a tool that is not there end at once and are spans all the same
MANY = "\nthen\n".join("\n".join(f"call nothing_{n} {{}}" for n in range(20)) for _ in range(14))
SHOWN = ".wf__row[data-row]"
ROWS = 40  # of a window


def long_turn(studio: Studio) -> str:
    """A turn of about 300 spans, which has ended; the path of its page."""
    session_id = begin(studio, f"{MANY}\nthen\nsay done")
    ends(studio, session_id)
    return f"/sessions/{session_id}/turns/1"


def test_rows_of_a_long_turn_come_as_one_scrolls(studio: Studio, sign_in: SignIn) -> None:
    page, path = sign_in(studio), long_turn(studio)
    look(page, studio, path)
    for count in range(ROWS, 291, ROWS):
        expect(page.locator(SHOWN)).to_have_count(count)
        page.locator(SHOWN).nth(count - 1).scroll_into_view_if_needed()

    expect(page.locator("#rows-more a")).to_have_count(0)
    count = page.locator(SHOWN).count()
    assert count > 290
    page.locator(".wf__link").nth(250).click()
    expect(page.locator("#span-title")).to_be_visible()
    expect(page.locator(SHOWN)).to_have_count(count)  # what was loaded stays


def test_a_part_of_the_map_leads_to_the_rows_of_its_time(studio: Studio, sign_in: SignIn) -> None:
    page, path = sign_in(studio), long_turn(studio)
    look(page, studio, path)

    page.locator(".map__lead").nth(12).focus()
    page.keyboard.press("Enter")

    expect(page.locator("#rows-earlier")).to_be_visible()
    assert re.search(r"from=\d+", page.url)
    same_as_reloaded(page)
    page.evaluate(axe_source())
    assert page.evaluate("axe.run(document).then(found => found.violations.map(v => v.id))") == []


def test_rows_fold_and_hits_are_walked_through_by_keyboard(studio: Studio, sign_in: SignIn) -> None:
    page, path = sign_in(studio), long_turn(studio)
    look(page, studio, path)
    step = page.locator(SHOWN).filter(has_text="chat").first
    page.keyboard.press("j")
    while page.locator(".wf__row:focus").get_by_text("chat").count() == 0:
        page.keyboard.press("j")

    page.keyboard.press("ArrowLeft")
    expect(step).to_contain_text("20 rows folded")
    same_as_reloaded(page)
    step.focus()
    page.keyboard.press("ArrowRight")
    expect(step).not_to_contain_text("folded")

    look(page, studio, f"{path}?q=nothing_7")
    expect(page.locator("#hits")).to_contain_text("14 hits")
    for place in (1, 2):
        page.keyboard.press("n")
        expect(page.locator("#hits")).to_contain_text(f"{place} of 14 hits")
        expect(page.locator(":focus")).to_contain_text("nothing_7")
    page.keyboard.press("p")
    expect(page.locator("#hits")).to_contain_text("1 of 14 hits")

    look(page, studio, f"{path}?q=nothing_7&only=1")  # one window, wherever one scrolled
    page.keyboard.press("n")
    expect(page.locator("#hits")).to_contain_text("1 of 14 hits")
    same_as_reloaded(page)


# as when a fact comes in between: the page looks again before what was pressed is answered
PRESS_AND_LOOK = """
link => {
  link.click();
  document.querySelector("#stream").dispatchEvent(new CustomEvent("look:trace", {bubbles: true}));
}
"""


def test_what_is_chosen_while_the_page_looks_again_stays(studio: Studio, sign_in: SignIn) -> None:
    page, path = sign_in(studio), long_turn(studio)
    look(page, studio, path)

    with page.expect_response(lambda answer: "fold=s1&from=" in answer.url):
        page.locator(".wf__turn[data-turns]").first.evaluate(PRESS_AND_LOOK)

    expect(page.locator(SHOWN).filter(has_text="20 rows folded")).to_have_count(1)
    same_as_reloaded(page)


LOOK = """
document.querySelector("#stream").dispatchEvent(new CustomEvent("look:trace", {bubbles: true}))
"""


def test_what_is_chosen_waits_for_no_look(studio: Studio, sign_in: SignIn) -> None:
    page, path = sign_in(studio), long_turn(studio)
    look(page, studio, path)
    looks: list[Route] = []

    def keep_the_first(route: Route) -> None:
        if looks:
            route.continue_()
        looks.append(route)

    page.route(re.compile("region=trace"), keep_the_first)
    with page.expect_request(re.compile("region=trace")):
        page.evaluate(LOOK)
    page.locator(".wf__turn[data-turns]").first.click()

    folded = page.locator(SHOWN).filter(has_text="20 rows folded")
    expect(folded).to_have_count(1, timeout=10_000)  # before the look is given up
    assert len(looks) == 2


def test_a_zoom_is_entered_and_left_by_keyboard(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    session_id = begin(studio, "Compare 4.1.0 and 4.2.0.")
    ends(studio, session_id)
    look(page, studio, f"/sessions/{session_id}/turns/1")
    everything = page.locator(SHOWN).count()
    page.get_by_role("link", name="execute_tool read_changelog").first.click()
    expect(page.locator("#span-title")).to_be_visible()

    page.keyboard.press("z")
    expect(page.get_by_role("link", name="Back to the whole turn")).to_be_visible()
    assert page.locator(SHOWN).count() < everything
    same_as_reloaded(page)

    page.keyboard.press("z")
    expect(page.locator(SHOWN)).to_have_count(everything)


def test_a_trace_is_read_without_scripts_and_on_a_phone(studio: Studio, sign_in: SignIn) -> None:
    page: Page = sign_in(
        studio, java_script_enabled=False, viewport={"width": 390, "height": 844}
    )  # fmt: skip
    path = long_turn(studio)
    page.goto(studio.url + path)
    fits(page)

    page.locator("#rows-more a").click()
    expect(page.locator("#rows-earlier")).to_be_visible()
    page.get_by_role("link", name="Fold the steps").click()
    expect(page.get_by_text("20 rows folded")).to_have_count(14)
    page.get_by_role("link", name="Unfold step 3").click()
    expect(page.get_by_text("20 rows folded")).to_have_count(13)
    page.get_by_label("Find in this turn").fill("nothing_7")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("link", name="Next").click()
    expect(page.locator("#span-title")).to_contain_text("nothing_7")
    page.get_by_label("Find in arguments and result").fill("zebra")
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page.locator("#span")).to_contain_text("0 places")
    page.get_by_role("link", name="Open the call").click()
    page.get_by_role("link", name="In its trace").click()
    expect(page.locator("#span-title")).to_contain_text("nothing_7")
    fits(page)
