"""Environments over the API: manifests in versions, made, labelled, forked; secrets go in."""

from typing import Any

import pytest

from tests.api.conftest import Studio
from tests.api.test_openapi import validated
from tests.api.test_sessions import refusal
from tests.core.environments import PLAIN, PYTHON, TOKEN, kept

FILE = b"print('hello')\n"


@pytest.fixture
async def desk(studio: Studio) -> str:
    """An environment of a manifest with secrets; its id."""
    alice = studio.client("alice")
    await alice.environment_manifests.save("python", PYTHON)
    return (await alice.environments.make("team/desk", "python", labels={"team": "x"}))["id"]


async def every(items: Any) -> list[Any]:
    return [one async for one in items]


async def test_a_manifest_is_planned_saved_and_compared(studio: Studio):
    manifests = studio.client("alice").environment_manifests

    plan = await manifests.save("plain", PLAIN, dry_run=True, version=0)
    first = await manifests.save("plain", PLAIN, version=0)
    second = await manifests.save("plain", {**PLAIN, "keep": "hand"}, version=1)
    stale = await refusal(manifests.save("plain", PLAIN, version=1))
    diff = await studio.client("charlie").environment_manifests.diff("plain")

    assert [(p["version"], p["saved"]) for p in (plan, first, second)] == [
        (1, False), (1, True), (2, True),
    ]  # fmt: skip
    assert (stale.status, stale.code) == (412, "manifest_changed")
    assert diff["changes"] == ["keep added"]
    assert [v["version"] for v in (await manifests.versions("plain"))["items"]] == [2, 1]


async def test_a_manifest_in_use_is_not_removed(studio: Studio, desk: str):
    alice = studio.client("alice")

    error = await refusal(alice.environment_manifests.remove("python", version=1))
    await alice.environments.delete(desk)
    await alice.environment_manifests.remove("python", version=1)

    assert (error.status, error.code) == (409, "manifest_in_use")
    assert error.details["environments"] == ["team/desk"]
    assert (await alice.environment_manifests.list())["items"] == []


async def test_bytes_are_sent_once_and_named_by_their_hash(studio: Studio):
    manifests = studio.client("alice").environment_manifests
    sent, again = await manifests.keep_file(FILE), await manifests.keep_file(FILE)
    files = [{"path": "src", "files": {"hello.py": sent["hash"]}}]

    plan = await manifests.save("plain", {**PLAIN, "files": files})

    assert (sent["saved"], again["saved"], plan["saved"]) == (True, False, True)
    large = await refusal(manifests.keep_file(b"x" * (10 * 1024 * 1024 + 1)))
    assert (large.status, large.code) == (413, "file.too_large")


async def test_an_environment_is_made_once_and_refuses_other_values(studio: Studio, desk: str):
    bob = studio.client("bob").environments

    again = await bob.make("team/desk", "python")
    error = await refusal(bob.make("team/desk", "python", labels={"team": "y"}))
    inline = await refusal(bob.make("own", definition={}))

    assert (again["id"], again["made"]) == (desk, False)
    assert (error.status, error.code) == (409, "environment_immutable")
    assert error.details["fields"] == ["labels"]
    assert inline.status == 403


async def test_labels_and_owner_change_and_filter_the_list(studio: Studio, desk: str):
    bob = studio.client("bob").environments
    await bob.label(desk, {"team": "y", "stage": "prod"})
    await bob.give(desk, "key:bob")

    found = await every(bob.list(labels={"team": "y", "stage": "prod"}))
    none = await every(bob.list(labels={"team": "x"}))
    theirs = await refusal(studio.client("dora").environments.label(desk, {}))

    assert [(one["id"], one["owner"]) for one in found] == [(desk, "key:bob")]
    assert none == []
    assert theirs.code == "environment.owner_mismatch"


@pytest.mark.parametrize("labels", ["team", "=x", "a b=c"])
async def test_a_filter_that_is_no_label_is_told(studio: Studio, labels):
    response = await studio.raw("GET", "/v1/environments", params={"labels": labels})

    assert response.status_code == 422


async def test_a_secret_goes_in_and_no_answer_holds_it(studio: Studio, desk: str):
    alice = studio.client("alice").environments
    put = await studio.raw(
        "PUT", f"/v1/environments/{desk}/secrets/CRM_TOKEN", person="alice", json={"value": TOKEN}
    )
    answers = [put] + [
        await studio.raw("GET", f"/v1/environments/{desk}{path}")
        for path in ("", "/secrets", "/events")
    ]

    undeclared = await refusal(alice.set_secret(desk, "OTHER", TOKEN))
    missing = await refusal(studio.client("bob").environments.set_secret(desk, "A", TOKEN))

    assert [answer.status_code for answer in answers] == [200] * 4
    assert not any(TOKEN in answer.text for answer in answers)
    assert (undeclared.status, undeclared.code) == (409, "secret_not_in_manifest")
    assert missing.status == 403
    assert (await alice.show(desk))["environment"]["secrets"] == "1 of 2 set"
    await alice.remove_secret(desk, "CRM_TOKEN")
    assert (await alice.show(desk))["environment"]["secrets_missing"] == ["CRM_TOKEN"]


async def test_a_session_names_its_environment_and_keeps_it_busy(studio: Studio, desk: str):
    alice, bob = studio.client("alice"), studio.client("bob")
    missing = await refusal(bob.sessions.start("helper", environment="team/desk"))
    await alice.environments.set_secret(desk, "CRM_TOKEN", TOKEN)
    started = await bob.sessions.start("helper", message="Hello", environment="team/desk")

    session = (await bob.sessions.show(started["session_id"]))["session"]
    busy = await refusal(alice.environments.delete(desk))

    assert missing.code == "environment.secrets_missing"
    assert session["environment_id"] == desk
    assert [s["id"] for s in await every(bob.sessions.list(environment=desk))] == [session["id"]]
    assert await every(bob.sessions.list(environment="env_x")) == []
    assert (busy.status, busy.code) == (409, "environment_busy")
    assert busy.details["session_id"] == started["session_id"]
    assert busy.details["turn_id"] == started["turn_id"]


async def test_a_fork_is_planned_and_made(studio: Studio, desk: str):
    await kept(studio.core, desk)
    bob = studio.client("bob").environments

    plan = await bob.fork(desk, "copy", dry_run=True)
    made = await bob.fork(desk, "copy")
    taken = await refusal(bob.fork(desk, "copy"))

    assert (plan["id"], plan["version"], plan["missing"]) == (None, 1, ["CRM_TOKEN"])
    assert made["id"] is not None
    assert taken.code == "environment.exists"
    assert (await bob.show("copy"))["forked_from"]["name"] == "team/desk"


async def test_disk_versions_come_in_pages_and_are_removed(studio: Studio, desk: str):
    for letter in "abc":
        await kept(studio.core, desk, letter)
    alice = studio.client("alice").environments

    await alice.remove_version(desk, 1)
    newest = await refusal(alice.remove_version(desk, 3))

    assert [v["version"] for v in await every(alice.versions(desk, limit=1))] == [3, 2]
    gone = [v["version"] for v in await every(alice.versions(desk, removed=True)) if v["removed"]]
    assert gone == [1]
    assert newest.code == "disk.newest"
    missing = await studio.raw("DELETE", f"/v1/environments/{desk}/versions/x", person="alice")
    assert missing.status_code == 404


async def test_facts_are_followed_from_a_place(studio: Studio, desk: str):
    await kept(studio.core, desk)
    bob = studio.client("bob").environments

    events = await bob.events(desk, after=1)

    assert [event["type"] for event in events["items"]] == ["disk.kept"]
    assert (events["after"], events["more"]) == (2, False)


async def test_answers_fit_their_schemas(studio: Studio, desk: str):
    await kept(studio.core, desk)
    bob = studio.client("bob")

    validated(await bob.environments.show(desk), "EnvironmentDetail")
    validated(await bob.environments.secrets(desk), "EnvironmentSecrets")
    validated(await bob.environments.fork(desk, "copy", dry_run=True), "ForkPlan")
    validated(await bob.environment_manifests.list(), "EnvironmentManifests")
    validated(await bob.environment_manifests.show("python"), "EnvironmentManifestDetail")
    validated(await bob.environment_manifests.versions("python"), "EnvironmentManifestVersions")
    for name, path in (("DiskVersions", "versions"), ("EgressTries", "egress")):
        answer = await studio.raw("GET", f"/v1/environments/{desk}/{path}")
        validated(answer.json(), name)
