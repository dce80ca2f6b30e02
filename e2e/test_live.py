"""Pages that update themselves: what they show is what a reload shows, whatever happens to them."""

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Page, expect

from e2e.acts import (
    ASK,
    HIDING,
    LIVE,
    PRODUCTION,
    SLOWLY,
    STAGING,
    WITHDRAW,
    approve,
    begin,
    card,
    card_in,
    deny,
    ends,
    facts,
    held,
    look,
    same_as_reloaded,
    types,
    visit,
    waits,
)
from e2e.conftest import SignIn
from e2e.line import Line, line_to
from e2e.studio import Studio, until
from e2e.wire import Wire

BUSY = "\n".join(
    [*["call list_releases {}"] * 4, *["call delete_everything {}"] * 95, "then", "say Busy turn."]
)
FACTS = 207  # of one busy turn
PACE = 500  # facts a second
AWAY = 60  # seconds without network


# What is shown is what a reload shows -------------------------------------------------------------


def test_a_session_page_is_true_through_a_whole_turn(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    session_id = begin(studio, STAGING)
    visit(page, studio, session_id)
    expect(card(page, "publish_release")).to_be_visible()
    same_as_reloaded(page)

    approve(card(page, "publish_release"))
    expect(card(page, "notify_team")).to_be_visible()
    same_as_reloaded(page)
    approve(card(page, "notify_team"))
    expect(page.get_by_text("Done: 4.2.0 is on staging")).to_be_visible()

    same_as_reloaded(page)


@pytest.mark.parametrize(
    "message, mark",
    [
        ("Compare 4.1.0 and 4.2.0.", "completed"),
        ("Clean up: delete everything.", "denied"),
        ("call read_changelog {}\nthen\nsay so", "failed"),
        ("call read_changelog {not json\nthen\nsay so", "failed"),
        ("call nonesuch {}\nthen\nsay so", "failed"),
        ("fail refused", "failed"),
        ("say **bold** <b>not</b>\nthen\nsay done", "completed"),
    ],
    ids=["calls", "denied", "failed", "broken", "unknown", "refused", "markdown"],
)
def test_a_session_page_is_true_whatever_comes_of_its_calls(
    studio: Studio, sign_in: SignIn, message: str, mark: str
) -> None:
    page = sign_in(studio)
    session_id = begin(studio, "say ready")
    ends(studio, session_id)
    visit(page, studio, session_id)

    page.get_by_label("Message to").fill(message)
    page.get_by_role("button", name="Send").click()

    expect(page.locator("#timeline")).to_contain_text(re.compile("Turn 2 (completed|failed)"))
    expect(page.locator(f"#timeline [data-state={mark}]").first).to_be_visible()
    same_as_reloaded(page)


def test_a_question_its_refusal_and_a_stop_are_true(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    session_id = begin(studio, ASK)
    visit(page, studio, session_id)
    expect(page.locator("#held article")).to_be_visible()
    same_as_reloaded(page)

    page.get_by_text("Do not answer…").click()
    page.get_by_label("Why not?").fill("not now")
    page.get_by_role("button", name="Do not answer").click()
    expect(page.locator("#timeline")).to_contain_text("Then I leave it. You said: not now")
    same_as_reloaded(page)

    studio.api.sessions.send(session_id, "wait 600")
    page.get_by_role("button", name="Stop this turn").click()
    expect(page.locator("#timeline")).to_contain_text("ann stopped turn 2")
    expect(page.locator("#notices")).to_contain_text("Stopped. No call had run.")
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator("#notices")).to_have_text("")
    same_as_reloaded(page)


@pytest.mark.parametrize("panel", ["events", "agent"])
def test_each_side_of_a_session_is_true(studio: Studio, sign_in: SignIn, panel: str) -> None:
    page = sign_in(studio)
    session_id = begin(studio, WITHDRAW)
    visit(page, studio, session_id, f"?panel={panel}")
    expect(card(page, "withdraw_release")).to_be_visible()
    same_as_reloaded(page)

    deny(card(page, "withdraw_release"), "no")
    expect(page.locator("#timeline")).to_contain_text("Turn 1 completed.")

    same_as_reloaded(page)


@pytest.mark.parametrize(
    "path", ["/", "/approvals", "/approvals?state=closed", "/sessions", "/traces"]
)
def test_each_list_is_true(studio: Studio, sign_in: SignIn, path: str) -> None:
    page = sign_in(studio)
    look(page, studio, path)

    kept, session_id = begin(studio, WITHDRAW), begin(studio, PRODUCTION)
    held(studio, kept)
    wait = held(studio, session_id)
    same_as_reloaded(page)
    studio.api.approvals.decide(wait["id"], "deny", digest=wait["digest"], reason="no")
    ends(studio, session_id)

    same_as_reloaded(page)


def test_the_page_of_one_card_is_true(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    session_id = begin(studio, WITHDRAW)
    wait = held(studio, session_id)
    look(page, studio, f"/approvals/{wait['id']}")
    same_as_reloaded(page)

    studio.api.approvals.decide(wait["id"], "deny", digest=wait["digest"], reason="no need")

    expect(page.locator("article[data-state=denied]")).to_contain_text("no need")
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    same_as_reloaded(page)


def test_the_demo_shows_what_really_happened(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    look(page, studio, "/demo")
    session_id = begin(studio, PRODUCTION)
    wait = held(studio, session_id)

    studio.api.approvals.decide(wait["id"], "approve", digest=wait["digest"])

    expect(page.locator("#world")).to_contain_text("production")
    expect(page.locator("#world")).to_contain_text("publish_release")
    same_as_reloaded(page)


def test_the_pending_count_is_in_navigation_and_title(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    look(page, studio, "/policy")
    before = int(page.locator("#pending").inner_text() or 0)

    wait = held(studio, begin(studio, WITHDRAW))

    expect(page.locator("#pending")).to_have_text(str(before + 1))
    expect(page).to_have_title(re.compile(rf"^\({before + 1}\)"))
    studio.api.approvals.decide(wait["id"], "deny", digest=wait["digest"])
    expect(page.locator("#pending")).to_have_text(str(before) if before else "")


# Two people -------------------------------------------------------------------------------------


def test_two_operators_see_each_others_decisions_at_once(studio: Studio, sign_in: SignIn) -> None:
    ann, bob = sign_in(studio, "ann"), sign_in(studio, "bob", "operator")
    session_id = begin(studio, STAGING)
    visit(ann, studio, session_id)
    look(bob, studio, "/approvals")
    expect(card_in(bob, "publish_release", session_id)).to_be_visible()

    approve(card(ann, "publish_release"))
    expect(card_in(bob, "publish_release", session_id)).to_have_count(0)
    deny(card_in(bob, "notify_team", session_id), "the team knows")

    expect(ann.locator("#timeline")).to_contain_text("The team was not told. You said: the team")
    expect(ann.locator("#timeline")).to_contain_text("bob")
    expect(card(ann, "notify_team")).to_have_count(0)
    same_as_reloaded(ann)
    same_as_reloaded(bob)


# The server goes away ---------------------------------------------------------------------------


def test_an_open_page_survives_a_restart_of_the_server(
    own_studio: Studio, sign_in: SignIn, wire: Wire
) -> None:
    wire.is_cut = True
    page = sign_in(own_studio)
    session_id = begin(own_studio, PRODUCTION)
    visit(page, own_studio, session_id)
    expect(card(page, "publish_release")).to_be_visible()
    page.get_by_label("Message to").fill("half a thought")

    own_studio.kill()
    expect(page.locator("#live[data-state=lost]")).to_be_visible(timeout=40_000)
    own_studio.start()

    expect(page.locator(LIVE)).to_be_visible(timeout=40_000)
    expect(page.get_by_label("Message to")).to_have_value("half a thought")
    approve(card(page, "publish_release"))
    expect(page.get_by_text("Published to production")).to_be_visible()
    same_as_reloaded(page)


def test_a_call_that_was_out_when_the_server_died_is_settled_by_a_person(
    own_studio: Studio, sign_in: SignIn, wire: Wire
) -> None:
    wire.is_cut = True
    page = sign_in(own_studio)
    session_id = begin(own_studio, "Withdraw 4.2.0 from staging, slowly.")
    visit(page, own_studio, session_id)
    approve(card(page, "withdraw_release"))
    until(lambda: "call.started" in types(own_studio, session_id), what="the send")

    own_studio.kill()
    own_studio.start()

    doubt = page.locator("#held article[data-state=uncertain]")
    expect(doubt).to_contain_text("nobody recorded what came of it", timeout=40_000)
    same_as_reloaded(page)
    doubt.get_by_role("button", name="It did not run").click()
    ends(own_studio, session_id)
    assert types(own_studio, session_id).count("call.started") == 1
    assert "call.settled" in types(own_studio, session_id)
    same_as_reloaded(page)


def test_a_press_while_the_server_is_away_says_so_and_loses_nothing(
    own_studio: Studio, sign_in: SignIn, wire: Wire
) -> None:
    wire.is_cut = True
    page = sign_in(own_studio)
    session_id = begin(own_studio, WITHDRAW)
    visit(page, own_studio, session_id)
    card(page, "withdraw_release").get_by_text("Deny…").click()
    page.get_by_label("Why not?").fill("a long reason")

    own_studio.kill()
    page.get_by_role("button", name="Deny", exact=True).click()

    expect(page.locator("#notices")).to_contain_text("The server did not answer")
    expect(page.get_by_label("Why not?")).to_have_value("a long reason")
    page.get_by_role("button", name="Deny", exact=True).click()
    expect(page.locator("#notices .notice")).to_have_count(1)
    own_studio.start()
    expect(page.locator(LIVE)).to_be_visible(timeout=40_000)
    expect(page.locator("#notices")).to_have_text("")
    expect(page.get_by_label("Why not?")).to_have_value("a long reason")
    page.get_by_role("button", name="Deny", exact=True).click()
    expect(page.locator("#timeline")).to_contain_text("a long reason")


# The network goes away --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def distant() -> Iterator[Studio]:
    """A studio that is reached by a line of one's own, under another port."""
    with Studio.new(STUDIO_HOSTS="127.0.0.1") as found:
        yield found


@pytest.fixture
def line(distant: Studio, wire: Wire) -> Iterator[Line]:
    """The line to it."""
    wire.is_cut = True
    with line_to(distant) as found:
        wire.origins.add(found.url.partition("://")[2])
        yield found


def test_a_short_loss_of_the_network_is_replayed(
    distant: Studio, line: Line, sign_in: SignIn
) -> None:
    page = sign_in(distant)
    session_id = begin(distant, "say ready")
    ends(distant, session_id)
    visit(page, replace(distant, url=line.url), session_id)

    line.cut()
    distant.api.sessions.send(session_id, "Compare 4.1.0 and 4.2.0.")
    ends(distant, session_id)
    distant.api.sessions.send(session_id, WITHDRAW)
    held(distant, session_id)
    expect(page.locator("#timeline")).not_to_contain_text("Compare")
    line.mend()

    expect(card(page, "withdraw_release")).to_be_visible()
    expect(page.locator("#timeline details.call[data-state=completed]")).to_have_count(4)
    same_as_reloaded(page)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_sixty_seconds_without_network_at_full_speed_lose_nothing(
    distant: Studio, line: Line, sign_in: SignIn
) -> None:
    page = sign_in(distant)
    session_id = begin(distant, "say ready")
    ends(distant, session_id)
    visit(page, replace(distant, url=line.url), session_id)
    expect(page.get_by_text("ready", exact=True)).to_be_visible()

    line.cut()
    turns, began = 0, time.monotonic()
    while time.monotonic() < began + AWAY or turns * FACTS < PACE * AWAY:
        assert time.monotonic() < began + 4 * AWAY, f"Only {turns * FACTS} facts were made."
        distant.api.sessions.send(session_id, BUSY)
        ends(distant, session_id)
        turns += 1
        time.sleep(max(0, began + turns * FACTS / PACE - time.monotonic()))
    expect(page.locator("#live[data-state=lost]")).to_be_visible()
    line.mend()

    last = f"Turn {turns + 1} completed."
    expect(page.locator("#timeline")).to_contain_text(last, timeout=60_000)
    same_as_reloaded(page)
    assert every_line(page) == every_line_recorded(distant, session_id)


def every_line(page: Page) -> list[int]:
    """The numbers of all lines, older and older windows of the timeline in front of the newest."""
    found: list[int] = []
    url, before = page.url, 2**63
    while True:
        html = page.request.get(url).text()
        found[:0] = [
            int(number) for number in re.findall(r'<li class="line" id="line-(\d+)"', html)
        ]
        older = re.search(r'id="line-older"><a [^>]*href="([^"]+before=(\d+))"', html)
        if older is None:
            return found
        assert int(older[2]) < before, "The way to older lines leads on."
        url, before = urljoin(url, older[1]), int(older[2])


def every_line_recorded(studio: Studio, session_id: str) -> list[int]:
    """The numbers of all facts that are a line of their own."""
    lines = {"message.accepted", "model.replied", "call.proposed", "turn.completed"}
    return [fact["seq"] for fact in facts(studio, session_id) if fact["type"] in lines]


# Many tabs, hidden tabs -------------------------------------------------------------------------


def test_ten_tabs_of_live_sessions_leave_room_for_the_eleventh(
    studio: Studio, sign_in: SignIn
) -> None:
    first = sign_in(studio)
    first.context.add_init_script(HIDING % "false")
    session_id = begin(studio, WITHDRAW)
    held(studio, session_id)
    tabs = []
    for _ in range(10):
        tab = first.context.new_page()
        visit(tab, studio, session_id)
        tab.evaluate("() => putAway(true)")  # the next tab covers it
        tabs.append(tab)

    eleventh = first.context.new_page()
    visit(eleventh, studio, session_id)
    began = time.monotonic()
    deny(card(eleventh, "withdraw_release"), "eleven")
    expect(eleventh.locator("#timeline")).to_contain_text("eleven")

    assert time.monotonic() - began < 5  # a fraction of it on a machine that does nothing else
    tabs[3].evaluate("() => putAway(false)")
    expect(tabs[3].locator("#timeline")).to_contain_text("eleven")
    expect(tabs[3].locator(LIVE)).to_be_visible()


def test_eleven_windows_side_by_side_share_the_connections_of_their_browser(
    studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(studio)
    session_id = begin(studio, WITHDRAW)
    held(studio, session_id)
    windows = []
    for _ in range(11):  # all of them are seen
        windows.append(page.context.new_page())
        visit(windows[-1], studio, session_id)

    deny(card(windows[-1], "withdraw_release"), "as one of eleven")

    for window in windows:
        expect(window.locator("#timeline")).to_contain_text("as one of eleven")
        expect(window.locator("#timeline")).to_contain_text("Turn 1 completed.")
    for window in windows[1:]:
        window.close()
    same_as_reloaded(windows[0])


def test_a_tab_that_was_hidden_is_right_soon_after_it_is_seen(
    studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(studio)
    page.context.add_init_script(HIDING % "false")
    session_id = begin(studio, PRODUCTION)
    visit(page, studio, session_id)
    expect(card(page, "publish_release")).to_be_visible()

    page.evaluate("() => putAway(true)")
    wait = held(studio, session_id)
    studio.api.approvals.decide(wait["id"], "deny", digest=wait["digest"], reason="seen later")
    ends(studio, session_id)
    expect(page.locator("#timeline")).not_to_contain_text("seen later")
    page.evaluate("() => putAway(false)")

    expect(page.locator("#header [data-state=completed]")).to_be_visible()
    expect(card(page, "publish_release")).to_have_count(0)
    same_as_reloaded(page)


def test_a_tab_opened_behind_others_asks_for_no_stream(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    page.context.add_init_script(HIDING % "true")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    page.goto(f"{studio.url}/sessions")
    page.wait_for_timeout(1_500)

    assert [url for url in asked if "/live/" in url] == []
    page.evaluate("() => putAway(false)")
    expect(page.locator(LIVE)).to_be_visible()


# While an agent writes --------------------------------------------------------------------------


def test_a_draft_appears_as_it_is_written_and_becomes_the_reply(
    studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(studio)
    visit(page, studio, begin(studio, "slow 80 " + " ".join(f"word{n}" for n in range(60))))

    expect(page.locator("#draft")).to_contain_text("word3")
    expect(page.locator("#timeline")).to_contain_text("word59")
    expect(page.locator("#draft")).to_have_text("")
    same_as_reloaded(page)


def test_a_page_opened_in_the_middle_of_a_draft_shows_it(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    session_id = begin(studio, SLOWLY)
    visit(page, studio, session_id)
    expect(page.locator("#draft")).to_contain_text("Calls that only read")

    page.reload()

    expect(page.locator("#draft")).to_contain_text("When I propose a call")
    page.get_by_role("button", name="Stop this turn").click()
    expect(page.locator("#timeline")).to_contain_text("ann stopped turn 1")
    expect(page.locator("#draft")).to_have_text("")


def test_a_page_that_stays_open_grows_no_longer_than_a_reload_shows(
    studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(studio)
    session_id = begin(studio, "say ready")
    ends(studio, session_id)
    visit(page, studio, session_id)

    for turn in (2, 3):
        studio.api.sessions.send(session_id, BUSY)
        expect(page.get_by_text(f"Turn {turn} completed.").first).to_be_visible(timeout=30_000)
        same_as_reloaded(page)
        assert page.locator("#timeline > [id^=line-]:not(#line-older)").count() == 100

    page.get_by_role("link", name="Earlier lines").click()
    expect(page.locator("#timeline > [id^=line-]:not(#line-older)")).to_have_count(200)


def test_scrolling_up_holds_the_place_and_counts_what_is_new(
    studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(studio, viewport={"width": 1280, "height": 500})
    session_id = begin(studio, "say " + "one line of many. " * 200)
    ends(studio, session_id)
    for _ in range(3):
        studio.api.sessions.send(session_id, "say " + "one line of many. " * 200)
        ends(studio, session_id)
    visit(page, studio, session_id)
    page.mouse.move(500, 300)
    end = page.evaluate("() => window.scrollY")
    page.mouse.wheel(0, -1000)
    top = max(0, end - 1000)
    page.wait_for_function("(top) => Math.abs(window.scrollY - top) < 2", arg=top)

    studio.api.sessions.send(session_id, "Compare 4.1.0 and 4.2.0.")

    expect(page.locator("[data-jump]")).to_contain_text(re.compile(r"\d+ new"))
    ends(studio, session_id)
    expect(page.get_by_role("button", name="Stop this turn")).to_be_hidden()
    assert abs(page.evaluate("() => window.scrollY") - top) < 5
    page.locator("[data-jump]").click()
    expect(page.locator("[data-jump]")).to_be_hidden()
    expect(page.get_by_text("Turn 5 completed.").first).to_be_in_viewport()


def test_stop_ends_a_turn_that_hangs_in_a_tool(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    session_id = begin(studio, "Withdraw 4.2.0 from staging, slowly.")
    visit(page, studio, session_id)
    approve(card(page, "withdraw_release"))
    expect(page.locator("#timeline details.call[data-state=running]")).to_be_visible()

    page.get_by_role("button", name="Stop this turn").click()

    expect(page.locator("#notices")).to_contain_text("The outcome of one call is not known.")
    expect(page.locator("#header [data-state=cancelled]")).to_be_visible()
    assert waits(studio, session_id, "open") == [] or "uncertain" in str(waits(studio, session_id))
