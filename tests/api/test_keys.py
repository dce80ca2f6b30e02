"""Application keys: shown once, revoked at once, and never in a URL."""

import pytest

from tests.api.conftest import Studio
from tests.api.test_sessions import refusal


async def test_a_made_key_opens_what_its_role_opens(studio: Studio):
    made = await studio.client("alice").keys.make("deploy", role="viewer")

    assert made["key"].startswith("stk_")
    assert await studio.client(key=made["key"]).agents.list()
    assert (await refusal(studio.client(key=made["key"]).sessions.start("helper"))).status == 403


async def test_a_key_is_shown_once(studio: Studio):
    made = await studio.client("alice").keys.make("deploy")

    response = await studio.raw("GET", "/v1/keys", person="alice")

    assert made["key"] not in response.text
    assert made["id"] in [key["id"] for key in response.json()["items"]]


async def test_a_revoked_key_opens_nothing(studio: Studio):
    alice = studio.client("alice")
    made = await alice.keys.make("deploy")

    await alice.keys.revoke(made["id"])
    await alice.keys.revoke(made["id"])

    error = await refusal(studio.client(key=made["key"]).agents.list())
    assert (error.status, error.code) == (401, "key.invalid")


async def test_a_key_that_was_used_says_when(studio: Studio):
    alice = studio.client("alice")

    await alice.agents.list()

    (mine,) = [key for key in (await alice.keys.list())["items"] if key["name"] == "alice"]
    assert mine["used"] is not None


@pytest.mark.parametrize("person", ["bob", "charlie"])
async def test_only_an_admin_has_to_do_with_keys(studio: Studio, person):
    client = studio.client(person)

    refusals = [
        await refusal(client.keys.list()),
        await refusal(client.keys.make("mine", role="admin")),
        await refusal(client.keys.revoke("key_x")),
    ]

    assert [error.status for error in refusals] == [403, 403, 403]


@pytest.mark.parametrize(
    "body",
    [{}, {"name": ""}, {"name": "x" * 61}, {"name": "a", "role": "root"}, {"name": "a\nb"}],
)
async def test_a_key_needs_a_name_and_a_role(studio: Studio, body):
    response = await studio.raw("POST", "/v1/keys", person="alice", json=body)

    assert response.status_code == 422
    assert response.json()["error"]["details"]["fields"]


async def test_a_key_that_never_was_cannot_be_revoked(studio: Studio):
    assert (await refusal(studio.client("alice").keys.revoke("key_none"))).status == 404


async def test_two_keys_of_one_name_are_refused_until_one_is_revoked(studio: Studio):
    alice = studio.client("alice")
    first = await alice.keys.make("deployer", role="operator")

    error = await refusal(alice.keys.make("deployer", role="operator"))
    await alice.keys.revoke(first["id"])
    again = await alice.keys.make("deployer", role="operator")

    assert (error.status, error.code) == (409, "key.name_taken")
    assert again["id"] != first["id"]
