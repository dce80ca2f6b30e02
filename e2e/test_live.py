"""Pages that update themselves: what they show is what a reload shows, whatever happens to them."""

import re

import pytest
from playwright.sync_api import Page, expect

from e2e.acts import (
    PRODUCTION,
    STAGING,
    WITHDRAW,
    approve,
    begin,
    card,
    facts,
    main_text,
    status,
    visit,
)
from e2e.conftest import SignIn
from e2e.studio import Studio, until

BUSY = "\n".join(["call list_releases {}", 'call read_changelog {"version": "4.1.0"}', "then"] * 6)


def same_after_reload(page: Page) -> None:
    """Live DOM equals reloaded DOM; asked until what is on its way has arrived."""
    live = ""
    for _ in range(40):
        page.wait_for_timeout(100)
        again = main_text(page)
        if again == live:
            break
        live = again
    page.reload()
    expect(page.locator("#live[data-state=live]")).to_be_visible()
    page.wait_for_timeout(300)
    assert main_text(page) == live


def test_a_session_page_is_true_through_a_whole_turn(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    session_id = begin(studio, STAGING)
    visit(page, studio, session_id)
    expect(card(page, "publish_release")).to_be_visible()
    same_after_reload(page)

    approve(card(page, "publish_release"))
    expect(card(page, "notify_team")).to_be_visible()
    same_after_reload(page)
    approve(card(page, "notify_team"))
    expect(page.get_by_text("Done: 4.2.0 is on staging")).to_be_visible()

    same_after_reload(page)


def test_home_approvals_and_sessions_are_true(studio: Studio, sign_in: SignIn) -> None:
    pages = {path: sign_in(studio) for path in ("/", "/approvals", "/sessions")}
    for path, page in pages.items():
        page.goto(f"{studio.url}{path}")
        expect(page.locator("#live[data-state=live]")).to_be_visible()

    session_id = begin(studio, WITHDRAW)

    for path, page in pages.items():
        expect(page.locator("main")).to_contain_text(
            "withdraw_release" if path != "/sessions" else WITHDRAW
        )
        same_after_reload(page)
    assert session_id


def test_the_pending_count_is_in_navigation_and_title(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    page.goto(f"{studio.url}/policy")
    before = int(page.locator("#pending").inner_text() or 0)

    begin(studio, WITHDRAW)

    expect(page.locator("#pending")).to_have_text(str(before + 1))
    expect(page).to_have_title(re.compile(rf"^\({before + 1}\)"))


def test_an_open_page_survives_a_restart_of_the_server(own_studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(own_studio)
    session_id = begin(own_studio, PRODUCTION)
    visit(page, own_studio, session_id)
    expect(card(page, "publish_release")).to_be_visible()

    own_studio.kill()
    expect(page.locator("#live[data-state=live]")).to_have_count(0, timeout=30_000)
    own_studio.start()

    expect(page.locator("#live[data-state=live]")).to_be_visible(timeout=30_000)
    approve(card(page, "publish_release"))
    expect(page.get_by_text("Published to production")).to_be_visible()
    same_after_reload(page)


def test_a_call_that_was_out_when_the_server_died_is_settled_by_a_person(
    own_studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(own_studio)
    session_id = begin(own_studio, "Withdraw 4.2.0 from staging, slowly.")
    visit(page, own_studio, session_id)
    approve(card(page, "withdraw_release"))
    until(lambda: "call.started" in [f["type"] for f in facts(own_studio, session_id)],
          what="the send")  # fmt: skip

    own_studio.kill()
    own_studio.start()

    expect(page.locator("#held article[data-state=uncertain]")).to_be_visible(timeout=30_000)
    page.get_by_role("button", name="It did not run").click()
    until(lambda: status(own_studio, session_id) == "completed", what="the end of the turn")
    types = [fact["type"] for fact in facts(own_studio, session_id)]
    assert types.count("call.started") == 1
    assert "call.settled" in types


@pytest.mark.slow
def test_sixty_seconds_without_network_at_full_speed_lose_nothing(
    own_studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(own_studio)
    session_id = begin(own_studio, "say ready")
    visit(page, own_studio, session_id)
    expect(page.get_by_text("ready", exact=True)).to_be_visible()

    page.context.set_offline(True)
    sent = 0
    end = until_seconds(60)
    while not end():
        own_studio.api.sessions.send(session_id, BUSY)
        sent += 1
        until(lambda: status(own_studio, session_id) == "completed", what="the end of a turn")
    page.context.set_offline(False)

    last = f"Turn {sent + 1}"
    expect(page.locator("#timeline")).to_contain_text(last, timeout=60_000)
    expect(page.locator("#live[data-state=live]")).to_be_visible(timeout=30_000)
    ids = page.locator("#timeline > li[id]").evaluate_all("items => items.map((i) => i.id)")
    assert len(ids) == len(set(ids))
    same_after_reload(page)


def until_seconds(seconds: float) -> "object":
    import time

    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


def test_ten_tabs_of_live_sessions_leave_room_for_the_eleventh(
    studio: Studio, sign_in: SignIn
) -> None:
    first = sign_in(studio)
    session_id = begin(studio, WITHDRAW)
    tabs = []
    for _ in range(10):
        tab = first.context.new_page()
        tab.goto(f"{studio.url}/sessions/{session_id}")
        tabs.append(tab)

    eleventh = first.context.new_page()
    eleventh.goto(f"{studio.url}/sessions/{session_id}", timeout=10_000)

    expect(card(eleventh, "withdraw_release")).to_be_visible()
    approve(card(eleventh, "withdraw_release"))
    expect(eleventh.get_by_text("approved").first).to_be_visible()


def test_a_draft_appears_as_it_is_written_and_becomes_the_reply(
    studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(studio)
    visit(page, studio, begin(studio, "slow 60 " + " ".join(f"word{n}" for n in range(60))))

    expect(page.locator("#draft")).to_contain_text("word3")
    expect(page.locator("#timeline")).to_contain_text("word59")
    expect(page.locator("#draft")).to_have_text("")


def test_scrolling_up_holds_the_place_and_counts_what_is_new(
    studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(studio, viewport={"width": 1280, "height": 500})
    session_id = begin(studio, "\n".join(["say one", "then"]) + BUSY)
    until(lambda: status(studio, session_id) == "completed", what="the end of the turn")
    visit(page, studio, session_id)
    page.mouse.move(500, 300)
    page.mouse.wheel(0, -2000)
    page.wait_for_timeout(300)
    top = page.evaluate("() => window.scrollY")

    studio.api.sessions.send(session_id, BUSY)

    expect(page.locator("[data-jump]")).to_contain_text("new")
    assert abs(page.evaluate("() => window.scrollY") - top) < 5
    page.locator("[data-jump]").click()
    expect(page.locator("[data-jump]")).to_be_hidden()
