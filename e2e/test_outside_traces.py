"""A trace from outside: found, opened, and read by mouse, by keyboard and without scripts."""

import re

from playwright.sync_api import expect

from e2e import outside
from e2e.acts import fits, look, same_as_reloaded
from e2e.conftest import SignIn
from e2e.studio import Studio
from e2e.test_accessibility import is_accessible

ROWS = ".wf__row[data-row]"
WINDOW = 40  # rows


def test_a_trace_from_outside_is_found_and_a_span_opened(studio: Studio, sign_in: SignIn) -> None:
    trace = outside.send(studio)
    page = sign_in(studio)
    page.goto(f"{studio.url}/traces")

    page.get_by_role("link", name="From outside").click()
    page.locator(f'a[href="/traces/{trace}"]').click()
    expect(page.get_by_text("All of it is that sender’s claim")).to_be_visible()
    page.get_by_role("link", name="execute_tool weather").click()

    expect(page.locator("#span-title")).to_have_text("execute_tool weather")
    expect(page.locator("#span")).to_contain_text("The weather did not come.")
    expect(page.locator("#span")).to_contain_text("What is the weather?")
    expect(page.locator(".wf__row[aria-current]")).to_have_count(1)
    assert "span=" in page.url
    same_as_reloaded(page)


def test_a_long_name_of_a_service_makes_no_room_for_itself(
    own_studio: Studio, sign_in: SignIn
) -> None:
    long = outside.send(own_studio, trace="12" * 16, service="W" * 600)
    outside.send(own_studio)
    page = sign_in(own_studio)

    page.goto(f"{own_studio.url}/traces/outside")

    assert page.locator(".table-box").evaluate("box => box.scrollWidth - box.clientWidth") == 0
    name = page.get_by_role("link", name="clerk").first.bounding_box()
    assert name is not None
    assert name["height"] < 30  # on one line
    for path in ("/traces/outside", f"/traces/{long}"):
        page.goto(own_studio.url + path)
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 800})
            fits(page)
        page.set_viewport_size({"width": 1280, "height": 800})


def test_it_is_read_by_keyboard(studio: Studio, sign_in: SignIn) -> None:
    trace = outside.send(studio, trace="cd" * 16)
    page = sign_in(studio)
    page.goto(f"{studio.url}/traces/{trace}")

    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")

    expect(page.locator("#span-title")).to_have_text("chat small")


def test_rows_come_as_one_scrolls_and_a_map_leads_to_them(studio: Studio, sign_in: SignIn) -> None:
    trace = outside.send(studio, trace="ef" * 16, more=300)
    page = sign_in(studio)
    page.goto(f"{studio.url}/traces/{trace}")
    for count in range(WINDOW, 303, WINDOW):
        expect(page.locator(ROWS)).to_have_count(count)
        page.locator(ROWS).nth(count - 1).scroll_into_view_if_needed()
    expect(page.locator(ROWS)).to_have_count(303)

    page.locator(".map__lead").nth(12).focus()
    page.keyboard.press("Enter")
    expect(page.locator("#rows-earlier")).to_be_visible()
    same_as_reloaded(page)


def test_it_is_searched_folded_and_zoomed_by_keyboard(studio: Studio, sign_in: SignIn) -> None:
    trace = outside.send(studio, trace="ac" * 16, below=2)
    page = sign_in(studio)
    page.goto(f"{studio.url}/traces/{trace}?q=what+weather")
    expect(page.locator("#hits")).to_contain_text("3 hits")

    page.keyboard.press("n")
    expect(page.locator("#hits")).to_contain_text("1 of 3 hits")
    page.keyboard.press("n")
    expect(page.locator("#span-title")).to_have_text("chat small")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(":focus")).to_contain_text("2 rows folded")
    same_as_reloaded(page)

    page.keyboard.press("z")
    expect(page.get_by_role("link", name="Back to the whole trace")).to_be_visible()
    expect(page.locator(ROWS)).to_have_count(2)
    same_as_reloaded(page)


def test_it_is_read_on_a_phone_without_scripts(studio: Studio, sign_in: SignIn) -> None:
    trace = outside.send(studio, trace="ba" * 16, more=300)
    page = sign_in(studio, java_script_enabled=False, viewport={"width": 390, "height": 844})
    page.goto(f"{studio.url}/traces/{trace}")
    fits(page)

    page.get_by_role("link", name="chat small").click()
    expect(page.locator("#span-title")).to_have_text("chat small")
    fits(page)
    page.locator("#rows-more a").click()
    expect(page.locator(ROWS)).to_have_count(WINDOW)
    page.get_by_label("Kind").select_option("tool")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(ROWS)).to_have_count(1)


def test_an_open_trace_and_the_list_move_by_themselves(studio: Studio, sign_in: SignIn) -> None:
    trace = outside.send(studio, trace="da" * 16, rootless=True)
    page, listed = sign_in(studio), sign_in(studio)
    look(listed, studio, "/traces/outside")
    look(page, studio, f"/traces/{trace}?q=weather")
    expect(page.locator(ROWS)).to_have_count(3)
    expect(page.get_by_text("2 orphans")).to_be_visible()
    is_accessible(page)

    outside.send(studio, trace=trace, more=5)

    expect(page.locator(ROWS)).to_have_count(8)
    expect(page.get_by_text("2 orphans")).to_have_count(0)
    expect(page.locator("#crumb")).to_have_text("clerk")
    expect(page.locator("#hits")).to_contain_text("3 hits")
    expect(listed.locator(f"#row-{trace}")).to_contain_text("clerk")
    other = outside.send(studio, trace="db" * 16)
    expect(listed.locator(f"#row-{other}")).to_be_visible()
    same_as_reloaded(page)
    same_as_reloaded(listed)
    is_accessible(listed)


def test_what_is_looked_at_stays_while_a_trace_grows(studio: Studio, sign_in: SignIn) -> None:
    trace = outside.send(studio, trace="dc" * 16, below=2)
    page = sign_in(studio)
    look(page, studio, f"/traces/{trace}")
    page.get_by_role("link", name="chat small", exact=True).click()
    expect(page.locator("#span-title")).to_have_text("chat small")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("2 rows folded")).to_be_visible()

    outside.send(studio, trace=trace, below=2, more=4)

    expect(page.get_by_text("4 rows folded")).to_be_visible()
    expect(page.locator(ROWS)).to_have_count(5)
    expect(page.locator("#span-title")).to_have_text("chat small")
    same_as_reloaded(page)


def test_an_open_trace_that_is_forgotten_says_so_and_shows_what_comes_anew(
    studio: Studio, sign_in: SignIn
) -> None:
    trace = outside.send(studio, trace="dd" * 16, more=60)
    page, listed = sign_in(studio, person="bea", role="viewer"), sign_in(studio)
    look(page, studio, f"/traces/{trace}?q=weather")
    look(listed, studio, "/traces/outside")
    expect(page.locator(ROWS)).to_have_count(WINDOW)

    studio.api.outside_traces.forget(trace)

    expect(page.get_by_role("heading", name="This trace was forgotten")).to_be_visible()
    expect(page.locator(ROWS)).to_have_count(0)
    expect(page.locator("#crumb")).to_have_text("Forgotten trace")
    expect(page).to_have_title("Forgotten trace · Studio")
    expect(listed.locator(f"#row-{trace}")).to_have_count(0)
    same_as_reloaded(page)
    same_as_reloaded(listed)
    is_accessible(page)

    outside.send(studio, trace=trace)

    expect(page.locator("#crumb")).to_have_text("clerk")
    expect(page.locator(ROWS)).to_have_count(3)
    expect(page.locator("#hits")).to_contain_text("3 hits")
    same_as_reloaded(page)


def test_an_admin_reads_what_would_go_of_a_sender_and_it_goes(
    studio: Studio, sign_in: SignIn
) -> None:
    trace = outside.send(studio, trace="de" * 16)
    page, other = sign_in(studio), sign_in(studio)
    look(other, studio, f"/traces/{trace}")
    page.goto(f"{studio.url}/traces/{trace}")

    page.locator("#forget summary").click()
    page.get_by_role("link", name="Forget more of this sender…").click()
    expect(page.locator("main")).to_contain_text("that application:local command line began, with")
    is_accessible(page)
    page.get_by_label("Which of its traces").select_option("7")
    page.get_by_role("button", name="Look").click()
    expect(page.get_by_text("Nothing to forget")).to_be_visible()
    page.get_by_label("Which of its traces").select_option("")
    page.get_by_role("button", name="Look").click()
    page.get_by_role("button", name=re.compile("^Forget [0-9,]+ traces?$")).click()

    expect(page.get_by_text("Nothing came from outside")).to_be_visible()
    expect(other.get_by_role("heading", name="This trace was forgotten")).to_be_visible()
    same_as_reloaded(other)


def test_what_one_opened_to_forget_stays_open_while_a_trace_grows(
    studio: Studio, sign_in: SignIn
) -> None:
    trace = outside.send(studio, trace="df" * 16)
    page = sign_in(studio)
    look(page, studio, f"/traces/{trace}")
    page.locator("#forget summary").click()

    outside.send(studio, trace=trace, more=2)
    expect(page.locator(ROWS)).to_have_count(5)
    page.get_by_role("button", name="Forget this trace").click()

    expect(page).to_have_url(f"{studio.url}/traces/outside")
    page.goto(f"{studio.url}/traces/{trace}")
    expect(page.locator("#missing")).to_contain_text("By ann, ")
    same_as_reloaded(page)
