"""A trace from outside: found, opened, and read by mouse, by keyboard and without scripts."""

from playwright.sync_api import expect

from e2e import outside
from e2e.acts import same_as_reloaded
from e2e.conftest import SignIn
from e2e.studio import Studio


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


def test_it_is_read_by_keyboard(studio: Studio, sign_in: SignIn) -> None:
    trace = outside.send(studio, trace="cd" * 16)
    page = sign_in(studio)
    page.goto(f"{studio.url}/traces/{trace}")

    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")

    expect(page.locator("#span-title")).to_have_text("chat small")


def test_more_rows_come_when_asked_for(studio: Studio, sign_in: SignIn) -> None:
    trace = outside.send(studio, trace="ef" * 16, more=300)
    page = sign_in(studio)
    page.goto(f"{studio.url}/traces/{trace}")

    expect(page.locator(".wf__row")).to_have_count(200)
    page.get_by_role("link", name="103 rows more").click()

    expect(page.locator(".wf__row")).to_have_count(303)


def test_it_needs_no_scripts(studio: Studio, sign_in: SignIn) -> None:
    trace = outside.send(studio, trace="ba" * 16, more=300)
    page = sign_in(studio, java_script_enabled=False)
    page.goto(f"{studio.url}/traces/{trace}")

    page.get_by_role("link", name="chat small").click()
    expect(page.locator("#span-title")).to_have_text("chat small")
    page.get_by_role("link", name="103 rows more").click()
    expect(page.locator(".wf__row")).to_have_count(103)
