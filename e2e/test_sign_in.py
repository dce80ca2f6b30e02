"""Who gets in, and how they leave: links that work once, forms of our own pages alone."""

import re

import pytest
from playwright.sync_api import expect

from e2e.acts import LIVE, WITHDRAW, begin, card, held, look, visit, waits
from e2e.conftest import Open, SignIn
from e2e.studio import Studio
from e2e.wire import Wire, elsewhere

SIGN_IN = re.compile("/sign-in")
# Ways to somewhere else that may come in `next`; each must lead nowhere but here.
ELSEWHERE = [
    "https://evil.example/", "//evil.example/", "///evil.example", "/\\evil.example", "\\\\evil",
    "/\t/evil.example", "/%0a/evil.example\n", "javascript:alert(1)", "data:text/html,x",
    "http:evil",
    "/ /evil.example", "evil.example", "@evil.example", " //evil.example", "/\u2028/evil.example",
    "http://127.0.0.1:1/", "", "sessions", "..//evil.example",
]  # fmt: skip


def test_a_link_signs_in_once_by_its_button_and_never_by_being_opened(
    studio: Studio, context: Open
) -> None:
    link = studio.link("carol", "operator")
    for _scanner in range(3):
        page = context(studio).new_page()
        page.goto(link)
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()
        assert page.context.cookies() == []

    page = context(studio).new_page()
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Home", level=1)).to_be_visible()
    expect(page.locator(".rail__foot")).to_contain_text("carol")
    expect(page.locator(".rail__foot")).to_contain_text("operator")
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Lax")

    late = context(studio).new_page()
    late.goto(link)
    late.get_by_role("button", name="Sign in").click()
    expect(late.get_by_role("alert")).to_contain_text(re.compile("once|used|expired", re.I))
    assert late.context.cookies() == []


@pytest.mark.parametrize("token", ["garbage", "stl_" + "0" * 40, "%3Cscript%3E", "a" * 3000])
def test_a_link_that_was_never_made_is_refused_in_words(
    studio: Studio, context: Open, token: str
) -> None:
    page = context(studio).new_page()
    page.goto(f"{studio.url}/sign-in/{token}")

    page.get_by_role("button", name="Sign in").click()

    expect(page.get_by_role("heading", name="This link did not work")).to_be_visible()
    expect(page.get_by_text("studio login")).to_be_visible()
    assert page.context.cookies() == []


def test_a_page_asked_for_while_signed_out_is_where_one_lands_after_it(
    studio: Studio, context: Open
) -> None:
    page = context(studio).new_page()
    page.goto(f"{studio.url}/sessions?status=failed")
    expect(page).to_have_url(SIGN_IN)
    expect(page.get_by_role("navigation", name="Main")).to_have_count(0)
    wanted = page.url.partition("?")[2]

    page.goto(f"{studio.link()}?{wanted}")
    page.get_by_role("button", name="Sign in").click()

    expect(page).to_have_url(f"{studio.url}/sessions?status=failed")


def test_next_leads_to_this_origin_alone(studio: Studio, context: Open) -> None:
    page = context(studio).new_page()
    link = studio.link("dora", "viewer")

    for target in ELSEWHERE:
        page.goto(studio.url + "/sign-in")
        page.evaluate(
            "([link, target]) => { location.href = link + '?next=' + encodeURIComponent(target) }",
            [link, target],
        )
        page.wait_for_url("**/sign-in/*next=*")
        value = page.locator("input[name=next]").get_attribute("value")
        assert value == "/", f"{target!r} became {value!r}"

    page.locator("input[name=next]").evaluate("(field) => field.value = '//evil.example/'")
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(studio.url + "/")


def test_signing_out_ends_every_open_page_of_that_sign_in(studio: Studio, context: Open) -> None:
    page = context(studio).new_page()
    page.goto(studio.link("emil", "operator"))
    page.get_by_role("button", name="Sign in").click()
    session_id = begin(studio, WITHDRAW)
    wait = held(studio, session_id)
    visit(page, studio, session_id)
    other = page.context.new_page()
    look(other, studio, "/approvals")

    other.get_by_role("button", name="Sign out").click()

    expect(other).to_have_url(SIGN_IN)
    expect(page.locator("#live[data-state=lost]")).to_be_visible()
    assert page.context.cookies() == []
    card(page, "withdraw_release").get_by_role("button", name="Approve").click()
    expect(page.locator("#notices")).to_contain_text("You are signed out")
    assert [one["id"] for one in waits(studio, session_id)] == [wait["id"]]
    page.go_back()
    page.goto(f"{studio.url}/approvals")
    expect(page).to_have_url(SIGN_IN)


def test_what_was_typed_outlives_the_end_of_a_sign_in(studio: Studio, context: Open) -> None:
    page = context(studio).new_page()
    page.goto(studio.link("fred", "operator"))
    page.get_by_role("button", name="Sign in").click()
    session_id = begin(studio, "say ready")
    visit(page, studio, session_id)
    page.get_by_label("Message to").fill("a long message")
    page.context.clear_cookies()

    page.get_by_role("button", name="Send").click()

    expect(page.locator("#notices")).to_contain_text("You are signed out")
    expect(page.get_by_label("Message to")).to_have_value("a long message")


def test_a_person_who_is_signed_in_is_told_so(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)

    page.goto(f"{studio.url}/sign-in")

    expect(page.get_by_role("heading", name="You are signed in")).to_be_visible()
    expect(page.locator("main")).to_contain_text("ann")


def test_another_origin_can_make_a_browser_send_but_not_be_heard(
    studio: Studio, sign_in: SignIn, wire: Wire
) -> None:
    page = sign_in(studio)
    session_id = begin(studio, WITHDRAW)
    wait = held(studio, session_id)
    before = [one["id"] for one in studio.api.sessions.list()]
    with elsewhere() as evil:
        wire.origins.add(evil.url.partition("://")[2])
        for path, fields in {
            "/sessions": {"agent": "release-assistant", "message": "say forged"},
            f"/sessions/{session_id}/stop": {"reason": "forged"},
            f"/sessions/{session_id}/messages": {"text": "forged", "how": "deny"},
            f"/approvals/{wait['id']}/decision": {"decision": "approve", "digest": wait["digest"]},
            "/sign-out": {"x": "y"},
            "/keys": {"name": "forged", "role": "admin"},
        }.items():
            inputs = "".join(f"<input name='{k}' value='{v}'>" for k, v in fields.items())
            form = (
                f"<form method=post action='{studio.url}{path}'>{inputs}<button>go</button></form>"
            )
            page.goto(evil.page("/forged", form))
            page.get_by_role("button", name="go").click()
            expect(page.get_by_role("heading", name="Not allowed")).to_be_visible()
            expect(page.locator("main")).to_contain_text("did not come from one of the studio")
        page.goto(evil.page("/framed", f"<iframe src='{studio.url}/approvals'></iframe>"))
        framed = page.frame_locator("iframe").locator("body")
        expect(framed).not_to_contain_text("Approvals")
        for path in (f"/approvals/{wait['id']}/decision?decision=approve", "/sign-out"):
            answer = page.goto(studio.url + path)  # what a link or an image can do
            assert answer is not None
            assert answer.status in (404, 405)
    assert [one["id"] for one in studio.api.sessions.list()] == before
    assert [one["id"] for one in waits(studio, session_id)] == [wait["id"]]
    look(page, studio, "/approvals")
    expect(page.locator(LIVE)).to_be_visible()
    wire.complaints[:] = [
        text for text in wire.complaints
        if "frame-ancestors" not in text and "X-Frame-Options" not in text
        and "Refused to display" not in text
    ]  # fmt: skip
