"""Sign in by a link, sign out, and the cookie between the two."""

import pytest

from studio.web.auth import own_path
from tests.web import html
from tests.web.conftest import Studio, Visitor


async def test_opening_the_link_uses_nothing_up(studio: Studio, guest: Visitor) -> None:
    link = f"/sign-in/{studio.runtime.link('alice', 'operator')}"

    for _ in range(3):
        page = await guest.open(link)

    answer = await guest.press(page.form(link), "", "")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


async def test_the_button_signs_in(studio: Studio, guest: Visitor) -> None:
    link = f"/sign-in/{studio.runtime.link('alice', 'operator')}"

    answer = await guest.post(link, {"next": "/sessions"})

    cookie = answer.headers["set-cookie"]
    assert answer.headers["location"] == "/sessions"
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "alice" in (await guest.open("/")).text


async def test_one_gets_to_where_one_was_going(studio: Studio, guest: Visitor) -> None:
    asked = await guest.get("/approvals/wai_1?x=1")
    await guest.get(asked.headers["location"])
    link = f"/sign-in/{studio.runtime.link('alice', 'operator')}"

    answer = await guest.press((await guest.open(link)).form(link))

    assert answer.headers["location"] == "/approvals/wai_1?x=1"


async def test_a_link_works_once(studio: Studio, guest: Visitor) -> None:
    link = f"/sign-in/{studio.runtime.link('alice', 'operator')}"
    await guest.post(link)

    answer = await (await studio.guest()).post(link)

    assert answer.status_code == 403
    assert "used already" in html.read(answer.text).text


async def test_a_made_up_link_is_refused_in_words(guest: Visitor) -> None:
    answer = await guest.post("/sign-in/made-up")

    assert answer.status_code == 401
    assert "is not one of this studio's" in html.read(answer.text).text


@pytest.mark.parametrize(
    "target",
    [
        "//evil.example", "https://evil.example", "/\\evil.example", "\\\\evil.example",
        "javascript:alert(1)", "/\t/evil.example", " /x", "evil", "", "/x\r\nSet-Cookie: a=b",
    ],
)  # fmt: skip
def test_the_way_on_never_leads_elsewhere(target: str) -> None:
    assert own_path(target) == "/"


def test_the_way_on_keeps_its_question() -> None:
    assert own_path("/sessions?q=a&status=failed") == "/sessions?q=a&status=failed"


async def test_signing_out_ends_it_on_the_server(studio: Studio, alice: Visitor) -> None:
    cookie = alice.http.cookies["studio"]

    answer = await alice.post("/sign-out")

    thief = await studio.guest()
    thief.http.cookies.set("studio", cookie)
    assert '"cookies"' in answer.headers["clear-site-data"]
    assert (await thief.get("/")).status_code == 303


async def test_a_guest_is_told_how_to_get_in(guest: Visitor) -> None:
    page = await guest.open("/sign-in")

    assert "studio login" in page.one(id="main").text
