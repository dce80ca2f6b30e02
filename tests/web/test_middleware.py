"""What every request passes: origin of a change, host names, size, headers, and who asks."""

import re
from collections.abc import AsyncIterator

import pytest
from starlette.routing import Route

from studio.web.middleware import BODY_BYTES, HEADERS
from studio.web.routes import routes
from studio.web.visit import WRITING_BYTES
from tests.web import html
from tests.web.conftest import BASE, Studio, Visitor

SAMPLES = {
    "artifact_id": "art_1", "upload_id": "upl_1", "turn": "1",
    "wait_id": "wai_x", "session_id": "ses_x", "effect_id": "eff_x", "name": "helper",
    "part": "result", "key_id": "key_x", "token": "x", "path": "css/tokens.css",
    "skill": "notes", "probe_id": "prb_1", "environment": "env_x", "number": "1",
    "version": "1", "link_id": "lnk_1", "trace_id": "0" * 32, "view_id": "viw_1",
}  # fmt: skip
FORM = "application/x-www-form-urlencoded"
UNSAFE = ("POST", "PUT", "PATCH", "DELETE")


def address(route: Route) -> str:
    return re.sub(r"\{(\w+)(:\w+)?\}", lambda found: SAMPLES[found[1]], route.path)


ADDRESSES = sorted({address(route) for route in routes})
FOREIGN = [
    {},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Origin": "http://localhost:9999"},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "https://localhost:8321"},
    {"Referer": "http://evil.example/localhost:8321"},
    {"Referer": "http://localhost:8321.evil.example/"},
    {"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"},
    {"Origin": BASE, "Referer": "http://evil.example/"},
]


@pytest.mark.parametrize("method", UNSAFE)
async def test_every_change_from_elsewhere_is_refused(ada: Visitor, method: str) -> None:
    for path in ADDRESSES:
        answer = await ada.http.request(method, path, headers={"Sec-Fetch-Site": "cross-site"})

        assert (path, answer.status_code) == (path, 403)
        assert "not made" in answer.text


@pytest.mark.parametrize("headers", FOREIGN)
async def test_every_sign_of_another_origin_refuses(
    studio: Studio, ada: Visitor, headers: dict[str, str]
) -> None:
    answer = await ada.http.post("/keys", data={"name": "x", "role": "viewer"}, headers=headers)

    assert answer.status_code == 403
    assert await studio.reader.keys(ada.person) == []


@pytest.mark.parametrize(
    "headers",
    [{"Sec-Fetch-Site": "same-origin"}, {"Origin": BASE}, {"Referer": f"{BASE}/keys"}],
)
async def test_our_own_pages_may_change_things(ada: Visitor, headers: dict[str, str]) -> None:
    answer = await ada.http.post("/keys", data={"name": "x", "role": "viewer"}, headers=headers)

    assert answer.status_code == 200


@pytest.mark.parametrize(
    "host,status",
    [
        ("localhost:8321", 200), ("LOCALHOST:8321", 200), ("evil.example", 421), ("", 400),
        ("localhost:8321.evil.example", 421), ("localhost", 421), ("localhost:1", 421),
    ],
)  # fmt: skip
async def test_only_our_names_are_answered(guest: Visitor, host: str, status: int) -> None:
    answer = await guest.http.get("/sign-in", headers={"Host": host})

    assert answer.status_code == status


async def test_two_hosts_are_none(guest: Visitor) -> None:
    headers = [("Host", "localhost:8321"), ("Host", "evil.example")]

    answer = await guest.http.get("/sign-in", headers=headers)

    assert answer.status_code == 400


async def test_a_body_over_the_limit_is_refused_in_words(studio: Studio, alice: Visitor) -> None:
    _session, _effect, wait_id = await studio.story.held()

    answer = await alice.post(f"/approvals/{wait_id}/decision", {"reason": "x" * BODY_BYTES})

    assert answer.status_code == 413
    assert "more than 1,024 KiB" in answer.text


async def test_where_a_person_writes_there_is_an_end_too(studio: Studio, alice: Visitor) -> None:
    session_id = await studio.story.session()

    answer = await alice.post(f"/sessions/{session_id}/messages", {"text": "x" * WRITING_BYTES})

    assert answer.status_code == 413
    assert "more than 8,192 KiB" in answer.text
    assert "Go back: what you typed is there" in answer.text


async def test_a_body_that_does_not_say_its_size_is_counted(studio: Studio, alice: Visitor) -> None:
    session_id = await studio.story.session()

    async def endless() -> AsyncIterator[bytes]:
        yield b"text="
        for _ in range(40):
            yield b"x" * 256 * 1024

    answer = await alice.http.post(
        f"/sessions/{session_id}/messages", content=endless(),
        headers={"Sec-Fetch-Site": "same-origin", "Content-Type": FORM},
    )  # fmt: skip

    assert answer.status_code == 413


@pytest.mark.parametrize(
    "method,path,host",
    [
        ("GET", "/", ""), ("GET", "/sessions", ""), ("GET", "/sign-in", ""),
        ("GET", "/nothing", ""),
        ("GET", "/static/css/tokens.css", ""), ("GET", "/sessions/ses_x", ""), ("PUT", "/", ""),
        ("HEAD", "/live/pending", ""), ("POST", "/keys", ""), ("GET", "/", "evil.example"),
    ],
)  # fmt: skip
async def test_every_answer_is_strict(alice: Visitor, method: str, path: str, host: str) -> None:
    answer = await alice.http.request(method, path, headers={"Host": host} if host else {})

    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'nonce-")
    assert "unsafe" not in policy
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS


async def test_a_mistake_of_ours_is_strict_and_says_nothing(
    studio: Studio, alice: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*args: object, **more: object) -> None:
        raise RuntimeError("the password is hunter2")

    monkeypatch.setattr(studio.reader, "home", broken)

    answer = await alice.get("/")

    assert answer.status_code == 500
    assert "hunter2" not in answer.text
    assert "Traceback" not in answer.text
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")


async def test_two_answers_have_two_nonces(alice: Visitor) -> None:
    one, two = await alice.get("/"), await alice.get("/")

    assert one.headers["content-security-policy"] != two.headers["content-security-policy"]


async def test_signed_in_answers_are_kept_nowhere(alice: Visitor) -> None:
    assert (await alice.get("/")).headers["cache-control"] == "no-store"


OPEN = ("/static", "/sign-in", "/favicon", "/links")
GUARDED = sorted(
    address(route)
    for route in routes
    if "GET" in (route.methods or set()) and not route.path.startswith(OPEN)
)


async def test_nobody_is_answered_without_signing_in(guest: Visitor) -> None:
    for path in GUARDED:
        answer = await guest.get(path, accept="text/html")

        assert (path, answer.status_code) == (path, 303)
        assert answer.headers["location"].startswith("/sign-in?next=")


async def test_a_part_of_a_page_hears_that_it_is_signed_out(guest: Visitor) -> None:
    answer = await guest.get("/approvals", HX_Request="true")

    assert answer.status_code == 401
    assert answer.headers["hx-retarget"] == "#notices"


async def test_a_signed_out_form_gets_its_text_back(guest: Visitor) -> None:
    answer = await guest.post("/sessions/ses_x/messages", {"text": "A long letter", "key": "k"})

    assert answer.status_code == 401
    kept = html.read(answer.text).all("textarea")
    assert ["".join(map(str, item.children)).strip() for item in kept] == ["A long letter"]


async def test_a_stream_hears_that_it_is_signed_out(guest: Visitor) -> None:
    answer = await guest.get("/live/pending", accept="text/html, text/event-stream")

    assert answer.status_code == 401
    assert answer.headers["content-type"].startswith("text/plain")


async def test_a_forged_cookie_is_no_sign_in(studio: Studio) -> None:
    guest = await studio.guest()
    guest.http.cookies.set("studio", "alice")

    assert (await guest.get("/")).status_code == 303


async def test_a_head_request_is_answered_like_a_get(alice: Visitor) -> None:
    answer = await alice.http.head("/sessions")

    assert (answer.status_code, answer.content) == (200, b"")
