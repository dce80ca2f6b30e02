"""Where time went beyond one turn: a session and an environment on one axis; views; files."""

import json
import re
from pathlib import Path

from playwright.sync_api import Page, expect

from e2e.acts import (
    ASK,
    LIVE,
    PRODUCTION,
    STAGING,
    approve,
    begin,
    card,
    deny,
    ends,
    fits,
    held,
    look,
    same_as_reloaded,
    visit,
)
from e2e.conftest import SignIn
from e2e.studio import Studio, until
from e2e.test_accessibility import is_accessible


def seen_in_phone(page: Page) -> None:
    """It fits, and axe finds nothing."""
    page.set_viewport_size({"width": 390, "height": 844})
    fits(page)
    is_accessible(page)


def test_a_session_on_one_axis_is_true_while_its_turns_move(
    studio: Studio, sign_in: SignIn
) -> None:
    page, other = sign_in(studio), sign_in(studio)
    session_id = begin(studio, STAGING)
    held(studio, session_id)
    look(page, studio, f"/sessions/{session_id}/trace")
    expect(page.locator("tbody .state")).to_have_text("held")

    visit(other, studio, session_id)
    approve(card(other, "publish_release"))
    approve(card(other, "notify_team"))
    ends(studio, session_id)
    studio.api.sessions.send(session_id, "Clean up: delete everything.")
    expect(page.locator("tbody [data-row]")).to_have_count(2)
    ends(studio, session_id)

    expect(page.locator("tbody .state")).to_have_text(["completed", "completed"])
    same_as_reloaded(page)
    is_accessible(page)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/sessions/{session_id}/turns/1"))


def test_a_session_leads_to_its_trace_and_it_works_without_scripts(
    studio: Studio, sign_in: SignIn
) -> None:
    session_id = begin(studio, ASK)
    held(studio, session_id)
    page = sign_in(studio, java_script_enabled=False)
    page.goto(f"{studio.url}/sessions/{session_id}")

    page.get_by_role("link", name="Trace", exact=True).click()

    expect(page.get_by_role("heading", name="Trace", level=1)).to_be_visible()
    page.locator("tbody a").first.click()
    expect(page).to_have_url(re.compile(r"/turns/1$"))


def test_an_environment_on_one_axis_is_true_while_it_is_worked_in(
    studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(studio)
    made = studio.api.environments.make(
        "clock", definition={"kind": "sandbox", "setup": [{"run": "echo made > made.txt"}]}
    )
    look(page, studio, f"/environments/{made['id']}?tab=timeline")
    expect(page.locator("tbody tr")).to_have_count(1)

    session_id = begin(studio, "say ready", environment="clock", title="Work")
    ends(studio, session_id)
    studio.api.disks.restore("clock", 1)

    expect(page.locator("tbody")).to_contain_text("Turn 1 of Work")
    expect(page.locator("tbody")).to_contain_text("Version 1 restored")
    same_as_reloaded(page)
    is_accessible(page)
    mark = page.locator("figure a").last
    where = mark.get_attribute("href")
    mark.click()
    expect(page).to_have_url(re.compile(re.escape(str(where).partition("#")[0])))


def test_on_paper_what_is_beside_a_name_is_no_larger_than_the_name(
    studio: Studio, sign_in: SignIn
) -> None:
    ends(studio, begin(studio, "say ready"))
    page = sign_in(studio, viewport={"width": 720, "height": 1000})
    look(page, studio, "/traces")

    page.emulate_media(media="print")

    name, small = (
        page.locator(f"tbody tr {what}").first.evaluate("one => getComputedStyle(one).fontSize")
        for what in ("a", "small")
    )
    assert float(small[:-2]) <= float(name[:-2])


def test_a_view_is_saved_shared_and_deleted_without_scripts(
    studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(studio, java_script_enabled=False)
    page.goto(f"{studio.url}/traces")
    page.get_by_role("textbox", name="Tool").fill("publish")
    page.get_by_role("button", name="Filter").click()

    page.get_by_text("Save this view").click()
    page.get_by_label("Name").fill("What was published")
    page.get_by_label("Everybody sees it").check()
    page.get_by_role("button", name="Save", exact=True).click()

    saved = page.get_by_role("navigation", name="Saved views")
    expect(saved.get_by_role("link", name="What was published")).to_have_attribute(
        "aria-current", "page"
    )
    saved.get_by_role("link", name="Manage views").click()
    mine = page.get_by_role("row", name="What was published")  # other tests save views, too
    mine.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("What was published is deleted.")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("tbody")).to_contain_text("What was published")
    mine.get_by_role("button", name="Delete").click()


def test_a_view_that_is_shared_comes_to_an_open_list_of_others(
    studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(studio, "bob", "operator")
    look(page, studio, "/traces")

    studio.api.views.save("traces", "Dear turns", "cost=1", shared=True)

    link = page.get_by_role("link", name="Dear turns")
    expect(link).to_be_visible()
    same_as_reloaded(page)
    is_accessible(page)
    link.click()
    expect(page.locator(LIVE)).to_be_visible()
    expect(page.get_by_label("Dollars, at least")).to_have_value("1")
    page.get_by_text("Export", exact=True).click()
    seen_in_phone(page)
    page.goto(f"{studio.url}/views")
    seen_in_phone(page)


def test_what_a_list_is_narrowed_to_is_downloaded(
    studio: Studio, sign_in: SignIn, tmp_path: Path
) -> None:
    page = sign_in(studio)
    session_id = begin(studio, PRODUCTION)
    held(studio, session_id)
    visit(page, studio, session_id)
    deny(card(page, "publish_release"), "no")
    ends(studio, session_id)
    page.goto(f"{studio.url}/sessions?q={session_id}")

    page.get_by_text("Export", exact=True).click()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="JSON lines").click()
    place = tmp_path / "file"
    waiting.value.save_as(place)

    told = [json.loads(line) for line in place.read_text("utf-8").splitlines()]
    count = len(until(lambda: studio.api.sessions.events(session_id)["items"]))
    assert waiting.value.suggested_filename.startswith("sessions-")
    assert [one["id"] for one in told if one["line"] == "session"] == [session_id]
    assert told[-1]["facts"] == count
