"""Whatever is asked, the answer is JSON, with a status that fits and a request id."""

import asyncio
from typing import Any

import pytest

from studio.api import wire
from studio.api.routes import ENDPOINTS
from tests.api.conftest import Studio

DECISION = "/v1/approvals/wai_x/decision"


async def fault(studio: Studio, method: str, path: str, **more):
    response = await studio.raw(method, path, **more)
    assert response.headers["content-type"] == "application/json"
    assert response.headers["request-id"]
    assert response.headers["cache-control"] == "no-store"
    assert set(response.json()) == {"error"}
    assert set(response.json()["error"]) == {"code", "message", "details"}
    return response


@pytest.mark.parametrize("path", ["/v1/", "/v1/nothing", "/v1/agents/", "/v1/sessions/a/b/c"])
async def test_an_unknown_path_is_not_found(studio: Studio, path):
    assert (await fault(studio, "GET", path)).status_code == 404


@pytest.mark.parametrize(
    "method, path, allowed",
    [
        ("DELETE", "/v1/sessions", {"GET", "HEAD", "POST"}),
        ("PATCH", "/v1/agents/helper", {"GET", "HEAD", "PUT"}),
        ("GET", DECISION, {"POST"}),
        ("OPTIONS", "/v1/policy", {"GET", "HEAD", "PUT"}),
        ("BREW", "/v1/health", {"GET", "HEAD"}),
    ],
)
async def test_a_method_that_is_not_there_is_told_those_that_are(studio, method, path, allowed):
    response = await fault(studio, method, path)

    assert response.status_code == 405
    assert set(response.headers["allow"].split(", ")) == allowed


@pytest.mark.parametrize("accept", ["text/html", "text/event-stream", "application/json;q=0"])
async def test_what_cannot_be_answered_as_asked_is_refused(studio: Studio, accept):
    response = await fault(studio, "GET", "/v1/agents", headers={"Accept": accept})

    assert (response.status_code, response.json()["error"]["code"]) == (406, "not_acceptable")


@pytest.mark.parametrize("accept", ["*/*", "application/*", "text/html, */*;q=0.1", "", None])
async def test_what_can_be_answered_is_answered(studio: Studio, accept):
    assert (await studio.raw("GET", "/v1/agents", headers={"Accept": accept})).status_code == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1"]
)
async def test_a_body_of_another_kind_is_refused(studio: Studio, kind):
    response = await fault(
        studio, "POST", "/v1/sessions", content=b"{}", headers={"Content-Type": kind}
    )

    assert response.status_code == 415


async def test_a_compressed_body_is_refused(studio: Studio):
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}

    response = await fault(studio, "POST", "/v1/sessions", content=b"\x1f\x8b", headers=headers)

    assert (response.status_code, response.json()["error"]["code"]) == (415, "body.encoded")


async def test_a_missing_body_is_told_to_come_with_its_length(studio: Studio):
    headers = {"Content-Type": "application/json", "Content-Length": None}

    response = await fault(studio, "POST", "/v1/sessions", headers=headers)

    assert response.status_code == 411


async def test_an_empty_body_is_no_json(studio: Studio):
    headers = {"Content-Type": "application/json"}

    response = await fault(studio, "POST", "/v1/sessions", content=b"", headers=headers)

    assert (response.status_code, response.json()["error"]["code"]) == (400, "body.not_json")


async def test_a_body_that_says_it_is_too_large_is_not_read(studio: Studio):
    headers = {"Content-Type": "application/json", "Content-Length": str(10**12)}

    response = await fault(studio, "POST", "/v1/sessions", content=b"", headers=headers)

    assert (response.status_code, response.json()["error"]["code"]) == (413, "body.too_large")


async def test_a_body_that_goes_on_for_ever_is_cut(studio: Studio):
    read = 0

    async def endless():
        nonlocal read
        while True:
            read += 65_536
            yield b" " * 65_536

    headers = {"Content-Type": "application/json"}
    response = await fault(studio, "POST", "/v1/sessions", content=endless(), headers=headers)

    assert response.status_code == 413
    assert read < 3 * 1024 * 1024


async def test_a_body_that_never_comes_is_given_up(studio: Studio, monkeypatch):
    monkeypatch.setattr(wire, "BODY_SECONDS", 0.05)

    async def silent():
        yield b"{"
        await asyncio.Event().wait()

    headers = {"Content-Type": "application/json"}
    response = await fault(studio, "POST", "/v1/sessions", content=silent(), headers=headers)

    assert (response.status_code, response.json()["error"]["code"]) == (408, "body.slow")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8321", "localhost:1"])
async def test_a_host_that_is_not_ours_is_not_answered(studio: Studio, host):
    response = await fault(studio, "GET", "/v1/agents", headers={"Host": host})

    assert (response.status_code, response.json()["error"]["code"]) == (421, "host.unknown")


async def test_a_load_balancer_may_ask_by_any_name(studio: Studio):
    response = await studio.raw("GET", "/v1/health", person="", headers={"Host": "10.0.0.7"})

    assert response.status_code == 200


async def test_a_request_id_comes_back(studio: Studio):
    response = await studio.raw("GET", "/v1/agents", headers={"Request-Id": "abc-1"})

    assert response.headers["request-id"] == "abc-1"


@pytest.mark.parametrize("given", ["a b", "x" * 65, "é"])
async def test_a_request_id_that_could_do_harm_is_replaced(studio: Studio, given):
    response = await studio.raw("GET", "/v1/agents", headers={"Request-Id": given.encode()})

    assert len(response.headers["request-id"]) == 16


async def test_our_own_mistake_shows_nothing_of_it(studio: Studio, monkeypatch):
    async def broken(*_):
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(studio.core.parts.reader, "agents", broken)

    response = await fault(studio, "GET", "/v1/agents")

    assert (response.status_code, response.json()["error"]["code"]) == (500, "internal")
    assert "secret" not in response.text


async def test_a_head_request_has_no_body(studio: Studio):
    response = await studio.raw("HEAD", "/v1/agents")

    assert response.status_code == 200


BODIES = {
    "start_session": {"agent": "helper"}, "send_message": {"text": "hi"},
    "preview_message": {"text": "hi"}, "deny_and_send": {"text": "hi"}, "cancel_turn": {},
    "decide_approval": {"choice": "deny"}, "save_agent": {},
    "save_agents": {"items": [{"manifest": {}}]}, "save_policy": {"rules": []},
    "make_key": {"name": "a"}, "set_secret": {"value": "not a real one"},
    "save_provider": {"kind": "google", "models": ["m"]}, "choose_default_model": {},
    "save_view": {"list": "traces", "name": "Slow", "query": "seconds=60"}, "change_view": {},
    "choose_session_model": {"provider": "house", "name": "m"},
    "keep_disk_version": {}, "restore_disk_version": {"version": 1},
    "save_environment_manifest": {}, "make_environment": {"name": "desk", "manifest": "plain"},
    "label_environment": {"labels": {}}, "give_environment": {"owner": ""},
    "fork_environment": {"name": "copy"},
    "set_environment_secret": {"value": "not a real one"},
    "ask_backfill": {},
    "preview_server": {"server": {"transport": "http", "name": "a", "url": "https://a.example"}},
}  # fmt: skip


async def asked(studio: Studio, endpoint, person: str, **parts: str):
    """The answer of an endpoint to a request that is sound but for who asks and what about."""
    more: dict[str, Any] = {"json": BODIES[endpoint.name]} if endpoint.name in BODIES else {}
    kind = {"Content-Type": endpoint.raw} if endpoint.raw else {}
    if endpoint.raw:
        more = {"content": b"x"}
    path_query = "?format=jsonl" if endpoint.name.startswith("export_") else ""
    tag = '"' + "0" * 64 + '"' if endpoint.name == "decide_approval" else '"1"'
    path = "/v1" + endpoint.path.format(**parts) + path_query
    return await studio.raw(
        endpoint.method, path, person=person, headers={"If-Match": tag, **kind}, **more
    )


ABOUT_ONE = [one for one in ENDPOINTS if one.path.startswith(("/sessions/{id}", "/approvals/{id}"))]


async def test_what_is_somebody_elses_is_answered_as_what_never_was(studio: Studio):
    wait = await studio.held(private=True)
    never = "0" * 26

    for one in ABOUT_ONE:
        is_wait = one.path.startswith("/approvals")
        theirs = {
            "id": wait["id" if is_wait else "session_id"],
            "call_id": wait["effect_id"],
            "turn": "1",
        }
        nobodys = {
            "id": f"wai_{never}" if is_wait else f"ses_{never}",
            "call_id": "eff_x",
            "turn": "1",
        }

        found = await asked(studio, one, "dora", **theirs)
        missing = await asked(studio, one, "dora", **nobodys)

        assert found.status_code == 404, one.name
        assert found.json() == missing.json(), one.name


OWN = ("save_view", "change_view", "remove_view")  # a person's own, whatever their role
VERBS = [
    one for one in ENDPOINTS if one.method != "GET" and one.name not in ("dry_run_policy", *OWN)
]


@pytest.mark.parametrize("endpoint", VERBS, ids=[one.name for one in VERBS])
async def test_a_viewer_changes_nothing_anywhere(studio: Studio, endpoint):
    response = await asked(
        studio, endpoint, "charlie", id="x", name="helper", version="1", link="x"
    )

    assert response.status_code == 403


async def test_nothing_is_answered_without_a_key(studio: Studio):
    found = {
        one.name: (await studio.raw(one.method, f"/v1{one.path}", person="")).status_code
        for one in ENDPOINTS
    }

    assert found == {one.name: 401 for one in ENDPOINTS}
