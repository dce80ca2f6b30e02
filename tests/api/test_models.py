"""Saved providers over the API: keys go in, tests are probes."""

from tests.api.conftest import Studio
from tests.api.test_sessions import refusal

KEY = "fake-key-0123456789abcdef"


async def test_a_provider_is_saved_listed_and_removed(studio: Studio):
    alice = studio.client("alice")

    await alice.models.save("house", kind="anthropic", models=["claude-one"], key=KEY)
    (listed,) = (await alice.models.list())["items"]
    await alice.models.remove("house")

    assert (listed["name"], listed["kind"], listed["has_key"]) == ("house", "anthropic", True)
    assert (await alice.models.list())["items"] == []


async def test_no_answer_holds_a_key(studio: Studio):
    body = {"kind": "anthropic", "models": ["m"], "key": KEY}
    put = await studio.raw("PUT", "/v1/models/house", person="alice", json=body)
    listed = await studio.raw("GET", "/v1/models", person="alice")
    refused = await studio.raw("PUT", "/v1/models/scripted", person="alice", json=body)

    assert [one.status_code for one in (put, listed, refused)] == [204, 200, 422]
    assert not any(KEY in one.text for one in (put, listed, refused))


async def test_a_test_is_a_probe(studio: Studio):
    alice = studio.client("alice")
    await alice.models.save("house", kind="anthropic", models=["one", "two"], key=KEY)

    asked = await alice.models.test("house", "two")
    shown = await alice.models.probe(asked["id"])

    assert (asked["state"], asked["target"]) == ("waiting", "house")
    assert shown == asked
    assert shown["subject"] == {"provider": "house", "name": "two"}


async def test_the_default_must_be_offered(studio: Studio):
    alice = studio.client("alice")
    await alice.models.save("house", kind="anthropic", models=["one"])

    error = await refusal(alice.models.default("house", "other"))
    await alice.models.default("house")

    assert (error.status, error.code) == (422, "model.not_offered")
    assert (await alice.models.list())["default"] == {"provider": "house", "name": "one"}


async def test_only_admins_change_them_and_all_may_read(studio: Studio):
    bob = studio.client("bob")

    refusals = [
        await refusal(bob.models.save("house", kind="anthropic", models=["one"])),
        await refusal(bob.models.remove("house")),
        await refusal(bob.models.test("house")),
        await refusal(bob.models.default("house")),
    ]

    assert [error.status for error in refusals] == [403] * 4
    assert (await bob.models.list())["items"] == []


async def test_a_key_does_not_follow_a_changed_address(studio: Studio):
    alice = studio.client("alice")
    await alice.models.save("house", kind="anthropic", models=["one"], key=KEY)

    error = await refusal(alice.models.save("house", kind="openai", models=["one"]))

    assert (error.status, error.code) == (422, "provider.key_moved")
    assert "Give it again" in error.fields["key"]
