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
    told = {name: error.details[name] for name in ("name", "version", "expected", "by")}
    assert told == {"name": "writer", "version": 2, "expected": 1, "by": "key:alice"}
    assert "by key:alice" in error.message


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


async def test_many_are_saved_in_one_transaction(studio: Studio):
    alice = studio.client("alice")

    plans = await alice.agents.save_many([(manifest("a"), None), (manifest("b"), 0)])

    assert [(plan["name"], plan["version"], plan["saved"]) for plan in plans["items"]] == [
        ("a", 1, True), ("b", 1, True),
    ]  # fmt: skip
    again = await alice.agents.save_many([(manifest("a"), 1)], dry_run=True)
    assert [plan["creates"] for plan in again["items"]] == [False]


async def test_one_bad_among_ten_saves_none_and_every_fault_is_told(studio: Studio):
    items: list[Any] = [(manifest(f"agent-{n}"), None) for n in range(8)]
    items.append((manifest("bad", colour="red", model={"provider": "No such"}), None))
    items.append((manifest("agent-1", agents=["nobody"]), None))

    error = await refusal(studio.client("alice").agents.save_many(items))

    assert (error.status, error.code) == (422, "agent.invalid")
    assert set(error.fields) == {
        "items[8].manifest.colour", "items[8].manifest.model.provider",
        "items[9].manifest.name", "items[9].manifest.agents[0]",
    }  # fmt: skip
    agents = (await studio.client("bob").agents.list())["items"]
    assert [agent["name"] for agent in agents] == ["helper"]


async def test_one_that_moved_on_holds_back_all(studio: Studio):
    error = await refusal(
        studio.client("alice").agents.save_many([(manifest("a"), 0), (manifest("helper"), 0)])
    )

    assert (error.status, error.code) == (409, "agent.changed")
    assert "helper was saved meanwhile: version 1" in error.message
    assert (await refusal(studio.client("bob").agents.show("a"))).status == 404


async def test_sub_agents_must_be_there_and_are_warned_of(studio: Studio):
    alice = studio.client("alice")

    plans = await alice.agents.save_many(
        [(manifest("boss", agents=["hand", "helper"]), None), (manifest("hand"), None)]
    )

    (warning,) = plans["items"][0]["warnings"]
    assert "hand, helper" in warning
    assert "later release" in warning
    shown = await alice.agents.show("boss")
    assert [gap["source"] for gap in shown["gaps"]] == ["agent hand", "agent helper"]


async def test_sub_agents_in_a_circle_are_refused(studio: Studio):
    alice = studio.client("alice")
    await alice.agents.save("one", manifest("one"))
    await alice.agents.save("two", manifest("two", agents=["one"]))
    await alice.agents.save("three", manifest("three", agents=["two"]))

    error = await refusal(alice.agents.save("one", manifest("one", agents=["three"])))

    assert error.fields == {"agents[0]": "leads back to this agent: one → three → two → one."}


@pytest.mark.parametrize(
    "agents,path",
    [(["writer"], "agents[0]"), (["a", "a"], "agents"), (["No"], "agents[0]"), ("a", "agents")],
)
async def test_sub_agents_that_are_none(studio: Studio, agents: Any, path: str):
    error = await refusal(
        studio.client("alice").agents.save("writer", manifest(agents=agents), dry_run=True)
    )

    assert path in error.fields


async def test_a_viewer_saves_nothing(studio: Studio):
    error = await refusal(studio.client("charlie").agents.save_many([(manifest("a"), None)]))

    assert error.status == 403


async def test_versions_say_what_changed(studio: Studio):
    alice = studio.client("alice")
    await alice.agents.save("writer", manifest())
    await alice.agents.save("writer", manifest(instructions="Write."))

    found = await alice.agents.versions("writer")

    assert [one["version"] for one in found["items"]] == [2, 1]
    assert found["items"][1]["changes"] == ["new agent"]
    assert "instructions changed" in found["items"][0]["changes"][0]
    older = await alice.agents.versions("writer", before=2)
    assert ([one["version"] for one in older["items"]], older["next"]) == ([1], None)


async def test_two_versions_are_compared(studio: Studio):
    alice = studio.client("alice")
    tool = {"name": "post", "kind": "http", "method": "POST", "url": "https://a.example/",
            "input": {"type": "object"}}  # fmt: skip
    await alice.agents.save("writer", manifest(tools=[tool]))
    await alice.agents.save("writer", manifest(instructions="Write.", tools=[]))

    found = await alice.agents.diff("writer")

    assert (found["old"], found["new"], found["latest"]) == (1, 2, 2)
    assert {section["name"] for section in found["sections"]} >= {"instructions", "tools"}
    assert {row["change"] for row in found["verdicts"]} == {"removed"}
    assert (await refusal(alice.agents.diff("writer", new=9))).status == 404
