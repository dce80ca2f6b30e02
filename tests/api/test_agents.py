"""Agents: planned before they are saved, guarded by the version one looked at."""

from typing import Any

import pytest

from tests.api.conftest import Studio
from tests.api.test_sessions import refusal
from tests.core.conftest import AGENT


def manifest(name: str = "writer", **more: Any) -> dict[str, Any]:
    return {**AGENT, "name": name, **more}


async def test_a_new_agent_is_version_one(studio: Studio):
    plan = await studio.client("alice").agents.save("writer", manifest())

    assert (plan["version"], plan["creates"], plan["saved"]) == (1, True, True)
    shown = await studio.client("bob").agents.show("writer")
    assert shown["manifest"]["name"] == "writer"


async def test_a_dry_run_saves_nothing(studio: Studio):
    plan = await studio.client("alice").agents.save("writer", manifest(), dry_run=True)

    assert (plan["version"], plan["creates"], plan["saved"]) == (1, True, False)
    assert (await refusal(studio.client("bob").agents.show("writer"))).status == 404


async def test_the_same_manifest_makes_no_version(studio: Studio):
    alice = studio.client("alice")
    await alice.agents.save("writer", manifest())

    plan = await alice.agents.save("writer", manifest())

    assert (plan["version"], plan["creates"], plan["saved"]) == (1, False, False)


async def test_a_change_is_said_in_words(studio: Studio):
    alice = studio.client("alice")
    await alice.agents.save("writer", manifest())

    plan = await alice.agents.save("writer", manifest(instructions="Write."))

    assert plan["version"] == 2
    assert plan["changes"]


async def test_a_version_that_moved_on_is_not_overwritten(studio: Studio):
    alice = studio.client("alice")
    await alice.agents.save("writer", manifest())
    await alice.agents.save("writer", manifest(instructions="Write."))

    error = await refusal(alice.agents.save("writer", manifest(), version=1))

    assert (error.status, error.code) == (409, "agent.changed")
    assert error.details == {"version": 2, "expected": 1}


async def test_an_agent_that_should_be_new_is_not_overwritten(studio: Studio):
    response = await studio.raw(
        "PUT", "/v1/agents/helper", person="alice", json=AGENT, headers={"If-None-Match": "*"}
    )

    assert response.status_code == 409
    assert response.json()["error"]["code"] == "agent.changed"


async def test_versions_can_be_read_again(studio: Studio):
    alice = studio.client("alice")
    await alice.agents.save("writer", manifest())
    await alice.agents.save("writer", manifest(instructions="Write."))

    first = await alice.agents.show("writer", version=1)
    versions = (await alice.agents.versions("writer"))["items"]

    assert (first["version"], first["latest"]) == (1, 2)
    assert sorted(one["version"] for one in versions) == [1, 2]


async def test_the_entity_tag_of_an_agent_is_its_version(studio: Studio):
    response = await studio.raw("GET", "/v1/agents/helper")

    assert response.headers["etag"] == '"1"'


async def test_every_agent_is_listed_by_name(studio: Studio):
    await studio.client("alice").agents.save("writer", manifest())

    agents = (await studio.client("charlie").agents.list())["items"]

    assert [agent["name"] for agent in agents] == ["helper", "writer"]


async def test_faults_of_a_manifest_are_told_by_their_fields(studio: Studio):
    tool = {"name": "ask_person", "kind": "http", "method": "SHOUT", "url": "nowhere", "input": 5}

    error = await refusal(
        studio.client("alice").agents.save("writer", manifest(tools=[tool], colour="red"))
    )

    assert error.status == 422
    assert len(error.fields) >= 3
    assert any(path.startswith("tools.0") or path.startswith("tools[0]") for path in error.fields)


async def test_a_manifest_of_another_agent_than_the_path_is_refused(studio: Studio):
    error = await refusal(studio.client("alice").agents.save("writer", manifest("reader")))

    assert error.status == 422
    assert list(error.fields) == ["name"]


async def test_only_an_admin_saves_agents(studio: Studio):
    error = await refusal(studio.client("bob").agents.save("writer", manifest()))

    assert (error.status, error.code) == (403, "denied.admin_only")


@pytest.mark.parametrize("name", ["nobody", "a" * 300, "%00", "Ä", "a%2Fb"])
async def test_an_agent_that_cannot_be_is_not_found(studio: Studio, name):
    response = await studio.raw("GET", f"/v1/agents/{name}")

    assert response.status_code == 404
    assert response.json()["error"]["code"]


async def test_a_version_that_never_was_is_not_found(studio: Studio):
    error = await refusal(studio.client("bob").agents.show("helper", version=9))

    assert error.status == 404
